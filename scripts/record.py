#!/usr/bin/env python3
"""What a command makes of every program, kept to compare two states of the compiler.

    scripts/record.py COMMAND FOLDER     emit and explain all programs with COMMAND into FOLDER
    scripts/record.py --compare A B      which texts differ, by kind; exit status 1 where any does

Programs are those of the zoo, the examples, the filters, the jobs of the benchmarks and the published documents. Of each
one the emitted C, CUDA and OpenCL, their lists of kernels and the plan as JSON are kept. A change that rewrites the inside
keeps them all, or its commit says which differ and why that is as good or better.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import ROOT

FOLDERS = ("tests/zoo", "examples", "filters", "bench/jobs", "bench/published")
SECONDS = 300


def programs():
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.forma"))


def kinds(path):
    """(kind, arguments) of what is kept of a program."""
    method = next((line.split(": ")[1].strip() for line in path.read_text().splitlines()[:8]
                   if line.startswith("// method: ")), None)
    options = ["--method", method] if method else []
    for kind in ("c", "cuda", "opencl"):
        yield kind, ["emit", str(path), "--target", kind, "--name", "program", *options]
    yield "plan.json", ["explain", str(path), "--json", *options]
    for kind in ("c", "cuda"):
        yield f"exact.{kind}", ["emit", str(path), "--target", kind, "--name", "program", "--exact", *options]


def keep(command, path, folder):
    base = folder / path.relative_to(ROOT).with_suffix("")
    base.parent.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, TESSERA_PRICES="", TESSERA_CACHE=str(folder / "cache"))
    failed = 0
    for kind, arguments in kinds(path):
        try:
            done = subprocess.run([command, *arguments], capture_output=True, env=environment, timeout=SECONDS)
            text = done.stdout if done.returncode == 0 else done.stderr
            failed += done.returncode != 0
        except subprocess.TimeoutExpired:
            text = b"no end within the time\n"
            failed += 1
        base.with_name(base.name + "." + kind).write_bytes(text)
    return failed


def record(command, folder):
    folder = Path(folder)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = list(pool.map(lambda path: keep(command, path, folder), programs()))
    print(f"record: {len(failed)} programs, {sum(failed)} texts are errors, in {folder}")


def compare(a, b):
    kept = {side: {str(p.relative_to(side)): p for p in Path(side).rglob("*") if p.is_file() and "cache" not in p.parts}
            for side in (a, b)}
    differ = {}
    for name in sorted(kept[a].keys() | kept[b].keys()):
        one, other = kept[a].get(name), kept[b].get(name)
        if one is None or other is None or one.read_bytes() != other.read_bytes():
            differ.setdefault(name.split(".", 1)[1], []).append(name)
    for kind, names in sorted(differ.items()):
        print(f"{kind}: {len(names)} differ: " + " ".join(names[:12]) + (" ..." if len(names) > 12 else ""))
    print(f"record: {sum(map(len, differ.values()))} of {len(kept[a].keys() | kept[b].keys())} texts differ")
    return 1 if differ else 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--compare":
        sys.exit(compare(sys.argv[2], sys.argv[3]))
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    record(sys.argv[1], sys.argv[2])
