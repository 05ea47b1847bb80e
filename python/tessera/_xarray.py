"""xarray's arrays in, xarray's arrays out, with what they are labelled with. It is not loaded here."""

from __future__ import annotations

import sys
from typing import Any

from tessera._regions import Box


def unwrapped(arrays: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
    """What lies in DataArrays, and the first of these."""
    xarray = sys.modules.get("xarray")
    if xarray is None:
        return arrays, None
    cls = getattr(xarray, "DataArray", None)
    if cls is None:
        return arrays, None
    like = next((a for a in arrays if isinstance(a, cls)), None)
    if like is None:
        return arrays, None
    return tuple(a.data if isinstance(a, cls) else a for a in arrays), like


def wrapped(result: Any, like: Any, part: tuple[Box, tuple[int, ...]] | None = None) -> Any:
    """A result with the dimensions, coordinates, attributes and name of ``like``; or the part of it that has a box, and
    the shape of the whole.

    Coordinates along a dimension whose extent has changed are dropped; a result of another rank stays as it is."""
    if len(result.shape) != len(like.dims):
        return result
    if part is None:
        whole = tuple(result.shape)
        part = (tuple(0 for _ in whole), whole), whole
    (begin, end), whole = part
    extents = dict(zip(like.dims, whole, strict=False))
    changed = {d for d in like.dims if extents.get(d, like.sizes[d]) != like.sizes[d]}
    coords = {n: c for n, c in like.coords.items() if not changed.intersection(c.dims)}
    for d, first, last in zip(like.dims, begin, end, strict=False):
        coords = {n: c.isel({d: slice(first, last)}) if d in c.dims else c for n, c in coords.items()}
    return type(like)(result, dims=like.dims, coords=coords, attrs=like.attrs, name=like.name)
