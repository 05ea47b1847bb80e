"""Arrays that lie in files, as tasks take them along: what there is to read and to write, opened again where a task runs.

A source is whatever has a shape, a type and slices: arrays of zarr, h5py, tensorstore, NumPy's memory maps. None of
these libraries is loaded here but zarr, where a path is one of its."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import shutil
import sys
import weakref
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

from tessera import _given
from tessera._errors import ArgumentError, Error, IoError
from tessera._regions import Box


def _is_map(array: Any) -> bool:
    """A memory map that is all of its file's array, so that its file can be opened again."""
    return isinstance(getattr(array, "base", None), mmap.mmap) and getattr(array, "filename", None) is not None


def _root(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def place_of(array: Any) -> tuple[str, str] | None:
    """Where an array lies, or one of a path: a file or a folder, and its name there; None where no other process finds
    it."""
    if isinstance(array, str | os.PathLike):
        return None if _is_url(array) else _in_store(os.path.abspath(array))
    if _is_map(array):
        return os.path.abspath(array.filename), ""
    if _root(array) == "h5py":
        return os.path.abspath(array.file.filename), array.name
    root = getattr(array.store, "root", None) if _root(array) == "zarr" else None
    return None if root is None else _in_store(os.path.join(os.path.abspath(root), array.path))


def _is_url(path: str | os.PathLike[str]) -> bool:
    return "://" in os.fspath(path)


def _in_store(path: str) -> tuple[str, str]:
    """An array of a store of zarr, by whatever name it was opened."""
    parts = Path(path).parts
    root = next((k for k, p in enumerate(parts) if p.endswith(".zarr")), len(parts))
    return os.path.join(*parts[: root + 1]), "/".join(parts[root + 1 :])


_names: dict[int, tuple[weakref.ref[Any], str]] = {}


def _name_of(array: Any) -> str:
    """A name that no other array has, of this process or another one."""
    key = id(array)
    found = _names.get(key)
    if found is None or found[0]() is not array:
        found = _names[key] = weakref.ref(array, lambda _: _names.pop(key, None)), uuid4().hex
    return found[1]


def _address(array: Any, for_writing: bool) -> Any:
    """Where an array lies, as JSON has it; of what lies in memory the elements, or of a result a name of the memory."""
    import numpy as np

    place = place_of(array)
    if place is not None:
        return [os.path.realpath(place[0]), place[1]]
    if _root(array) == "zarr":
        return [str(array.store), array.path]
    if _root(array) == "tensorstore":
        return array.spec().to_json().get("kvstore")
    if not isinstance(array, np.ndarray):
        return type(array).__qualname__
    root = _owner(array)
    begin = [a.__array_interface__["data"][0] for a in (root, array)]
    if _is_map(root):  # a part of it
        return [*_address(root, for_writing), begin[1] - begin[0], array.strides]
    return ["memory", _name_of(root), begin[1] - begin[0], array.strides] if for_writing else ["memory", _digest(array)]


def _owner(array: Any) -> Any:
    """The array of NumPy of which this one is a view."""
    import numpy as np

    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _digest(array: Any) -> str:
    import numpy as np

    # What is repeated without memory of its own is looked at once.
    once = array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]
    digest = hashlib.blake2b(digest_size=16)
    for part in [once] if once.flags.c_contiguous or once.ndim < 2 else once:
        digest.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
    return digest.hexdigest()


def _written(array: Any) -> list[int] | None:
    """What tells that the file of an array was written again, or that an array of zarr was made again; None where nothing
    does, as of HDF5, whose files others write to as well."""
    import numpy as np

    root = _owner(array) if isinstance(array, np.ndarray) else array
    place = place_of(root)
    if place is None or _root(root) == "h5py":
        return None
    of_zarr = [os.path.join(*place, head) for head in ("zarr.json", ".zarray")]
    for file in of_zarr if _root(root) == "zarr" else place[:1]:
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(file)
            return [found.st_size, found.st_mtime_ns]
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
        if part.dtype.names is not None:
            part = part.astype(self.dtype)
        self.array[self._slices(box)] = part.transpose(np.argsort(self._order))
        if _is_map(self.array):
            self.array.flush()
        elif _root(self.array) == "h5py":
            self.array.file.flush()

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

    def address(self) -> Any:
        """Where it lies, as JSON has it."""
        return [_address(self.array, self._writes), self._order, self._field]

    def written(self) -> list[int] | None:
        """Of a source what tells that it was written again, of a target that it was made again."""
        return None if self._writes and _root(self.array) != "zarr" else _written(self.array)

    def is_same(self, other: Stored) -> bool:
        a, b = self.array, other.array
        if a is b:
            return True
        own, others = place_of(a), place_of(b)
        if own is not None and others is not None and own[1] == others[1]:
            return os.path.realpath(own[0]) == os.path.realpath(others[0])
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
            raise IoError(f"there is no file {path!r}, which is to be {name}")
        if path.rstrip("/").endswith(".npy"):
            import numpy as np

            return Stored(np.load(path, mmap_mode="r"))
        if os.path.isfile(path):
            raise ArgumentError(
                f"{path!r} is a file, expected one that ends in .npy, or a folder of zarr",
                help="the command reads TIFF and other files by parts: tessera run ... --memory SIZE; "
                "or give an array, as tifffile.memmap(path) is one",
            )
        found = _whole_level(_zarr().open(os.path.abspath(path), mode="r"))  # for whoever works elsewhere
        if not hasattr(found, "shape"):
            raise ArgumentError(
                f"{path!r} is a group of arrays, expected an array", help="give one of them: zarr.open(path)['0']"
            )
        return Stored(found)
    check_stored(given, repr(name))
    return Stored(given)


def _whole_level(found: Any) -> Any:
    """Of an image of OME-Zarr, 0.4 or 0.5, the array of its finest level; anything else as it is."""
    if hasattr(found, "shape"):
        return found
    attributes = dict(found.attrs)
    scales = attributes.get("ome", attributes).get("multiscales")
    try:
        return found[scales[0]["datasets"][0]["path"]]
    except (KeyError, TypeError, IndexError):
        return found


def check_stored(given: Any, name: str) -> None:
    """Raises for arrays of Dask, which nobody writes to, and which are read chunk by chunk of their own."""
    lazy = getattr(sys.modules.get("dask.array"), "Array", None)
    if lazy is not None and isinstance(given, lazy):
        raise ArgumentError(
            f"{name} is an array of Dask, expected one that lies in a file",
            help="write dask.array.store(program(image), target), or give what Dask has it from",
        )


def alike(a: Any, b: Any) -> bool:
    """Whether types are the same, wherever the fields of structs lie."""
    if a.names is None or b.names is None:
        return bool(a == b)
    return a.names == b.names and all(a[n] == b[n] for n in a.names)


def created(path: str, shape: Sequence[int], dtype: Any, chunks: Sequence[int]) -> Any:
    """An array of zarr at a path, or the one that is there; where that ends in .ome.zarr, of an image of one level."""
    zarr = _zarr()

    def make(where: str) -> Any:
        array = {"shape": tuple(shape), "dtype": dtype, "chunks": tuple(chunks)}
        if not path.rstrip("/").endswith(".ome.zarr"):
            return zarr.create_array(store=where, **array)
        group = zarr.create_group(store=where, attributes=_image_of_ome(len(shape)))
        return group.create_array("0", dimension_names="tzyx"[-len(shape) :] if len(shape) <= 4 else None, **array)

    if _is_url(path):
        with contextlib.suppress(
            FileExistsError, ValueError, zarr.errors.ContainsArrayError, zarr.errors.ContainsGroupError
        ):
            return make(path)
    else:
        path = os.path.abspath(path)
        if not _is_node(path):
            partial = f"{path}.{uuid4().hex}"  # it appears whole: of several processes that make it one does
            try:
                make(partial)
                with contextlib.suppress(OSError):
                    os.rename(partial, path)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            if not _is_node(path):
                raise ArgumentError(f"{path!r} is there and no array of zarr, expected one, or nothing")
    found = _whole_level(zarr.open(path, mode="r+"))
    if hasattr(found, "shape"):
        return found
    raise ArgumentError(f"{path!r} is a group of arrays, expected an array, or nothing")


def _image_of_ome(rank: int) -> dict[str, Any]:
    """Metadata of OME-Zarr 0.5, of an image of one level whose points are one apart."""
    axes = [{"name": n, "type": "time" if n == "t" else "space"} for n in "tzyx"[-rank:]]
    if rank > len(axes):
        raise ArgumentError(
            f"an image of OME-Zarr of rank {rank} has axes that the result does not name, expected rank 2 to 4",
            help="write a path that ends in .zarr alone",
        )
    level = {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0] * rank}]}
    return {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [level]}]}}


def _is_node(path: str) -> bool:
    """Whether there is an array or a group of zarr."""
    return any(os.path.exists(os.path.join(path, head)) for head in ("zarr.json", ".zarray", ".zgroup"))


def created_group(path: str, names: Sequence[str]) -> list[str]:
    """Paths of arrays in a group of zarr."""
    if path.rstrip("/").endswith(".zarr"):
        _zarr().open_group(path, mode="a")
    return [os.path.join(path, n) for n in names]


def journal_of(array: Any) -> Path | None:
    """The folder of markers beside an array, or one of a path."""
    place = place_of(array)
    if place is None:
        return None
    file, name = place
    folder = Path(file.rstrip("/") + ".tessera")
    return folder / name.strip("/").replace("/", ".") if name.strip("/") else folder
