#!/usr/bin/env python3
"""Finds code that stands twice: runs of 12 or more lines that are the same once comments and white space are gone.

Every window of 12 normalised lines is hashed; windows that meet again are grown to the longest common run. Lines of lone
punctuation and includes do not count. Runs inside src/, include/ and bench/ are findings; in tests/ they are only told,
since a test may say the same thing about two things.
"""

import re
from collections import defaultdict

from common import files, finish, text_of

RUN = 12


def normalised(text):
    """(line number, text) of the lines that say something."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    out = []
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"\s+", "", re.sub(r"//.*", "", line))
        if re.search(r"\w", line) and not line.startswith(("#include", "#pragma", "using")):
            out.append((number, line))
    return out


def runs(contents):
    """(length, file, first line, last line, file, first line, last line), longest first, no run inside another."""
    windows = defaultdict(list)
    for path, lines in contents.items():
        for i in range(len(lines) - RUN + 1):
            windows[hash(tuple(text for _, text in lines[i:i + RUN]))].append((path, i))
    found = []
    covered = set()
    for places in windows.values():
        for a in range(len(places)):
            for b in range(a + 1, len(places)):
                (fa, i), (fb, j) = places[a], places[b]
                if (fa, i, fb, j) in covered:
                    continue
                la, lb = contents[fa], contents[fb]
                while i and j and la[i - 1][1] == lb[j - 1][1]:
                    i, j = i - 1, j - 1
                n = 0
                while i + n < len(la) and j + n < len(lb) and la[i + n][1] == lb[j + n][1] and (fa != fb or i + n < j):
                    covered.add((fa, i + n, fb, j + n))
                    n += 1
                if n >= RUN:
                    found.append((n, fa, la[i][0], la[i + n - 1][0], fb, lb[j][0], lb[j + n - 1][0]))
    return sorted(found, key=lambda run: -run[0])


def check():
    contents = {path: normalised(text_of(path) or "")
                for path in files("src/*.[ch]pp", "include/*.hpp", "bench/*.[ch]pp", "tests/*.[ch]pp", "python/*.cpp")}
    findings = []
    for n, fa, a0, a1, fb, b0, b1 in runs(contents):
        line = f"{fa}:{a0}-{a1} ~ {fb}:{b0}-{b1}: {n} lines are the same"
        if fa.parts[0] == "tests" or fb.parts[0] == "tests":
            print("told only: " + line)
        else:
            findings.append(line)
    finish("duplicates", findings, f"no run of {RUN} lines stands twice in {len(contents)} files")


check()
