"""Element types, and the pipeline that is being built while its function runs."""

# ruff: noqa: PYI042 - names of types are those of NumPy
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from tessera import _core
from tessera._errors import ArgumentError
from tessera._given import text

if TYPE_CHECKING:
    from tessera._values import Value

_FLOATS = ("float16", "float32", "float64")


class DType(str):
    """An element type: ``ts.uint8``. Called with a value it casts as C does: ``ts.uint8(x)``."""

    __slots__ = ()

    def __call__(self, x: Any) -> Value:
        from tessera._values import cast

        return cast(self, x)

    def __repr__(self) -> str:
        return f"tessera.{self!s}"


if TYPE_CHECKING:  # what is annotated so has a number as its default, and is a value in the function
    bool_: TypeAlias = Any
    uint8: TypeAlias = Any
    int16: TypeAlias = Any
    uint16: TypeAlias = Any
    int32: TypeAlias = Any
    uint32: TypeAlias = Any
    float16: TypeAlias = Any
    float32: TypeAlias = Any
    float64: TypeAlias = Any
    u8: TypeAlias = Any
    i16: TypeAlias = Any
    u16: TypeAlias = Any
    i32: TypeAlias = Any
    u32: TypeAlias = Any
    f16: TypeAlias = Any
    f32: TypeAlias = Any
    f64: TypeAlias = Any
else:
    bool_ = DType("bool")
    uint8 = DType("uint8")
    int16 = DType("int16")
    uint16 = DType("uint16")
    int32 = DType("int32")
    uint32 = DType("uint32")
    float16 = DType("float16")
    float32 = DType("float32")
    float64 = DType("float64")
    #: Short names.
    u8, i16, u16, i32, u32, f16, f32, f64 = uint8, int16, uint16, int32, uint32, float16, float32, float64


class Builder:
    """A pipeline while its function runs."""

    def __init__(self) -> None:
        self.core = _core.Pipeline()
        self._names: set[str] = set()
        self.tables: dict[Any, int] = {}

    def name(self, wanted: str | None, usual: str) -> str:
        """A name for a stage: the one that is wanted, or the usual one with a number."""
        if wanted is not None:
            if not isinstance(wanted, str):
                raise ArgumentError(f"a stage is called {wanted!r}, expected a text")
            self._names.add(text("the name of a stage", wanted))
            return wanted
        k = 1
        while f"{usual}{k}" in self._names:
            k += 1
        self._names.add(f"{usual}{k}")
        return f"{usual}{k}"


_active = threading.local()


def builders() -> list[Builder]:
    """The pipelines that this thread is building, the innermost last."""
    stack: list[Builder] | None = getattr(_active, "builders", None)
    if stack is None:
        stack = _active.builders = []
    return stack


def current(what: str) -> Builder:
    stack = builders()
    if not stack:
        raise ArgumentError(
            f"{what} is called outside of a pipeline",
            help="call it in a function that is decorated with @ts.pipeline",
        )
    return stack[-1]


def dtype_name(given: Any) -> str:
    from tessera._options import type_name

    if given is bool:
        return "bool"
    if given is int:
        return "int32"
    if given is float:
        return "float32"
    return type_name(given)


def _is_float(dtype: str) -> bool:
    return dtype in _FLOATS


def _computed(dtype: str) -> str:
    """The type in which elements take part in arithmetic."""
    if dtype == "float16":
        return "float32"
    return dtype if _is_float(dtype) or dtype == "uint32" else "int32"


def promoted(a: str, b: str) -> str:
    """The type of a sum, as in C++: narrow integers are computed as int32."""
    both = (_computed(a), _computed(b))
    for dtype in ("float64", "float32", "uint32"):
        if dtype in both:
            return dtype
    return "int32"
