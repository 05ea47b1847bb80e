"""tessera.ndimage beside scipy.ndimage and OpenCV: python bench/ndimage.py [--quick] [--only WORD] [--out FILE]

Times are the least of several calls, in milliseconds, of whole calls with new outputs. The table goes to
bench/results/ndimage.json, with --quick to build/ndimage.json; geometric means are printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.ndimage
from coming import mean
from tessera import ndimage

Call = Callable[[Any, Any], Any]
CROSS = scipy.ndimage.generate_binary_structure


def disc(radius: int, rank: int) -> Any:
    """A ball as a footprint."""
    grid = np.indices([2 * radius + 1] * rank) - radius
    return (grid**2).sum(axis=0) <= radius * radius


def weights(size: int, rank: int) -> Any:
    """Weights that are no product."""
    return np.random.default_rng(7).normal(size=[size] * rank)


def functions(rank: int) -> dict[str, Call]:
    """Calls of both libraries."""
    size = 5 if rank == 3 else 7
    return {
        "gaussian_filter 1": lambda m, x: m.gaussian_filter(x, 1.0),
        "gaussian_filter 3": lambda m, x: m.gaussian_filter(x, 3.0),
        "gaussian_filter1d 2": lambda m, x: m.gaussian_filter1d(x, 2.0),
        "gaussian_laplace 1.5": lambda m, x: m.gaussian_laplace(x, 1.5),
        "gaussian_gradient_magnitude 1.5": lambda m, x: m.gaussian_gradient_magnitude(x, 1.5),
        "sobel": lambda m, x: m.sobel(x),
        "prewitt": lambda m, x: m.prewitt(x),
        "laplace": lambda m, x: m.laplace(x),
        "correlate 3": lambda m, x: m.correlate(x, weights(3, rank)),
        "convolve": lambda m, x: m.convolve(x, weights(size, rank)),
        "correlate1d 9": lambda m, x: m.correlate1d(x, np.arange(9.0), 0),
        "uniform_filter 3": lambda m, x: m.uniform_filter(x, 3),
        "uniform_filter 15": lambda m, x: m.uniform_filter(x, 15),
        "uniform_filter1d 9": lambda m, x: m.uniform_filter1d(x, 9),
        "minimum_filter 3": lambda m, x: m.minimum_filter(x, 3),
        "maximum_filter 9": lambda m, x: m.maximum_filter(x, 9),
        "minimum_filter1d 9": lambda m, x: m.minimum_filter1d(x, 9),
        "maximum_filter disc 5": lambda m, x: m.maximum_filter(x, footprint=disc(5 if rank == 2 else 3, rank)),
        "median_filter 3": lambda m, x: m.median_filter(x, 3),
        "median_filter 5": lambda m, x: m.median_filter(x, 5 if rank == 2 else (3, 3, 5)),
        "rank_filter 2 of 3": lambda m, x: m.rank_filter(x, 2, 3),
        "percentile_filter 30 of 5": lambda m, x: m.percentile_filter(x, 30, 5 if rank == 2 else 3),
        "grey_erosion 5": lambda m, x: m.grey_erosion(x, 5),
        "grey_dilation structure": lambda m, x: m.grey_dilation(x, structure=np.arange(3.0**rank).reshape([3] * rank)),
        "grey_opening 5": lambda m, x: m.grey_opening(x, 5),
        "grey_closing 5": lambda m, x: m.grey_closing(x, 5),
        "morphological_gradient 3": lambda m, x: m.morphological_gradient(x, 3),
        "morphological_laplace 3": lambda m, x: m.morphological_laplace(x, 3),
        "white_tophat 9": lambda m, x: m.white_tophat(x, 9),
        "black_tophat 9": lambda m, x: m.black_tophat(x, 9),
    }


def binaries(rank: int) -> dict[str, Call]:
    """Calls for binary images."""
    box = np.ones([3] * rank, bool)
    return {
        "binary_erosion": lambda m, x: m.binary_erosion(x),
        "binary_dilation 3": lambda m, x: m.binary_dilation(x, box),
        "binary_dilation x5": lambda m, x: m.binary_dilation(x, iterations=5),
        "binary_opening": lambda m, x: m.binary_opening(x, box),
        "binary_closing disc": lambda m, x: m.binary_closing(x, disc(4 if rank == 2 else 2, rank)),
        "binary_hit_or_miss": lambda m, x: m.binary_hit_or_miss(x),
        "binary_fill_holes": lambda m, x: m.binary_fill_holes(x),
        "binary_propagation": lambda m, x: m.binary_propagation(m.binary_erosion(x, box), mask=x),
    }


def spectra(rank: int) -> dict[str, Call]:
    """Calls for transforms."""
    return {
        "fourier_gaussian": lambda m, x: m.fourier_gaussian(x, 2.0),
        "fourier_uniform": lambda m, x: m.fourier_uniform(x, 5),
        "fourier_ellipsoid": lambda m, x: m.fourier_ellipsoid(x, 5),
        "fourier_shift": lambda m, x: m.fourier_shift(x, 2.5),
    }


def opencv() -> dict[str, Callable[[Any], Any]]:
    """What OpenCV has of these, for images of two dimensions."""
    try:
        import cv2
    except ImportError:
        return {}
    cv2.setNumThreads(os.cpu_count() or 1)
    symmetric = cv2.BORDER_REFLECT

    def blur(sigma: float) -> Callable[[Any], Any]:
        size = 2 * int(4 * sigma + 0.5) + 1
        return lambda x: cv2.GaussianBlur(x, (size, size), sigma, borderType=symmetric)

    def ones(n: int) -> Any:
        return np.ones((n, n), np.uint8)

    def morph(operation: int, n: int) -> Callable[[Any], Any]:
        return lambda x: cv2.morphologyEx(x, operation, ones(n), borderType=symmetric)

    depth = {
        "uint8": cv2.CV_8U,
        "float32": cv2.CV_32F,
        "float64": cv2.CV_64F,
        "uint16": cv2.CV_16U,
    }
    return {
        "gaussian_filter 1": blur(1.0),
        "gaussian_filter 3": blur(3.0),
        "sobel": lambda x: cv2.Sobel(x, depth[x.dtype.name], 1, 0, borderType=symmetric),
        "laplace": lambda x: cv2.Laplacian(x, depth[x.dtype.name], borderType=symmetric),
        "correlate 3": lambda x: cv2.filter2D(x, -1, weights(3, 2), borderType=symmetric),
        "convolve": lambda x: cv2.filter2D(x, -1, np.flip(weights(7, 2)), borderType=symmetric),
        "uniform_filter 3": lambda x: cv2.blur(x, (3, 3), borderType=symmetric),
        "uniform_filter 15": lambda x: cv2.blur(x, (15, 15), borderType=symmetric),
        "minimum_filter 3": lambda x: cv2.erode(x, ones(3), borderType=symmetric),
        "maximum_filter 9": lambda x: cv2.dilate(x, ones(9), borderType=symmetric),
        "maximum_filter disc 5": lambda x: cv2.dilate(x, disc(5, 2).astype(np.uint8), borderType=symmetric),
        "median_filter 3": lambda x: cv2.medianBlur(x, 3),
        "median_filter 5": lambda x: cv2.medianBlur(x, 5),
        "grey_erosion 5": lambda x: cv2.erode(x, ones(5), borderType=symmetric),
        "grey_opening 5": morph(cv2.MORPH_OPEN, 5),
        "grey_closing 5": morph(cv2.MORPH_CLOSE, 5),
        "morphological_gradient 3": morph(cv2.MORPH_GRADIENT, 3),
        "white_tophat 9": morph(cv2.MORPH_TOPHAT, 9),
        "black_tophat 9": morph(cv2.MORPH_BLACKHAT, 9),
    }


def least(call: Callable[[], Any], budget: float) -> float:
    """Milliseconds of the fastest call."""
    best, end, count = math.inf, time.perf_counter() + budget, 0
    while count < 2 or (time.perf_counter() < end and count < 50):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
        if best > budget:
            break
    return best * 1e3


def image_of(kind: str, shape: tuple[int, ...]) -> Any:
    """Something to filter."""
    random = np.random.default_rng(1)
    if kind == "bool":
        return scipy.ndimage.uniform_filter(random.random(shape, np.float32), 5) > 0.49
    if kind.startswith("complex"):
        return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(kind)
    if kind.startswith("float"):
        return random.random(shape).astype(kind)
    return random.integers(0, 256 if kind == "uint8" else 4000, shape).astype(kind)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--quick",
        action="store_true",
        help="an image of 1024 x 1024, two types, short samples",
    )
    parser.add_argument("--only", default="", help="functions whose names hold this word")
    parser.add_argument("--types", default="", help="types, with commas")
    parser.add_argument("--ranks", default="2,3")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    root = Path(__file__).resolve().parent
    out = given.out or (root.parent / "build/ndimage.json" if given.quick else root / "results/ndimage.json")
    budget = 0.1 if given.quick else 0.5
    kinds = ["uint8", "float32"] if given.quick else ["uint8", "uint16", "int32", "float32", "float64"]
    kinds = given.types.split(",") if given.types else [*kinds, "bool", "complex64"]
    shapes: list[tuple[int, ...]] = [(1024, 1024)] if given.quick else [(2048, 2048), (256, 256, 256)]
    shapes = [shape for shape in shapes if str(len(shape)) in given.ranks.split(",")]
    rows: list[dict[str, Any]] = []
    for shape in shapes:
        rank = len(shape)
        peers = opencv() if rank == 2 else {}
        for kind in kinds:
            calls = {"bool": binaries, "complex64": spectra}.get(kind, functions)(rank)
            x = image_of(kind, shape)
            for name, call in calls.items():
                if given.only not in name:
                    continue
                call(ndimage, x)
                row: dict[str, Any] = {
                    "function": name,
                    "type": kind,
                    "shape": list(shape),
                }
                row["tessera_ms"] = least(partial(call, ndimage, x), budget)
                row["scipy_ms"] = least(partial(call, scipy.ndimage, x), budget)
                row["over_scipy"] = row["scipy_ms"] / row["tessera_ms"]
                if name in peers:
                    with contextlib.suppress(Exception):  # a type that it does not take
                        row["opencv_ms"] = least(partial(peers[name], x), budget)
                        row["over_opencv"] = row["opencv_ms"] / row["tessera_ms"]
                rows.append(row)
                times = f"{row['tessera_ms']:9.2f} {row['scipy_ms']:9.1f} {row.get('opencv_ms', math.nan):9.2f}"
                over = f"{row['over_scipy']:8.1f} {row.get('over_opencv', math.nan):6.2f}"
                print(
                    f"{'x'.join(map(str, shape)):>12} {kind:>9} {name:32} {times} {over}",
                    flush=True,
                )
    summary = {
        "over_scipy": mean([row["over_scipy"] for row in rows]),
        "over_opencv": mean([row["over_opencv"] for row in rows if "over_opencv" in row]),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"summary": summary, "rows": rows}, indent=1) + "\n")
    print(f"geometric means: {summary['over_scipy']:.2f} over SciPy, {summary['over_opencv']:.2f} over OpenCV")


if __name__ == "__main__":
    main()
