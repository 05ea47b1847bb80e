"""Histograms and what is made of them, local thresholds and non-local means, beside OpenCV: the command `tessera` and the wheel by turns, least times of each.

python bench/levels.py build/release/src/cli/tessera [threads]      (opencv-python-headless and numpy, as in build/peers)

Times of ours are what `--time` says: of the run alone, as those of OpenCV are of the call alone. Results are compared.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

ROUNDS = 5
HISTOGRAM = "parameter M, N; vector#2 uint8 x[M,N]; h[0..255] = sum(1 into x); return h;"


def photograph(shape: tuple[int, int]) -> Any:
    """Smooth, with noise: neighbours often have the same value."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    smooth = 120 + 80 * np.sin(y / 97) * np.cos(x / 131)
    return np.clip(smooth + np.random.default_rng(1).normal(0, 3, shape), 0, 255).astype(np.uint8)


def least(call: Callable[[], Any]) -> float:
    best = 1e9
    for _ in range(30):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e3


def ours(tessera: str, words: list[str], folder: Path, threads: int) -> float:
    command = [tessera, *words, "x.npy", "--threads", str(threads), "--time", "--repeat", "30", "-o", "out.npy"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = re.search(r"minimum ([0-9.]+) (ms|µs|us|s)", said.stdout + said.stderr)
    assert found, said.stdout + said.stderr
    return float(found[1]) * {"ms": 1, "s": 1e3}.get(found[2], 1e-3)


def main() -> None:
    tessera, threads = str(Path(sys.argv[1]).resolve()), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    cv2.setNumThreads(threads)
    x = photograph((1080, 1920))
    parts = cv2.createCLAHE(40, (8, 8))
    local = ["filter", "local_threshold", "--offset", "4", "--border", "clamped"]
    similar = ["filter", "nonlocal_means", "--strength", "10"]
    # The last two: by how much results differ at most, and at how many points by more than that.
    jobs: list[tuple[str, list[str], Callable[[], Any], int, float]] = [
        ("histogram", ["run", "h.forma"], lambda: cv2.calcHist([x], [0], None, [256], [0, 256]).ravel().astype(int), 0, 0),
        ("equalisation", ["filter", "equalize"], lambda: cv2.equalizeHist(x), 0, 0),
        ("Otsu", ["filter", "otsu"], lambda: cv2.threshold(x, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)[1], 0, 0),
        ("CLAHE 8 x 8", ["filter", "clahe"], lambda: parts.apply(x), 1, 0),
        # (Of means that are rounded.)
        ("local threshold 15 x 15", local, lambda: cv2.adaptiveThreshold(x, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 15, 4), 0, 0.1),
        # (Of weights in a table.)
        ("non-local means 7 x 7 of 5 x 5", similar, lambda: cv2.fastNlMeansDenoising(x, None, 10, 5, 7), 1, 0.01),
    ]
    print(f"| 1080 x 1920 bytes, {threads} threads | Tessera ms | OpenCV {cv2.__version__} ms | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "x.npy", x)
        (folder / "h.forma").write_text(HISTOGRAM)
        for what, words, call, limit, share in jobs:
            pairs = [(ours(tessera, words, folder, threads), least(call)) for _ in range(ROUNDS)]
            apart = np.abs(np.load(folder / "out.npy").astype(int) - call().astype(int))
            assert (apart > limit).mean() <= share, f"{what}: results differ by {apart.max()} at {(apart > limit).mean():.1%}"
            mine, theirs = min(p[0] for p in pairs), min(p[1] for p in pairs)
            print(f"| {what} | {mine:.2f} | {theirs:.2f} | {mine / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
