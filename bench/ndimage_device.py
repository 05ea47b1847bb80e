"""tessera.ndimage beside cupyx.scipy.ndimage on a card: python bench/ndimage_device.py [--out FILE]

Both get the same arrays of CuPy. Times are the least of several calls between events of the current stream, in milliseconds, results
that are made anew among them; where results differ the row says by how much, relative to the largest value.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows, logs = [], []
    for rank, side in ((2, 4096), (3, 256)):
        for dtype in ("float32", "uint8"):
            cupy.random.seed(1)
            image = (cupy.random.random([side] * rank) * 255).astype(dtype)
            for name, call in functions(rank).items():
                row: dict[str, Any] = {"function": name, "rank": rank, "dtype": dtype}
                try:
                    expected = call(cupyx.scipy.ndimage, image)
                except Exception as error:  # noqa: BLE001 - CuPy does not have it
                    row["cupy"] = type(error).__name__
                    rows.append(row)
                    continue
                try:
                    got = call(ndimage, image)
                    scale = float(abs(expected.astype("f8")).max()) or 1.0
                    row["difference"] = float(abs(got.astype("f8") - expected.astype("f8")).max()) / scale
                    row["tessera_ms"] = least(lambda c=call, x=image: c(ndimage, x))
                    row["cupy_ms"] = least(lambda c=call, x=image: c(cupyx.scipy.ndimage, x))
                    row["ratio"] = row["cupy_ms"] / row["tessera_ms"]
                    logs.append(math.log(row["ratio"]))
                except Exception as error:  # noqa: BLE001 - told in the table
                    row["error"] = str(error)[:200]
                rows.append(row)
                ratio = (
                    f"{row['ratio']:6.2f} times, difference {row['difference']:.1e}"
                    if "ratio" in row
                    else row.get("error")
                )
                print(f"{rank}-D {dtype:8} {name:32} {ratio}", flush=True)
                if options.out:
                    options.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"geometric mean of {len(logs)}: {math.exp(sum(logs) / max(1, len(logs))):.2f} times CuPy")


if __name__ == "__main__":
    main()
