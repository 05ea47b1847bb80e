"""tutorial.py TUTORIAL FOLDER: the project of the tutorial as its reader has it, and every other piece of C++ that the page
shows as a function beside it, so that what is shown compiles against an installed Tessera."""

import re
import sys
from pathlib import Path

# What a piece takes from the sentences round it.
AROUND = {
    "sharpen.forma": "void scalars(const tessera::Array& image) {{\n  const auto show = [](const tessera::Array&) {{}};\n{0}}}\n",
    "p.repeat": "tessera::Program grow() {{\n  tessera::Pipeline p;\n  const auto seed = p.input<float>(\"seed\", 2), mask = "
                "p.input<float>(\"mask\", 2);\n{0}  return p.compile({{grown}});\n}}\n",
    "Device::open": "void on_device(const tessera::Program& program, const tessera::Array& photo) {{\n{0}  (void)result;\n}}\n",
    "Program gradient()": "{0}",
    "smooth.run_region": "void part_of(const tessera::Program& smooth) {{\n  const auto load = [](const tessera::Region& r) {{ return "
                         "tessera::Array(tessera::ElementType::f32, {{r.end[0] - r.begin[0], r.end[1] - r.begin[1]}}); }};\n"
                         "{0}  (void)result;\n}}\n",
}


def blocks(page):
    before, kind, lines = "", None, []
    for line in page.splitlines():
        if line.startswith("```"):
            if kind is None:
                kind, lines = line[3:], []
            else:
                names = re.findall(r"`([\w.]+\.\w+)`", before) if before.endswith(":") else []
                yield kind, names[-1] if names else "", "\n".join(lines) + "\n"
                kind, before = None, ""
        elif kind is not None:
            lines.append(line)
        elif line.strip():
            before = line.rstrip()


def main(tutorial, folder):
    pieces, files = ["#include <tessera/tessera.hpp>\n"], {}
    for kind, name, text in blocks(Path(tutorial).read_text()):
        if name in ("main.cpp", "CMakeLists.txt"):
            files[name] = text
        elif kind == "cpp":
            known = [around for mark, around in AROUND.items() if mark in text]
            if not known:
                sys.exit(f"a piece of C++ in {tutorial} that no test knows:\n{text}")
            pieces.append(known[0].format(text))
    if len(pieces) != 1 + len(AROUND) or len(files) != 2:
        sys.exit(f"{tutorial} shows {len(pieces) - 1} pieces of C++ and the files {sorted(files)}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files["CMakeLists.txt"] = files["CMakeLists.txt"].replace("main.cpp", "main.cpp pieces.cpp")
    files["pieces.cpp"] = "\n".join(pieces)
    for name, text in files.items():
        (folder / name).write_text(text)


main(*sys.argv[1:])
