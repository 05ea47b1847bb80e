"""Writes tessera/_filters.py, the named filters as functions, from what the library says of them.

python make_filters.py            writes it
python make_filters.py --check    fails where it is not what would be written
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "tessera" / "_filters.py"
DEFAULT = {"border": "None", "kernel": ""}
FIRST = {  # the option that may be given without its name
    "gaussian": ["sigma"],
    "bilateral": ["sigma", "range"],
    "unsharp": ["amount"],
    "canny": ["threshold"],
    "harris": ["k"],
    "lowpass": ["cutoff"],
    "highpass": ["cutoff"],
    "bandpass": ["low", "high"],
    "box": ["radius"],
    "median": ["radius"],
    "erode": ["radius"],
    "dilate": ["radius"],
    "convolve": ["kernel"],
    "correlate": ["kernel"],
}
RUN = [
    ("numbers", "Numbers | None"),
    ("method", "Method | None"),
    ("threads", "int | None"),
    ("target", "Target | None"),
    ("device", "int | None"),
    ("progress", "Progress | None"),
    ("cancel", "Cancel | None"),
]
BORDERS = """\
    mirror       d c b | a b c d | c b a
    symmetric    c b a | a b c d | d c b
    clamp        a a a | a b c d | d d d
    wrap         b c d | a b c d | a b c
    constant(k)  k k k | a b c d | k k k
    none         points whose window leaves the image are 0
"""

HEAD = '''\
"""Filters by name. Written by make_filters.py from what the library says of them: change that file, not this one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tessera import _core
from tessera._core import Cancel
from tessera._filter_calls import call, explain
from tessera._program import Explanation

A = TypeVar("A")
PerAxis = float | Sequence[float]
Border = str | Sequence[str]
Extent = Literal["same", "valid", "full"]
Alpha = Literal["weighted", "kept", "associated"]
Numbers = Literal["fast", "exact"]
Method = Literal["automatic", "direct", "separable", "low_rank", "transform", "whole", "matrix"]
Target = Literal["cpu", "cuda", "opencl"]
Progress = Callable[[int, int], object] | bool


@dataclass(frozen=True)
class OptionInfo:
    """An option of a filter; ``value`` is the usual one, "" where it must be given."""

    name: str
    type: str
    value: str
    summary: str
    per_axis: bool


@dataclass(frozen=True)
class FilterInfo:
    """A filter: ranks of its images, whether the result has their type, whether it takes a mask."""

    name: str
    summary: str
    ranks: tuple[int, ...]
    keeps_type: bool
    takes_mask: bool
    options: tuple[OptionInfo, ...]


def filters() -> tuple[FilterInfo, ...]:
    """All filters, by name."""
    return tuple(
        FilterInfo(
            f["name"],
            f["summary"],
            tuple(f["ranks"]),
            f["keeps_type"],
            f["takes_mask"],
            tuple(OptionInfo(**o) for o in f["options"]),
        )
        for f in json.loads(_core.filters_json())
    )


_of_runs = ("numbers", "method", "threads", "target", "device", "progress", "cancel")


def filter(name: str, image: A, *, channel_axis: int | None = None, mask: Any = None, out: Any = None, **options: Any) -> A:
    """The filter of a name, with the options of its function: ``filter("gaussian", photo, sigma=2)``."""
    run = {n: options.pop(n, None) for n in _of_runs}
    result: A = call(name, image, options, channel_axis, mask, out, run)
    return result


def explain_filter(
    name: str, image: Any, *, channel_axis: int | None = None, mask: Any = None, **options: Any
) -> Explanation:
    """What the plan of a filter decided and why: ``explain_filter("gaussian", photo, sigma=40)``."""
    run = {n: options.pop(n, None) for n in _of_runs}
    explanation: Explanation = explain(name, image, options, channel_axis, mask, run)
    return explanation


def fwhm(width: PerAxis) -> PerAxis:
    """The sigma of a Gaussian whose full width at half of its maximum this is: ``sigma=fwhm(6)``."""
    if isinstance(width, Sequence):
        return [w / 2.3548200450309493 for w in width]
    return width / 2.3548200450309493
'''


def annotation(option: dict[str, Any]) -> str:
    if option["type"] == "border":
        return "Border | None"
    if option["type"] == "table":
        return "Any"
    return "PerAxis" if option["per_axis"] else "float"


def default(option: dict[str, Any]) -> str:
    if option["name"] in DEFAULT:
        return DEFAULT[option["name"]]
    return str(option["value"])


def ranks_text(ranks: list[int]) -> str:
    return f"of {ranks[0]} to {ranks[-1]} dimensions" if len(ranks) > 1 else f"of {ranks[0]} dimensions"


def entry(name: str, kind: str, text: str) -> str:
    return f"{name} : {kind}\n" + textwrap.indent(textwrap.fill(text, 104), "    ") + "\n"


def described(f: dict[str, Any], options: list[dict[str, Any]]) -> str:
    name = f["name"]
    out = textwrap.fill(f["summary"], 108) + "\n\nParameters\n----------\n"
    out += entry("image", "array", f"{ranks_text(f['ranks'])[3:]}, slowest first, besides that of its channels.")
    for o in options:
        kind = {"border": "str or sequence of str", "table": "array of numbers"}.get(
            o["type"], "number, or one for each axis" if o["per_axis"] else "number"
        )
        summary = o["summary"][0].upper() + o["summary"][1:] + "."
        if o["type"] == "border":
            summary = (
                "What is read outside of the image, a mode or one for each axis: mirror where none is given, "
                '"constant(0)" for a full extent.'
            )
        elif o["type"] == "table":
            summary = "The weights, finite numbers, of the rank of the image, larger than it or not."
        out += entry(o["name"], kind, summary)
        if o["type"] == "border":
            out += "\n" + textwrap.indent(BORDERS, "    ") + "\n"
    out += entry(
        "extent",
        '{"same", "valid", "full"}',
        "Of the result: that of the image, the points whose window lies inside, or every point that a window touches.",
    )
    usual = (
        "that of the image, rounded half to even and clamped" if f["keeps_type"] else "float32, float64 of a float64"
    )
    out += entry("type", "str or dtype", f"Of the result: {usual}, where none is given.")
    out += entry(
        "alpha",
        '{"weighted", "kept", "associated"}',
        "Takes the last of 2 or 4 channels for alpha: colours count by it, it stays as it is, or colours are multiplied "
        "by it already. Without it all channels are filtered by themselves.",
    )
    if f["takes_mask"]:
        out += entry(
            "mask",
            "array",
            "How certain each point is, 0 for those that count for nothing: of the shape of the image without its "
            "channels, or of its last dimensions.",
        )
        out += entry("ignore_nan", "bool", "Points that are NaN or infinite count for nothing.")
        out += entry("nodata", "number or sequence", "Points of these values count for nothing.")
    out += entry(
        "channel_axis",
        "int",
        "The dimension of the channels, each of which is filtered by itself; none has them where it is not given.",
    )
    out += entry("out", "array", "Where the result goes: of its shape and type, sharing no memory with the image.")
    out += entry("arithmetic", '{"float32", "float64"}', "What is computed in; float64 for int32, uint32 and float64.")
    out += entry(
        "numbers, method, threads, target, device, progress, cancel",
        "",
        "Options of the run, as of :class:`Program`.",
    ).replace(" : \n", "\n")
    out += "\nReturns\n-------\narray\n    Of the kind of the image, on its device.\n"
    out += "\nRaises\n------\nArgumentError\n" + textwrap.indent(
        textwrap.fill(
            "An image of another rank or of a type that images do not have (int64), an option that cannot be used, an "
            "extent of which nothing is left.",
            104,
        ),
        "    ",
    )
    example = {"convolve": "[[1, 2, 1], [2, 4, 2], [1, 2, 1]]", "correlate": "[[-1, 0, 1]]"}.get(name, "")
    first = f"{', ' + example if example else ''}"
    out += f"\n\nExamples\n--------\n>>> ts.{name}(photo{first}, channel_axis=-1)  # doctest: +SKIP"
    return out


def written(f: dict[str, Any]) -> str:
    first = FIRST.get(f["name"], [])
    options = sorted(
        f["options"], key=lambda o: (first.index(o["name"]) if o["name"] in first else 99, o["type"] == "border")
    )
    parameters = ["image: A"]
    for o in options:
        if o["name"] not in first:
            break
        value = default(o)
        parameters.append(f"{o['name']}: {annotation(o)}" + (f" = {value}" if value else ""))
    parameters.append("*")
    for o in options:
        if o["name"] not in first:
            parameters.append(f"{o['name']}: {annotation(o)} = {default(o)}")
    parameters += ['extent: Extent = "same"', "type: Any = None", "alpha: Alpha | None = None"]
    common = ["extent", "type", "alpha", "arithmetic"]
    if f["takes_mask"]:
        parameters += ["mask: Any = None", "ignore_nan: bool = False", "nodata: float | Sequence[float] = ()"]
        common += ["ignore_nan", "nodata"]
    parameters += ["channel_axis: int | None = None", "out: Any = None", "arithmetic: Any = None"]
    parameters += [f"{n}: {t} = None" for n, t in RUN]
    names = [o["name"] for o in options] + common
    pairs = ", ".join(f'"{n}": {n}' for n in names)
    run = ", ".join(f'"{n}": {n}' for n, _ in RUN)
    body = described(f, options)
    return (
        f"def {f['name']}(\n"
        + "".join(f"    {p},\n" for p in parameters)
        + ") -> A:\n"
        + textwrap.indent('"""' + body + '\n"""\n', "    ", lambda line: bool(line.strip()))
        + f"    options = {{{pairs}}}\n"
        + f"    run = {{{run}}}\n"
        + f'    result: A = call("{f["name"]}", image, options, channel_axis, {"mask" if f["takes_mask"] else "None"}, out, run)\n'
        + "    return result\n"
    )


def text() -> str:
    from tessera import _core

    made = HEAD + "".join("\n\n" + written(f) for f in json.loads(_core.filters_json()))
    return subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--line-length", "120", "-"],
        input=made,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def main() -> int:
    made = text()
    if sys.argv[1:] == ["--check"]:
        if FILE.read_text() != made:
            print("python/tessera/_filters.py is not what make_filters.py writes; run it", file=sys.stderr)
            return 1
        return 0
    FILE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
