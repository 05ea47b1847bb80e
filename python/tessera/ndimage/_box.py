"""Means of boxes, and correlations with weights of any shape."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera import _core
from tessera.ndimage._graph import Graph, Weights, is_float
from tessera.ndimage._linear import Pass, _by_parts, _complex_parts, _run_passes
from tessera.ndimage._support import (
    Result,
    as_array,
    cached,
    checked_axes,
    expanded_footprint,
    expanded_origin,
    is_complex,
    is_sequence,
    mode_of,
    number_of,
    one_axis,
    run_folded,
    sequence,
    type_name,
    whole,
)
from tessera.ndimage._windows import correlated


def _uniform_pass(size: Any, axis: int, mode: Any, origin: Any) -> Pass:
    if size < 1:
        raise RuntimeError("incorrect filter size")
    size, origin = int(size), int(origin)
    if size // 2 + origin < 0 or size // 2 + origin >= size:
        raise ValueError("invalid origin")
    return Pass(axis, (1.0,) * size, -(size // 2) - origin, mode_of(mode), size)


def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    region: Any = None,
) -> Any:
    """The mean of ``size`` neighbours along an axis."""
    image = as_array(input)
    axis = one_axis(axis, image.ndim)
    one = _uniform_pass(whole(size), axis, mode, origin)
    if is_complex(image):
        keywords = {"axis": axis, "mode": mode, "origin": origin, "region": region}
        return _complex_parts(uniform_filter1d, image, size, output, cval, keywords)
    return _run_passes(image, [one], number_of(cval), Result(output, image, region=region))


def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The mean of a box."""
    image = as_array(input)
    if is_complex(image):
        keywords = {"mode": mode, "origin": origin, "axes": axes, "region": region}
        return _complex_parts(uniform_filter, image, size, output, cval, keywords)
    result = Result(output, image, region=region)
    axes = checked_axes(axes, image.ndim)
    count = len(axes)
    sizes, origins, modes = sequence(size, count), sequence(origin, count), sequence(mode, count)
    passes = [_uniform_pass(int(s), axis, m, o) for axis, s, m, o in zip(axes, sizes, modes, origins) if s > 1]
    return _run_passes(image, passes, number_of(cval), result)


@cached
def _window_program(
    rank: int,
    of: str,
    to: str,
    weights: bytes,
    shape: tuple[int, ...],
    lo: tuple[int, ...],
    mode: str,
    cval: float,
) -> _core.Program:
    graph = Graph(rank)
    image = graph.input(of)
    table: Weights = np.frombuffer(weights, np.float64).reshape(shape)
    modes = tuple(mode if size > 1 else "none" for size in shape)
    return graph.program(graph.linear(image, table, lo, modes, cval, to))


def _correlated(
    input: Any,
    weights: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    convolution: bool,
    axes: Any,
    region: Any,
) -> Any:
    image, weights = as_array(input), np.asarray(weights)
    if is_complex(image) or weights.dtype.kind == "c":
        if weights.dtype.kind == "c" and not convolution:
            weights = weights.conj()
        keywords = {"mode": mode, "origin": origin, "convolution": convolution, "axes": axes, "region": region}
        return _by_parts(_correlated, image, weights, output, cval, **keywords)
    rank = image.ndim
    axes = checked_axes(axes, rank)
    weights = expanded_footprint(rank, axes, np.asarray(weights, dtype=np.float64), "weights")
    origins = expanded_origin(rank, axes, origin)
    shape = [n for n in weights.shape if n > 0]
    if len(shape) != rank:
        raise RuntimeError(f"weights.ndim ({len(shape)}) must match len(axes) ({len(axes)})")
    if convolution:
        weights = np.flip(weights)
        origins = [-o - (not n & 1) for o, n in zip(origins, shape)]
    for o, n in zip(origins, shape):
        if o < -(n // 2) or o > (n - 1) // 2:
            raise ValueError(
                "Invalid origin; origin must satisfy -(weights.shape[k] // 2) <= origin[k] <= (weights.shape[k]-1) // 2"
            )
    result = Result(output, image, region=region)
    if is_sequence(mode):
        raise RuntimeError("A sequence of modes is not supported")
    return _run_window(image, weights, [-(n // 2) - int(o) for o, n in zip(origins, shape)], mode, cval, result)


def _run_window(image: Any, weights: Weights, lo: Sequence[int], mode: Any, cval: Any, result: Result) -> Any:
    word = mode_of(mode)
    number = number_of(cval) if word == "constant" else 0.0
    if 0 in result.shape:
        return result.given(image)
    shape, rank = weights.shape, image.ndim
    touched = [d for d in range(rank) if shape[d] > 1]
    if rank > 4 and len(touched) > 4:
        return result.given(correlated(image, weights, lo, mode, number, result.type))
    of, to = type_name(image), result.type
    numbers = np.ascontiguousarray(weights).tobytes()

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        sizes, starts = [1] * rank, [0] * rank
        for d, place in zip(touched, places):
            sizes[place], starts[place] = shape[d], lo[d]
        return _window_program(rank, of, to, numbers, tuple(sizes), tuple(starts), word, number)

    # Sums through transforms err by more than what lies between a float's sum and an integer.
    term_by_term = is_float(of) and not is_float(to)
    return run_folded(rank, touched, build, [image], result, _direct() if term_by_term else None)


@functools.lru_cache(1)
def _direct() -> _core.Options:
    options = _core.Options()
    options.set("method", "direct")
    return options


def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The correlation with weights of the image's rank, or of as many dimensions as there are axes."""
    return _correlated(input, weights, output, mode, cval, origin, False, axes, region)


def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The convolution with weights of the image's rank, or of as many dimensions as there are axes."""
    return _correlated(input, weights, output, mode, cval, origin, True, axes, region)
