"""Functions of values: arithmetic by name. Of numbers alone they give a number."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from tessera._builder import bool_, dtype_name
from tessera._given import real
from tessera._values import (
    UFUNCS,
    Value,
    _apply,
    _binary,
    _bits,
    _builder_of,
    _divide,
    _floor_divide,
    _in,
    _modulo,
    _real,
    _Symbolic,
    _unary,
    cast,
    narrowed,
    power,
    rint,
    where,
)

#: NumPy's names of functions, where they are others.
_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "min": "fmin", "max": "fmax"}


def _known(operation: str, *x: Any) -> Any:
    """What a function of Python's numbers alone gives, None of others: a number, which has all its digits and takes the type
    of what it is used with."""
    if not all(isinstance(v, numbers.Real) for v in x):
        return None
    import numpy as np

    x = tuple(real("a number", v) if isinstance(v, int) and not -(2**63) <= v < 2**63 else v for v in x)
    with np.errstate(all="ignore"):
        if operation == "round":
            whole = math.trunc(x[0]) if math.isfinite(x[0]) else x[0]
            return whole + math.copysign(1, x[0]) if math.isfinite(x[0]) and math.fabs(x[0] - whole) >= 0.5 else whole
        return getattr(np, _NUMPY.get(operation, operation))(*x).item()


def saturate(dtype: Any, x: Any) -> Value:
    """The value in an integer type, rounded half to even and clamped to its range."""
    v = _in(_builder_of(x), x, None)
    return Value(v._b, v._b.core.saturate(dtype_name(dtype), v._id))


def minimum(a: Any, b: Any) -> Any:
    """The lesser; of a NaN and a number the number. Two uint8 give a uint8."""
    known = _known("min", a, b)
    return narrowed(_binary("min", a, b), a, b) if known is None else known


def maximum(a: Any, b: Any) -> Any:
    """The greater; of a NaN and a number the number. Two uint8 give a uint8."""
    known = _known("max", a, b)
    return narrowed(_binary("max", a, b), a, b) if known is None else known


def clip(x: Any, lo: Any, hi: Any) -> Any:
    """``minimum(maximum(x, lo), hi)``."""
    return minimum(maximum(x, lo), hi)


def _function_of_one(operation: str, text: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        known = _known(operation, x)
        return _apply(operation, _real(x)) if known is None else known

    function.__name__ = function.__qualname__ = operation
    function.__doc__ = text + " Integers are taken as float32."
    return function


def _function_of_two(operation: str, text: str) -> Callable[[Any, Any], Any]:
    def function(a: Any, b: Any) -> Any:
        known = _known(operation, a, b)
        return _binary(operation, a, b) if known is None else known

    function.__name__ = function.__qualname__ = operation
    function.__doc__ = text
    return function


sqrt = _function_of_one("sqrt", "The square root.")
exp = _function_of_one("exp", "e to the power of x.")
exp2 = _function_of_one("exp2", "2 to the power of x.")
log = _function_of_one("log", "The natural logarithm.")
log2 = _function_of_one("log2", "The logarithm to base 2.")
log10 = _function_of_one("log10", "The logarithm to base 10.")
sin = _function_of_one("sin", "The sine.")
cos = _function_of_one("cos", "The cosine.")
tan = _function_of_one("tan", "The tangent.")
asin = _function_of_one("asin", "The arc sine.")
acos = _function_of_one("acos", "The arc cosine.")
atan = _function_of_one("atan", "The arc tangent.")
sinh = _function_of_one("sinh", "The hyperbolic sine.")
cosh = _function_of_one("cosh", "The hyperbolic cosine.")
tanh = _function_of_one("tanh", "The hyperbolic tangent.")
cbrt = _function_of_one("cbrt", "The cube root.")
atan2 = _function_of_two("atan2", "The angle of the point (b, a).")
hypot = _function_of_two("hypot", "The length of (a, b).")
fmod = _function_of_two("fmod", "The remainder of a / b, with the sign of a.")


def abs(x: Any) -> Any:
    """The magnitude; integers stay integers."""
    known = _known("abs", x)
    return _unary("abs", x) if known is None else known


def floor(x: Any) -> Any:
    """The largest whole number that is not larger."""
    known = _known("floor", x)
    return _unary("floor", x) if known is None else known


def ceil(x: Any) -> Any:
    """The least whole number that is not less."""
    known = _known("ceil", x)
    return _unary("ceil", x) if known is None else known


def round(x: Any) -> Any:
    """The nearest whole number, halves away from 0, as in C; :func:`rint` and Python's ``round`` give the even one."""
    known = _known("round", x)
    return _unary("round", x) if known is None else known


def trunc(x: Any) -> Any:
    """The number without its fraction."""
    known = _known("trunc", x)
    return _unary("trunc", x) if known is None else known


def _sign(x: Any) -> Any:
    """1, 0 or -1; NaN of NaN."""
    value = x._value()
    return where(_binary("lt", 0, value), 1, where(_binary("lt", value, 0), -1, value))


def _total(operation: str) -> Callable[[Any], Any]:
    return lambda x: getattr(x, operation)()


def isnan(x: Any) -> Value:
    """Whether it is a NaN."""
    return _binary("ne", x, x)


def _truth(x: Any) -> Any:
    return cast(bool_, x) if isinstance(x, _Symbolic) else bool(x)


UFUNCS |= {
    "add": lambda a, b: _binary("add", a, b),
    "subtract": lambda a, b: _binary("sub", a, b),
    "multiply": lambda a, b: _binary("mul", a, b),
    "divide": _divide,
    "true_divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _modulo,
    "power": power,
    "negative": lambda a: _unary("neg", a),
    "positive": lambda a: a._value(),
    "absolute": abs,
    "fabs": abs,
    "rint": rint,
    "round": rint,
    "isnan": isnan,
    "sign": _sign,
    "mean": _total("mean"),
    "sum": _total("sum"),
    **dict.fromkeys(("max", "amax"), _total("max")),
    **dict.fromkeys(("min", "amin"), _total("min")),
    "where": where,
    "clip": clip,
    "invert": lambda a: ~a,
    "bitwise_and": lambda a, b: _bits("and", a, b),
    "bitwise_or": lambda a, b: _bits("or", a, b),
    "bitwise_xor": lambda a, b: _bits("xor", a, b),
    "left_shift": lambda a, b: _bits("shl", a, b),
    "right_shift": lambda a, b: _bits("shr", a, b),
    "logical_and": lambda a, b: _bits("and", _truth(a), _truth(b)),
    "logical_or": lambda a, b: _bits("or", _truth(a), _truth(b)),
    "logical_not": lambda a: ~_truth(a),
    "minimum": minimum,
    "fmin": minimum,
    "maximum": maximum,
    "fmax": maximum,
    "less": lambda a, b: _binary("lt", a, b),
    "less_equal": lambda a, b: _binary("le", a, b),
    "greater": lambda a, b: _binary("lt", b, a),
    "greater_equal": lambda a, b: _binary("le", b, a),
    "equal": lambda a, b: _binary("eq", a, b),
    "not_equal": lambda a, b: _binary("ne", a, b),
    "square": lambda a: power(a, 2),
    "arctan2": atan2,
    "arctan": atan,
    "arcsin": asin,
    "arccos": acos,
    **{f.__name__: f for f in (sqrt, exp, exp2, log, log2, log10, sin, cos, tan, sinh, cosh, tanh, cbrt)},
    **{f.__name__: f for f in (hypot, fmod, floor, ceil, trunc)},
}
