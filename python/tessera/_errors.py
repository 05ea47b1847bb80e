"""The errors that Tessera raises; ``str()`` of one is what the command would print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """One finding in a program's text. Lines and columns count from 1, 0 is unknown."""

    severity: str
    file: str
    line: int
    column: int
    length: int
    text: str
    message: str
    notes: tuple[str, ...] = ()
    help: str = ""


class Error(Exception):
    """Whatever Tessera refuses: ``message`` is one sentence, ``help`` what to do about it."""

    def __init__(self, message: str, notes: tuple[str, ...] = (), help: str = "", *, text: str | None = None) -> None:
        if text is None:
            text = "\n".join([message, *(f"note: {n}" for n in notes), *([f"help: {help}"] if help else [])])
        super().__init__(text)
        self.message = message
        self.notes = tuple(notes)
        self.help = help

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), self.args, dict(self.__dict__))


class CompileError(Error):
    """A text that is no program: ``diagnostics`` says where, ``str()`` shows it with carets."""

    diagnostics: tuple[Diagnostic, ...] = ()


class ArgumentError(Error, ValueError):
    """An argument that does not fit."""


class DeviceError(Error, RuntimeError):
    """No device, no compiler, or no memory of a device."""


class IoError(Error, OSError):
    """A file that cannot be read or written."""


class Cancelled(Error):
    """A run that its ``Cancel`` ended."""


class InternalError(Error):
    """A fault of Tessera, or no memory."""


_classes: dict[str, type[Error]] = {
    "compile": CompileError,
    "argument": ArgumentError,
    "device": DeviceError,
    "io": IoError,
    "cancelled": Cancelled,
    "internal": InternalError,
}


def _restored(cls: type[Error], args: tuple[object, ...], state: dict[str, object]) -> Error:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def from_json(report: str, text: str) -> Error:
    """The exception of what tsr_last_error_json() and tsr_last_error() say."""
    import json

    from tessera._words import all_in_python, in_python

    try:
        found = json.loads(report)
    except ValueError:
        return InternalError(text or "there is no memory")

    def said(of: dict[str, Any]) -> dict[str, Any]:
        notes = tuple(map(in_python, of["notes"]))
        return {"message": in_python(of["message"]), "notes": notes, "help": in_python(of["help"])}

    error = _classes.get(found["class"], InternalError)(**said(found), text=all_in_python(text))
    if isinstance(error, CompileError):
        error.diagnostics = tuple(Diagnostic(**{**d, **said(d)}) for d in found["diagnostics"])
    return error
