"""Arguments as scipy.ndimage takes them, arrays in and out, and the cache of programs."""

from __future__ import annotations

import functools
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from tessera import _arrays, _borders, _core, _regions
from tessera._errors import ArgumentError
from tessera.ndimage._graph import CARRIER
from tessera.ndimage._memory import empty

_MODES = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "mirror",
    "nearest": "clamp",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}

_NAMES = {np.dtype(name).num: name for name in [*CARRIER, "complex64", "complex128"]}  # dtype.name takes a while

_F = TypeVar("_F", bound=Callable[..., Any])


def cached(build: _F) -> _F:
    """A function of hashable arguments that builds programs; the 256 used last are kept."""
    return functools.lru_cache(256)(build)  # type: ignore[return-value]


# ---- arguments ---------------------------------------------------------------------------------------------------


def mode_of(mode: str) -> str:
    """Tessera's name of a mode; of words that SciPy does not have, what they mean to others."""
    found = _MODES.get(mode) if isinstance(mode, str) else None
    if found is None and isinstance(mode, str):
        found = _borders.ours(mode)
    if found is None or found == "none":
        raise RuntimeError(f"boundary mode not supported: {mode!r}, expected {', '.join(_MODES)}")
    return found


def sequence(value: Any, count: int) -> list[Any]:
    """One value per axis."""
    if not isinstance(value, str) and np.iterable(value):
        values = list(value)
        if len(values) != count:
            raise RuntimeError("sequence argument must have length equal to input rank")
        return values
    return [value] * count


def checked_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """The axes that are filtered, from 0 on."""
    if axes is None:
        return tuple(range(rank))
    if np.isscalar(axes):
        found: tuple[int, ...] = (operator.index(axes),)  # type: ignore[arg-type]
    elif isinstance(axes, Iterable):
        found = tuple(operator.index(axis) for axis in axes)
    else:
        raise ValueError("axes must be an integer, iterable of integers, or None")
    for axis in found:
        if not -rank <= axis < rank:
            if np.isscalar(axes):
                raise np.exceptions.AxisError(axis, rank)
            raise ValueError(f"specified axis: {axis} is out of range")
    found = tuple(axis % rank for axis in found)
    if len(set(found)) != len(found):
        raise ValueError("axes must be unique")
    return found


def one_axis(axis: Any, rank: int) -> int:
    """An axis from 0 on."""
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise np.exceptions.AxisError(number, rank)
    return number % rank


def expanded_origin(rank: int, axes: Sequence[int], origin: Any) -> list[int]:
    """Origins of all axes, of those of some."""
    origins = sequence(origin, len(axes))
    if len(axes) == rank:
        return origins
    found = [0] * rank
    for axis, number in zip(axes, origins):
        found[axis] = number
    return found


def expanded_footprint(rank: int, axes: Sequence[int], footprint: Any, name: str = "footprint") -> Any:
    """A footprint of some axes as one of all."""
    if len(axes) == rank:
        return footprint
    if footprint.ndim != len(axes):
        raise RuntimeError(f"{name}.ndim ({footprint.ndim}) must match len(axes) ({len(axes)})")
    return np.expand_dims(footprint, tuple(axis for axis in range(rank) if axis not in axes))


def check_origins(origins: Sequence[int], shape: Sequence[int]) -> None:
    """Raises where a window does not hold its point."""
    for origin, size in zip(origins, shape):
        if size // 2 + origin < 0 or size // 2 + origin >= size:
            raise ValueError("invalid origin")


def is_sequence(mode: Any) -> bool:
    """Whether there is a mode per axis."""
    return not isinstance(mode, str) and isinstance(mode, Iterable)


def number_of(cval: Any) -> float:
    """The constant beyond the image."""
    if isinstance(cval, str | bytes):
        raise TypeError(f"cval must be real number, not {type(cval).__name__}")
    return float(cval)


def whole(size: Any) -> int:
    """A size along one axis."""
    return operator.index(size)


# ---- arrays ------------------------------------------------------------------------------------------------------


def is_foreign(array: Any) -> bool:
    """Whether an array is of torch, CuPy or JAX."""
    return not isinstance(array, np.ndarray) and _arrays._root(array) != ""


def as_array(given: Any) -> Any:
    """NumPy's array of what is given, or the array of another library as it is."""
    if isinstance(given, _regions.InputWindow):
        raise ArgumentError(
            "input is an InputWindow, which programs take; tessera.ndimage takes the whole image",
            help="give the array of the whole, and region=np.s_[10:20, 5:9]",
        )
    return given if is_foreign(given) else np.asarray(given)


def type_name(array: Any) -> str:
    """The name of an array's elements: "float32"."""
    dtype = array.dtype
    if isinstance(dtype, np.dtype):
        return _NAMES.get(dtype.num) or dtype.name
    return str(dtype).rpartition(".")[2]


def is_complex(array: Any) -> bool:
    """Whether the elements are complex."""
    return type_name(array).startswith("complex")


def check_real(array: Any) -> None:
    """Raises for complex elements."""
    if is_complex(array):
        raise TypeError("Complex type not supported")


def converted(array: Any, name: str) -> Any:
    """An array with elements of another type, which may be the array itself."""
    if type_name(array) == name and not (isinstance(array, np.ndarray) and not array.dtype.isnative):
        return array
    if isinstance(array, np.ndarray):
        if name == "uint64" and array.dtype.kind == "f":  # as processors do it
            with np.errstate(invalid="ignore"):
                high = array >= 2.0**63
                low = np.where(high, array - 2.0**63, array).astype(np.int64).view(np.uint64)
                return np.where(high, low ^ np.uint64(1 << 63), low)
        with np.errstate(invalid="ignore", over="ignore"):
            return array.astype(name)
    if _arrays._root(array) == "torch":
        return array.to(getattr(sys.modules["torch"], name))
    return array.astype(name)


def carried(array: Any) -> Any:
    """An array as Tessera takes it."""
    return converted(array, CARRIER[checked_type(type_name(array))])


def checked_type(name: str) -> str:
    """The name of a type that there is."""
    if name not in CARRIER:
        other = "float64" if name.startswith("float1") and name != "float16" else "float32"
        raise RuntimeError(f"data type {name!r} not supported: write image.astype({other!r})")
    return name


def part_of(region: Any, shape: Sequence[int]) -> tuple[slice, ...] | None:
    """The slices of ``region``, in a result of this shape; None for all of it."""
    if region is None:
        return None
    begin, end = _regions.only_box_of(region, shape)
    part = tuple(slice(b, e) for b, e in zip(begin, end))
    return None if extents_of(part) == tuple(shape) else part


def extents_of(part: Sequence[slice]) -> tuple[int, ...]:
    """As many points as slices have."""
    return tuple(p.stop - p.start for p in part)


def cut(function: Callable[[Any], Any], image: Any, output: Any, region: Any) -> Any:
    """A part of a result that is computed whole: ``function`` takes an ``output``."""
    part = part_of(region, image.shape)
    if part is None:
        return function(output)
    if not isinstance(output, np.ndarray) and not is_foreign(output):
        found = function(output)[part]
        return found.clone() if hasattr(found, "clone") else found.copy()
    if tuple(output.shape) != extents_of(part):
        raise RuntimeError("output shape not correct")
    whole = np.empty(image.shape, output.dtype) if isinstance(output, np.ndarray) else None
    whole = _arrays.empty_like(output, tuple(image.shape), type_name(output)) if whole is None else whole
    function(whole)
    output[...] = whole[part]
    return output


class Result:
    """What ``output=`` and ``region=`` ask for: the type and the part of the result, and the array that it goes to, if any."""

    def __init__(self, output: Any, like: Any, complex_output: bool = False, region: Any = None) -> None:
        self.target: Any = None
        self.whole = tuple(like.shape)
        self.part = part_of(region, self.whole)
        self.shape = self.whole if self.part is None else extents_of(self.part)
        self._like = like
        self._swapped: Any = None  # a type of the other byte order, which the result is to have
        if isinstance(like, np.ndarray) and like.dtype.kind in "US":
            raise TypeError(f"data type {like.dtype.name!r} not understood")
        if output is None:
            name = type_name(like)
            self.type = str(np.promote_types(name, np.complex64)) if complex_output else name
        elif isinstance(output, (type, np.dtype)):
            dtype = np.dtype(output)
            if complex_output and dtype.kind != "c":
                warnings.warn("promoting specified output dtype to complex", stacklevel=4)
                dtype = np.promote_types(dtype, np.complex64)
            self.type, self._swapped = dtype.name, None if dtype.isnative else dtype
        elif isinstance(output, str):
            dtype = np.dtype(output)
            if complex_output and dtype.kind != "c":
                raise RuntimeError("output must have complex dtype")
            if not issubclass(dtype.type, np.number):
                raise RuntimeError("output must have numeric dtype")
            self.type, self._swapped = dtype.name, None if dtype.isnative else dtype
        elif type(output).__module__ == "torch" and not hasattr(output, "shape"):
            self.type = str(output).rpartition(".")[2]
        else:
            self.target = as_array(output)
            if tuple(self.target.shape) != self.shape:
                raise RuntimeError("output shape not correct")
            self.type = type_name(self.target)
            if complex_output and not self.type.startswith("complex"):
                raise RuntimeError("output must have complex dtype")

    def given(self, value: Any) -> Any:
        """The result, which is ``value``: of the right type already, or of its carrier, all of it or the part. Where that is
        the image itself, since nothing was to be done, a copy of it: what comes back is the caller's to change."""
        if self.part is not None and tuple(value.shape) == self.whole:
            value = value[self.part]
        if self.target is None:
            made = converted(value, self.type)
            if self._swapped is not None and isinstance(made, np.ndarray):
                return made.astype(self._swapped)
            if made is not self._like and not _may_share(made, self._like):
                return made
            return made.clone() if hasattr(made, "clone") else made.copy()
        if value is not self.target:
            self.target[...] = converted(value, self.type)
        return self.target

    def new(self, like: Any, type: str = "") -> Any:
        """A new array for it."""
        if isinstance(like, np.ndarray):
            return np.zeros(self.shape, type or self.type)
        return _arrays.empty_like(like, self.shape, type or self.type)


def direct_target(target: Any, inputs: Sequence[Any], type: str) -> Any:
    """The array into which a program may write its result, or None."""
    if target is None or CARRIER.get(type) != type:
        return None
    if isinstance(target, np.ndarray):
        if not (target.dtype.isnative and target.flags.writeable and target.flags.aligned):
            return None
        if target.size and (0 in target.strides or any(s % target.itemsize for s in target.strides)):
            return None
        if _overlaps_itself(target):
            return None
    return None if any(_may_share(target, array) for array in inputs) else target


def _may_share(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b))
    return a is b


def _overlaps_itself(array: np.ndarray[Any, Any]) -> bool:
    reach = array.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1):
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False


def usable(array: Any) -> Any:
    """An array whose strides are whole elements and that is aligned."""
    if isinstance(array, np.ndarray):
        if type(array) is not np.ndarray:
            array = array.view(np.ndarray)
        if not _is_usable(array):
            return array.copy()
    return array


def _is_usable(array: Any) -> bool:
    """Whether an array is taken as it lies in memory."""
    if not isinstance(array, np.ndarray):
        return True
    return array.flags.aligned and array.dtype.isnative and not any(s % array.itemsize for s in array.strides)


def run(program: _core.Program, inputs: Sequence[Any], result: Result, options: _core.Options | None = None) -> Any:
    """Runs a program of inputs of rank 1 to 4 and one output of ``result``'s type."""
    if result.part is not None:
        return _run_part(program, inputs, result, result.part, options)
    arrays = [usable(carried(array)) for array in inputs]
    target = direct_target(result.target, [*inputs, *arrays], result.type)
    if target is not None:
        program.run(arrays, [target], options)
        return target
    if isinstance(arrays[0], np.ndarray):
        value = empty(arrays[0].shape, CARRIER[result.type])
        program.run(arrays, [value], options)
        return result.given(value)
    return result.given(program.run(arrays, None, options)[0])


def _run_part(
    program: _core.Program, inputs: Sequence[Any], result: Result, part: Sequence[slice], options: _core.Options | None
) -> Any:
    """The same of a part of the result; of what is converted or copied only what the part reads."""
    begin, end = tuple(p.start for p in part), tuple(p.stop for p in part)
    arrays: list[Any] = []
    places: list[_regions.Box | None] = []
    read: Sequence[_regions.Box | None] = ()
    for k, array in enumerate(inputs):
        name = CARRIER[type_name(array)]
        place = None
        if name != type_name(array) or not _is_usable(array):
            read = read or program.reads([_hollow(a) for a in inputs], 0, begin, end, options)
            place = read[k]
        if place is not None:
            array = array[tuple(slice(b, e) for b, e in zip(*place))]
        arrays.append(usable(converted(array, name)))
        places.append(None if place is None else (place[0], result.whole))
    target = direct_target(result.target, [*inputs, *arrays], result.type)
    value = target
    if target is None and isinstance(arrays[0], np.ndarray):
        value = empty(result.shape, CARRIER[result.type])
    out = None if value is None else [value]
    made = program.run_region(arrays, places, [(begin, end)], [result.shape], out, options)[0]
    return target if target is not None else result.given(made)


def _hollow(array: Any) -> Any:
    """An array as Tessera takes it, of the same shape, without memory."""
    return np.broadcast_to(np.zeros((), CARRIER[type_name(array)]), tuple(array.shape))


Work = Callable[[int, tuple[int, ...]], _core.Program]


def run_folded(
    rank: int,
    touched: Sequence[int],
    build: Work,
    inputs: Sequence[Any],
    result: Result,
    options: _core.Options | None = None,
) -> Any:
    """Runs the program that ``build`` makes for a rank and the places of the touched axes in it.

    Axes that no filter touches become one where there are more than four; ``inputs`` have the same shape.
    """
    touched = tuple(touched)
    for name in [*map(type_name, inputs), result.type]:
        checked_type(name)
    if 1 <= rank <= 4:
        return run(build(rank, touched), inputs, result, options)
    inputs = [carried(array) for array in inputs]
    if rank == 0:
        value = build(1, ()).run([array.reshape((1,)) for array in inputs], None, options)[0]
        return result.given(value.reshape(()))
    shape = inputs[0].shape
    others = [d for d in range(rank) if d not in touched]
    order = [*others, *touched]
    count, kept = math.prod(shape[d] for d in others), [shape[d] for d in touched]
    moved = [np.transpose(array, order).reshape([count, *kept]) for array in inputs]
    if len(touched) <= 3:
        program = build(1 + len(touched), tuple(range(1, 1 + len(touched))))
        value = program.run([usable(array) for array in moved], None, options)[0]
    elif len(touched) == 4:
        program = build(4, (0, 1, 2, 3))
        slices = [program.run([usable(array[k]) for array in moved], None, options)[0] for k in range(count)]
        value = np.stack(slices)
    else:
        raise NotImplementedError("a window of more than four dimensions is not supported")
    back = value.reshape([shape[d] for d in order]).transpose(np.argsort(order))
    return result.given(back)
