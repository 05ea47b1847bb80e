"""Correlations, Gaussians, derivatives and means."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tessera import _arrays, _core
from tessera.ndimage._graph import Graph, Image, Weights
from tessera.ndimage._support import (
    Result,
    as_array,
    cached,
    checked_axes,
    cut,
    expanded_origin,
    is_complex,
    mode_of,
    number_of,
    one_axis,
    run_folded,
    sequence,
    type_name,
)


class Pass(NamedTuple):
    """A sum along one axis: weights from the offset ``lo`` on; a mean of ``divisor`` where that is not 1."""

    axis: int
    weights: tuple[float, ...]
    lo: int
    mode: str
    divisor: int = 1


def _add_pass(graph: Graph, image: Image, one: Pass, cval: float, to: str) -> Image:
    shape, lo, modes = [1] * graph.rank, [0] * graph.rank, ["none"] * graph.rank
    shape[one.axis], lo[one.axis], modes[one.axis] = len(one.weights), one.lo, one.mode
    weights = np.array(one.weights, np.float64).reshape(shape)
    return graph.linear(image, weights, lo, tuple(modes), cval, to, one.divisor)


def _chain(graph: Graph, image: Image, passes: Sequence[Pass], cval: float, to: str) -> Image:
    """One pass after the other; in between SciPy's booleans are bytes."""
    for k, one in enumerate(passes):
        image = graph.stored(image) if k else image
        image = _add_pass(graph, image, one, cval, "uint8" if to == "bool" else to)
    return graph.to_type(image, to)


@cached
def _passes_program(rank: int, of: str, to: str, passes: tuple[Pass, ...], cval: float) -> _core.Program:
    graph = Graph(rank)
    image = graph.input(of)
    return graph.program(_chain(graph, image, passes, cval, to))


@cached
def _squares_program(
    rank: int, of: str, to: str, chains: tuple[tuple[Pass, ...], ...], cval: float, root: bool
) -> _core.Program:
    """The sum of chains of passes, or the root of the sum of their squares."""
    graph = Graph(rank)
    image = graph.input(of)
    wide = {"float32": "float32", "float64": "float64", "int64": "float64", "uint64": "float64"}.get(to, "int32")
    wide = "uint32" if to == "uint32" else wide  # where sums and products wrap as they do in the type
    total = None
    for chain in chains:
        value = graph.p.convert(wide, graph.here(_chain(graph, image, chain, cval, to)))
        if root:
            value = graph.op("mul", value, value)
        if total is not None:
            value = graph.op("add", graph.p.convert(wide, graph.here(total)), value)
        total = graph.stage(graph.cast(value, wide, to), to)
    assert total is not None
    if root:
        real = "float32" if to == "float32" else "float64"
        value = graph.op("sqrt", graph.p.convert(real, graph.here(total)))
        total = graph.stage(graph.cast(value, real, to), to)
    return graph.program(total)


def _placed(passes: Sequence[Pass], axes: Sequence[int], places: Sequence[int]) -> tuple[Pass, ...]:
    where = dict(zip(axes, places))
    return tuple(one._replace(axis=where[one.axis]) for one in passes)


def _run_passes(image: Any, passes: Sequence[Pass], cval: float, result: Result) -> Any:
    """Filters along one axis after the other, each giving the result's type."""
    if any(one.mode != "constant" for one in passes) and not any(one.mode == "constant" for one in passes):
        cval = 0.0
    if not passes or 0 in result.shape:
        return result.given(image)
    rank = len(result.shape)
    axes = sorted({one.axis for one in passes})
    if rank > 4 and len(axes) > 3:
        between = np.dtype("uint8" if result.type == "bool" else result.type)  # SciPy's booleans are bytes
        for one in passes[:-1]:
            image = _run_passes(image, [one], cval, Result(between, image))
        passes, axes = passes[-1:], [passes[-1].axis]
    of, to = type_name(image), result.type

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        return _passes_program(rank, of, to, _placed(passes, axes, places), cval)

    return run_folded(rank, axes, build, [image], result)


def _correlate1d_pass(weights: Any, axis: int, mode: Any, origin: int) -> Pass:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 1 or weights.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    size = len(weights)
    if origin < -(size // 2) or origin > (size - 1) // 2:
        raise ValueError("Invalid origin; origin must satisfy -(len(weights) // 2) <= origin <= (len(weights)-1) // 2")
    return Pass(axis, tuple(weights.tolist()), -(size // 2) - int(origin), mode_of(mode))


Parts = Callable[..., Any]


def _by_parts(function: Parts, image: Any, weights: Any, output: Any, cval: Any, **keywords: Any) -> Any:
    """A filter of complex images, weights or both, by real ones."""
    result = Result(output, image, complex_output=True, region=keywords["region"])
    target = result.target if result.target is not None else result.new(image)
    given_complex, weights_complex = is_complex(image), np.iscomplexobj(weights)
    if not given_complex:
        if np.iscomplexobj(cval):
            raise ValueError("Cannot provide a complex-valued cval when the input is real.")
        target.real[...] = function(image, weights.real, output=target.real.dtype, cval=cval, **keywords)
        target.imag[...] = function(image, weights.imag, output=target.real.dtype, cval=cval, **keywords)
        return target
    real, imag = np.real(cval), np.imag(cval)
    kind = target.real.dtype if isinstance(target, np.ndarray) else None
    first, second = image.real, image.imag
    if not weights_complex:
        a = function(first, weights, output=kind, cval=real, **keywords)
        b = function(second, weights, output=kind, cval=imag, **keywords)
    else:
        a = function(first, weights.real, output=kind, cval=real, **keywords)
        a = a - function(second, weights.imag, output=None, cval=imag, **keywords)
        b = function(first, weights.imag, output=kind, cval=real, **keywords)
        b = b + function(second, weights.real, output=None, cval=imag, **keywords)
    target.real[...] = a
    target.imag[...] = b
    return _arrays.finished(image, target)


def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    region: Any = None,
) -> Any:
    """The correlation with weights along an axis."""
    image, weights = as_array(input), np.asarray(weights)
    if is_complex(image) or weights.dtype.kind == "c":
        if weights.dtype.kind == "c":
            weights = weights.conj().astype(np.complex128, copy=False)
        keywords = {"axis": axis, "mode": mode, "origin": origin, "region": region}
        return _by_parts(correlate1d, image, weights, output, cval, **keywords)
    result = Result(output, image, region=region)
    if weights.ndim != 1 or weights.shape[0] < 1:
        raise RuntimeError("no filter weights given")
    axis = one_axis(axis, image.ndim)
    return _run_passes(image, [_correlate1d_pass(weights, axis, mode, origin)], number_of(cval), result)


def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
    *,
    region: Any = None,
) -> Any:
    """The convolution with weights along an axis."""
    weights = np.asarray(weights)[::-1]
    origin = -origin
    if not weights.shape[0] & 1:
        origin -= 1
    if weights.dtype.kind == "c":
        weights = weights.conj()
    return correlate1d(input, weights, axis, output, mode, cval, origin, region=region)


def gaussian_weights(sigma: float, order: int, radius: int) -> Weights:
    """A Gaussian of sum 1, or its derivative, at -radius .. radius."""
    if order < 0:
        raise ValueError("order must be non-negative")
    x = np.arange(-radius, radius + 1)
    bell: Weights = np.exp(-0.5 / (sigma * sigma) * x**2)
    bell /= bell.sum()
    if order == 0:
        return bell
    # The derivative of order k is (-1/sigma)^k He_k(x / sigma) times it.
    scaled = x / sigma
    before, hermite = np.ones_like(scaled), scaled
    for k in range(1, order):
        before, hermite = hermite, scaled * hermite - k * before
    return (-1.0 / sigma) ** order * hermite * bell


def _gaussian_pass(sigma: Any, axis: int, order: Any, mode: Any, truncate: float, radius: Any) -> Pass:
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not isinstance(reach, numbers.Integral) or reach < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    plain = type(sigma) in (int, float) and type(order) is int and type(mode) is str
    return (_known_pass if plain else _known_pass.__wrapped__)(sigma, axis, order, mode, int(reach))


@functools.lru_cache(maxsize=512)
def _known_pass(sigma: Any, axis: int, order: Any, mode: Any, radius: int) -> Pass:
    return _correlate1d_pass(gaussian_weights(sigma, order, radius)[::-1], axis, mode, 0)


def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    region: Any = None,
) -> Any:
    """The correlation with a Gaussian, or a derivative of one, along an axis."""
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not isinstance(reach, numbers.Integral) or reach < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    weights = gaussian_weights(sigma, order, int(reach))[::-1]
    return correlate1d(input, weights, axis, output, mode, cval, 0, region=region)


def _gaussian_passes(
    axes: Sequence[int], sigma: Any, order: Any, mode: Any, truncate: float, radius: Any
) -> list[Pass]:
    count = len(axes)
    orders, sigmas = sequence(order, count), sequence(sigma, count)
    modes, radii = sequence(mode, count), sequence(radius, count)
    return [
        _gaussian_pass(s, axis, k, m, truncate, r)
        for axis, s, k, m, r in zip(axes, sigmas, orders, modes, radii)
        if s > 1e-15
    ]


def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The correlation with Gaussians, or derivatives of them, along several axes."""
    image = as_array(input)
    if is_complex(image):
        keywords = {
            "order": order,
            "mode": mode,
            "truncate": truncate,
            "radius": radius,
            "axes": axes,
            "region": region,
        }
        return _complex_parts(gaussian_filter, image, sigma, output, cval, keywords)
    result = Result(output, image, region=region)
    axes = checked_axes(axes, image.ndim)
    passes = _gaussian_passes(axes, sigma, order, mode, truncate, radius)
    return _run_passes(image, passes, number_of(cval), result)


def _complex_parts(function: Parts, image: Any, argument: Any, output: Any, cval: Any, keywords: Any) -> Any:
    """A filter with real weights of a complex image."""
    result = Result(output, image, complex_output=True, region=keywords["region"])
    target = result.target if result.target is not None else result.new(image)
    kind = target.real.dtype if isinstance(target, np.ndarray) else None
    real = function(image.real, argument, output=kind, cval=np.real(cval), **keywords)
    imag = function(image.imag, argument, output=kind, cval=np.imag(cval), **keywords)
    target.real[...] = real
    target.imag[...] = imag
    return _arrays.finished(image, target)


def _derivative(weights: Sequence[float], input: Any, axis: int, output: Any, mode: Any, cval: Any, region: Any) -> Any:
    image = as_array(input)
    axis = one_axis(axis, image.ndim)
    if is_complex(image):
        keywords = {"axis": axis, "mode": mode, "region": region}

        def part(image: Any, weights: Any, axis: int, output: Any, mode: Any, cval: Any, region: Any) -> Any:
            return _derivative(weights, image, axis, output, mode, cval, region)

        return _complex_parts(part, image, weights, output, cval, keywords)
    result = Result(output, image, region=region)
    modes = sequence(mode, image.ndim)
    passes = [_correlate1d_pass([-1, 0, 1], axis, modes[axis], 0)]
    passes += [_correlate1d_pass(weights, d, modes[d], 0) for d in range(image.ndim) if d != axis]
    return _run_passes(image, passes, number_of(cval), result)


def prewitt(
    input: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    region: Any = None,
) -> Any:
    """Prewitt's derivative along an axis."""
    return _derivative([1, 1, 1], input, axis, output, mode, cval, region)


def sobel(
    input: Any,
    axis: int = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    region: Any = None,
) -> Any:
    """Sobel's derivative along an axis."""
    return _derivative([1, 2, 1], input, axis, output, mode, cval, region)


def generic_laplace(
    input: Any,
    derivative2: Callable[..., Any],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The sum of second derivatives, which ``derivative2`` computes along an axis."""
    image = as_array(input)
    if region is not None:
        more = (mode, cval, extra_arguments, extra_keywords)
        return cut(lambda to: generic_laplace(image, derivative2, to, *more, axes=axes), image, output, region)
    result = Result(output, image)
    axes = checked_axes(axes, image.ndim)
    if not axes:
        return result.given(image)
    modes, keywords = sequence(mode, len(axes)), extra_keywords or {}
    target = result.target if result.target is not None else result.new(image)
    derivative2(image, axes[0], target, modes[0], cval, *extra_arguments, **keywords)
    for axis, one in zip(axes[1:], modes[1:]):
        target += derivative2(image, axis, target.dtype, one, cval, *extra_arguments, **keywords)
    return target


def generic_gradient_magnitude(
    input: Any,
    derivative: Callable[..., Any],
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The root of the sum of squared derivatives, which ``derivative`` computes along an axis."""
    image = as_array(input)
    if region is not None:
        more = (mode, cval, extra_arguments, extra_keywords)
        return cut(
            lambda to: generic_gradient_magnitude(image, derivative, to, *more, axes=axes), image, output, region
        )
    result = Result(output, image)
    axes = checked_axes(axes, image.ndim)
    if not axes:
        return result.given(image)
    modes, keywords = sequence(mode, len(axes)), extra_keywords or {}
    target = result.target if result.target is not None else result.new(image)
    derivative(image, axes[0], target, modes[0], cval, *extra_arguments, **keywords)
    target *= target
    for axis, one in zip(axes[1:], modes[1:]):
        part = derivative(image, axis, target.dtype, one, cval, *extra_arguments, **keywords)
        target += part * part
    if isinstance(target, np.ndarray):
        np.sqrt(target, target, casting="unsafe")
    else:
        target[...] = target**0.5
    return target


def _run_chains(image: Any, chains: Sequence[Sequence[Pass]], cval: Any, output: Any, root: bool, region: Any) -> Any:
    result = Result(output, image, region=region)
    if not chains or 0 in result.shape:
        return result.given(image)
    of, to, number = type_name(image), result.type, number_of(cval)
    axes = sorted({one.axis for chain in chains for one in chain})
    if len(result.shape) > 4 and len(axes) > 3:
        return None

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        placed = tuple(_placed(chain, axes, places) for chain in chains)
        return _squares_program(rank, of, to, placed, number, root)

    return run_folded(len(result.shape), axes, build, [image], result)


def laplace(
    input: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The sum of second differences."""
    image = as_array(input)
    if not is_complex(image):
        found = checked_axes(axes, image.ndim)
        modes = sequence(mode, len(found))
        chains = [[_correlate1d_pass([1, -2, 1], axis, one, 0)] for axis, one in zip(found, modes)]
        done = _run_chains(image, chains, cval, output, False, region)
        if done is not None:
            return done

    def second(input: Any, axis: int, output: Any, mode: Any, cval: Any) -> Any:
        return correlate1d(input, [1, -2, 1], axis, output, mode, cval, 0)

    return generic_laplace(image, second, output, mode, cval, axes=axes, region=region)


def _gaussian_chains(
    image: Any, sigma: Any, order: int, mode: Any, axes: Sequence[int], keywords: Any
) -> list[list[Pass]]:
    """For every axis the Gaussians along all axes, that along the axis itself a derivative."""
    modes = sequence(mode, len(axes))
    chains = []
    for axis, one in zip(axes, modes):
        orders = [0] * image.ndim
        orders[axis] = order
        chains.append(
            _gaussian_passes(
                range(image.ndim), sigma, orders, one, keywords.get("truncate", 4.0), keywords.get("radius")
            )
        )
    return chains


def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    region: Any = None,
    **kwargs: Any,
) -> Any:
    """The sum of second derivatives of Gaussians."""
    image = as_array(input)
    found = checked_axes(axes, image.ndim)
    sigmas = expanded_origin(image.ndim, found, sigma)
    if not is_complex(image) and not set(kwargs) - {"truncate", "radius"}:
        chains = _gaussian_chains(image, sigmas, 2, mode, found, kwargs)
        if all(chains):
            done = _run_chains(image, chains, cval, output, False, region)
            if done is not None:
                return done

    def second(input: Any, axis: int, output: Any, mode: Any, cval: Any, sigma: Any, **kwargs: Any) -> Any:
        order = [0] * input.ndim
        order[axis] = 2
        return gaussian_filter(input, sigma, order, output, mode, cval, **kwargs)

    return generic_laplace(image, second, output, mode, cval, (sigmas,), kwargs, axes=axes, region=region)


def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    region: Any = None,
    **kwargs: Any,
) -> Any:
    """The root of the sum of squared derivatives of Gaussians."""
    image = as_array(input)
    found = checked_axes(axes, image.ndim)
    if not is_complex(image) and not set(kwargs) - {"truncate", "radius"}:
        chains = _gaussian_chains(image, sigma, 1, mode, found, kwargs)
        if all(chains):
            done = _run_chains(image, chains, cval, output, True, region)
            if done is not None:
                return done

    def first(input: Any, axis: int, output: Any, mode: Any, cval: Any, sigma: Any, **kwargs: Any) -> Any:
        order = [0] * input.ndim
        order[axis] = 1
        return gaussian_filter(input, sigma, order, output, mode, cval, **kwargs)

    return generic_gradient_magnitude(image, first, output, mode, cval, (sigma,), kwargs, axes=axes, region=region)
