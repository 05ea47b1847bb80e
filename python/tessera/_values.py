"""Values of a pipeline: what its function computes with, and their arithmetic.

A Value is an expression with an element type, computed at every point of the stage that it becomes. An Image is an input
or a stage: read at offsets it gives values, used by its plain name it is its value at the point.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from typing import Any

from tessera._builder import Builder, _computed, _is_float, current, dtype_name
from tessera._errors import ArgumentError
from tessera._given import real, shown

#: What NumPy's functions are called here: filled by _functions.py.
UFUNCS: dict[str, Callable[..., Any]] = {}


def _takes(function: Callable[..., Any], inputs: Any) -> bool:
    try:
        inspect.signature(function).bind(*inputs)
    except TypeError:
        return False
    return True


class _Symbolic:
    """What values, images and offsets have in common: operators, and what they are not."""

    __slots__ = ()
    __array_priority__ = 1000
    _b: Builder
    dtype: str

    def _value(self) -> Value:
        raise NotImplementedError

    # What would silently take one of many points for all of them.
    def __bool__(self) -> bool:
        raise TypeError(
            f"the truth of {self._said()} is not known while the pipeline is built: "
            "write ts.where(condition, a, b) for if, & for and, | for or, ~ for not, (a < x) & (x < b) for a < x < b"
        )

    def __iter__(self) -> Any:
        raise TypeError(
            f"{self._said()} has no elements to go through: write ts.over(...) for a window, image[i, j] for a neighbour"
        )

    def __len__(self) -> int:
        raise TypeError(f"{self._said()} has no length while the pipeline is built: write ts.extent(dimension)")

    def __float__(self) -> float:
        raise TypeError(
            f"{self._said()} is no number while the pipeline is built: annotate a parameter with ts.Constant to have its number"
        )

    def __int__(self) -> int:
        return int(self.__float__())

    def __index__(self) -> int:
        raise TypeError(
            f"{self._said()} is no number while the pipeline is built: write ts.table(array)[...] to look up, "
            "image.gather(...) to read at a computed place, or annotate the parameter with ts.Constant"
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{self._said()} is no array: write ts.table(array)[i, j] for an array that it indexes, and functions of "
            "tessera, such as ts.sqrt, in place of others"
        )

    def __contains__(self, _: object) -> bool:
        return self.__bool__()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        own = UFUNCS.get(ufunc.__name__)
        if method != "__call__" or kwargs or own is None:
            raise TypeError(f"NumPy's {ufunc.__name__} does not work on {self._said()}: write what tessera has for it")
        return own(*inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, kwargs: Any) -> Any:
        own = UFUNCS.get(function.__name__)
        if kwargs or own is None or not _takes(own, inputs):
            raise TypeError(
                f"NumPy's {function.__name__} does not work {'with these arguments ' if own else ''}on {self._said()}: "
                "write what tessera has for it"
            )
        return own(*inputs)

    def __matmul__(self, other: Any) -> Any:
        raise TypeError(f"{self._said()} is no matrix: write ts.over(...).sum(...) for sums of products of neighbours")

    __rmatmul__ = __matmul__

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, _: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"{self._said()} is there while its pipeline is built alone, and cannot be pickled")

    def _said(self) -> str:
        return "a value"

    # Arithmetic.
    def __add__(self, other: Any) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        if type(other) is int and other == 0 and self.dtype == _computed(self.dtype):
            return self._value()  # sum() begins with it
        return _binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        """The quotient; of integers it is a float32."""
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        """The quotient rounded down, as NumPy has it; an integer divided by 0 is 0."""
        return _floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        """The rest of ``//``, with the sign of the divisor, as NumPy has it."""
        return _modulo(self, other)

    def __rmod__(self, other: Any) -> Any:
        return _modulo(other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __and__(self, other: Any) -> Any:
        return _bits("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _bits("and", other, self)

    def __or__(self, other: Any) -> Any:
        return _bits("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _bits("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return _bits("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _bits("xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return _bits("shl", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _bits("shl", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _bits("shr", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _bits("shr", other, self)

    def __lt__(self, other: Any) -> Any:
        return _binary("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return _binary("le", other, self)

    def __eq__(self, other: object) -> Any:
        return _binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("ne", self, other)

    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return _unary("neg", self)

    def __pos__(self) -> Any:
        return self._value()

    def __abs__(self) -> Any:
        return _unary("abs", self)

    def __invert__(self) -> Any:
        v = self._value()
        if v.dtype == "bool":
            return _binary("eq", v, 0)
        return _unary("not", v)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None and not (_is_integer(digits) and digits == 0):
            raise TypeError("values are rounded to whole numbers: write ts.rint(x * 100) / 100")
        return rint(self)

    def __floor__(self) -> Any:
        return _unary("floor", self)

    def __ceil__(self) -> Any:
        return _unary("ceil", self)

    def __trunc__(self) -> Any:
        return _unary("trunc", self)

    def clip(self, lo: Any, hi: Any) -> Any:
        """The nearest value between the two."""
        return UFUNCS["clip"](self, lo, hi)

    def astype(self, dtype: Any) -> Value:
        """The value in another type, as C casts: narrower integers wrap, floats are cut."""
        return cast(dtype, self)


class Value(_Symbolic):
    """An expression of one element type, computed at every point."""

    __slots__ = ("_b", "_id", "dtype")

    def __init__(self, builder: Builder, id: int) -> None:
        self._b = builder
        self._id = id
        self.dtype: str = builder.core.value_type(id)

    def _value(self) -> Value:
        return self

    def __getitem__(self, offsets: Any) -> Any:
        raise TypeError("a value has no neighbours, images have them: write g = ts.stage(value), then g[0, 1]")

    def __getattr__(self, name: str) -> Any:
        if name in _OF_IMAGES:
            raise AttributeError(f"a value has no {name!r}, images have it: write ts.stage(value).{name}")
        raise AttributeError(f"a value has no {name!r}")

    def __repr__(self) -> str:
        return f"<value of {self.dtype}>"


_OF_IMAGES = frozenset(
    [
        "mirror",
        "clamped",
        "wrap",
        "symmetric",
        "constant",
        "borders",
        "every",
        "at",
        "gather",
        "min",
        "max",
        "sum",
        "mean",
        "fft",
        "ifft",
        "rank",
        "ndim",
    ]
)


# ---- operands ------------------------------------------------------------------------------------------------------


def _is_integer(x: Any) -> bool:
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


def _typed(x: Any) -> str | None:
    """The type of an operand, None for numbers, which take that of the other."""
    return x.dtype if isinstance(x, _Symbolic) else None


def _builder_of(*operands: Any) -> Builder:
    found = [o._b for o in operands if isinstance(o, _Symbolic)]
    if not found:
        return current("this function")
    if any(b is not found[0] for b in found):
        raise ArgumentError("the expression mixes values of two pipelines")
    return found[0]


def _in(builder: Builder, x: Any, other: str | None) -> Value:
    """An operand as a value; a Python number in the type of the other one."""
    if isinstance(x, _Symbolic):
        if x._b is not builder:
            raise ArgumentError("the expression mixes values of two pipelines")
        return x._value()
    if getattr(x, "shape", None) == () and hasattr(x, "item"):
        x = x.item()  # one of NumPy counts as that of Python
    if isinstance(x, bool):
        return Value(builder, builder.core.constant("bool" if other in (None, "bool") else _computed(other), float(x)))
    if isinstance(x, numbers.Integral):
        number = int(x)
        dtype = "int32" if other is None else _computed(other)
        if not _is_float(dtype):
            lo, hi = (0, 2**32) if dtype == "uint32" else (-(2**31), 2**31)
            if not lo <= number < hi:
                beside = ", the type of the value beside it" if other in ("int32", "uint32") else ""
                raise ArgumentError(
                    f"{shown(number)} is no {dtype}{beside}",
                    help="write x.astype(ts.int32)" if number < 0 and lo == 0 else f"write {real('a number', number)}",
                )
        return Value(builder, builder.core.constant(dtype, real("a number", number)))
    if isinstance(x, numbers.Real):
        dtype = "float32" if other is None or not _is_float(other) else _computed(other)
        return Value(builder, builder.core.constant(dtype, real("a number", x)))
    if type(x).__module__.partition(".")[0] == "numpy":
        raise TypeError(
            "a NumPy array is no value: write ts.table(array)[i, j] for weights, or make it a parameter of the pipeline"
        )
    raise TypeError(f"{x!r} is neither a value, an image nor a number")


def _pair(a: Any, b: Any) -> tuple[Value, Value]:
    builder = _builder_of(a, b)
    return _in(builder, a, _typed(b)), _in(builder, b, _typed(a))


def _apply(operation: str, *operands: Value) -> Value:
    builder = operands[0]._b
    return Value(builder, builder.core.apply(operation, [o._id for o in operands]))


def _binary(operation: str, a: Any, b: Any) -> Value:
    return _apply(operation, *_pair(a, b))


def _unary(operation: str, a: Any) -> Value:
    return _apply(operation, _in(_builder_of(a), a, None))


def _real(a: Any) -> Value:
    return _in(_builder_of(a), real("a number", a) if isinstance(a, numbers.Real) else a, None)


def _integers(a: Value, b: Value) -> bool:
    return not _is_float(a.dtype) and not _is_float(b.dtype)


def _bits(operation: str, a: Any, b: Any) -> Value:
    x, y = _pair(a, b)
    if not _integers(x, y):
        raise TypeError(f"{operation} takes integers and truths, not {x.dtype} and {y.dtype}")
    return _apply(operation, x, y)


def _divide(a: Any, b: Any) -> Value:
    x, y = _pair(a, b)
    if _integers(x, y):
        x = cast("float32", x)
    return _apply("div", x, y)


def _positive(x: Any) -> bool:
    """Whether it is a number above 0."""
    return not isinstance(x, _Symbolic) and bool(x > 0)


def _unsigned(x: Any) -> bool:
    if isinstance(x, _Symbolic):
        return x.dtype in ("bool", "uint8", "uint16", "uint32")
    return bool(x >= 0)


def _off(r: Value, y: Value, b: Any) -> Value:
    """Where a rest has not the sign of the divisor."""
    below = _binary("lt", r, 0)
    return below if _positive(b) else _bits("and", r != 0, _binary("ne", below, y < 0))


def _floor_divide(a: Any, b: Any) -> Value:
    x, y = _pair(a, b)
    if not _integers(x, y):  # as NumPy: what the rest leaves, divided
        exact = (x - _modulo(x, b)) / y
        whole = _unary("floor", exact)
        whole = where(exact - whole > 0.5, whole + 1, whole)
        return whole if _positive(b) else where(y == 0, x / y, whole)
    q = _apply("div", x, y)
    if _unsigned(a) and _unsigned(b):
        return q
    return _binary("sub", q, cast("int32", _off(_apply("rem", x, y), y, b)))


def _modulo(a: Any, b: Any) -> Value:
    x, y = _pair(a, b)
    r = _apply("rem" if _integers(x, y) else "fmod", x, y)
    if _integers(x, y) and _unsigned(a) and _unsigned(b):
        return r
    return where(_off(r, y, b), r + y, r)


# ---- what operators need ---------------------------------------------------------------------------------------------


def cast(dtype: Any, x: Any) -> Value:
    """The value in another type, as C casts: narrower integers wrap, floats are cut."""
    v = _in(_builder_of(x), x, None)
    return Value(v._b, v._b.core.convert(dtype_name(dtype), v._id))


def where(condition: Any, a: Any, b: Any) -> Value:
    """``a`` where the condition holds, ``b`` elsewhere; both are computed."""
    builder = _builder_of(condition, a, b)
    c = _in(builder, condition, "bool")
    x, y = _in(builder, a, _typed(b)), _in(builder, b, _typed(a))
    return narrowed(Value(builder, builder.core.select(c._id, x._id, y._id)), a, b)


_RANGES = {"bool": (0, 1), "uint8": (0, 255), "uint16": (0, 65535), "int16": (-32768, 32767)}


def narrowed(result: Value, *operands: Any) -> Value:
    """What is one of its operands keeps their type, where they share a narrow one and numbers are of it."""
    types = {o.dtype for o in operands if isinstance(o, _Symbolic)}
    if len(types) != 1:
        return result
    (dtype,) = types
    plain = [o for o in operands if not isinstance(o, _Symbolic)]
    if dtype in _RANGES:
        lo, hi = _RANGES[dtype]
        if all(isinstance(n, numbers.Integral) and lo <= int(n) <= hi for n in plain):
            return cast(dtype, result)
    elif dtype == "float16" and not plain:
        return cast(dtype, result)
    return result


def rint(x: Any) -> Value:
    """The nearest whole number, halves to the even one: what ``round()`` of Python and NumPy gives."""
    v = _in(_builder_of(x), x, None)
    if not _is_float(v.dtype):
        return _unary("round", v)
    tie = _unary("abs", v - _unary("trunc", v)) == 0.5
    return where(tie, 2.0 * _unary("round", v * 0.5), _unary("round", v))


def power(a: Any, b: Any) -> Value:
    """``a ** b``; whole exponents from 0 to 8 are products, so that integers stay integers, and 0.5 is a square root."""
    if _is_integer(b) and 0 <= b <= 8 and not isinstance(a, numbers.Real):
        base = _in(_builder_of(a), a, None)
        if b == 0:
            return _binary("min", _binary("max", base, 1), 1)  # 1, of NaNs too, with the extents of the base
        if b == 1:
            return base
        half = power(base, int(b) // 2)
        square = _binary("mul", half, half)
        return _binary("mul", square, base) if b % 2 else square
    if type(b) is float and b == 0.5:
        return _apply("sqrt", _in(_builder_of(a), a, None))
    x, y = _pair(a, b)
    return _apply("pow", x, y)
