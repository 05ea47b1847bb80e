"""Words for what lies outside of an image: one table for filters, programs, pipelines and tessera.ndimage.

docs/python.md has it as well ("Borders").
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable
from typing import Any

from tessera._errors import ArgumentError
from tessera._given import near, real

#: Our words, and what others call the same: SciPy, numpy.pad, scikit-image, OpenCV, PyTorch, MATLAB.
SYNONYMS = {
    "mirror": ("reflect101", "reflect_101", "reflect-101"),
    "symmetric": ("grid-mirror",),
    "clamp": ("clamped", "nearest", "edge", "replicate", "extend"),
    "wrap": ("grid-wrap", "periodic", "circular"),
    "constant": ("grid-constant",),
    "none": ("valid",),
}
_OURS = {word: ours for ours, others in SYNONYMS.items() for word in (ours, *others)}
_ZERO = ("zero", "zeros")
_REFLECT = "'reflect' is 'symmetric' to SciPy and OpenCV and 'mirror' to numpy.pad and PyTorch"
EXPECTED = "mirror, symmetric, clamp, wrap, constant(VALUE) or none"

Mode = tuple[str, float]


def ours(word: str) -> str | None:
    """Our word for one of anybody's, None where nobody has it."""
    return _OURS.get(word.lower())


def _shown(what: str, given: Any) -> str:
    return f"{what} {given!r} is no border mode, expected {EXPECTED}"


def constant(value: Any, what: str = "border") -> Mode:
    """The mode of one value everywhere outside."""
    number = real(f"the constant of {what}", value)
    if not math.isfinite(number):
        raise ArgumentError(f"{what} is constant({number}), expected a finite number")
    return "constant", number


def _word(what: str, given: str) -> Mode:
    text = given.strip()
    found = re.fullmatch(r"([\w-]+) *\((.*)\)", text)
    word = found[1] if found else text
    if word.lower() == "reflect":
        raise ArgumentError(
            f"{what} 'reflect' means two things",
            (_REFLECT,),
            "write 'symmetric' for SciPy's reflect, 'mirror' for that of numpy.pad",
        )
    if word.lower() in _ZERO and not found:
        return "constant", 0.0
    mode = ours(word)
    if mode is None:
        raise ArgumentError(_shown(what, given), help=near(word.lower(), [*_OURS, *_ZERO]))
    if not found:
        return mode, 0.0
    if mode != "constant":
        raise ArgumentError(f"{what} {given!r} has a value, which mode {mode} does not take")
    try:
        value = float(found[2])
    except ValueError:
        raise ArgumentError(f"{what} {given!r} has no number, expected one, as in constant(0)") from None
    return constant(value, what)


def mode(given: Any, what: str = "border") -> Mode:
    """One mode: a word, a number for a constant, or ("constant", number)."""
    if isinstance(given, str):
        return _word(what, given)
    if _is_number(given):
        return constant(given, what)
    if is_constant(given):
        return constant(given[1], what)
    raise ArgumentError(_shown(what, given), help="write 'mirror', or ('constant', 3)")


def _is_number(given: Any) -> bool:
    if getattr(given, "shape", None) == ():
        return True
    return isinstance(given, numbers.Real) and not isinstance(given, bool)


def is_constant(given: Any) -> bool:
    """Whether it is ("constant", number): one mode, not two."""
    if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[0], str):
        return False
    return ours(given[0]) == "constant" and not isinstance(given[1], str | tuple | list)


def modes(given: Any, what: str = "border") -> list[Mode]:
    """A mode, or one for each dimension: "mirror", "wrap,constant(3)", ("mirror", ("constant", 3))."""
    if isinstance(given, str):
        text = given.strip()
        if text.startswith("[") and text.endswith("]"):
            text = text[1:-1]
        return [_word(what, part) for part in text.split(",")]
    if is_constant(given) or getattr(given, "shape", None) == () or not isinstance(given, Iterable):
        return [mode(given, what)]
    found = [mode(g, what) for g in given]
    if not found:
        raise ArgumentError(f"{what} has no mode, expected one, or one for each dimension", help="write 'mirror'")
    return found


def text(given: Any, what: str = "border") -> str:
    """Modes as the library reads them."""
    words = {"clamp": "clamped"}
    return ",".join(
        f"constant({value!r})" if name == "constant" else words.get(name, name) for name, value in modes(given, what)
    )
