"""Whether what is given for an argument is what it has to be: errors name the argument and what was expected."""

from __future__ import annotations

import hashlib
import numbers
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsFloat

from tessera._errors import ArgumentError

_MOST = 2**62


def shown(given: Any) -> str:
    """A value as messages have it."""
    try:
        text = repr(given)
    except Exception:  # noqa: BLE001 - whoever wrote it, and numbers of too many digits
        return f"a {type(given).__name__}"
    text = " ".join(text.split("\n"))
    return text if len(text) <= 60 else text[:57] + "..."


def near(word: str, words: Iterable[str]) -> str:
    """``did you mean 'x'?``, or nothing."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(words), 1)
    return f"did you mean {found[0]!r}?" if found else ""


def whole(what: str, given: Any, least: int = -_MOST, most: int = _MOST) -> int:
    """A whole number, of NumPy as well."""
    number = None
    if not isinstance(given, bool) and hasattr(given, "__index__"):
        try:
            number = operator.index(given)
        except TypeError:  # what has many, or is not known yet
            pass
    if number is None or not least <= number <= most:
        expected = "a whole number"
        if least > -_MOST:
            expected += f" from {least} to {most}" if most < _MOST else f" from {least} on"
        raise ArgumentError(f"{what} is {shown(given)}, expected {expected}")
    return number


def real(what: str, given: Any) -> float:
    """A number that is a float."""
    if getattr(given, "shape", None) == () and hasattr(given, "item"):
        given = given.item()
    if not isinstance(given, numbers.Real):
        raise ArgumentError(f"{what} is {shown(given)}, expected a number that is known")
    try:
        return float(given)
    except OverflowError:
        raise ArgumentError(f"{what} is beyond 1e308, expected a number that a float holds") from None


def text(what: str, given: Any, expected: str = "a text") -> str:
    """A text that reaches the library as it is."""
    if not isinstance(given, str):
        raise ArgumentError(f"{what} is {shown(given)}, expected {expected}")
    if "\0" in given:
        raise ArgumentError(f"{what} has a NUL character, after which nothing would be read")
    try:
        given.encode()
    except UnicodeEncodeError as why:
        raise ArgumentError(f"{what} is no text: {why}") from None
    return given


def by_name(what: str, given: Any, example: str) -> Mapping[str, Any]:
    """Values by names; None is no value."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what} is {shown(given)}, expected values by names", help=f"write {what}={example}")
    for name in given:
        text(f"a name of {what}", name, "a name")
    return given


def several(what: str, given: Any, expected: str) -> Sequence[Any]:
    """Some values, not a text."""
    try:
        found = None if isinstance(given, str | bytes) else list(given)
    except TypeError:
        found = None
    if found is None:
        raise ArgumentError(f"{what} is {shown(given)}, expected {expected}")
    return found


def same(given: Any) -> Any:
    """What is equal of equal values, and has a hash: floats to the bit, arrays by their elements, dictionaries in order."""
    if getattr(given, "shape", None) == () and hasattr(given, "item"):
        given = given.item()
    if given is None or isinstance(given, str | int):
        return given
    if isinstance(given, float):
        return given.hex()
    if isinstance(given, Mapping):
        return tuple(sorted((str(name), same(value)) for name, value in given.items()))
    array = _array_of(given)
    if array is not None:
        return str(array.dtype), array.shape, hashlib.sha256(array.tobytes()).hexdigest()
    if isinstance(given, Iterable) and not isinstance(given, Iterator | bytes):
        return tuple(map(same, given))
    return float(given).hex() if isinstance(given, SupportsFloat) and not isinstance(given, type) else given


def _array_of(given: Any) -> Any:
    marks = ("__array__", "__array_interface__", "__dlpack__", "tobytes")
    if isinstance(given, type) or not any(hasattr(given, mark) for mark in marks):
        return None
    import numpy as np

    return np.from_dlpack(given) if hasattr(given, "__dlpack__") else np.asarray(given)
