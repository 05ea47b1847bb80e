#!/usr/bin/env python3
"""Fills the generated parts of the pages in this folder: write.py TESSERA [PAGE.md ...]

TESSERA is the built command. A page is prose with marks, each followed by a block that is written anew:

  <!-- program NAME -->                the text of examples/NAME.forma
  <!-- explain NAME [LINES] ARGS -->   what `tessera explain examples/NAME.forma ARGS` prints, cut after LINES
  <!-- picture FILE ARGS -->           nothing on the page: runs `tessera run examples/ARGS`, where {} is pictures/FILE;
                                       other results go to {tmp}
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MARK = re.compile(r"<!-- (program|explain|picture) (.*?) -->\n(?:\n?```(?:forma|text)\n.*?```\n)?", re.S)


def run(tool, arguments):
    done = subprocess.run([tool, *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join([tool, *arguments])}\n{done.stderr}")
    return done.stdout


def block(tool, folder, kind, rest):
    mark = f"<!-- {kind} {rest} -->\n"
    if kind == "program":
        return f"{mark}```forma\n{(ROOT / 'examples' / (rest + '.forma')).read_text()}```\n"
    words = shlex.split(rest)
    if kind == "picture":
        words = [w.replace("{tmp}", folder).replace("{}", f"docs/examples/pictures/{words[0]}") for w in words[1:]]
        run(tool, ["run", "examples/" + words[0], *words[1:], "-q"])
        return mark
    limit = int(words.pop(1)) if len(words) > 1 and words[1].isdigit() else 1000
    lines = run(tool, ["explain", f"examples/{words[0]}.forma", *words[1:]]).splitlines()
    if len(lines) > limit:
        lines = lines[:limit] + [f"... and {len(lines) - limit} lines more"]
    return mark + "```text\n" + "\n".join(line.rstrip() for line in lines) + "\n```\n"


def main(tool, pages):
    tool = str(Path(tool).resolve())
    with tempfile.TemporaryDirectory() as folder:
        for page in pages or sorted(HERE.glob("*.md")):
            text = Path(page).read_text()
            Path(page).write_text(MARK.sub(lambda m: block(tool, folder, m[1], m[2]), text))


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2:])
