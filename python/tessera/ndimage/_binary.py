"""Morphology of binary images."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._errors import ArgumentError
from tessera.ndimage import _windows
from tessera.ndimage._steps import (
    BLOCK,
    Structure,
    coarse_program,
    fine_program,
    hit_or_miss_program,
    loop_program,
    spreads,
    steps_program,
)
from tessera.ndimage._support import (
    Result,
    as_array,
    check_real,
    checked_axes,
    expanded_footprint,
    expanded_origin,
    is_foreign,
    run_folded,
    sequence,
    type_name,
    usable,
)

_STEPS = 8  # iterations of one program
_BETWEEN = 8  # iterations between two tests of a loop
_WORTH = 1 << 18  # elements of an image of which blocks are


def generate_binary_structure(rank: int, connectivity: int) -> npt.NDArray[np.bool_]:
    """The neighbours of which at most ``connectivity`` coordinates differ, as a structure of size 3."""
    if rank < 1:
        return np.array(True, dtype=bool)
    distance = np.abs(np.indices([3] * rank) - 1).sum(axis=0)
    near: npt.NDArray[np.bool_] = distance <= max(connectivity, 1)
    return near


def iterate_structure(structure: Any, iterations: int, origin: Any = None) -> Any:
    """A structure dilated by itself; with an origin also the origin that it has then."""
    structure = np.asarray(structure)
    if iterations < 2:
        return structure.copy()
    more = iterations - 1
    found = np.zeros([n + more * (n - 1) for n in structure.shape], bool)
    starts = [more * (n // 2) for n in structure.shape]
    found[tuple(slice(s, s + n) for s, n in zip(starts, structure.shape))] = structure != 0
    found = binary_dilation(found, structure, iterations=more)
    if origin is None:
        return found
    return found, [iterations * o for o in sequence(origin, structure.ndim)]


def _structure_of(
    image: Any, structure: Any, border: Any, origin: Any, axes: Sequence[int], dilation: bool
) -> tuple[Structure, bool]:
    """A checked structure of the image's rank, and whether it holds its point."""
    rank = image.ndim
    if structure is None:
        structure = generate_binary_structure(len(axes), 1)
    structure = np.asarray(structure, dtype=bool)
    structure = expanded_footprint(rank, axes, structure, "structure")
    if structure.ndim != rank:
        raise RuntimeError("structure and input must have same dimensionality")
    if structure.size < 1:
        raise RuntimeError("structure must not be empty")
    origins = expanded_origin(rank, axes, origin)
    for n, o in zip(structure.shape, origins):
        if n // 2 + o < 0 or n // 2 + o >= n:
            raise RuntimeError("invalid origin")
    centre = bool(structure[tuple(o + n // 2 for n, o in zip(structure.shape, origins))])
    lo = tuple(-(n // 2) - int(o) for n, o in zip(structure.shape, origins))
    places = np.ascontiguousarray(structure).tobytes()
    return Structure(places, structure.shape, lo, int(bool(border)), dilation), centre


def _reflected(rank: int, structure: Any, origin: Any, axes: Sequence[int]) -> tuple[Any, list[Any]]:
    """Structure and origins of a dilation."""
    if structure is None:
        structure = generate_binary_structure(len(axes), 1)
    origins = sequence(origin, len(axes))
    structure = np.flip(np.asarray(structure))
    return structure, [-o - (not structure.shape[k] & 1) for k, o in enumerate(origins)]


def _placed(structure: Structure, touched: Sequence[int], rank: int, places: Sequence[int]) -> Structure:
    shape, lo = [1] * rank, [0] * rank
    for d, place in zip(touched, places):
        shape[place], lo[place] = structure.shape[d], structure.lo[d]
    return structure._replace(shape=tuple(shape), lo=tuple(lo))


def _result(image: Any, output: Any, region: Any) -> Result:
    if isinstance(output, np.ndarray) or is_foreign(output):
        if type_name(output).startswith("complex"):
            raise TypeError("Complex output type not supported")
        return Result(output, image, region=region)
    result = Result(None, image, region=region)
    result.type = "bool"
    return result


def _repeated(
    image: Any,
    structures: Sequence[Structure],
    centre: bool,
    iterations: int,
    mask: Any,
    result: Result,
    inverted: bool,
) -> Any:
    """``iterations`` of each structure in turn, until nothing changes where that is less than 1."""
    if 0 in result.shape:
        return result.given(image)
    touched = sorted({d for s in structures for d in range(image.ndim) if s.shape[d] > 1})
    if image.ndim > 4 and len(touched) > 4:
        return result.given(_large(image, structures, iterations, mask, inverted))
    inputs = [image] if mask is None else [image, mask]
    to, masked = result.type, mask is not None
    count = iterations * len(structures)
    if iterations >= 1 and count <= _STEPS:
        chain = [s for s in structures for _ in range(iterations)]
        return _run_steps(inputs, chain, touched, to, masked, result, inverted)
    between = Result("uint8", image)
    for k, structure in enumerate(structures):
        last = k == len(structures) - 1
        target, kind, turn = (result, to, inverted) if last else (between, "uint8", False)
        if iterations < 1:
            inputs[0] = _run_loop(inputs, structure, centre, touched, kind, masked, target, turn)
            continue
        left = iterations
        while left > _STEPS:
            inputs[0] = _run_steps(inputs, [structure] * _STEPS, touched, "uint8", masked, between, False)
            left -= _STEPS
        inputs[0] = _run_steps(inputs, [structure] * left, touched, kind, masked, target, turn)
    return inputs[0]


def _run_steps(
    inputs: Sequence[Any],
    chain: Sequence[Structure],
    touched: Sequence[int],
    to: str,
    masked: bool,
    result: Result,
    inverted: bool,
) -> Any:
    of = type_name(inputs[0])

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        placed = tuple(_placed(s, touched, rank, places) for s in chain)
        return steps_program(rank, of, to, masked, placed, inverted)

    return run_folded(inputs[0].ndim, touched, build, inputs, result)


def _run_loop(
    inputs: Sequence[Any],
    structure: Structure,
    centre: bool,
    touched: Sequence[int],
    to: str,
    masked: bool,
    result: Result,
    inverted: bool,
) -> Any:
    if masked and _is_large(inputs[0], touched) and spreads(structure):
        inputs = [_approached(inputs, structure, touched), inputs[1]]
    of = type_name(inputs[0])
    steps = _BETWEEN if centre else 1  # with its point in it, a structure changes nothing any more once it has not

    def build(rank: int, places: tuple[int, ...]) -> _core.Program:
        return loop_program(rank, of, to, masked, _placed(structure, touched, rank, places), steps, inverted)

    return run_folded(inputs[0].ndim, touched, build, inputs, result)


def _is_large(image: Any, touched: Sequence[int]) -> bool:
    """Whether blocks of an image are worth a look."""
    if not 1 <= image.ndim <= 4 or not touched or math.prod(image.shape) < _WORTH:
        return False
    return bool(min(image.shape[d] for d in touched) >= 4 * BLOCK)


def _approached(inputs: Sequence[Any], structure: Structure, touched: Sequence[int]) -> Any:
    """An image on its way to where dilations within a mask end: blocks that are all of the mask are gone through at once."""
    image, mask = inputs
    between = Result(np.dtype(bool), image)
    image = _run_steps([image, mask], [structure] * _STEPS, touched, "bool", True, between, False)
    rank, wide = image.ndim, tuple(touched)
    seeds, free = coarse_program(rank, "bool", wide).run([usable(image), usable(mask)])
    cross = generate_binary_structure(rank, 1)
    for d in set(range(rank)) - set(touched):
        cross = cross.take([1], axis=d)
    lo = tuple(-(n // 2) for n in cross.shape)
    plain = Structure(cross.tobytes(), cross.shape, lo, 0, True)
    coarse = _run_loop([seeds, free], plain, True, touched, "bool", True, Result(np.dtype(bool), seeds), False)
    return fine_program(rank, "bool", wide).run([usable(image), coarse])[0]


def _large(image: Any, structures: Sequence[Structure], iterations: int, mask: Any, inverted: bool) -> Any:
    """More than four dimensions at once, by NumPy."""
    current = np.asarray(image) != 0
    for s in structures:
        zero = np.zeros(s.shape)
        left = iterations
        while True:
            found = _windows.structured(current, s.array(), zero, s.lo, "constant", s.border, not s.dilation, "bool")
            found = found if mask is None else np.where(mask, found, current)
            same, current, left = bool((found == current).all()), found, left - 1
            if left == 0 or (iterations < 1 and same):
                break
    return ~current if inverted else current


def _mask_of(mask: Any, image: Any) -> Any:
    if mask is None:
        return None
    mask = as_array(mask)
    if tuple(mask.shape) != tuple(image.shape):
        raise RuntimeError("mask and input must have equal sizes")
    return mask if type_name(mask) == "bool" else mask != 0


def _check_whole(region: Any, what: str) -> None:
    """Raises for a part of what is known only when all of it is."""
    if region is not None:
        raise ArgumentError(
            f"region is given, but {what} on until nothing changes in the whole image",
            help="leave region out, and take the part of the result: (...)[10:20, 5:9]",
        )


def _binary(
    input: Any,
    structure: Any,
    iterations: Any,
    mask: Any,
    output: Any,
    border: Any,
    origin: Any,
    axes: Any,
    kinds: Sequence[bool],
    inverted: bool = False,
    region: Any = None,
) -> Any:
    """Erosions (False) and dilations (True) in a row."""
    try:
        iterations = operator.index(iterations)
    except TypeError as why:
        raise TypeError("iterations parameter should be an integer") from why
    if iterations < 1:
        _check_whole(region, f"{iterations} iterations go")
    image = as_array(input)
    check_real(image)
    axes = checked_axes(axes, image.ndim)
    structures, centre = [], True
    for dilation in kinds:
        own, origins = structure, origin
        if dilation:
            own, origins = _reflected(image.ndim, structure, origin, axes)
        made, holds = _structure_of(image, own, border, origins, axes, dilation)
        structures.append(made)
        centre = centre and holds
    mask = _mask_of(mask, image)
    return _repeated(image, structures, centre, iterations, mask, _result(image, output, region), inverted)


def binary_erosion(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """Where all neighbours of a structure are set."""
    return _binary(input, structure, iterations, mask, output, border_value, origin, axes, [False], region=region)


def binary_dilation(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """Where a neighbour of a structure, seen from the other side, is set."""
    return _binary(input, structure, iterations, mask, output, border_value, origin, axes, [True], region=region)


def binary_opening(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """Erosions, and as many dilations of what they leave."""
    return _binary(input, structure, iterations, mask, output, border_value, origin, axes, [False, True], region=region)


def binary_closing(
    input: Any,
    structure: Any = None,
    iterations: int = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: int = 0,
    brute_force: bool = False,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """Dilations, and as many erosions of what they give."""
    return _binary(input, structure, iterations, mask, output, border_value, origin, axes, [True, False], region=region)


def binary_hit_or_miss(
    input: Any,
    structure1: Any = None,
    structure2: Any = None,
    output: Any = None,
    origin1: Any = 0,
    origin2: Any = None,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """Where all neighbours of one structure are set and none of the other is; None where ``output`` is an array."""
    image = as_array(input)
    axes = checked_axes(axes, image.ndim)
    structure1 = generate_binary_structure(len(axes), 1) if structure1 is None else np.asarray(structure1)
    structure2 = np.logical_not(structure1) if structure2 is None else structure2
    origin1 = sequence(origin1, len(axes))
    origin2 = origin1 if origin2 is None else sequence(origin2, len(axes))
    check_real(image)
    hit, _ = _structure_of(image, structure1, 0, origin1, axes, False)
    # Where a neighbour of the second is set: a dilation whose structure is seen as it is.
    miss, _ = _structure_of(image, structure2, 0, origin2, axes, True)
    result = _result(image, output, region)
    if 0 in result.shape:
        return result.given(image) if result.target is None else None
    touched = [d for d in range(image.ndim) if max(hit.shape[d], miss.shape[d]) > 1]
    if image.ndim > 4 and len(touched) > 4:
        value = _large(image, [hit], 1, None, False) & ~_large(image, [miss], 1, None, False)
        value = result.given(value)
    else:
        of, to = type_name(image), result.type

        def build(rank: int, places: tuple[int, ...]) -> _core.Program:
            one, two = _placed(hit, touched, rank, places), _placed(miss, touched, rank, places)
            return hit_or_miss_program(rank, of, to, one, two)

        value = run_folded(image.ndim, touched, build, [image], result)
    return None if result.target is not None else value


def binary_propagation(
    input: Any,
    structure: Any = None,
    mask: Any = None,
    output: Any = None,
    border_value: int = 0,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """Dilations within the mask until nothing changes."""
    _check_whole(region, "binary_propagation goes")
    return _binary(input, structure, -1, mask, output, border_value, origin, axes, [True])


def binary_fill_holes(
    input: Any,
    structure: Any = None,
    output: Any = None,
    origin: Any = 0,
    *,
    axes: Any = None,
    region: Any = None,
) -> Any:
    """The image with its holes: what cannot be reached from outside; None where ``output`` is an array."""
    _check_whole(region, "binary_fill_holes goes")
    image = as_array(input)
    empty = np.zeros(image.shape, bool) if isinstance(image, np.ndarray) else (image == 0) & (image != 0)
    mask = np.logical_not(image) if isinstance(image, np.ndarray) else image == 0
    value = _binary(empty, structure, -1, mask, output, 1, origin, axes, [True], inverted=True)
    return None if isinstance(output, np.ndarray) else value
