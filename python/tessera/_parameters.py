"""What the parameters of a pipeline are: by annotations, by defaults and by what is given."""

from __future__ import annotations

import contextlib
import inspect
import numbers
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

from tessera import _given
from tessera._builder import Builder
from tessera._errors import ArgumentError
from tessera._images import Image, Planes
from tessera._values import Value

_SCALARS = {bool: "bool", int: "int32", float: "float32"}


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    _T = TypeVar("_T", default=Any)
    Constant: TypeAlias = Annotated[_T, "a constant"]
else:

    class Constant:
        """``def f(image, radius: ts.Constant)``: an argument that the function has as it is, whatever it is. The pipeline is
        built once for each of its values. ``ts.Constant[int]`` is the same."""

        def __class_getitem__(cls, item: Any) -> type[Constant]:
            return cls


class Size:
    """An extent that is known when the program runs: ``ts.Image["float32", ts.Size("M"), 2 * ts.Size("M") + 1]``."""

    def __init__(self, name: str) -> None:
        _given.text("the name of an extent", name)
        self._make: Callable[[Builder, dict[str, int]], int] = lambda b, known: _size(b, known, name)
        self._text = name

    @classmethod
    def _of(cls, given: Size | int, text: str, operation: str, *others: Size | int) -> Size:
        made = cls.__new__(cls)
        for o in others:
            if not isinstance(o, Size | str):
                _given.whole("an extent", o)

        def make(b: Builder, known: dict[str, int]) -> int:
            return int(getattr(b.core, operation)(*(_extent(b, known, o) for o in (given, *others))))

        made._make, made._text = make, text
        return made

    def __add__(self, other: Size | int) -> Size:
        return Size._of(self, f"({self}+{other})", "add_extents", other)

    __radd__ = __add__

    def __sub__(self, other: Size | int) -> Size:
        return Size._of(self, f"({self}-{other})", "subtract_extents", other)

    def __mul__(self, other: Size | int) -> Size:
        return Size._of(self, f"({self}*{other})", "multiply_extents", other)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Size:
        _given.whole("the divisor of an extent", divisor, 1)
        made = Size._of(self, f"({self}//{divisor})", "divide_extent")
        made._make = lambda b, known: int(b.core.divide_extent(_extent(b, known, self), divisor))
        return made

    def __repr__(self) -> str:
        return self._text


def _size(b: Builder, known: dict[str, int], name: str) -> int:
    if name not in known:
        known[name] = b.core.size(name)
    return known[name]


def _extent(b: Builder, known: dict[str, int], given: Any) -> int:
    if isinstance(given, Size):
        return given._make(b, known)
    if isinstance(given, str):
        return _size(b, known, _given.text("the name of an extent", given))
    return int(b.core.extent(_given.whole("an extent", given)))


def size(name: str) -> Size:
    """An extent by its name: :class:`Size`."""
    return Size(name)


class _Parameter(NamedTuple):
    """What an argument is: "image" (dtype, rank, fields, extents), "scalar" (dtype), or "constant" (its value)."""

    kind: str
    dtype: str = ""
    rank: int = 0
    fields: tuple[str, ...] = ()
    extents: tuple[Any, ...] | None = None
    value: Any = None
    #: Of structs whose fields are no planes of one array: an image for each, of these types.
    types: tuple[str, ...] = ()

    def key(self) -> Any:
        if self.kind != "constant":
            return self.kind, self.dtype, self.rank, self.fields, str(self.extents), self.types
        return "constant", _hashable(self.value)


def _hashable(value: Any) -> Any:
    """What tells constants apart, 1 and 1.0 and True too; contents of lists, dictionaries and arrays."""
    if isinstance(value, tuple | list):
        return type(value), tuple(map(_hashable, value))
    if isinstance(value, Mapping):
        return type(value), tuple((_hashable(k), _hashable(v)) for k, v in value.items())
    if isinstance(value, set):
        return type(value), frozenset(map(_hashable, value))
    if hasattr(value, "tobytes") and hasattr(value, "dtype") and value.dtype.kind != "O":
        return type(value), str(value.dtype), tuple(value.shape), value.tobytes()
    try:
        hash(value)
    except (TypeError, ValueError):  # of a memory view that can be written
        raise ArgumentError(
            f"a constant of a pipeline is a {type(value).__name__}, which cannot be told from others",
            help="give a number, a string, a tuple, an array, or an object that can be hashed",
        ) from None
    return type(value), value


def _is_array(value: Any) -> bool:
    if isinstance(value, (Image, Value, Planes, numbers.Number)):
        return False
    if getattr(value, "shape", None) == ():  # a number
        return False
    if any(hasattr(value, n) for n in ("__array_interface__", "__dlpack__", "__cuda_array_interface__")):
        return True
    # Arrays with labels: what they hold is one of those.
    return (
        hasattr(value, "__array__") and isinstance(getattr(value, "shape", None), tuple) and not isinstance(value, type)
    )


def _plane_names(count: int) -> tuple[str, ...]:
    return {2: ("y", "a"), 3: ("r", "g", "b"), 4: ("r", "g", "b", "a")}.get(count, tuple(f"c{k}" for k in range(count)))


def _number_type(value: Any, default: Any) -> str:
    """That of a number, or of the default where it is wider: 1 for 0.8 is a float."""

    def kind(x: Any) -> int:
        x = x.item() if getattr(x, "shape", None) == () and hasattr(x, "item") else x
        return 0 if isinstance(x, bool) else 1 if isinstance(x, numbers.Integral) else 2

    widest = max(kind(value), kind(default) if isinstance(default, numbers.Number) else 0)
    return ("bool", "int32", "float32")[widest]


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """What annotations say, also where they are texts, and of Annotated[ts.Image, "float32", 2]."""
    found = dict(getattr(function, "__annotations__", {}))
    names: dict[str, Any] = {}
    if any(type(a) is str for a in found.values()):
        names = dict(getattr(inspect.unwrap(function), "__globals__", {}))
        closed = getattr(function, "__closure__", None) or ()
        for name, cell in zip(function.__code__.co_freevars, closed, strict=True) if closed else ():
            with contextlib.suppress(ValueError):  # not set yet
                names[name] = cell.cell_contents
    for name, said in found.items():
        if type(said) is str:  # not an element type
            try:
                said = found[name] = eval(said, names)
            except Exception as why:  # noqa: BLE001 - names that only type checkers see say nothing
                if re.search(r"\b(Image|Constant|Planes|(float|int|uint|[fiu])(8|16|32|64))\b", said):
                    raise ArgumentError(
                        f"the annotation {said} of {name!r} is not understood: {why}",
                        help="its names have to be known where the pipeline is made",
                    ) from None
        parts = getattr(said, "__metadata__", ())
        if getattr(said, "__origin__", None) is Image and parts:
            found[name] = Image.__class_getitem__(parts)
        elif parts and parts[0] is Constant:
            found[name] = Constant
    return found
