"""Writes tessera/_filters_*.py, the named filters as functions, from what the library says of them.

python make_filters.py            writes them
python make_filters.py --check    fails where one is not what would be written
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "tessera"
FILES = {  # by what they do, so that no file is too long to read
    "smooth": ("that smooth", ["gaussian", "box", "median", "bilateral", "nonlocal_means"]),
    "order": ("that choose by order", ["percentile", "rank"]),
    "detail": ("that show what changes", ["unsharp", "sobel", "laplacian", "canny", "harris"]),
    "frequency": ("of frequencies", ["lowpass", "highpass", "bandpass"]),
    "window": ("of weights and extremes", ["convolve", "correlate", "erode", "dilate"]),
    "morphology": ("made of extremes", ["opening", "closing", "tophat", "blackhat", "morphological_gradient"]),
    "scale": (
        "of what is as large as a window or a sigma",
        ["difference_of_gaussians", "laplacian_of_gaussian", "gaussian_derivative", "structure_tensor"],
    ),
    "local": ("that compare a point with its window", ["deviation", "local_contrast", "local_threshold", "sauvola"]),
    "levels": ("of how often grey values occur", ["equalize", "clahe", "otsu"]),
}
DEFAULT = {"border": "None", "kernel": "", "footprint": "None"}
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
    "percentile": ["percent"],
    "rank": ["rank"],
    "erode": ["radius"],
    "dilate": ["radius"],
    "opening": ["radius"],
    "closing": ["radius"],
    "tophat": ["radius"],
    "blackhat": ["radius"],
    "morphological_gradient": ["radius"],
    "deviation": ["radius"],
    "local_contrast": ["radius"],
    "local_threshold": ["radius"],
    "sauvola": ["radius"],
    "structure_tensor": ["row", "column"],
    "nonlocal_means": ["strength"],
    "difference_of_gaussians": ["sigma"],
    "laplacian_of_gaussian": ["sigma"],
    "gaussian_derivative": ["derivative"],
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

TYPES = ("A", "Alpha", "Border", "Extent", "Method", "Numbers", "PerAxis", "Progress", "Target")


def head(kind: str, body: str) -> str:
    """The beginning of a file, with the imports that its functions need."""
    used = ", ".join(n for n in TYPES if re.search(rf"\b{n}\b", body))
    sequence = "from collections.abc import Sequence\n" if "Sequence[" in body else ""
    return f'''\
"""Filters by name, {kind}. Written by make_filters.py from what the library says of them: change that file, not this one."""

from __future__ import annotations

{sequence}from typing import Any

from tessera._core import Cancel
from tessera._filter_calls import call
from tessera._filter_types import {used}
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
            if o["name"] == "footprint":
                summary = (
                    "Which elements count in place of a box, those that are not 0: of the rank of the image, its middle "
                    "(n // 2) on the point."
                )
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
    out += entry(
        "region",
        "slices",
        "The part of the result that is computed, as ``np.s_[10:20, 5:9]``, channels not among the dimensions: it has the "
        "bits of the whole.",
    )
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
    parameters += [
        "channel_axis: int | None = None",
        "out: Any = None",
        "region: Any = None",
        "arithmetic: Any = None",
    ]
    parameters += [f"{n}: {t} = None" for n, t in RUN]
    names = [o["name"] for o in options] + common
    pairs = ", ".join(f'"{n}": {n}' for n in names)
    run = ", ".join(f'"{n}": {n}' for n, _ in RUN)
    body = described(f, options)
    mask = "mask" if f["takes_mask"] else "None"
    return (
        f"def {f['name']}(\n"
        + "".join(f"    {p},\n" for p in parameters)
        + ") -> A:\n"
        + textwrap.indent('"""' + body + '\n"""\n', "    ", lambda line: bool(line.strip()))
        + f"    options = {{{pairs}}}\n"
        + f"    run = {{{run}}}\n"
        + f'    result: A = call("{f["name"]}", image, options, channel_axis, {mask}, out, run, region)\n'
        + "    return result\n"
    )


def texts() -> dict[Path, str]:
    # The package beside this file has no module: PYTHONPATH says which one has (build/release/python).
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != FOLDER.parent]
    from tessera import _core

    known = {f["name"]: f for f in json.loads(_core.filters_json())}
    listed = [n for _, names in FILES.values() for n in names]
    if sorted(listed) != sorted(known):
        sys.exit(f"FILES names {sorted(set(listed) ^ set(known))} where the library does not, or the other way round")
    made = {}
    for part, (kind, names) in FILES.items():
        body = "".join("\n\n" + written(known[n]) for n in names)
        text = head(kind, body) + body
        command = [sys.executable, "-m", "ruff", "format", "--line-length", "120", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        made[FOLDER / f"_filters_{part}.py"] = done.stdout
    return made


def main() -> int:
    status = 0
    for file, text in texts().items():
        if sys.argv[1:] != ["--check"]:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            print(f"{file.name} is not what make_filters.py writes; run it", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
