"""Memory of large results, which is used again: new pages cost as much as a filter.

The system clears every page that it gives. Up to 256 MiB in 8 pieces are kept of arrays that nobody has any more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tessera._forks import Lock

_LEAST = 4 << 20
_MOST_BYTES, _MOST_PIECES = 256 << 20, 8

_free: list[np.ndarray[Any, Any]] = []
_lock = Lock()


class _Block:
    """Owns memory for one array and gives it back when the array and all views of it are gone."""

    def __init__(self, memory: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.memory = memory
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (memory.ctypes.data, False),
        }

    def __del__(self, lock: Any = _lock, free: Any = _free, most: Any = (_MOST_PIECES, _MOST_BYTES)) -> None:
        with lock:  # bound above: at the end of the process the module's names are gone
            if len(free) < most[0] and sum([m.nbytes for m in free]) + self.memory.nbytes <= most[1]:
                free.append(self.memory)


def empty(shape: tuple[int, ...], name: str) -> np.ndarray[Any, Any]:
    """An array of whatever the memory holds."""
    dtype = np.dtype(name)
    size = math.prod(shape) * dtype.itemsize
    if size < _LEAST:
        return np.empty(shape, dtype)
    memory = None
    with _lock:
        for k, piece in enumerate(_free):
            if size <= piece.nbytes <= size + size // 4:
                memory = _free.pop(k)
                break
    return np.asarray(_Block(np.empty(size, np.uint8) if memory is None else memory, shape, dtype))
