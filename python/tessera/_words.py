"""What the library says of its options, in Python's words: ``option table.w`` is ``tables={"w": ...}`` here."""

from __future__ import annotations

import re

#: Options that a name belongs to, and the arguments that have them by name.
FAMILIES = {
    "border": "borders",
    "input": "inputs",
    "parameter": "parameters",
    "shape": "shapes",
    "table": "tables",
    "type": "types",
}

_NAME = re.compile(
    r"\boption (?P<name>[a-z_]+)(?:\.(?P<key>\w+))?(?:=(?P<value>[\w.+/-]*\w))?"
    r"(?=[ ,:;.)\n]|$)(?P<verb> (?:is|has|names)\b)?"
)
#: Options that sentences name without a verb.
_ALONE = frozenset(
    {
        "additions",
        "chip",
        "compile_limit",
        "compiler",
        "device",
        "device_memory",
        "devices",
        "error",
        "extent",
        "fixed",
        "format",
    }
    | {"frequency", "height", "import_only", "import_paths", "lanes", "mask", "method", "name", "numbers", "schedule"}
    | {"target", "threads", "tile_columns", "tile_rows", "vector_bits", "width"}
)


def _said(found: re.Match[str]) -> str:
    name, key, value, verb = found["name"], found["key"], found["value"], found["verb"] or ""
    if value is not None and not re.fullmatch(r"[A-Z]+|[\d.+-][\w.+-]*", value):
        value = f'"{value}"'
    if key is not None:
        argument = FAMILIES.get(name)
        if argument is None:
            return found[0]
        said = f'{argument}["{key}"]' if verb or value is None and name == "border" else None
        return said + verb if said else f'{argument}={{"{key}": {value or "..."}}}'
    if name not in _ALONE and not verb:
        return found[0]
    name = FAMILIES.get(name, name) if verb == " names" else name
    return (name if value is None else f"{name}={value}") + verb


def in_python(text: str) -> str:
    """A sentence of the library that names options as it takes them, as one that names arguments."""
    text = text.replace("output '1' ", "output 'out' ")  # that has no name
    return _NAME.sub(_said, text) if "option " in text else text


def all_in_python(text: str) -> str:
    """The same of a report, but for the lines of programs in it."""
    lines = text.split("\n")
    return "\n".join(line if re.match(r" *\d* \| ", line) else in_python(line) for line in lines)
