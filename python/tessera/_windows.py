"""Windows over neighbours, their variables, and tables of constants."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tessera._builder import Builder, _is_float, current
from tessera._errors import ArgumentError
from tessera._given import whole
from tessera._values import Value, _builder_of, _divide, _in, _is_integer, _Symbolic, narrowed


class Offset(_Symbolic):
    """A window variable, or a sum of window variables and numbers: ``2 * i + 1``."""

    __slots__ = ("_b", "_number", "_terms", "dtype")

    def __init__(self, builder: Builder, number: int, terms: dict[int, int]) -> None:
        self._b = builder
        self.dtype = "int32"
        self._number = number
        self._terms = {v: f for v, f in terms.items() if f != 0}

    def _said(self) -> str:
        return "a window variable"

    def _value(self) -> Value:
        return Value(self._b, self._b.core.offset(self._place()))

    def _place(self) -> tuple[int, list[tuple[int, int]]]:
        for number in (self._number, *self._terms.values()):
            whole("a place in a window", number, -(2**40), 2**40)
        return self._number, sorted(self._terms.items())

    def _plus(self, other: Any, factor: int, own: int = 1) -> Any:
        terms = {v: own * f for v, f in self._terms.items()}
        if _is_integer(other):
            return Offset(self._b, own * self._number + factor * int(other), terms)
        for v, f in other._terms.items():
            terms[v] = terms.get(v, 0) + factor * f
        return Offset(self._b, own * self._number + factor * other._number, terms)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1) if _is_offset(other) else super().__add__(other)

    def __radd__(self, other: Any) -> Any:
        return self._plus(other, 1) if _is_offset(other) else super().__radd__(other)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1) if _is_offset(other) else super().__sub__(other)

    def __rsub__(self, other: Any) -> Any:
        return self._plus(other, 1, -1) if _is_offset(other) else super().__rsub__(other)

    def __mul__(self, other: Any) -> Any:
        if _is_integer(other):
            return Offset(self._b, self._number * int(other), {v: f * int(other) for v, f in self._terms.items()})
        return super().__mul__(other)

    def __rmul__(self, other: Any) -> Any:
        return self * other if _is_integer(other) else super().__rmul__(other)

    def __neg__(self) -> Any:
        return self * -1


def _is_offset(x: Any) -> bool:
    return isinstance(x, Offset) or _is_integer(x)


class Table:
    """Constants: ``table[i + 1, j]`` is a weight, with values for indices a look-up, in which indices are clamped."""

    def __init__(self, values: Any, name: str | None) -> None:
        self._values = values
        self._name = name
        self.shape: tuple[int, ...] = values.shape
        self.dtype: str = values.dtype.name
        if not 1 <= len(self.shape) <= 4 or 0 in self.shape:
            raise ArgumentError(f"a table has shape {self.shape}, expected 1 to 4 dimensions that are not empty")

    def _in(self, builder: Builder) -> int:
        """Its number in a pipeline, of which it becomes a part where it is used first."""
        if self not in builder.tables:
            builder.tables[self] = builder.core.table(builder.name(self._name, "table"), self._values)
        return builder.tables[self]

    def __getitem__(self, indices: Any) -> Value:
        given = indices if isinstance(indices, tuple) else (indices,)
        builder = _builder_of(*given)
        return Value(
            builder, builder.core.lookup(self._in(builder), [_index(builder, i, "a table")._id for i in given])
        )

    def __iter__(self) -> Any:
        raise TypeError("a table is indexed by values: go through the array that it was made of")

    def __repr__(self) -> str:
        return f"<table of {self.dtype}, {'x'.join(map(str, self.shape))}>"


def _index(builder: Builder, x: Any, of: str) -> Value:
    """A place in an image or a table: an integer."""
    value = _in(builder, x, "int32")
    if _is_float(value.dtype):
        raise TypeError(f"{of} is indexed by a value of {value.dtype}: write ts.floor(x).astype(ts.int32)")
    return value


def table(array: Any, name: str | None = None) -> Table:
    """Constants of 1 to 4 dimensions, known when the pipeline is built: a list or an array of numbers.

    Numbers in a list are float32 or int32; an array keeps its type, so that a float64 one makes what it weighs float64. It
    may be made outside of the pipelines that use it."""
    import numpy as np

    try:
        values = np.asarray(array)
    except ValueError:
        raise ArgumentError("a table has rows of different lengths, or is no array") from None
    if values.dtype.kind not in "biuf":
        raise ArgumentError(f"a table is made of {values.dtype}, expected numbers")
    if values.dtype == np.float16 or (values.dtype == np.float64 and not isinstance(array, np.ndarray)):
        values = values.astype(np.float32)  # Python's numbers
    if values.dtype.kind in "iu" and values.dtype.name not in ("uint8", "int16", "uint16", "int32", "uint32"):
        if not np.array_equal(values, values.astype(np.int32)):
            raise ArgumentError(
                f"a table of {values.dtype} has numbers beyond int32", help="write table(array.astype('float32'))"
            )
        values = values.astype(np.int32)
    return Table(np.array(values, order="C"), name)


def _takes(f: Callable[..., Any], count: int) -> None:
    if not callable(f):
        raise TypeError(
            f"a window is given {f!r}, expected a function of its variables: write lambda i, j: image[i, j]"
        )
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # it does not say
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise ArgumentError(
            f"a window with {count} range{'' if count == 1 else 's'} calls a function that takes {signature}",
            help=f"write lambda {', '.join('ijkl'[:count])}: ...",
        ) from None


class Window:
    """A box of neighbours: ``ts.over((-2, 2), (-2, 2)).sum(lambda i, j: w[i + 2, j + 2] * image[i, j])``."""

    def __init__(self, builder: Builder, ranges: Sequence[tuple[int, int]]) -> None:
        self._b = builder
        self._ranges = ranges

    def _reduced(self, operation: str, f: Callable[..., Any]) -> Value:
        core = self._b.core
        ids = core.variables(self._ranges)
        _takes(f, len(ids))
        given = f(*(Offset(self._b, 0, {v: 1}) for v in ids))
        if given is None:
            raise ArgumentError("the function of a window gives nothing", help="write lambda i, j: image[i, j]")
        body = _in(self._b, given, None)
        result = Value(self._b, core.reduce(operation, ids, body._id))
        return narrowed(result, body) if operation in ("rmin", "rmax", "median") else result

    def sum(self, f: Callable[..., Any]) -> Value:
        return self._reduced("sum", f)

    def prod(self, f: Callable[..., Any]) -> Value:
        return self._reduced("prod", f)

    def min(self, f: Callable[..., Any]) -> Value:
        return self._reduced("rmin", f)

    def max(self, f: Callable[..., Any]) -> Value:
        return self._reduced("rmax", f)

    def median(self, f: Callable[..., Any]) -> Value:
        """Of n numbers the one of rank (n - 1) / 2 from below."""
        return self._reduced("median", f)

    def mean(self, f: Callable[..., Any]) -> Value:
        count = 1
        for lo, hi in self._ranges:
            count *= hi - lo + 1
        return _divide(self.sum(f), count)

    def any(self, f: Callable[..., Any]) -> Value:
        return self._reduced("any", f)

    def all(self, f: Callable[..., Any]) -> Value:
        return self._reduced("all", f)


def over(*ranges: tuple[int, int] | range | int) -> Window:
    """A window: a range for each variable, both ends included; ``2`` stands for ``(-2, 2)``, as ``range(-2, 3)`` does."""
    pairs = []
    for r in ranges:
        if isinstance(r, range) and r.step == 1:
            r = (r.start, r.stop - 1)
        lo, hi = (-r, r) if isinstance(r, int) else r if isinstance(r, tuple | list) and len(r) == 2 else (1, 0)
        if not (_is_integer(lo) and _is_integer(hi)) or hi < lo or lo < -(2**31) or hi >= 2**31:
            raise ArgumentError(f"a window has the range {r!r}, expected (first, last)")
        pairs.append((int(lo), int(hi)))
    if not pairs:
        raise ArgumentError("a window has no range", help="write ts.over((-1, 1), (-1, 1))")
    return Window(current("ts.over"), pairs)
