#!/usr/bin/env python3
"""What comes from PyPI is what was looked at: no command installs without hashes, and every list of scripts/requirements pins each package
by version and hash."""

import re

from common import files, finish, text_of

# As a shell spells it, and as a list of words in Python does.
INSTALL = re.compile(r"""\bpip3?["']?,?\s+["']?(?:install|download|wheel)\b""")
END = {".py": re.compile(r"\]|\Z"), "": re.compile(r"(?<!\\)\n|;|&&|\|\||\Z")}
NAME = re.compile(r"^([\w.-]+)", re.M)
PINNED = re.compile(r"([\w.-]+)==[\w.+!]+(?: *;[^\\\n]*)?(?: \\\n +--hash=sha256:[0-9a-f]{64})+")


def commands_without_hashes(path, text):
    for found in INSTALL.finditer(text):
        end = END[".py" if path.suffix == ".py" else ""].search(text, found.end())
        # (--no-index asks nobody.)
        if not re.search("--require-hashes|--no-index", text[found.start():end.start()]):
            yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: installs from PyPI without --require-hashes"


def unpinned(path, text):
    """Of a list; options would lead elsewhere, so there are none."""
    rest = PINNED.sub("", re.sub(r"^ *#.*\n", "", text, flags=re.M))
    for line in filter(str.strip, rest.splitlines()):
        yield f"{path}: neither a version nor hashes: {line.strip()[:100]}"
    pinned = {found[1].lower() for found in PINNED.finditer(text)}
    wanted = text_of(path.with_suffix(".in"))
    for name in NAME.findall(re.sub(r"#.*", "", wanted)):
        if name.lower() not in pinned:
            yield f"{path}: lacks {name}, which {path.with_suffix('.in').name} names"


def check():
    findings, count = [], 0
    for path in files():
        text = text_of(path)
        if text is None:
            continue
        findings += commands_without_hashes(path, text)
        if path.suffix == ".txt" and path.parent.name == "requirements":
            count += 1
            findings += unpinned(path, text)
    finish("pins", findings, f"{count} lists of packages from PyPI, each pinned by version and hash")


check()
