"""Filters of images that have been transformed."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import _arrays, _core
from tessera.ndimage._graph import CARRIER, Graph, Image
from tessera.ndimage._memory import empty
from tessera.ndimage._support import (
    as_array,
    cached,
    extents_of,
    is_foreign,
    one_axis,
    part_of,
    sequence,
    type_name,
)

Numbers = npt.NDArray[np.float64]
Part = tuple[slice, ...] | None

#: Sizes without end, and transforms of no samples, are what SciPy makes of them, in silence.
_QUIET = functools.partial(np.errstate, divide="ignore", invalid="ignore", over="ignore")


def _output(output: Any, image: Any, part: Part, complex_output: bool) -> Any:
    """The array of the result; where NumPy's is to be made, its type."""
    shape, name = image.shape if part is None else extents_of(part), type_name(image)
    if name not in CARRIER and not name.startswith("complex"):
        raise RuntimeError(f"data type {name!r} not supported")
    kinds = (np.complex64, np.complex128) + (() if complex_output else (np.float32, np.float64))
    dtype: Any = None
    if output is None:
        kept = ("complex64", "complex128") + (() if complex_output else ("float32",))
        default = "complex128" if complex_output else "float64"
        dtype = image.dtype if name in kept else default
        output = name if name in kept else default
    elif type(output) is type:
        if output not in kinds:
            raise RuntimeError("output type not supported")
        output = np.dtype(output).name
    elif tuple(output.shape) != tuple(shape):
        raise RuntimeError("output shape not correct")
    else:
        return output
    if is_foreign(image):
        return _arrays.empty_like(image, tuple(shape), output)
    return np.dtype(output if dtype is None else dtype)


def _frequencies(size: int, axis: bool, n: int) -> Numbers:
    """Cycles a sample of the coefficients along an axis; of a real transform of ``n`` samples where that is given."""
    if axis and n >= 0:
        with _QUIET():
            return np.arange(size, dtype=np.float64) / n
    k = np.arange(size, dtype=np.float64)
    return np.where(k < (size + 1) // 2, k, k - size) / size


def _separable(image: Any, factors: Sequence[Any], output: Any, part: Part) -> Any:
    """The image times a factor for every axis."""
    used = [d for d, factor in enumerate(factors) if np.any(factor != 1)]  # of the whole: 1 changes nan and -0
    if part is not None:
        image = image[part]
        factors = [factor[p] for factor, p in zip(factors, part)]
    return _multiplied(image, factors, used, output)


def _multiplied(image: Any, factors: Sequence[Any], used: Sequence[int], output: Any) -> Any:
    rank = image.ndim
    if 0 in image.shape:
        return _array(output, image)
    if rank == 0 or rank > 4 or not _taken(image) or not _taken(output):
        value, output = image, _array(output, image)
        for d, factor in enumerate(factors):
            value = value * np.reshape(factor, [-1 if e == d else 1 for e in range(rank)])
        output[...] = value if type_name(output).startswith("complex") else np.real(value)
        return output
    if _is_plain(image, output) and not any(np.iscomplexobj(factor) for factor in factors):
        parts = [*factors[:-1], np.repeat(factors[-1], 2)]  # both parts times the same: twice as many columns
        wide = np.dtype(image.real.dtype.name)
        target = wide if isinstance(output, np.dtype) else output.view(wide)
        value = _multiplied(image.view(wide), parts, used, target)
        return value.view(_name(output)) if isinstance(output, np.dtype) else output
    of, to = _kinds(image), _kinds(output)
    wide = "float32" if of[0] == "float32" == to[0] else "float64"
    complexes = tuple(np.iscomplexobj(factors[d]) for d in used)
    program = _factors_program(rank, of, to, wide, tuple(used), complexes)
    inputs = [image]
    for d, made in zip(used, complexes):
        inputs.append(_there(np.ascontiguousarray(np.real(factors[d])), image, wide))
        if made:
            inputs.append(_there(np.ascontiguousarray(np.imag(factors[d])), image, wide))
    return _run(program, inputs, output)


def _is_plain(image: Any, output: Any) -> bool:
    """Whether both are NumPy's complex numbers of one native type, one after the other."""
    for array in (image, output):
        if isinstance(array, np.ndarray) and not (array.dtype.isnative and array.flags.c_contiguous):
            return False
        if not isinstance(array, (np.ndarray, np.dtype)) or not _name(array).startswith("complex"):
            return False
    return _name(image) == _name(output) and (not isinstance(output, np.dtype) or output.isnative)


def _there(numbers: Any, image: Any, wide: str) -> Any:
    """Numbers where the image is."""
    numbers = numbers.astype(wide)
    root = _arrays._root(image)
    if root == "torch":
        return sys.modules["torch"].from_numpy(numbers).to(image.device)
    return sys.modules["cupy"].asarray(numbers) if root == "cupy" else numbers


def _name(of: Any) -> str:
    """The name of an array's type, or of a type."""
    return of.name if isinstance(of, np.dtype) else type_name(of)


def _taken(array: Any) -> bool:
    return _name(array) in ("complex64", "complex128", "float32", "float64")


def _kinds(array: Any) -> tuple[str, bool]:
    """The type of the parts, and whether there are two."""
    name = _name(array)
    return {"complex64": "float32", "complex128": "float64"}.get(name, name), name.startswith("complex")


def _run(program: _core.Program, inputs: list[Any], output: Any) -> Any:
    """The result, in ``output`` where that is an array, new where it is a type."""
    image = inputs[0]
    if isinstance(image, np.ndarray) and not image.dtype.isnative:
        inputs[0] = image.astype(image.dtype.newbyteorder("="))
    if isinstance(output, np.dtype):
        value = empty(image.shape, output.name)
        program.run(inputs, [_planes(value)])
        return value if output.isnative else value.astype(output)
    if not isinstance(output, np.ndarray):
        program.run(inputs, [_planes(output)])
        return output
    apart = not isinstance(image, np.ndarray) or not np.may_share_memory(image, output)
    plain = output.dtype.isnative and output.flags.c_contiguous and apart
    target = output if plain else np.empty(output.shape, output.dtype.newbyteorder("="))
    program.run(inputs, [_planes(target)])
    if target is not output:
        output[...] = target
    return _arrays.finished(image, output)


def _planes(array: Any) -> Any:
    """Complex numbers as pairs in a last dimension."""
    name = type_name(array)
    if not name.startswith("complex"):
        return array
    if hasattr(array, "is_complex"):  # torch
        return array.real.as_strided((*array.shape, 2), (*(2 * s for s in array.stride()), 1))
    return array.view("float32" if name == "complex64" else "float64").reshape((*array.shape, 2))


def _array(output: Any, image: Any) -> Any:
    """An array where only a type is known."""
    return np.zeros(image.shape, output) if isinstance(output, np.dtype) else output


class _Parts:
    """A graph of an image of one or two parts."""

    def __init__(self, rank: int, of: tuple[str, bool], wide: str) -> None:
        self.graph = Graph(rank)
        p = self.graph.p
        self.wide = wide
        self.extents = [p.size(f"n{d}") for d in range(rank)]
        fields = ["re", "im"] if of[1] else None
        self.images = p.input("image", of[0], rank, self.extents, fields)
        values = [p.convert(wide, p.read(image, [0] * rank)) for image in self.images]
        self.re, self.im = values[0], values[1] if of[1] else -1

    def numbers(self, name: str, d: int) -> int:
        """The number for the point of an input along one axis."""
        p = self.graph.p
        image = p.input(name, self.wide, 1, [self.extents[d]])[0]
        if d == self.graph.rank - 1:
            return p.read(image, [0])
        return p.gather(image, [p.coord(d)])

    def scale(self, factor: int) -> None:
        """Times a real number."""
        self.re = self.graph.op("mul", self.re, factor)
        if self.im >= 0:
            self.im = self.graph.op("mul", self.im, factor)

    def turn(self, a: int, b: int) -> None:
        """Times a + b i."""
        op = self.graph.op
        if self.im < 0:
            self.re, self.im = op("mul", self.re, a), op("mul", self.re, b)
        else:
            re = op("sub", op("mul", self.re, a), op("mul", self.im, b))
            self.re, self.im = re, op("add", op("mul", self.re, b), op("mul", self.im, a))

    def program(self, to: tuple[str, bool]) -> _core.Program:
        """The program of the result."""
        graph, p = self.graph, self.graph.p
        parts = [self.re]
        if to[1]:
            parts.append(self.im if self.im >= 0 else graph.op("mul", self.re, graph.number(self.wide, 0)))
        images = [Image(p.stage(graph.name(), p.convert(to[0], part)), to[0]).id for part in parts]
        return p.compile([("", images, ["re", "im"] if to[1] else None)])


@cached
def _factors_program(
    rank: int, of: tuple[str, bool], to: tuple[str, bool], wide: str, used: tuple[int, ...], complexes: tuple[bool, ...]
) -> _core.Program:
    parts = _Parts(rank, of, wide)
    for d, made in zip(used, complexes):
        a = parts.numbers(f"re{d}", d)
        if made:
            parts.turn(a, parts.numbers(f"im{d}", d))
        else:
            parts.scale(a)
    return parts.program(to)


def _by_axes(
    input: Any,
    values: Any,
    n: int,
    axis: int,
    output: Any,
    region: Any,
    turns: bool,
    factor: Callable[[float, Any], Any],
) -> Any:
    """Times a factor of its frequency along each axis, which ``factor`` has of a value; one that ``turns`` is complex."""
    image = as_array(input)
    part = part_of(region, image.shape)
    output = _output(output, image, part, turns)
    axis = one_axis(axis, image.ndim)
    factors = []
    for d, value in enumerate(sequence(values, image.ndim)):
        with _QUIET():
            factors.append(factor(float(value), _frequencies(image.shape[d], d == axis, n)))
    return _separable(image, factors, output, part)


def fourier_gaussian(
    input: Any,
    sigma: Any,
    n: int = -1,
    axis: int = -1,
    output: Any = None,
    *,
    region: Any = None,
) -> Any:
    """The transform of the image filtered by a Gaussian."""
    return _by_axes(input, sigma, n, axis, output, region, False, lambda s, f: np.exp(-2.0 * (np.pi * s * f) ** 2))


def _box(size: float, f: Any) -> Any:
    # Without a box, as SciPy has it, the mean alone is left.
    factor = np.sinc(f * size) if size > 0 else np.zeros(len(f))
    factor[:1] = 1
    return factor


def fourier_uniform(
    input: Any,
    size: Any,
    n: int = -1,
    axis: int = -1,
    output: Any = None,
    *,
    region: Any = None,
) -> Any:
    """The transform of the image filtered by a box."""
    return _by_axes(input, size, n, axis, output, region, False, _box)


def _turn(shift: float, f: Any) -> Any:
    moved = shift != 0 or not np.isfinite(f).all()
    return np.exp(-2j * np.pi * shift * f) if moved else np.ones(len(f))


def fourier_shift(
    input: Any,
    shift: Any,
    n: int = -1,
    axis: int = -1,
    output: Any = None,
    *,
    region: Any = None,
) -> Any:
    """The transform of the image shifted."""
    return _by_axes(input, shift, n, axis, output, region, True, _turn)


# Rational approximations of the Bessel function of order 1 (Numerical Recipes, as in SciPy), below 8 and from there on.
_NEAR = (
    (72362614232.0, -7895059235.0, 242396853.1, -2972611.439, 15704.48260, -30.16036606),
    (144725228442.0, 2300535178.0, 18583304.74, 99447.43394, 376.9991397, 1.0),
)
_FAR = (
    (1.0, 0.183105e-2, -0.3516396496e-4, 0.2457520174e-5, -0.240337019e-6),
    (0.04687499995, -0.2002690873e-3, 0.8449199096e-5, -0.88228987e-6, 0.105787412e-6),
)


def _polynomial(graph: Graph, x: int, numbers: Sequence[float]) -> int:
    total = graph.number("float64", numbers[-1])
    for number in reversed(numbers[:-1]):
        total = graph.op("add", graph.op("mul", total, x), graph.number("float64", number))
    return total


def _bessel(graph: Graph, x: int) -> int:
    """J1 of x >= 0."""
    op, number = graph.op, graph.number
    square = op("mul", x, x)
    near = op("div", op("mul", x, _polynomial(graph, square, _NEAR[0])), _polynomial(graph, square, _NEAR[1]))
    z = op("div", number("float64", 8.0), op("max", x, number("float64", 1.0)))
    y = op("mul", z, z)
    angle = op("sub", x, number("float64", 2.356194491))
    a = op("mul", op("cos", angle), _polynomial(graph, y, _FAR[0]))
    b = op("mul", op("mul", z, op("sin", angle)), _polynomial(graph, y, _FAR[1]))
    root = op("sqrt", op("div", op("mul", z, number("float64", 0.636619772)), number("float64", 8.0)))
    far = op("mul", root, op("sub", a, b))
    return graph.p.select(op("lt", x, number("float64", 8.0)), near, far)


@cached
def _ellipsoid_program(rank: int, of: tuple[str, bool], to: tuple[str, bool]) -> _core.Program:
    parts = _Parts(rank, of, "float64")
    graph = parts.graph
    op, number = graph.op, graph.number
    total = -1
    for d in range(rank):
        a = parts.numbers(f"f{d}", d)
        square = op("mul", a, a)
        total = square if total < 0 else op("add", total, square)
    r = op("sqrt", total)
    safe = op("max", r, number("float64", 1e-300))
    if rank == 1:
        value = op("div", op("sin", r), r)
    elif rank == 2:
        value = op("div", op("mul", number("float64", 2.0), _bessel(graph, safe)), safe)
    else:
        difference = op("sub", op("sin", safe), op("mul", safe, op("cos", safe)))
        cube = op("mul", safe, op("mul", safe, safe))
        value = op("div", op("mul", number("float64", 3.0), difference), cube)
    zero, one = number("float64", 0.0), number("float64", 1.0)
    if rank > 1:  # SciPy's 1 where it is no number, too
        value = graph.p.select(op("lt", zero, r), value, one)
    else:
        value = graph.p.select(op("eq", r, zero), one, value)
    parts.scale(value)
    return parts.program(to)


def fourier_ellipsoid(
    input: Any,
    size: Any,
    n: int = -1,
    axis: int = -1,
    output: Any = None,
    *,
    region: Any = None,
) -> Any:
    """The transform of the image filtered by an ellipsoid."""
    image = as_array(input)
    if image.ndim > 3:
        raise NotImplementedError("Only 1d, 2d and 3d inputs are supported")
    part = part_of(region, image.shape)
    output = _output(output, image, part, False)
    if 0 in image.shape:
        return _array(output, image)
    axis = one_axis(axis, image.ndim)
    seen = image if part is None else image[part]
    inputs = [seen if _taken(image) else seen.astype(np.float64)]
    for d, s in enumerate(sequence(size, image.ndim)):
        f = _frequencies(image.shape[d], d == axis, n)
        with _QUIET():
            numbers = np.pi * float(s) * f
        inputs.append(_there(numbers if part is None else numbers[part[d]], image, "float64"))
    return _run(_ellipsoid_program(image.ndim, _kinds(inputs[0]), _kinds(output)), inputs, output)
