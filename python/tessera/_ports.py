"""What goes into a program and comes out of it: names, shapes, types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tessera import _given, _regions
from tessera._arrays import record_type
from tessera._errors import ArgumentError

_TYPES = {"half": "float16", "float": "float32", "double": "float64"}


@dataclass(frozen=True)
class Port:
    """An input or an output of a program."""

    name: str
    #: False for a number that is given at every run.
    array: bool
    rank: int
    #: As the program writes them: "M x N".
    extents: str
    #: NumPy's name of the element type.
    dtype: str
    #: The planes of the last dimension, none for scalars per point.
    fields: tuple[str, ...]
    #: Where fields have several types: theirs. Such an array is one of structs, ``dtype`` is "struct", and there is no
    #: dimension more.
    types: tuple[str, ...] = ()

    @property
    def numpy_type(self) -> Any:
        """NumPy's type of the elements."""
        import numpy as np

        return record_type(self.fields, self.types) if self.types else np.dtype(self.dtype)

    @property
    def has_planes(self) -> bool:
        """Whether its arrays have a dimension more, of their fields."""
        return bool(self.fields) and not self.types

    def window_shape(self, box: _regions.Box | None) -> tuple[int, ...] | None:
        """Of the array of a window, planes and bytes of structs among the dimensions."""
        if box is None:
            return None
        extents = tuple(e - b for b, e in zip(*box, strict=True))
        if self.types:
            return (*extents, self.numpy_type.itemsize)
        return (*extents, len(self.fields)) if self.has_planes else extents

    def __str__(self) -> str:
        """``image: uint8[M x N] {r, g, b}``; a number is ``gain: float32``."""
        if self.types:
            inner = ", ".join(f"{f}: {t}" for f, t in zip(self.fields, self.types, strict=True))
            return f"{self.name or 'out'}: structs[{self.extents}] {{{inner}}}"
        of = f" {{{', '.join(self.fields)}}}" if self.fields else ""
        return f"{self.name or 'out'}: {self.dtype}" + (f"[{self.extents}]{of}" if self.array else "")


def port_of(said: dict[str, Any]) -> Port:
    mixed = len(set(said["types"])) > 1
    return Port(
        said["name"],
        said["array"],
        said["rank"],
        said["extents"],
        "struct" if mixed else _TYPES.get(said["type"], said["type"]),
        tuple(said["fields"]),
        tuple(_TYPES.get(t, t) for t in said["types"]) if mixed else (),
    )


def hollow(given: Sequence[int], port: Port) -> Any:
    """An array of a shape without memory."""
    import numpy as np

    shape: tuple[int, ...] = tuple(_given.whole(f"an extent of {port.name!r}", n, 1) for n in given)
    if port.fields and not port.types and len(shape) == port.rank:
        shape = (*shape, len(port.fields))
    try:
        return np.broadcast_to(np.zeros((), port.numpy_type), shape)
    except ValueError:  # of more than 64 dimensions, or of more bytes than there are addresses
        raise ArgumentError(f"the shape of {port.name!r} is {_given.shown(given)}, which no array has") from None
