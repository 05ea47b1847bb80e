"""Windows of more than four dimensions, which Tessera does not have: small cases, by NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_PAD = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}

Array = npt.NDArray[Any]


def shifted(
    image: Array, shape: Sequence[int], lo: Sequence[int], mode: str, cval: float
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The image as each place of a window sees it."""
    reach = [(max(0, -a), max(0, n - 1 + a)) for n, a in zip(shape, lo)]
    keywords: Any = {"constant_values": cval} if _PAD[mode] == "constant" else {}
    padded = np.pad(image.astype(np.float64), reach, mode=_PAD[mode], **keywords)  # type: ignore[call-overload]
    for place in np.ndindex(*shape):
        starts = [before + a + k for (before, _), a, k in zip(reach, lo, place)]
        yield place, padded[tuple(slice(s, s + n) for s, n in zip(starts, image.shape))]


def as_type(value: Array, to: str) -> Array:
    """Doubles as C casts them."""
    if to.startswith("float"):
        return value.astype(to)
    whole = value.astype(np.int64)
    return (whole.astype(np.uint8) != 0) if to == "bool" else whole.astype(to)


def correlated(image: Array, weights: Array, lo: Sequence[int], mode: str, cval: float, to: str) -> Array:
    """The sum of weights times neighbours."""
    total = np.zeros(image.shape)
    for place, seen in shifted(image, weights.shape, lo, mode, cval):
        if weights[place] != 0:
            total += weights[place] * seen
    return as_type(total, to)


def ranked(image: Array, footprint: Array, lo: Sequence[int], mode: str, cval: float, rank: int, to: str) -> Array:
    """The neighbour of a rank among those of a footprint."""
    seen = [s for place, s in shifted(image, footprint.shape, lo, mode, cval) if footprint[place]]
    return as_type(np.partition(np.stack(seen), rank, axis=0)[rank], to)


def structured(
    image: Array, footprint: Array, structure: Array, lo: Sequence[int], mode: str, cval: float, low: bool, to: str
) -> Array:
    """The least neighbour less a structure, or the greatest with it."""
    sign = -1.0 if low else 1.0
    seen = [
        s + sign * structure[place] for place, s in shifted(image, footprint.shape, lo, mode, cval) if footprint[place]
    ]
    stack = np.stack(seen)
    return as_type(stack.min(axis=0) if low else stack.max(axis=0), to)
