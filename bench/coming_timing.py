"""What the comparisons of coming.py share: a job that two libraries compute, its arrays, its times, how far the results are apart."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

THREADS = min(2, os.cpu_count() or 1)
SHAPE = (2160, 3840)
ROTATE_BYTES = 128 << 20

#: An image and where the result goes.
Call = Callable[[Any, Any], Any]


@dataclass
class Job:
    """One filter in two libraries. `limit` is how far apart results may be: of integers in steps, else relative to the largest."""

    name: str
    kind: str
    ours: Call
    theirs: Call
    result: str = ""  # its type, that of the image where none is given
    limit: float = 1e-5
    margin: int = 0  # points at the border that are not compared
    shape: tuple[int, ...] = SHAPE
    note: str = ""
    image: Callable[[str, tuple[int, ...]], Any] | None = None  # photograph() where none is given


def photograph(kind: str, shape: tuple[int, ...]) -> Any:
    """Shading, edges, noise; with a last dimension of 3 in colours."""
    y, x = np.indices(shape[:2], dtype=np.float32)
    noise = np.random.default_rng(1).random(shape, dtype=np.float32)
    if len(shape) == 3:
        y, x = y[..., None], x[..., None]
    image = 90 + 60 * np.sin(x / 97) * np.cos(y / 61) + 60 * ((x // 64 + y // 48) % 2) + 30 * noise
    return np.ascontiguousarray(image.astype(kind))


def median_in_turn(calls: dict[str, Callable[[int], Any]], seconds: float, batch: float = 0.04) -> dict[str, float]:
    """Milliseconds of one call each, the medians. They take turns, a few calls at a time, the first of which is not counted."""
    for call in calls.values():
        call(0)
        call(1)
    times: dict[str, list[float]] = {name: [] for name in calls}
    turn, end = 0, time.perf_counter() + seconds
    while turn < 3 or time.perf_counter() < end:
        for name, call in calls.items():
            call(0)
            start = last = time.perf_counter()
            count = 0
            while last - start < batch or count < 2:
                count += 1
                call(count)
                now = time.perf_counter()
                times[name].append(now - last)
                last = now
        turn += 1
    return {name: statistics.median(found) * 1e3 for name, found in times.items()}


def difference(ours: Any, theirs: Any, margin: int = 0) -> float:
    """The largest difference: in steps of integers, else relative to the largest value."""
    inner = tuple(slice(margin, -margin or None) for _ in ours.shape)
    a, b = (np.asarray(x)[inner].astype(np.float64) for x in (ours, theirs))
    apart = float(np.abs(a - b).max())
    return apart if np.asarray(ours).dtype.kind in "bui" else apart / (float(np.abs(b).max()) or 1.0)


def measured(job: Job, seconds: float) -> dict[str, Any]:
    """A row of the table: both libraries on the same arrays, of which there are more than a cache holds."""
    image = (job.image or photograph)(job.kind, job.shape)
    ours = np.asarray(job.ours(image, None))
    theirs = np.asarray(job.theirs(image, np.empty_like(ours)))
    apart = difference(ours, theirs, job.margin)
    sets = max(2, math.ceil(ROTATE_BYTES / (image.nbytes + ours.nbytes)))
    images = [image.copy() for _ in range(sets)]
    outs = [np.zeros_like(ours) for _ in range(sets)]
    times = median_in_turn(
        {
            "tessera": lambda i: job.ours(images[i % sets], outs[i % sets]),
            "peer": lambda i: job.theirs(images[i % sets], outs[i % sets]),
        },
        seconds,
    )
    return {
        "job": job.name,
        "type": job.kind,
        "shape": list(job.shape),
        "tessera_ms": times["tessera"],
        "peer_ms": times["peer"],
        "ratio": times["peer"] / times["tessera"],
        "difference": apart,
        "same": apart <= job.limit,
        "note": job.note,
    }
