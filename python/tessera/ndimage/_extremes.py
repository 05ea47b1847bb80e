"""Minima and maxima of boxes, footprints and structures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.ndimage import _windows
from tessera.ndimage._graph import SMALL, Graph, Image, c_cast, is_float, is_integral
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
    one_axis,
    run_folded,
    sequence,
    type_name,
    whole,
)


class Box(NamedTuple):
    """An extreme of ``size`` neighbours along an axis."""

    axis: int
    lo: int
    size: int
    mode: str


class Shape(NamedTuple):
    """A footprint, and what is added to its places."""

    footprint: bytes
    structure: bytes  # of doubles, empty where it is flat
    shape: tuple[int, ...]
    lo: tuple[int, ...]
    modes: tuple[str, ...]

    def places(self) -> npt.NDArray[np.bool_]:
        """The footprint as an array."""
        return np.frombuffer(self.footprint, np.bool_).reshape(self.shape)


def boxed(graph: Graph, image: Image, boxes: Sequence[Box], cval: float, low: bool, to: str) -> Image:
    """One dimension after the other, each giving the type ``to``."""
    for box in boxes:
        image = graph.widened(image, (box.mode,), cval)
        image = graph.extreme1d(image, box.axis, box.lo, box.size, box.mode, cval, low)
        image = graph.to_type(image, to)
    return image


def shaped(graph: Graph, image: Image, shape: Shape, cval: float, low: bool, to: str) -> Image:
    """The least or greatest of a footprint, with a structure."""
    footprint = shape.places()
    if image.type == "bool":  # SciPy's booleans are bytes
        image = graph.to_type(image, "uint8")
    of = image.type
    cval = c_cast(cval, of)
    if not shape.structure:
        return graph.to_type(graph.extreme(image, footprint, shape.lo, shape.modes, cval, low), to)
    structure = np.frombuffer(shape.structure, np.float64).reshape(shape.shape)
    integral = is_integral(structure[footprint]) and np.abs(structure[footprint]).max() < 2**30
    arithmetic = "float32" if of == "float32" else "int32" if integral and of in SMALL else "float64"
    read = graph.reader(image, shape.modes, cval, arithmetic)
    values: list[int] = []
    for place in np.argwhere(footprint):
        value = read([int(a) + b for a, b in zip(place, shape.lo)])
        number = float(structure[tuple(place)]) * (-1 if low else 1)
        if number != 0:
            value = graph.op("add", value, graph.number(arithmetic, number))
            if values and not is_float(of):  # SciPy's sums wrap before they are compared, all but the first
                value = graph.p.convert(arithmetic, graph.cast(value, arithmetic, of))
        values.append(value)
    value = graph.p.convert(arithmetic, graph.joined("min" if low else "max", values))
    return graph.stage(graph.cast(value, arithmetic, to), to)


@cached
def _boxes_program(rank: int, of: str, to: str, boxes: tuple[Box, ...], cval: float, low: bool) -> _core.Program:
    graph = Graph(rank)
    return graph.program(boxed(graph, graph.input(of), boxes, cval, low, to))


@cached
def _shape_program(rank: int, of: str, to: str, shape: Shape, cval: float, low: bool) -> _core.Program:
    graph = Graph(rank)
    return graph.program(shaped(graph, graph.input(of), shape, cval, low, to))


def _run_boxes(image: Any, boxes: Sequence[Box], cval: float, low: bool, result: Result) -> Any:
    if not boxes or 0 in result.shape:
        return result.given(image)
    if not any(box.mode == "constant" for box in boxes):
        cval = 0.0
    axes = [box.axis for box in boxes]
    if len(result.shape) > 4 and len(axes) > 3:
        for box in boxes[:-1]:
            image = _run_boxes(image, [box], cval, low, Result(np.dtype(result.type), image))
        boxes, axes = boxes[-1:], axes[-1:]
    of, to = type_name(image), result.type

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        placed = tuple(box._replace(axis=place) for box, place in zip(boxes, places))
        return _boxes_program(rank, of, to, placed, cval, low)

    return run_folded(len(result.shape), axes, build, [image], result)


def _extreme1d(
    input: Any, size: Any, axis: int, output: Any, mode: Any, cval: Any, origin: int, low: bool, region: Any
) -> Any:
    image = as_array(input)
    check_real(image)
    axis = one_axis(axis, image.ndim)
    size = whole(size)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    result = Result(output, image, region=region)
    check_origins([origin], [size])
    box = Box(axis, -(size // 2) - int(origin), size, mode_of(mode))
    return _run_boxes(image, [box], number_of(cval), low, result)


def minimum_filter1d(
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
    """The least of ``size`` neighbours along an axis."""
    return _extreme1d(input, size, axis, output, mode, cval, origin, True, region)


def maximum_filter1d(
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
    """The greatest of ``size`` neighbours along an axis."""
    return _extreme1d(input, size, axis, output, mode, cval, origin, False, region)


class Window(NamedTuple):
    """What an extreme is taken of: boxes along axes, or a shape of the image's rank."""

    boxes: tuple[Box, ...]
    shape: Shape | None


def window_of(rank: int, size: Any, footprint: Any, structure: Any, mode: Any, origin: Any, axes: Any) -> Window:
    """A checked window."""
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=5)
    if structure is None:
        if footprint is None:
            if size is None:
                raise RuntimeError("no footprint provided")
        else:
            footprint = np.asarray(footprint, dtype=bool)
            if not footprint.any():
                raise ValueError("All-zero footprint is not supported.")
            if footprint.all():
                size, footprint = footprint.shape, None
    else:
        structure = np.asarray(structure, dtype=np.float64)
        footprint = np.ones(structure.shape, bool) if footprint is None else np.asarray(footprint, dtype=bool)
    axes = checked_axes(axes, rank)
    if footprint is None:
        sizes, origins = sequence(size, len(axes)), sequence(origin, len(axes))
        boxes = []
        for axis, n, o, m in zip(axes, sizes, origins, sequence(mode, len(axes))):
            if n > 1:
                check_origins([o], [int(n)])
                boxes.append(Box(axis, -(int(n) // 2) - int(o), int(n), mode_of(m)))
        return Window(tuple(boxes), None)
    count = footprint.ndim
    footprint = expanded_footprint(rank, axes, footprint)
    origins = expanded_origin(rank, axes, origin)
    if len([n for n in footprint.shape if n > 0]) != rank:
        raise RuntimeError(f"footprint.ndim ({count}) must match len(axes) ({len(axes)})")
    check_origins(origins, footprint.shape)
    numbers = b""
    if structure is not None:
        if structure.ndim != len(axes):
            raise RuntimeError("structure array has incorrect shape")
        structure = expanded_footprint(rank, axes, structure, "structure")
        if structure.shape != footprint.shape:
            raise RuntimeError("structure array has incorrect shape")
        if np.any(structure[footprint] != 0):
            numbers = np.ascontiguousarray(structure).tobytes()
    if is_sequence(mode):
        raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    word = mode_of(mode)
    lo = tuple(-(n // 2) - int(o) for n, o in zip(footprint.shape, origins))
    modes = tuple(word if n > 1 or a else "none" for n, a in zip(footprint.shape, lo))
    places = np.ascontiguousarray(footprint).tobytes()
    return Window((), Shape(places, numbers, footprint.shape, lo, modes))


def folded_shape(shape: Shape, touched: Sequence[int], rank: int, places: Sequence[int]) -> Shape:
    """The shape where its touched axes stand at these places of another rank."""
    sizes, lo, modes = [1] * rank, [0] * rank, ["none"] * rank
    for d, place in zip(touched, places):
        sizes[place], lo[place], modes[place] = shape.shape[d], shape.lo[d], shape.modes[d]
    return shape._replace(shape=tuple(sizes), lo=tuple(lo), modes=tuple(modes))


def extreme_filter(
    input: Any,
    size: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    low: bool,
    axes: Any,
    region: Any = None,
) -> Any:
    """A minimum or a maximum filter."""
    image = as_array(input)
    window = window_of(image.ndim, size, footprint, structure, mode, origin, axes)
    check_real(image)
    result = Result(output, image, region=region)
    number = number_of(cval)
    shape = window.shape
    if shape is None:
        return _run_boxes(image, window.boxes, number, low, result)
    if 0 in result.shape:
        return result.given(image)
    if "constant" not in shape.modes:
        number = 0.0
    touched = [d for d in range(image.ndim) if shape.shape[d] > 1]
    if image.ndim > 4 and len(touched) > 4:
        structure = np.frombuffer(shape.structure).reshape(shape.shape) if shape.structure else None
        structure = np.zeros(shape.shape) if structure is None else structure
        arguments = (shape.places(), structure, shape.lo, mode, number, low, result.type)
        return result.given(_windows.structured(image, *arguments))
    of, to = type_name(image), result.type

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        return _shape_program(rank, of, to, folded_shape(shape, touched, rank, places), number, low)

    return run_folded(image.ndim, touched, build, [image], result)


def minimum_filter(
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
    """The least neighbour in a box or a footprint."""
    return extreme_filter(input, size, footprint, None, output, mode, cval, origin, True, axes, region)


def maximum_filter(
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
    """The greatest neighbour in a box or a footprint."""
    return extreme_filter(input, size, footprint, None, output, mode, cval, origin, False, axes, region)
