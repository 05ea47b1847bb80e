"""Jobs of `coming.py cupy`: the functions of ndimage.py beside cupyx.scipy.ndimage on a card.

Both get the same arrays of CuPy. Times are the least of several calls between events of the current stream, with results that are
made anew among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import cupy
import cupyx.scipy.ndimage
from ndimage import functions
from tessera import ndimage


def least(call: Any, seconds: float = 0.05) -> float:
    """Milliseconds of one call."""
    for _ in range(3):
        call()
    cupy.cuda.Device().synchronize()
    best, spent = math.inf, 0.0
    while spent < 1e3 * seconds:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        time = cupy.cuda.get_elapsed_time(begin, end)
        best, spent = min(best, time), spent + time
    return best


def compared(name: str, call: Any, image: Any, seconds: float) -> dict[str, Any] | None:
    """A row; none where CuPy does not have the function for the type."""
    try:
        expected = call(cupyx.scipy.ndimage, image)
    except Exception:  # noqa: BLE001 - whatever it says
        return None
    got = call(ndimage, image)
    scale = float(abs(expected.astype("f8")).max()) or 1.0
    apart = float(abs(got.astype("f8") - expected.astype("f8")).max()) / scale
    ours, theirs = (least(lambda m=m: call(m, image), seconds) for m in (ndimage, cupyx.scipy.ndimage))
    return {
        "job": name,
        "type": image.dtype.name,
        "shape": list(image.shape),
        "tessera_ms": ours,
        "peer_ms": theirs,
        "ratio": theirs / ours,
        "difference": apart,
        "same": apart <= 1e-5,
    }


def rows(only: str, quick: bool, seconds: float) -> Iterator[dict[str, Any]]:
    for rank, side in ((2, 4096), (3, 256)):
        for dtype in ("float32", "uint8"):
            cupy.random.seed(1)
            image = (cupy.random.random([side] * rank) * 255).astype(dtype)
            for name, call in functions(rank).items():
                if only in f"{name} {dtype}" and not (quick and rank == 3):
                    row = compared(name, call, image, seconds / 40)
                    if row:
                        yield row


def version() -> str:
    return str(cupy.__version__)
