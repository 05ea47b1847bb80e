"""The pages as a new user walks them: every command of theirs ends well, with files that are there or were made by a command
before it, and every file that a command is to write is written. Programs stand on the page below a line that names their file.

What needs a device, the network or minutes is left out by name below; charts and tables are those of the published results."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SOURCE

PAGES = ["README.md", *sorted(str(p.relative_to(SOURCE)) for p in (SOURCE / "docs").rglob("*.md"))]
FOLDERS = ["examples", "filters", "tests", "docs", "bench"]  # what the clone has and commands name
ELSEWHERE = re.compile(r"tessera tune|tessera (run|filter|fft) .*--(target|devices)|^(git|\./dev|cmake|build/|PATH=)")


def blocks(page):
    """(kind, file, lines) of every fence: the file that the line before it names, if it ends with a colon."""
    before, kind, lines = "", None, []
    for line in (SOURCE / page).read_text().splitlines():
        if line.startswith("```"):
            if kind is None:
                kind, lines = line[3:], []
            else:
                names = re.findall(r"`([\w.]+\.\w+)`", before) if before.endswith(":") else []
                yield kind, names[-1] if names else None, lines
                kind, before = None, ""
        elif kind is not None:
            lines.append(line)
        elif line.strip():
            before = line.rstrip()


def commands(lines):
    for line in lines:
        line = re.sub(r"\s+#.*", "", line).strip()
        if re.match(r"(tessera|mpirun|python3|cc|nvcc|iverilog|vvp|git|\./dev|cmake|build/|PATH=)\b", line):
            yield line


def written(line):
    """Files after -o, --header, --svg, --spectrum."""
    for value in re.findall(r"(?:-o|--header|--svg|--spectrum) +(\S+)", line):
        yield value.split("=", 1)[-1]


@pytest.mark.parametrize("page", PAGES)
def test_commands(page, tmp_path):
    for folder in FOLDERS:
        (tmp_path / folder).symlink_to(SOURCE / folder)
    home = Path(os.environ["TESSERA"]).resolve().parent
    environment = dict(os.environ, PATH=f"{home}:{Path(sys.executable).parent}:{os.environ['PATH']}",
                       XDG_CACHE_HOME=os.environ.get("XDG_CACHE_HOME", str(SOURCE / "build" / "cache")))
    # Of Open MPI: as root, and with more ranks than cores.
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                    "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    ran = 0
    for kind, file, lines in blocks(page):
        if file and kind in ("forma", "cpp", "c", "cmake"):
            (tmp_path / file).write_text("\n".join(lines) + "\n")
        if kind not in ("", "sh"):
            continue
        for line in commands(lines):
            if ELSEWHERE.search(line) or not shutil.which(line.split()[0], path=environment["PATH"]):
                continue
            done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=300)
            assert done.returncode == 0, f"{page}: {line}\n{done.stdout[-2000:]}{done.stderr}"
            for name in written(line):
                if "{" in name or " explain " in line and f"-o {name}" in line:  # a file for each input; nothing is run
                    continue
                assert (tmp_path / name).exists(), f"{page}: {line} wrote no {name}"
            ran += 1
    assert ran or page not in ("README.md", "docs/tutorial.md", "docs/filters.md"), f"{page} shows no command"


def published(*words):
    return subprocess.run([sys.executable, SOURCE / "bench" / "overview.py", *words], capture_output=True, text=True, check=True).stdout


def test_the_chart_and_the_table_are_those_of_the_published_results():
    assert (SOURCE / "bench/results/overview.svg").read_text() == published()
    assert published("--table") in (SOURCE / "docs/measurements/runs.md").read_text()


def test_what_is_slower_stands_beside_the_chart():
    sys.path.insert(0, str(SOURCE / "bench"))
    import overview
    page = (SOURCE / "README.md").read_text()
    said = page[page.index("overview.svg"):page.index("A filter is one file")]
    for found in (overview.processor(), overview.card()):
        behind = [ratio for ratio, _ in found.values() if ratio < 1]
        assert f"{len(behind)} of {len(found)}" in said
        for ratio in behind:
            assert f"{ratio:.2f}" in said, ratio
    for job in overview.JOBS:  # both bars of every job, none cut off
        assert job in overview.processor() and job in overview.card()


def test_the_index_names_every_page():
    named = set(re.findall(r"\]\((docs/[\w/.]+\.md)", (SOURCE / "README.md").read_text()))
    for folder in ("docs", "docs/design", "docs/measurements"):
        assert named >= {f"{folder}/{page.name}" for page in (SOURCE / folder).glob("*.md")}
    shown = (SOURCE / "docs/examples/README.md").read_text()
    for page in (SOURCE / "docs/examples").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in shown, page.name
