"""Medians, percentiles and other ranks."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.ndimage import _windows
from tessera.ndimage._extremes import Shape, extreme_filter, folded_shape
from tessera.ndimage._graph import Graph, Image, c_cast
from tessera.ndimage._support import (
    Result,
    as_array,
    cached,
    check_origins,
    check_real,
    checked_axes,
    expanded_footprint,
    expanded_origin,
    is_sequence,
    mode_of,
    number_of,
    run_folded,
    sequence,
    type_name,
)

_NETWORK = 40  # elements that are sorted as a network that is written out


def merge_exchange(count: int) -> list[tuple[int, int]]:
    """Batcher's network: pairs of places, the lesser of two goes to the first."""
    pairs: list[tuple[int, int]] = []
    if count < 2:
        return pairs
    top = 1 << ((count - 1).bit_length() - 1)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while d > 0:
            pairs += [(i, i + d) for i in range(count - d) if i & p == r]
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return pairs


def selected(graph: Graph, values: Sequence[int], rank: int) -> int:
    """The value of a rank: what a network of minima and maxima leaves for it."""
    needed = {rank}
    kept: list[tuple[int, int, bool, bool]] = []
    for a, b in reversed(merge_exchange(len(values))):
        if a in needed or b in needed:
            kept.append((a, b, a in needed, b in needed))
            needed |= {a, b}
    found = list(values)
    for a, b, low, high in reversed(kept):
        one, two = found[a], found[b]
        if low:
            found[a] = graph.op("min", one, two)
        if high:
            found[b] = graph.op("max", one, two)
    return found[rank]


def padded_median(footprint: npt.NDArray[np.bool_], rank: int) -> npt.NDArray[np.int32]:
    """A box that begins as the footprint does, of 0 for its places, 1 for least and 2 for greatest values, so that its
    median is the footprint's element of that rank."""
    count = int(footprint.sum())
    shape = list(footprint.shape)
    axis = int(np.argmin(shape)) if min(shape) > 1 else int(np.argmax(shape))
    while True:
        total = int(np.prod(shape))
        low = (total - 1) // 2 - rank
        if low >= 0 and total - count - low >= 0:
            break
        shape[axis] += 1
    box = np.full(shape, -1, np.int32)
    inside = tuple(slice(0, n) for n in footprint.shape)
    box[inside] = np.where(footprint, 0, -1)
    free = np.flatnonzero(box == -1)
    box.flat[free[:low]] = 1
    box.flat[free[low:]] = 2
    return box


def _ranked(graph: Graph, image: Image, shape: Shape, rank: int, cval: float) -> Image:
    footprint = shape.places()
    image = graph.widened(image, shape.modes, cval)
    count = int(footprint.sum())
    view = graph.p.borders(image.id, [(m, cval if m == "constant" else 0.0) for m in shape.modes])
    if footprint.all() and count % 2 and rank == count // 2:
        ids, offsets, _ = graph._offsets(footprint.shape, shape.lo)
        value = graph.p.reduce("median", ids, graph.p.read(view, offsets))  # type: ignore[arg-type]
    elif count <= _NETWORK:
        values = [graph.p.read(view, [int(a) + b for a, b in zip(place, shape.lo)]) for place in np.argwhere(footprint)]
        value = selected(graph, values, rank)
    else:
        box = padded_median(footprint, rank)
        ids, offsets, places = graph._offsets(box.shape, shape.lo)
        kind = graph.p.lookup(graph.p.table(graph.name(), box), places)
        carrier = graph.p.image_type(image.id)[0]
        least, greatest = _ends(image.type)
        seen = graph.p.read(view, offsets)  # type: ignore[arg-type]
        zero, one = graph.number("int32", 0), graph.number("int32", 1)
        filled = graph.p.select(
            graph.op("eq", kind, one), graph.number(carrier, least), graph.number(carrier, greatest)
        )
        value = graph.p.select(graph.op("eq", kind, zero), seen, filled)
        value = graph.p.reduce("median", ids, graph.p.convert(carrier, value))
    return graph.stage(graph.kept(value, image.type), image.type)


def _ends(type: str) -> tuple[float, float]:
    if type == "bool":
        return 0.0, 1.0
    if type in ("float32", "float64", "int64", "uint64"):
        return -np.inf, np.inf
    info = np.iinfo(type)
    return float(info.min), float(info.max)


@cached
def _rank_program(rank: int, of: str, to: str, shape: Shape, which: int, cval: float) -> _core.Program:
    graph = Graph(rank)
    return graph.program(graph.to_type(_ranked(graph, graph.input(of), shape, which, cval), to))


def _which(operation: str, given: Any, count: int) -> int:
    """The rank from below."""
    if operation == "median":
        return count // 2
    rank = given
    if operation == "percentile":
        percentile = given + 100.0 if given < 0.0 else given
        if percentile < 0 or percentile > 100:
            raise RuntimeError("invalid percentile")
        rank = count - 1 if percentile == 100.0 else int(float(count) * percentile / 100.0)
    if rank < 0:
        rank += count
    if rank < 0 or rank >= count:
        raise RuntimeError("rank not within filter footprint size")
    return int(rank)


def _rank_filter(
    input: Any,
    given: Any,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    operation: str,
    axes: Any,
    region: Any,
) -> Any:
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=3)
    image = as_array(input)
    check_real(image)
    rank = image.ndim
    axes = checked_axes(axes, rank)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones(sequence(size, len(axes)), dtype=bool)
    else:
        footprint = np.asarray(footprint, dtype=bool)
    count = footprint.ndim
    footprint = expanded_footprint(rank, axes, footprint)
    origins = expanded_origin(rank, axes, origin)
    if is_sequence(mode) and len(axes) < rank:
        modes = dict(zip(axes, sequence(mode, len(axes))))
        mode = [modes.get(axis, "constant") for axis in range(rank)]
    if len([n for n in footprint.shape if n > 0]) != rank:
        raise RuntimeError(f"footprint.ndim ({count}) must match len(axes) ({len(axes)})")
    check_origins(origins, footprint.shape)
    elements = int(footprint.sum())
    which = _which(operation, given, elements)
    if which == 0 or which == elements - 1:
        return extreme_filter(image, None, footprint, None, output, mode, cval, origins, which == 0, None, region)
    result = Result(output, image, region=region)
    if is_sequence(mode):
        raise RuntimeError("A sequence of modes is not supported by non-separable rank filters")
    word = mode_of(mode)
    number = c_cast(number_of(cval), type_name(image)) if word == "constant" else 0.0  # of extremes it is not cast
    if 0 in result.shape:
        return result.given(image)
    lo = tuple(-(n // 2) - int(o) for n, o in zip(footprint.shape, origins))
    touched = [d for d in range(rank) if footprint.shape[d] > 1]
    if rank > 4 and len(touched) > 4:
        return result.given(_windows.ranked(image, footprint, lo, mode, number, which, result.type))
    modes_of = tuple(word if n > 1 else "none" for n in footprint.shape)
    shape = Shape(np.ascontiguousarray(footprint).tobytes(), b"", footprint.shape, lo, modes_of)
    of, to = type_name(image), result.type

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        return _rank_program(rank, of, to, folded_shape(shape, touched, rank, places), which, number)

    return run_folded(rank, touched, build, [image], result)


def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The neighbour of a rank from below, or from above where it is negative."""
    which = operator.index(rank)
    return _rank_filter(input, which, size, footprint, output, mode, cval, origin, "rank", axes, region)


def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The median of a box or a footprint."""
    return _rank_filter(input, 0, size, footprint, output, mode, cval, origin, "median", axes, region)


def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The percentile of a box or a footprint."""
    return _rank_filter(input, percentile, size, footprint, output, mode, cval, origin, "percentile", axes, region)
