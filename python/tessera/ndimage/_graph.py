"""What filters are made of: stages of one pipeline, with SciPy's rules for types.

An image of a graph has a SciPy type. int8 is carried by int16, 64-bit integers by float64, which is how SciPy computes with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tessera import _core

CARRIER = {
    "bool": "bool",
    "uint8": "uint8",
    "int8": "int16",
    "uint16": "uint16",
    "int16": "int16",
    "uint32": "uint32",
    "int32": "int32",
    "uint64": "float64",
    "int64": "float64",
    "float32": "float32",
    "float64": "float64",
}
SMALL = {"bool": 1, "uint8": 255, "int8": 128, "uint16": 65535, "int16": 32768}  # greatest absolute values
_RANGES = {"bool": (0, 1), "uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}
_RANGES |= {"uint32": (0, 2**32 - 1), "int32": (-(2**31), 2**31 - 1)}

WRITTEN_OUT = 128  # more weights than this become a table
WIDENED_ONCE = 12  # from as many reads on, doubles are made of integers once, not at every read

Weights = npt.NDArray[np.float64]
Modes = tuple[str, ...]
Reader = Callable[[Sequence[object]], int]


class Image(NamedTuple):
    """An input or a stage: its number in the pipeline and its SciPy type."""

    id: int
    type: str


def is_float(type: str) -> bool:
    """Whether a SciPy type is one of floats."""
    return type.startswith("float")


def holds(type: str, value: float) -> bool:
    """Whether images of this type can be continued by this constant."""
    if is_float(type):
        return True
    lo, hi = _RANGES.get(type, (-math.inf, math.inf))
    return float(value).is_integer() and lo <= value <= hi


class Graph:
    """A pipeline while it is built."""

    def __init__(self, rank: int) -> None:
        self.p = _core.Pipeline()
        self.rank = rank
        self._names = 0

    def name(self) -> str:
        """A name that no stage has."""
        self._names += 1
        return f"s{self._names}"

    def input(self, type: str) -> Image:
        """The next array that runs are given."""
        return Image(self.p.input(self.name(), CARRIER[type], self.rank)[0], type)

    def program(self, *outputs: Image) -> _core.Program:
        """The program whose results are these images."""
        names = [""] if len(outputs) == 1 else [f"out{k}" for k in range(len(outputs))]
        return self.p.compile([(name, [image.id], None) for name, image in zip(names, outputs)])

    # ---- values --------------------------------------------------------------------------------------------------

    def op(self, name: str, *values: int) -> int:
        """An operation on values."""
        return self.p.apply(name, values)

    def number(self, type: str, value: float) -> int:
        """A constant."""
        return self.p.constant(type, value)

    def joined(self, name: str, values: Sequence[int]) -> int:
        """Values joined by an associative operation, as a balanced tree."""
        values = list(values)
        while len(values) > 1:
            pairs = [self.op(name, a, b) for a, b in zip(values[::2], values[1::2])]
            values = pairs + values[len(pairs) * 2 :]
        return values[0]

    def stage(self, value: int, type: str) -> Image:
        """A value of a carrier as an image."""
        return Image(self.p.stage(self.name(), value), type)

    def here(self, image: Image) -> int:
        """The image at the point."""
        return self.p.read(image.id, [0] * self.rank)

    def cast(self, value: int, of: str, to: str, bound: float = math.inf) -> int:
        """A value of int32, uint32, float32 or float64 as x86 casts it to a SciPy type, in that type's carrier.

        Where its absolute value is below ``bound``, what lies beyond 32 bits need not be thought of.
        """
        if is_float(to):
            return value if of == to else self.p.convert(to, value)
        if to in ("int64", "uint64"):
            value = value if of == "float64" else self.p.convert("float64", value)
            return self.op("trunc", value) if is_float(of) else value
        if is_float(of) and to == "uint32":
            whole = self.op("trunc", value if of == "float64" else self.p.convert("float64", value))
            turns = self.op("floor", self.op("mul", whole, self.number("float64", 2.0**-32)))
            turned = self.op("mul", turns, self.number("float64", 2.0**32))
            return self.p.convert("uint32", self.op("sub", whole, turned))
        if (is_float(of) and bound >= 2**31) or (of == "uint32" != to):
            inside = self.op("lt", value, self.number(of, 2.0**31))
            value = self.p.select(inside, self.p.convert("int32", value), self.number("int32", -(2.0**31)))
        if to == "bool":
            return self.op("ne", self.p.convert("uint8", value), self.number("int32", 0))
        if to == "int8":
            low = self.op("and", self.p.convert("int32", value), self.number("int32", 255))
            sign = self.number("int32", 128)
            return self.p.convert("int16", self.op("sub", self.op("xor", low, sign), sign))
        return self.p.convert(to, value)

    def stored(self, image: Image) -> Image:
        """What reading a stored image of 64 bits without a sign gives: its negative numbers are large ones."""
        if image.type != "uint64":
            return image
        value, most = self.here(image), self.number("float64", 2.0**64)
        below = self.op("lt", value, self.number("float64", 0))
        wrapped = self.p.select(below, self.op("add", value, most), value)
        inside = self.op("lt", value, most)
        return self.stage(self.p.select(inside, wrapped, self.number("float64", 0)), "uint64")

    def to_type(self, image: Image, to: str) -> Image:
        """An image in another type, as C casts it."""
        if image.type == to:
            return image
        value = self.here(image)
        of = CARRIER[image.type]
        if of in ("bool", "uint8", "uint16", "int16"):
            value, of = self.p.convert("int32", value), "int32"
        return self.stage(self.cast(value, of, to), to)

    # ---- neighbours ----------------------------------------------------------------------------------------------

    def reader(self, image: Image, modes: Modes, cval: float, arithmetic: str, reads: int = 1) -> Reader:
        """Reads neighbours, continued by the modes, as values that promote to the arithmetic type."""
        carrier = CARRIER[image.type]
        many = reads >= WIDENED_ONCE and arithmetic == "float64" != carrier
        if many or ("constant" in modes and not holds(image.type, cval)):
            value = self.p.convert(arithmetic, self.here(image))
            image, carrier = Image(self.p.stage(self.name(), value), arithmetic), arithmetic
        view = self.p.borders(image.id, [(mode, cval if mode == "constant" else 0.0) for mode in modes])
        widen = carrier != arithmetic and is_float(arithmetic)

        def read(offsets: Sequence[object]) -> int:
            value = self.p.read(view, offsets)  # type: ignore[arg-type]
            return self.p.convert(arithmetic, value) if widen else value

        return read

    def linear(
        self, image: Image, weights: Weights, lo: Sequence[int], modes: Modes, cval: float, to: str, divisor: int = 1
    ) -> Image:
        """The sum of weights times neighbours, the first weight at the offset ``lo``, divided, as the type ``to``."""
        integral = is_integral(weights) and ("constant" not in modes or float(cval).is_integer())
        arithmetic = arithmetic_of(image.type, to, weights if integral else None, cval if "constant" in modes else 0.0)
        exact = integral and divisor == 1
        if arithmetic == "float32" and not is_integral(weights):
            weights = rounded(weights)
        scale = 1.0
        if arithmetic == "float64" and not is_float(to) and not exact:
            far = "constant" in modes and abs(cval) > 2**16  # beyond small types: sums come to more than these hold
            scale = 1.0 + tolerance("int64" if far else image.type, to)
        places = np.argwhere(weights != 0)
        read = self.reader(image, modes, cval, arithmetic, len(places))
        factor = scale if divisor == 1 else 1.0
        if len(places) == 0:
            own = self.p.convert("int32", read([0] * self.rank))  # of the image's extents, whatever it holds
            total = self.p.convert(arithmetic, self.op("sub", own, own))
        elif len(places) == weights.size and weights.size > 2 and np.all(weights == weights.flat[0]):
            total = self._box(read, weights.shape, lo)
            if weights.flat[0] * factor != 1:
                total = self.op("mul", total, self.number(arithmetic, float(weights.flat[0]) * factor))
        elif len(places) <= WRITTEN_OUT:
            total = self._written_out(read, weights * factor, places, lo, arithmetic)
        else:
            total = self._window(read, weights * factor, lo, arithmetic)
        if divisor != 1 and arithmetic == "int32" and is_float(to):
            arithmetic = to
            total = self.op("div", self.p.convert(to, total), self.number(to, divisor))
        elif divisor != 1 and arithmetic == "int32":
            total = self.op("div", total, self.number("int32", divisor))
        elif divisor != 1:
            total = self.op("mul", total, self.number(arithmetic, scale / divisor))
        elif exact and arithmetic == "float64" and not is_float(image.type):
            total = self.op("round", total)  # an integer, whatever way the sum was taken
        bound = math.inf
        if image.type in SMALL:
            greatest = max(SMALL[image.type], abs(cval) if "constant" in modes else 0.0)
            bound = float(np.abs(weights).sum()) * greatest / divisor * 1.001
        return self.stage(self.cast(total, arithmetic, to, bound), to)

    def _written_out(
        self, read: Reader, weights: Weights, places: npt.NDArray[np.intp], lo: Sequence[int], arithmetic: str
    ) -> int:
        total = -1
        for place in places:
            weight = float(weights[tuple(place)])
            term = read([int(at) + low for at, low in zip(place, lo)])
            if weight not in (1.0, -1.0) or (weight < 0 and total < 0):
                term = self.op("mul", term, self.number(arithmetic, weight))
            if total < 0:
                total = term if is_float(arithmetic) else self.p.convert(arithmetic, term)
            else:
                total = self.op("sub" if weight == -1.0 else "add", total, term)
        return total

    def _offsets(self, shape: Sequence[int], lo: Sequence[int]) -> tuple[list[int], list[object], list[int]]:
        """Window variables of a box, the offsets that they are, and their places from 0 as values."""
        wide = [d for d in range(self.rank) if shape[d] > 1]
        ids = self.p.variables([(0, shape[d] - 1) for d in wide])
        offsets: list[object] = list(lo)
        places = [self.number("int32", 0)] * self.rank
        for d, id in zip(wide, ids):
            offsets[d] = (lo[d], [(id, 1)])
            places[d] = self.p.offset((0, [(id, 1)]))
        return ids, offsets, places

    def _box(self, read: Reader, shape: Sequence[int], lo: Sequence[int]) -> int:
        ids, offsets, _ = self._offsets(shape, lo)
        return self.p.reduce("sum", ids, read(offsets))

    def _window(self, read: Reader, weights: Weights, lo: Sequence[int], arithmetic: str) -> int:
        table = self.p.table(self.name(), np.ascontiguousarray(weights, dtype=arithmetic))
        ids, offsets, places = self._offsets(weights.shape, lo)
        return self.p.reduce("sum", ids, self.op("mul", self.p.lookup(table, places), read(offsets)))

    # ---- minima and maxima ---------------------------------------------------------------------------------------

    def widened(self, image: Image, modes: Modes, cval: float) -> Image:
        """The image, in a type that holds the constant that continues it."""
        if "constant" not in modes or holds(image.type, cval):
            return image
        whole = image.type in SMALL and float(cval).is_integer() and abs(cval) < 2**31
        to = "int32" if whole else "float64"
        return Image(self.p.stage(self.name(), self.p.convert(to, self.here(image))), to)

    def extreme1d(self, image: Image, axis: int, lo: int, size: int, mode: str, cval: float, low: bool) -> Image:
        """The least or greatest of ``size`` neighbours along an axis, from the offset ``lo`` on."""
        if size == 1 and lo == 0:
            return image
        modes = ["none"] * self.rank
        modes[axis] = mode
        view = self.p.borders(image.id, [(m, cval if m == "constant" else 0.0) for m in modes])
        offsets: list[object] = [0] * self.rank
        if size <= 3:
            values = []
            for k in range(size):
                offsets[axis] = lo + k
                values.append(self.p.read(view, offsets))  # type: ignore[arg-type]
            value = self.joined("min" if low else "max", values)
        else:
            ids = self.p.variables([(lo, lo + size - 1)])
            offsets[axis] = (0, [(ids[0], 1)])
            value = self.p.reduce("rmin" if low else "rmax", ids, self.p.read(view, offsets))  # type: ignore[arg-type]
        return self.stage(self.kept(value, image.type), image.type)

    def kept(self, value: int, type: str) -> int:
        """A value that a type holds, as its carrier."""
        return value if is_float(CARRIER[type]) else self.p.convert(CARRIER[type], value)

    def extreme(
        self, image: Image, footprint: npt.NDArray[np.bool_], lo: Sequence[int], modes: Modes, cval: float, low: bool
    ) -> Image:
        """The least or greatest neighbour in a footprint, in a type that holds the constant as well."""
        image = self.widened(image, modes, cval)
        if footprint.all():
            for d in range(self.rank):
                image = self.extreme1d(image, d, lo[d], footprint.shape[d], modes[d], cval, low)
            return image
        runs = runs_of(footprint)
        if len(runs) == int(footprint.sum()) or int(footprint.sum()) <= 12:
            parts = [(image, [int(a) + b for a, b in zip(place, lo)]) for place in np.argwhere(footprint)]
        else:
            along: dict[tuple[int, int], Image] = {}
            parts = []
            last = self.rank - 1
            for place, size in runs:
                key = (place[last] + lo[last], size)
                if key not in along:
                    along[key] = self.extreme1d(image, last, *key, modes[last], cval, low)
                parts.append((along[key], [a + b for a, b in zip(place[:last], lo[:last])] + [0]))
        values = []
        for part, offsets in parts:
            view = self.p.borders(part.id, [(m, cval if m == "constant" else 0.0) for m in modes])
            values.append(self.p.read(view, offsets))
        value = self.joined("min" if low else "max", values)
        return self.stage(self.kept(value, image.type), image.type)


def runs_of(footprint: npt.NDArray[np.bool_]) -> list[tuple[tuple[int, ...], int]]:
    """The runs of a footprint along its last axis: where each begins, and how many it has."""
    runs: list[tuple[tuple[int, ...], int]] = []
    for row in np.ndindex(footprint.shape[:-1]):
        line = np.concatenate(([False], footprint[row], [False])).astype(np.int8)
        edges = np.flatnonzero(np.diff(line))
        runs += [((*row, int(a)), int(b - a)) for a, b in zip(edges[::2], edges[1::2])]
    return runs


def c_cast(value: float, type: str) -> float:
    """A number as x86 casts it to a SciPy type, of bytes for booleans; 64-bit integers stay doubles."""
    if is_float(type) or not math.isfinite(value):
        return value
    whole = math.trunc(value)
    if type in ("int64", "uint64"):
        return float(whole)
    bits = {"bool": 8, "uint8": 8, "int8": 8, "uint16": 16, "int16": 16}.get(type, 32)
    if type != "uint32" and not -(2**31) <= whole < 2**31:
        whole = -(2**31)
    whole %= 1 << bits
    return float(whole - (1 << bits) if type.startswith("int") and whole >> (bits - 1) else whole)


def rounded(weights: Weights) -> Weights:
    """Weights in single precision whose sum is that of the weights, so that means do not drift."""
    single = weights.astype(np.float32).astype(np.float64)
    if np.all(np.isfinite(single)):
        largest = np.unravel_index(int(np.argmax(np.abs(single))), single.shape)
        single[largest] = np.float32(single[largest] - (single.sum() - weights.sum()))
    return single


def is_integral(weights: Weights) -> bool:
    """Whether all weights are integers."""
    return bool(np.all(np.isfinite(weights)) and np.all(weights == np.trunc(weights)))


def tolerance(of: str, to: str) -> float:
    """How near below an integer, relatively, a result counts as that integer. It stays far below 1 for all that images
    of the type come to, since a result beyond its type wraps."""
    wide = {"int32": 2.0**-42, "uint32": 2.0**-42, "int64": 2.0**-51, "uint64": 2.0**-51}
    return min(wide.get(of, 1e-9), wide.get(to, 1e-9))


def arithmetic_of(of: str, to: str, integers: Weights | None, cval: float) -> str:
    """The type in which a sum is computed; ``integers`` are the weights where all of them and the constant are."""
    if integers is not None and of in SMALL and to != "float32":
        greatest = max(SMALL[of], abs(cval))
        if float(np.abs(integers).sum()) * greatest < 2**31:
            return "int32"
    if to == "float32" and (of == "float32" or of in SMALL):
        return "float32"
    return "float64"
