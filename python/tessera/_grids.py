"""Which parts of a result tasks compute: boxes whose edges are those of what is written together, as large as halos ask
for and memory allows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tessera import _given
from tessera._errors import ArgumentError
from tessera._regions import Box

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_OVERHEAD = 1.1  # points that are read for one that is written: with less tasks do not grow
_LEAST = 16 << 20  # bytes of a task, for which it is worth to be one
_USUAL = 1 << 20  # elements of a chunk where nobody says how many


def memory_of(given: Any) -> int:
    """Bytes: a number, or "1GiB", "500 MB"."""
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", given.upper())
        if found:
            return int(float(found[1]) * _UNITS[found[2] or ""])
        raise ArgumentError(f"memory is {given!r}, expected bytes", help='write memory="1GiB"')
    return _given.whole("memory", given, 1)


def usual_chunk(extents: Sequence[int]) -> list[int]:
    side = 1 << int(math.log2(_USUAL) / max(1, len(extents)))
    return [min(n, side) for n in extents]


def given_sizes(chunks: Any, units: Sequence[int], extents: Sequence[int], name: str) -> list[int]:
    """Extents of the boxes of tasks as they are given: a number, or one for each dimension."""
    listed = (
        [chunks] * len(units) if hasattr(chunks, "__index__") else _given.several("chunks", chunks, '"auto" or extents')
    )
    if len(listed) != len(units):
        raise ArgumentError(f"chunks have {len(listed)} extents, expected {len(units)}")
    sizes = []
    for d, (n, unit, extent) in enumerate(zip(listed, units, extents, strict=True)):
        size = _given.whole("an extent of chunks", n, 1)
        if size % unit and size < extent:
            raise ArgumentError(
                f"chunks are {size} points along dimension {d}, but {name!r} is written in chunks of {unit}, "
                "which two tasks would share",
                help=f"write a multiple of {unit}, or leave chunks out",
            )
        sizes.append(min(size, extent))
    return sizes


def edges_of(
    box: Box, sizes: Sequence[int], units: Sequence[int], extents: Sequence[int], name: str
) -> list[list[int]]:
    """Edges of the boxes of tasks within a region."""
    found = []
    for d, (begin, end) in enumerate(zip(*box, strict=True)):
        unit = units[d]
        if begin % unit or (end % unit and end != extents[d]):
            raise ArgumentError(
                f"the region of {name!r} is [{begin}, {end}) along dimension {d}, but it is written in chunks of {unit}",
                help=f"begin and end at multiples of {unit}",
            )
        found.append([*range(begin, end, max(1, sizes[d])), end])
    return found


def chosen_sizes(
    box: Box, units: Sequence[int], cost: Callable[[Box], tuple[int, float]], memory: int, least: int
) -> list[int]:
    """Multiples of what is written together, for which halos cost little, so that there are ``least`` tasks. ``cost`` tells
    bytes of a task and by how much halos multiply what it does."""
    extents = [e - b for b, e in zip(*box, strict=True)]
    usual = usual_chunk(extents)
    sizes = [min(n, u if u > 1 else s) for n, u, s in zip(extents, units, usual, strict=True)]

    def told(of: Sequence[int]) -> tuple[int, float]:
        begin = [b + (n - s) // 2 // max(1, u) * u for b, n, s, u in zip(box[0], extents, of, units, strict=True)]
        return cost((tuple(begin), tuple(min(b + s, e) for b, s, e in zip(begin, of, box[1], strict=True))))

    taken, overhead = told(sizes)
    while taken > memory and any(u == 1 and s > 1 for s, u in zip(sizes, units, strict=True)):
        widest = max((s, d) for d, s in enumerate(sizes) if units[d] == 1)[1]
        sizes[widest] = (sizes[widest] + 1) // 2
        taken, overhead = told(sizes)
    if taken > memory:
        raise ArgumentError(
            f"a task takes {-(-taken >> 10)} KiB for one chunk of the result, more than memory allows, {memory >> 10} KiB",
            help=f'write memory="{-(-taken >> 20)}MiB", or a result of smaller chunks',
        )
    while overhead > _OVERHEAD or taken < _LEAST:
        grown = []
        for d, s in enumerate(sizes):
            if s < extents[d]:
                wider = [*sizes[:d], min(2 * s, extents[d]), *sizes[d + 1 :]]
                bytes_, points = told(wider)
                count = math.prod(-(-n // w) for n, w in zip(extents, wider, strict=True))
                if bytes_ <= memory and count >= least:
                    grown.append((points, -d, bytes_, wider))
        if not grown:
            break
        overhead, _, taken, sizes = min(grown)
    return sizes
