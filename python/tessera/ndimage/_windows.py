"""Windows of more than four dimensions, which Tessera does not have: small cases, by NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.ndimage._graph import c_cast, is_float, is_integral, tolerance
from tessera.ndimage._support import mode_of

_PAD = {"symmetric": "symmetric", "mirror": "reflect", "clamp": "edge", "wrap": "wrap", "constant": "constant"}

Array = npt.NDArray[Any]


def shifted(
    image: Array, shape: Sequence[int], lo: Sequence[int], mode: str, cval: float
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The image as each place of a window sees it."""
    how = _PAD[mode_of(mode)]
    reach = [(max(0, -a), max(0, n - 1 + a)) for n, a in zip(shape, lo)]
    keywords: Any = {"constant_values": cval} if how == "constant" else {}
    padded = np.pad(image.astype(np.float64), reach, mode=how, **keywords)  # type: ignore[call-overload]
    for place in np.ndindex(*shape):
        starts = [before + a + k for (before, _), a, k in zip(reach, lo, place)]
        yield place, padded[tuple(slice(s, s + n) for s, n in zip(starts, image.shape))]


def as_type(value: Array, to: str) -> Array:
    """Doubles in the carrier of a SciPy type, as ``Graph.cast`` casts them: beyond 32 bits they are the least int32, as on
    x86, and of 64 bits the doubles themselves, cut."""
    if is_float(to):
        return value.astype(to)
    whole = np.trunc(value)
    if to in ("int64", "uint64"):
        return whole
    if to == "uint32":
        inside = np.isfinite(whole)
        return np.mod(np.where(inside, whole, 0), 2.0**32).astype(np.uint32)
    inside = np.abs(whole) < 2.0**31
    narrow = np.where(inside, whole, -(2.0**31)).astype(np.int32)
    return (narrow.astype(np.uint8) != 0) if to == "bool" else narrow.astype(to)


def correlated(image: Array, weights: Array, lo: Sequence[int], mode: str, cval: float, to: str) -> Array:
    """The sum of weights times neighbours, converted as ``Graph.linear`` converts it."""
    total = np.zeros(image.shape)
    for place, seen in shifted(image, weights.shape, lo, mode, cval):
        if weights[place] != 0:
            total += weights[place] * seen
    constant = mode_of(mode) == "constant"
    whole = is_integral(weights) and (not constant or float(cval).is_integer())
    if not is_float(to) and not whole:
        far = constant and abs(cval) > 2**16
        total *= 1.0 + tolerance("int64" if far else image.dtype.name, to)
    return as_type(total, to)


def ranked(image: Array, footprint: Array, lo: Sequence[int], mode: str, cval: float, rank: int, to: str) -> Array:
    """The neighbour of a rank among those of a footprint."""
    seen = [s for place, s in shifted(image, footprint.shape, lo, mode, cval) if footprint[place]]
    return as_type(np.partition(np.stack(seen), rank, axis=0)[rank], to)


def structured(
    image: Array, footprint: Array, structure: Array, lo: Sequence[int], mode: str, cval: float, low: bool, to: str
) -> Array:
    """The least neighbour less a structure, or the greatest with it. SciPy's sums wrap before they are compared, all but the
    first."""
    of = "uint8" if image.dtype == bool else image.dtype.name
    seen: list[Array] = []
    for place, s in shifted(image, footprint.shape, lo, mode, c_cast(cval, of)):
        if not footprint[place]:
            continue
        number = float(structure[place]) * (-1 if low else 1)
        value = s + number
        seen.append(as_type(value, of).astype(np.float64) if number != 0 and seen and not is_float(of) else value)
    stack = np.stack(seen)
    return as_type(stack.min(axis=0) if low else stack.max(axis=0), to)
