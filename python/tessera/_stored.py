"""Arrays that lie in files, as tasks take them along: what there is to read and to write, opened again where a task runs.

A source is whatever has a shape, a type and slices: arrays of zarr, h5py, tensorstore, NumPy's memory maps. None of
these libraries is loaded here but zarr, where a path is one of its."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tessera import _given
from tessera._errors import ArgumentError, Error, IoError
from tessera._regions import Box


def _is_map(array: Any) -> bool:
    """A memory map that is all of its file's array, so that its file can be opened again."""
    return isinstance(getattr(array, "base", None), mmap.mmap) and getattr(array, "filename", None) is not None


def _root(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _zarr_place(array: Any) -> str | None:
    """The folder of an array of zarr that lies on a disk."""
    root = getattr(getattr(array, "store", None), "root", None)
    return None if root is None else os.path.join(os.path.abspath(root), getattr(array, "path", ""))


def place_of(array: Any) -> tuple[str, str] | None:
    """Where an array lies: a file or a folder, and its name there; None where no other process finds it."""
    if _is_map(array):
        return os.path.abspath(array.filename), ""
    if _root(array) == "h5py":
        return os.path.abspath(array.file.filename), array.name
    if _root(array) == "zarr":
        root = getattr(array.store, "root", None)
        return None if root is None else (os.path.abspath(root), getattr(array, "path", ""))
    return None


def _reopened(kind: str, words: tuple[Any, ...]) -> Any:
    if kind == "memmap":
        import numpy as np

        name, dtype, mode, offset, shape, order = words
        return np.memmap(name, dtype, mode, offset, shape, order)
    return import_module("h5py").File(words[0], "r")[words[1]]


def _packed(array: Any, for_writing: bool) -> tuple[str, Any]:
    """What a pickle has of an array."""
    import numpy as np

    if _is_map(array):
        order = "C" if array.flags.c_contiguous else "F"
        mode = "r+" if for_writing else "r"
        return "memmap", (os.path.abspath(array.filename), array.dtype, mode, array.offset, array.shape, order)
    if _root(array) == "h5py" and not for_writing:
        return "h5py", (os.path.abspath(array.file.filename), array.name)
    lost = isinstance(array, np.ndarray) or _root(array) == "h5py" or "Memory" in type(_store(array)).__name__
    if for_writing and lost:
        raise Error(
            f"the result is a {type(array).__module__}.{type(array).__name__} of this process, which tasks in others "
            "cannot write to",
            help="write to an array of zarr on a disk, or to a numpy.memmap",
        )
    return "", array


def _store(array: Any) -> Any:
    return getattr(array, "store", None)


class Stored:
    """An array with slices, with its dimensions in another order, or one field of its structs."""

    __stored__ = True

    def __init__(
        self, array: Any, order: Sequence[int] | None = None, field: str | None = None, for_writing: bool = False
    ) -> None:
        import numpy as np

        self._array = array
        self._packed: tuple[str, Any] | None = None
        try:
            shape = tuple(map(int, array.shape))
            dtype = array.dtype if isinstance(array.dtype, np.dtype) else np.dtype(array.dtype.numpy_dtype)
        except (AttributeError, TypeError):
            raise ArgumentError(
                f"{_given.shown(array)} is given, expected an array with a shape, a type and slices",
                help="give an array of zarr, h5py or tensorstore, a numpy.memmap, or a path that ends in .zarr or .npy",
            ) from None
        self._order = tuple(range(len(shape))) if order is None else tuple(order)
        self._field = field
        self._writes = for_writing
        self.shape = tuple(shape[d] for d in self._order)
        dtype = dtype if field is None else dtype[field]
        self.dtype = dtype if dtype.names is not None else dtype.newbyteorder("=")  # read() makes them native
        self.ndim = len(self.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.asarray(self.read(((0,) * self.ndim, self.shape)), dtype)

    def __getitem__(self, field: str) -> Stored:
        return Stored(self.array, self._order, field, self._writes)

    def moved(self, source: int, to: int) -> Stored:
        order = list(self._order)
        order.insert(to % len(order), order.pop(source))
        return Stored(self.array, order, self._field, self._writes)

    def __getstate__(self) -> dict[str, Any]:
        packed = _packed(self.array, self._writes) if self._packed is None else self._packed
        return {**self.__dict__, "_array": None, "_packed": packed}

    @property
    def array(self) -> Any:
        """Opened where it is used: whoever sends tasks on may not see the file."""
        if self._array is None and self._packed is not None:
            kind, packed = self._packed
            self._array = _reopened(kind, packed) if kind else packed
        return self._array

    def _slices(self, box: Box) -> tuple[slice, ...]:
        found = [slice(None)] * self.ndim
        for d, b, e in zip(self._order, *box, strict=True):
            found[d] = slice(b, e)
        return tuple(found)

    def read(self, box: Box) -> Any:
        import numpy as np

        part = self.array[self._slices(box)]
        if _root(part) == "tensorstore":
            part = part.read().result()
        part = np.asarray(part) if self._field is None else np.asarray(part)[self._field]
        if not part.dtype.isnative and part.dtype.names is None:
            part = part.astype(part.dtype.newbyteorder("="))
        return part.transpose(self._order)

    def write(self, box: Box, part: Any) -> None:
        import numpy as np

        if not isinstance(part, np.ndarray):
            part = part.get() if hasattr(part, "get") else np.asarray(part)
        self.array[self._slices(box)] = part.transpose(np.argsort(self._order))
        if _is_map(self.array):
            self.array.flush()

    def chunks(self) -> tuple[int, ...] | None:
        """Points that are read together, along each dimension; None where any are."""
        return self._ordered(getattr(self.array, "chunks", None))

    def units(self) -> tuple[int, ...]:
        """Points that are written together: those of shards, else of chunks."""
        layout = getattr(self.array, "chunk_layout", None)
        found = getattr(self.array, "shards", None) or getattr(self.array, "chunks", None)
        if layout is not None and found is None:
            found = layout.write_chunk.shape
        return self._ordered(found) or (1,) * self.ndim

    def _ordered(self, found: Any) -> tuple[int, ...] | None:
        return None if found is None else tuple(int(found[d]) for d in self._order)

    def is_same(self, other: Stored) -> bool:
        a, b = self.array, other.array
        if a is b:
            return True
        own = place_of(a)
        if own is not None and own == place_of(b):
            return True
        import numpy as np

        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return bool(np.may_share_memory(a, b))
        return _root(a) == _root(b) == "zarr" and a.store == b.store and a.path == b.path


def _zarr() -> Any:
    try:
        return import_module("zarr")
    except ImportError:
        raise Error(
            "a path that ends in .zarr needs the package zarr, which is not there", help="install it beside tessera"
        ) from None


def opened(given: Any, name: str) -> Stored:
    """A source: an array, or a path of one."""
    if isinstance(given, Stored):
        return given
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        if not os.path.exists(path):
            raise IoError(f"there is no file {path!r} for {name!r}")
        if path.rstrip("/").endswith(".npy"):
            import numpy as np

            return Stored(np.load(path, mmap_mode="r"))
        found = _zarr().open(path, mode="r")
        if not hasattr(found, "shape"):
            raise ArgumentError(
                f"{path!r} is a group of arrays, expected an array", help="give one of them: zarr.open(path)['0']"
            )
        return Stored(found)
    lazy = getattr(sys.modules.get("dask.array"), "Array", None)
    if lazy is not None and isinstance(given, lazy):
        raise ArgumentError(
            f"{name!r} is an array of Dask, expected one that lies in a file",
            help="write dask.array.store(program(image), target), or give what Dask has it from",
        )
    return Stored(given)


def created(path: str, shape: Sequence[int], dtype: Any, chunks: Sequence[int]) -> Any:
    """An array of zarr at a path, or the one that is there."""
    zarr = _zarr()
    try:
        return zarr.create_array(store=path, shape=tuple(shape), dtype=dtype, chunks=tuple(chunks))
    except (FileExistsError, ValueError, zarr.errors.ContainsArrayError, zarr.errors.ContainsGroupError):
        found = zarr.open(path, mode="r+")
        if hasattr(found, "shape"):
            return found
        raise ArgumentError(f"{path!r} is a group of arrays, expected an array, or nothing") from None


def created_group(path: str, names: Sequence[str]) -> list[str]:
    """Paths of arrays in a group of zarr."""
    if path.rstrip("/").endswith(".zarr"):
        _zarr().open_group(path, mode="a")
    return [os.path.join(path, n) for n in names]


def journal_of(array: Any) -> Path | None:
    """The folder of markers beside an array."""
    place = place_of(array)
    if place is None:
        return None
    file, name = place
    folder = Path(file.rstrip("/") + ".tessera")
    return folder / name.strip("/").replace("/", ".") if name.strip("/") else folder
