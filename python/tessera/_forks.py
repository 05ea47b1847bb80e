"""Locks in children of os.fork(), where the threads that hold them do not exist."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType

_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A lock that its thread may take again. In a child it is free, unless the thread that forked has it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        _locks.add(self)

    # The name is bound: at the end of the process those of the module are gone.
    def __enter__(self, thread: Callable[[], int] = threading.get_ident) -> None:
        self._lock.acquire()
        self._owner = thread()
        self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
        self._lock.release()

    def _renew(self) -> None:
        if self._owner != threading.get_ident():
            self._lock, self._owner, self._depth = threading.RLock(), None, 0


def _renew_all() -> None:
    for lock in _locks:
        lock._renew()


os.register_at_fork(after_in_child=_renew_all)
