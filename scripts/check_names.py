#!/usr/bin/env python3
"""One name, one type: a class of linkage defined in two files gives one destructor to both, and no compiler says so."""

import re
from collections import defaultdict

from common import files, finish, text_of

SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
TOKEN = re.compile(
    r"\bnamespace(?P<space>\s+[\w:]+)?\s*\{"
    r"|\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[\w+\]\]\s*)?(?P<type>\w+)"
    r"(?:\s+final)?(?:\s*:(?!:)[^;{}()]*)?\s*\{"
    r"|[{}]")


def types_of(text):
    """Qualified names of the types defined at namespace scope, those of unnamed namespaces left out."""
    text = SKIPPED.sub(" ", re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M))
    stack = []  # the namespaces around, None for any other brace, "" for an unnamed one
    for token in TOKEN.finditer(text):
        if token[0] == "}":
            if stack:
                stack.pop()
        elif token[0].startswith("namespace"):
            stack.append((token["space"] or "").strip())
        else:
            if token["type"] and None not in stack and "" not in stack:
                yield "::".join([*stack, token["type"]])
            stack.append(None)


def check():
    places = defaultdict(set)
    for path in files("src/*.hpp", "src/*.cpp", "include/*.hpp", "tests/*.hpp", "tests/*.cpp"):
        program = path.parts[1] if path.parts[0] == "tests" else ""  # each folder of tests is linked alone
        for name in types_of(text_of(path)):
            places[program, name].add(str(path))
    for program, name in [key for key in places if key[0] and ("", key[1]) in places]:
        places[program, name] |= places["", name]
    findings = [f"{name} is defined in {' and '.join(sorted(at))}" for (_, name), at in places.items() if len(at) > 1]
    finish("names", findings, f"{len(places)} types of linkage, each defined once")


check()
