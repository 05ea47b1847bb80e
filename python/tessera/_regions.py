"""Windows of results: regions as NumPy writes them, inputs that are parts of images, what a window reads."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

from tessera import _given
from tessera._errors import ArgumentError

#: [begin, end) of every dimension.
Box = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class InputWindow:
    """An input that is a part of an image: ``at`` is where its first point stands in the whole, ``whole`` the extents of
    that; planes of channels are not counted among the dimensions."""

    array: Any
    at: tuple[int, ...]
    whole: tuple[int, ...]


@dataclass(frozen=True)
class Reach:
    """What a point of an output reads along one dimension of an input: point i from ``i * scale // divisor - before`` to
    ``i * scale // divisor + after``, as far as the image and its borders go; any point where ``whole`` holds."""

    before: int
    after: int
    scale: int
    divisor: int
    whole: bool


@dataclass(frozen=True)
class Locality:
    """What a point of an output depends on."""

    output: str
    #: Why no part of it can be had alone: "stage 'm' reduces a whole image"; "" where it can.
    depends_on_all: str
    #: Of every input its dimensions; none of numbers and of what is not read.
    inputs: Mapping[str, tuple[Reach, ...]]


def localities(said: list[dict[str, Any]]) -> tuple[Locality, ...]:
    return tuple(
        Locality(
            o["name"] or "out",
            o["global"],
            {i["name"]: tuple(Reach(**d) for d in i["dimensions"]) for i in o["inputs"]},
        )
        for o in said
    )


def _written(part: slice) -> str:
    return ":".join("" if bound is None else str(bound) for bound in (part.start, part.stop))


def _row(given: Any) -> str:
    """The slice of a row, of the one that is given or of some."""
    if isinstance(given, bool) or not isinstance(given, SupportsIndex) or getattr(given, "ndim", 0) != 0:
        return "10:11"
    row = operator.index(given)
    return f"{row}:{row + 1 or ''}"


def box_of(region: Any, shape: Sequence[int], name: str) -> Box:
    """A region of an output of this shape: slices as ``np.s_`` makes them."""
    given = region if isinstance(region, tuple) else (region,)
    if sum(g is Ellipsis for g in given) > 1:
        raise ArgumentError(f"the region {_given.shown(region)} of {name!r} has more than one ...")
    at = next((k for k, g in enumerate(given) if g is Ellipsis), None)
    if at is not None:
        given = (*given[:at], *([slice(None)] * (len(shape) - len(given) + 1)), *given[at + 1 :])
    if len(given) > len(shape):
        raise ArgumentError(
            f"the region {_given.shown(region)} of {name!r} has {len(given)} slices, expected {len(shape)}"
        )
    begin, end = [], []
    for d, n in enumerate(shape):
        part = given[d] if d < len(given) else slice(None)
        if not isinstance(part, slice):
            raise ArgumentError(
                f"the region of {name!r} has {_given.shown(part)} along dimension {d}, expected a slice",
                help=f"np.s_[10:20, 5:9] is ten rows of four points; one row is {_row(part)}",
            )
        if part.step not in (None, 1):
            raise ArgumentError(
                f"the region of {name!r} has the step {_given.shown(part.step)} along dimension {d}, expected 1",
                help="leave the step out, and take every other point of the result",
            )
        bounds = (part.start, part.stop)
        first, last = (
            otherwise if b is None else _given.whole(f"a bound of the region of {name!r}", b)
            for b, otherwise in zip(bounds, (0, n), strict=True)
        )
        first, last = first + n if first < 0 else first, last + n if last < 0 else last
        if not 0 <= first < last <= n:
            raise ArgumentError(
                f"the region of {name!r} is {_written(part)} along dimension {d}, expected a part of [0, {n}) of at least one point"
            )
        begin.append(first)
        end.append(last)
    return tuple(begin), tuple(end)


def boxes_of(region: Any, names: Sequence[str], shapes: Sequence[Sequence[int]]) -> list[Box | None]:
    """A region for every output; of a dictionary those alone that it names."""
    if not isinstance(region, Mapping):
        return [box_of(region, shape, name) for name, shape in zip(names, shapes, strict=True)]
    unknown = [n for n in region if n not in names]
    if unknown:
        raise ArgumentError(f"region has {unknown[0]!r}, expected some of {', '.join(names)}")
    return [
        box_of(region[name], shape, name) if name in region else None for name, shape in zip(names, shapes, strict=True)
    ]


def only_box_of(region: Any, shape: Sequence[int]) -> Box:
    """Of what has one output."""
    box = boxes_of(region, ("out",), (shape,))[0]
    if box is None:
        raise ArgumentError("region names no output, expected a part of out")
    return box


def place_of(window: InputWindow, rank: int, name: str) -> Box:
    """``at`` and ``whole`` of a window of an input, checked."""
    parts = []
    for what in ("at", "whole"):
        numbers = _given.several(f"{what} of the window of {name!r}", getattr(window, what), "whole numbers")
        found = tuple(_given.whole(f"{what} of the window of {name!r}", n, 0) for n in numbers)
        if len(found) != rank:
            raise ArgumentError(f"{what} of the window of {name!r} has {len(found)} numbers, expected {rank}")
        parts.append(found)
    return parts[0], parts[1]
