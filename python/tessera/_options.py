"""Options of runs and of compilation, as _core takes them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from tessera import _borders, _core, _given
from tessera._errors import ArgumentError

#: Options of a run, in the order in which messages list them.
RUN = (
    "numbers",
    "method",
    "schedule",
    "threads",
    "target",
    "device",
    "devices",
    "device_memory",
    "compiler",
    "compile_limit",
    "tile_rows",
    "tile_columns",
    "progress",
    "cancel",
    "stream",
)
_RUN = frozenset(RUN)
HANDLES = ("progress", "cancel", "stream")
#: Names of element types, NumPy's and those of the language that it does not have.
_TYPES = {n: n for n in ("bool", "uint8", "uint16", "uint32", "int16", "int32", "float16", "float32", "float64")}
_EXPECTED = f"{', '.join([*_TYPES][:-1])} or float64"
_TYPES |= {"half": "float16", "float": "float32", "double": "float64", "int": "int32"}

_kept = threading.local()


def type_name(given: Any) -> str:
    """The name of an element type: "float32", numpy.float32, torch.float32, float."""
    name = _TYPES.get(given) if isinstance(given, str) else None
    if name is not None:
        return name
    text = str(given)
    if text.startswith("torch."):
        name = text[6:]
    elif given is not None:  # to NumPy it is float64
        import numpy as np

        try:
            name = str(np.dtype(given).name)
        except (TypeError, ValueError):
            name = None
    if name is None:
        raise ArgumentError(
            f"{_given.shown(given)} is no element type, expected {_EXPECTED}", help="write a name such as 'float32'"
        )
    if name not in _TYPES.values():
        raise ArgumentError(f"type {name!r} cannot be used, expected {_EXPECTED}")
    return name


def weights(given: Any, what: str) -> Any:
    """Weights as an array of a type that the library takes."""
    if hasattr(given, "__dlpack__") and type(given).__module__.partition(".")[0] != "numpy":
        return given
    import numpy as np

    try:
        array = np.asarray(given)
    except (TypeError, ValueError) as why:
        raise ArgumentError(f"{what} is {_given.shown(given)}, expected an array of numbers", (str(why),)) from None
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O" or kind not in "biuf":
        said = f"is {_given.shown(given)}" if not hasattr(given, "dtype") else f"is an array of {array.dtype}"
        raise ArgumentError(f"{what} {said}, expected an array of numbers")
    if (kind in "iu" and (size == 8 or array.dtype == np.int8)) or size > 8 or not array.dtype.isnative:
        array = array.astype(np.float64)
    return array


def run(given: Mapping[str, Any]) -> _core.Options | None:
    """Options of a run. Those that are None are left out; equal ones are made once for each thread."""
    chosen = {name: value for name, value in given.items() if value is not None}
    if not chosen:
        return None
    if any(name in chosen for name in HANDLES):
        return _made(chosen)
    kept: dict[tuple[tuple[str, Any], ...], _core.Options] | None = getattr(_kept, "options", None)
    if kept is None:
        kept = _kept.options = {}
    key = tuple(chosen.items())
    try:
        found = kept.get(key)
    except TypeError:  # no value that could be one
        return _made(chosen)
    if found is None:
        if len(kept) >= 64:
            kept.clear()
        found = kept[key] = _made(chosen)
    return found


def _made(chosen: Mapping[str, Any]) -> _core.Options:
    options = _core.Options()
    for name, value in chosen.items():
        if name == "progress":
            if value is not False:
                options.set_progress(_shown if value is True else value)
        elif name == "cancel":
            options.set_cancel(value)
        elif name == "stream":
            options.set_stream(value)
        else:
            options.set(name, value)
    return options


def _shown(done: int, total: int) -> None:
    """What ``progress=True`` shows."""
    sys.stderr.write(f"\r{100 * done // max(1, total):3d} %" + ("\n" if done >= total else ""))
    sys.stderr.flush()


def is_run_option(name: str) -> bool:
    return name in _RUN


def path_bytes(what: str, given: Any) -> bytes:
    """A path as the system has it."""
    try:
        path = os.fsencode(given)
    except (TypeError, UnicodeEncodeError):
        raise ArgumentError(f"{what} is {_given.shown(given)}, expected a path") from None
    if b"\0" in path:
        raise ArgumentError(f"{what} has a NUL character, after which nothing would be read")
    return path


def _paths(what: str, given: Any) -> Sequence[Any]:
    """Paths: one, or several."""
    return [given] if isinstance(given, str | bytes | os.PathLike) else _given.several(what, given, "paths")


def compilation(
    parameters: Mapping[str, float] | None,
    types: Mapping[str, Any] | None,
    borders: Mapping[str, str | Sequence[str]] | None,
    tables: Mapping[str, Any] | None,
    import_paths: Sequence[Any] | None,
    import_only: Sequence[Any] | None,
    compile_limit: float | None,
) -> _core.Options:
    options = _core.Options()
    for name, number in _given.by_name("parameters", parameters, '{"sigma": 2}').items():
        if number is None:
            raise ArgumentError(f'parameters["{name}"] is None, expected a number')
        options.set(f"parameter.{name}", number)
    for name, type_ in _given.by_name("types", types, '{"T": "float32"}').items():
        options.set(f"type.{name}", type_name(type_))
    for name, border in _given.by_name("borders", borders, '{"border": "mirror"}').items():
        options.set(f"border.{name}", _borders.text(border, f'borders["{name}"]'))
    for name, table in _given.by_name("tables", tables, '{"weights": array}').items():
        options.set(f"table.{name}", weights(table, f'tables["{name}"]'))
    for what, paths in (("import_paths", import_paths), ("import_only", import_only)):
        if paths is not None:
            options.set(what, b":".join(path_bytes(f"a path of {what}", p) for p in _paths(what, paths)))
    if compile_limit is not None:
        options.set("compile_limit", compile_limit)
    return options
