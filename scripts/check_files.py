#!/usr/bin/env python3
"""Rules on the text of every file: size, an opening comment, no paths of one machine, no unfinished work."""

import re

from common import files, finish, text_of

LIMIT, HABIT = 800, 600  # lines
# Folders that exist on one machine only. A path inside a longer one (share/tmp/...) does not count.
MACHINE_PATH = re.compile(r"(?<![\w.})/-])/(?:work|root|tmp|home/\w+|farm)/")
UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X]|not (?:yet )?impl[e]mented|place[h]older|stu[b]s?)\b", re.I)
# Legal text and the list of changes talk about anything.
PROSE = {"LICENSE", "CHANGELOG.md"}


def starts_with_comment(path, text):
    if path.suffix == ".py":
        body = re.sub(r"\A#!.*\n", "", text)
        return re.match(r'\s*("""|#)', body) is not None
    return re.match(r"\s*(//|/\*|#(?!include|pragma|if))", text) is not None


def check():
    findings, long_files, count = [], [], 0
    for path in files():
        text = text_of(path)
        if text is None or str(path) in PROSE:
            continue
        count += 1
        lines = text.count("\n")
        top = path.parts[0]
        code = path.suffix in (".cpp", ".hpp", ".py", ".forma", ".cl", ".cu")
        if code and top in ("src", "include", "tests", "bench", "python", "scripts"):
            if lines > LIMIT:
                findings.append(f"{path}: {lines} lines; the limit is {LIMIT}")
            elif lines > HABIT:
                long_files.append(f"{path} ({lines})")
        if code and top in ("src", "include", "bench", "filters", "examples", "scripts") and text.strip():
            if not starts_with_comment(path, text):
                findings.append(f"{path}: does not start with a comment that says what it is for")
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATH.search(line) and not line.startswith("#!"):
                findings.append(f"{path}:{number}: a path of one machine: {line.strip()[:100]}")
            if code and top not in ("tests",) and UNFINISHED.search(line):
                findings.append(f"{path}:{number}: marks unfinished work: {line.strip()[:100]}")
    if long_files:
        print(f"files above {HABIT} lines: " + ", ".join(long_files))
    finish("files", findings, f"{count} text files keep the rules")


check()
