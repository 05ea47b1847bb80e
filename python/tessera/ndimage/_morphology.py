"""Morphology of grey images."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tessera import _core
from tessera.ndimage._extremes import Window, boxed, extreme_filter, shaped, window_of
from tessera.ndimage._graph import CARRIER, Graph, Image
from tessera.ndimage._support import (
    Result,
    as_array,
    cached,
    check_real,
    checked_axes,
    cut,
    number_of,
    run,
    sequence,
    type_name,
)


def _check_given(size: Any, footprint: Any, structure: Any) -> None:
    if size is None and footprint is None and structure is None:
        raise ValueError("size, footprint, or structure must be specified")


def _reflected(rank: int, size: Any, footprint: Any, structure: Any, origin: Any, axes: Any) -> tuple[Any, Any, Any]:
    """Footprint, structure and origins of a dilation."""
    if structure is not None:
        structure = np.flip(np.asarray(structure))
    if footprint is not None:
        footprint = np.flip(np.asarray(footprint))
    origins = sequence(origin, len(checked_axes(axes, rank)))
    for k, number in enumerate(origins):
        if footprint is not None:
            extent = footprint.shape[k]
        elif structure is not None:
            extent = structure.shape[k]
        else:
            extent = size if np.isscalar(size) else size[k]
        origins[k] = -number - (not extent & 1)
    return footprint, structure, origins


def grey_erosion(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The least neighbour, less the structure."""
    _check_given(size, footprint, structure)
    return extreme_filter(input, size, footprint, structure, output, mode, cval, origin, True, axes, region)


def grey_dilation(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The greatest neighbour, with the structure, both seen from the other side."""
    _check_given(size, footprint, structure)
    image = as_array(input)
    footprint, structure, origins = _reflected(image.ndim, size, footprint, structure, origin, axes)
    return extreme_filter(image, size, footprint, structure, output, mode, cval, origins, False, axes, region)


# Two windows in one program: what is computed is one of these words.
_OPENING, _CLOSING, _GRADIENT, _LAPLACE, _WHITE, _BLACK = range(6)


def _one(graph: Graph, image: Image, window: Window, cval: float, low: bool, to: str) -> Image:
    if window.shape is not None:
        return shaped(graph, image, window.shape, cval, low, to)
    return graph.to_type(boxed(graph, image, window.boxes, cval, low, to), to)


@cached
def _pair_program(
    rank: int, of: str, to: str, what: int, least: Window, greatest: Window, cval: float
) -> _core.Program:
    graph = Graph(rank)
    image = graph.input(of)
    between = "uint8" if of == "bool" else of  # SciPy's booleans are bytes
    if what in (_OPENING, _WHITE):
        first = _one(graph, image, least, cval, True, between)
        second = _one(graph, first, greatest, cval, False, to)
    elif what in (_CLOSING, _BLACK):
        first = _one(graph, image, greatest, cval, False, between)
        second = _one(graph, first, least, cval, True, to)
    else:
        first = _one(graph, image, greatest, cval, False, between)
        second = _one(graph, image, least, cval, True, between)
    if what in (_OPENING, _CLOSING):
        return graph.program(second)
    here, after = graph.here(image), graph.here(second)
    if of == "bool":
        value = graph.op("ne", here, after)
        return graph.program(graph.stage(value, "bool"))
    if what == _WHITE:
        value = graph.op("sub", here, after)
    elif what == _BLACK:
        value = graph.op("sub", after, here)
    elif what == _GRADIENT:
        value = graph.op("sub", graph.here(first), after)
    else:
        value = graph.op("sub", graph.op("sub", graph.op("add", graph.here(first), after), here), here)
    carrier = CARRIER[of]
    arithmetic = carrier if carrier in ("float32", "float64", "uint32") else "int32"
    return graph.program(graph.stage(graph.cast(graph.p.convert(arithmetic, value), arithmetic, of), of))


def _pair(
    input: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    what: int,
    output: Any,
    region: Any,
) -> Any:
    """Both windows in one program, or None where that cannot be: the caller computes one after the other."""
    image = as_array(input)
    check_real(image)
    of = type_name(image)
    result = Result(output, image, region=region)
    if not 1 <= image.ndim <= 4 or 0 in result.shape or not {of, result.type} <= set(CARRIER):
        return None
    if what not in (_OPENING, _CLOSING) and (result.type != of or (of == "bool" and what in (_GRADIENT, _LAPLACE))):
        return None
    least = window_of(image.ndim, size, footprint, structure, mode, origin, axes)
    footprint, structure, origins = _reflected(image.ndim, size, footprint, structure, origin, axes)
    greatest = window_of(image.ndim, size, footprint, structure, mode, origins, axes)
    if not least.boxes and least.shape is None:  # nothing but a conversion, which is NumPy's
        return None
    number = number_of(cval)
    if not _continued(least) and not _continued(greatest):
        number = 0.0
    return run(_pair_program(image.ndim, of, result.type, what, least, greatest, number), [image], result)


def _continued(window: Window) -> bool:
    modes = window.shape.modes if window.shape is not None else [box.mode for box in window.boxes]
    return "constant" in modes


def _warn(size: Any, footprint: Any) -> Any:
    """The size that counts."""
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=3)
        return None
    return size


def grey_opening(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """An erosion, and a dilation of it."""
    size = _warn(size, footprint)
    _check_given(size, footprint, structure)
    window = (size, footprint, structure)
    done = _pair(input, *window, mode, cval, origin, axes, _OPENING, output, region)
    if done is not None:
        return done
    eroded = grey_erosion(input, *window, None, mode, cval, origin, axes=axes)
    return grey_dilation(eroded, *window, output, mode, cval, origin, axes=axes, region=region)


def grey_closing(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """A dilation, and an erosion of it."""
    size = _warn(size, footprint)
    _check_given(size, footprint, structure)
    window = (size, footprint, structure)
    done = _pair(input, *window, mode, cval, origin, axes, _CLOSING, output, region)
    if done is not None:
        return done
    dilated = grey_dilation(input, *window, None, mode, cval, origin, axes=axes)
    return grey_erosion(dilated, *window, output, mode, cval, origin, axes=axes, region=region)


def morphological_gradient(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """A dilation less an erosion."""
    _check_given(size, footprint, structure)
    window = (size, footprint, structure)
    image = as_array(input)
    target = output if isinstance(output, np.ndarray) else None
    done = _pair(input, *window, mode, cval, origin, axes, _GRADIENT, target, region)
    if done is not None:
        return done
    if region is not None:
        more = (mode, cval, origin)
        return cut(lambda to: morphological_gradient(image, *window, to, *more, axes=axes), image, target, region)
    dilated = grey_dilation(input, *window, None, mode, cval, origin, axes=axes)
    if target is not None:
        grey_erosion(input, *window, target, mode, cval, origin, axes=axes)
        return np.subtract(dilated, target, target)
    return dilated - grey_erosion(input, *window, None, mode, cval, origin, axes=axes)


def morphological_laplace(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """A dilation and an erosion less twice the image."""
    _check_given(size, footprint, structure)
    window = (size, footprint, structure)
    image = as_array(input)
    target = output if isinstance(output, np.ndarray) else None
    done = _pair(input, *window, mode, cval, origin, axes, _LAPLACE, target, region)
    if done is not None:
        return done
    if region is not None:
        more = (mode, cval, origin)
        return cut(lambda to: morphological_laplace(image, *window, to, *more, axes=axes), image, target, region)
    dilated = grey_dilation(image, *window, None, mode, cval, origin, axes=axes)
    value = grey_erosion(image, *window, target, mode, cval, origin, axes=axes)
    value += dilated
    value -= image
    value -= image
    return value


def _tophat(
    input: Any,
    window: tuple[Any, Any, Any],
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    white: bool,
    region: Any,
) -> Any:
    _check_given(*window)
    done = _pair(input, *window, mode, cval, origin, axes, _WHITE if white else _BLACK, output, region)
    if done is not None:
        return done
    image = as_array(input)
    if region is not None:
        more = (mode, cval, origin, axes, white, None)
        return cut(lambda to: _tophat(image, window, to, *more), image, output, region)
    between = (grey_opening if white else grey_closing)(image, *window, output, mode, cval, origin, axes=axes)
    if type_name(image) == type_name(between) == "bool":
        between ^= image
    elif white:
        np.subtract(image, between, out=between)
    else:
        np.subtract(between, image, out=between)
    return between


def white_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The image less its opening."""
    window = (_warn(size, footprint), footprint, structure)
    return _tophat(input, window, output, mode, cval, origin, axes, True, region)


def black_tophat(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The closing less the image."""
    window = (_warn(size, footprint), footprint, structure)
    return _tophat(input, window, output, mode, cval, origin, axes, False, region)
