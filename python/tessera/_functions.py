"""Functions of values: arithmetic by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tessera._values import (
    UFUNCS,
    Value,
    _apply,
    _binary,
    _builder_of,
    _divide,
    _floor_divide,
    _in,
    _modulo,
    _real,
    _unary,
    dtype_name,
    power,
)


def saturate(dtype: Any, x: Any) -> Value:
    """The value in an integer type, rounded half to even and clamped to its range."""
    v = _in(_builder_of(x), x, None)
    return Value(v._b, v._b.core.saturate(dtype_name(dtype), v._id))


def minimum(a: Any, b: Any) -> Value:
    """The lesser; of a NaN and a number the number."""
    return _binary("min", a, b)


def maximum(a: Any, b: Any) -> Value:
    """The greater; of a NaN and a number the number."""
    return _binary("max", a, b)


def clip(x: Any, lo: Any, hi: Any) -> Value:
    """``minimum(maximum(x, lo), hi)``."""
    return minimum(maximum(x, lo), hi)


def _function_of_one(operation: str, text: str) -> Callable[[Any], Value]:
    def function(x: Any) -> Value:
        return _apply(operation, _real(x))

    function.__name__ = function.__qualname__ = operation
    function.__doc__ = text + " Integers are taken as float32."
    return function


def _function_of_two(operation: str, text: str) -> Callable[[Any, Any], Value]:
    def function(a: Any, b: Any) -> Value:
        return _binary(operation, a, b)

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


def abs(x: Any) -> Value:
    """The magnitude; integers stay integers."""
    return _unary("abs", x)


def floor(x: Any) -> Value:
    """The largest whole number that is not larger."""
    return _unary("floor", x)


def ceil(x: Any) -> Value:
    """The least whole number that is not less."""
    return _unary("ceil", x)


def round(x: Any) -> Value:
    """The nearest whole number, halves away from 0."""
    return _unary("round", x)


def trunc(x: Any) -> Value:
    """The number without its fraction."""
    return _unary("trunc", x)


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
    "absolute": abs,
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
