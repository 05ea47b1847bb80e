"""Running tasks: here with reading, computing and writing side by side, on workers of Dask, or on an executor."""

from __future__ import annotations

import concurrent.futures
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tessera import _given, _options
from tessera._errors import ArgumentError
from tessera._stored_passes import Rows
from tessera._tasks import Task, Tasks, listed

Shown = Callable[[int, int], object]


def store(what: Any, src: Any, dst: Any, *, client: Any = None, progress: Any = False, **options: Any) -> None:
    """Computes from files to files, larger than memory: see :func:`tasks`, whose arguments it takes.

    ``client`` is a ``distributed.Client`` or a ``concurrent.futures.Executor``: one task a part, without edges. Without
    one it runs here, and reads, computes and writes side by side. ``progress`` is True, or a function of tasks done and to
    do. Markers are removed at the end."""
    if client is not None and not hasattr(client, "submit"):
        raise ArgumentError(
            f"client is {_given.shown(client)}, expected a distributed.Client or an executor of concurrent.futures"
        )
    if client is not None:
        options.setdefault("threads", 1)  # there are as many tasks at once as cores
    options.setdefault("least_tasks", _PER_CORE * _cores(client))
    made = listed(what, src, dst, lambda rows: _parts(rows, client), **options)
    run_all(made, client, progress)
    made._close()


_PER_CORE = 4  # tasks, so that all cores are busy to the end, and reading goes on beside computing


def _cores(client: Any) -> int:
    """How many tasks a client runs at once."""
    if hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    return int(getattr(client, "_max_workers", 0)) or 1


def run_all(all_tasks: Tasks, client: Any, progress: Any) -> None:
    left = all_tasks.left() if all_tasks._job.resume else list(all_tasks)
    shown: Shown | None = _options._shown if progress is True else progress or None
    done, count = len(all_tasks) - len(left), len(all_tasks)
    for _ in _here(left) if client is None else _elsewhere(left, client):
        done += 1
        if shown is not None:
            shown(done, count)


def _run(task: Task) -> str:
    return task.run()


def _part(rows: Rows) -> list[bytes]:
    return rows.run()


def _parts(rows: Sequence[Rows], client: Any) -> list[list[bytes]]:
    """What rows come to, in their order."""
    distributed = sys.modules.get("distributed")
    if client is None:
        return [r.run() for r in rows]
    if distributed is not None and isinstance(client, distributed.Client):
        found: list[list[bytes]] = client.gather(client.map(_part, rows, pure=False))
        return found
    return [f.result() for f in [client.submit(_part, r) for r in rows]]


def _elsewhere(left: Sequence[Task], client: Any) -> Iterable[Any]:
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(client, distributed.Client):
        futures = client.map(_run, left, pure=False)
        finished = distributed.as_completed(futures)
    else:
        futures = [client.submit(_run, t) for t in left]
        finished = concurrent.futures.as_completed(futures)
    try:
        for future in finished:
            yield future.result()
    finally:  # after a failure the others are in vain
        for future in futures:
            future.cancel()


def _here(left: Sequence[Task]) -> Iterable[Any]:
    """One part is read, one computed, one written."""
    if not left:
        return
    with ThreadPoolExecutor(1, "tessera-read") as reader, ThreadPoolExecutor(1, "tessera-write") as writer:
        ahead = reader.submit(left[0].read)
        behind: Future[None] | None = None
        try:
            for k, task in enumerate(left):
                windows, places = ahead.result()
                if k + 1 < len(left):
                    ahead = reader.submit(left[k + 1].read)
                results = task.compute(windows, places)
                del windows
                if behind is not None:
                    behind.result()
                    yield
                behind = writer.submit(task.write, results)
                del results
            if behind is not None:
                behind.result()
                yield
        finally:
            ahead.cancel()
