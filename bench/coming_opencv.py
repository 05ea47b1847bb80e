"""Jobs of `coming.py opencv`: calls of OpenCV beside named filters, functions of tessera.ndimage and pipelines that compute the same.

Outputs are allocated before, and given as dst and out. Borders are OpenCV's default, "mirror" here. The bilateral filter has a square of
neighbours here, a disc there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import tessera as ts
from coming_timing import THREADS, Call, Job, measured
from tessera import ndimage

cv2.setNumThreads(THREADS)
DENSE = {n: np.random.default_rng(n).random((n, n), dtype=np.float32) / (n * n / 2) for n in (3, 7)}
MIRROR = cv2.BORDER_REFLECT_101


def ones(n: int) -> Any:
    return np.ones((n, n), np.uint8)


# ---- pipelines ---------------------------------------------------------------------------------------------------


def slopes(b: Any) -> tuple[Any, Any]:
    gx = (b[-1, 1] - b[-1, -1]) + 2 * (b[0, 1] - b[0, -1]) + (b[1, 1] - b[1, -1])
    gy = (b[1, -1] - b[-1, -1]) + 2 * (b[1, 0] - b[-1, 0]) + (b[1, 1] - b[-1, 1])
    return gx, gy


@ts.pipeline
def sobel_x(image: Any) -> Any:
    return slopes(image.mirror())[0]


@ts.pipeline
def sobel_bytes(image: Any) -> Any:
    return ts.cast(ts.int16, slopes(image.mirror())[0])


@ts.pipeline
def magnitude(image: Any) -> Any:
    gx, gy = slopes(image.mirror())
    return ts.sqrt(gx * gx + gy * gy)


@ts.pipeline
def harris(image: Any) -> Any:
    ix, iy = (ts.stage(g * (1 / 12)) for g in slopes(image.mirror()))

    def box(value: Any) -> Any:
        b = ts.stage(value).mirror()
        return ts.over(1, 1).sum(lambda i, j: b[i, j])

    xx, xy, yy = box(ix * ix), box(ix * iy), box(iy * iy)
    return xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)


@ts.pipeline
def pyrdown(image: Any) -> Any:  # what is left out is not computed: the rows are thinned first
    weights = (1, 4, 6, 4, 1)
    b = image.mirror().every(1, 2)
    rows = ts.stage(sum(w * b[0, k - 2] for k, w in enumerate(weights))).mirror().every(2, 1)
    return sum(w * rows[k - 2, 0] for k, w in enumerate(weights)) / 256


@ts.pipeline
def box_bytes(image: Any) -> Any:
    b = image.mirror()
    rows = ts.stage(ts.cast(ts.uint16, b[0, -1] + b[0, 0] + b[0, 1])).mirror()
    return ts.cast(ts.uint8, (rows[-1, 0] + rows[0, 0] + rows[1, 0] + 4) // 9)


@ts.pipeline
def threshold(image: Any) -> Any:
    return ts.cast(ts.uint8, ts.where(image > 127, 255, 0))


@ts.pipeline
def blend(image: Any) -> Any:
    return ts.saturate(ts.uint8, 1.5 * image - 20)


@ts.pipeline(channel_axis=-1)
def grey(photo: Any) -> Any:  # in OpenCV's fixed point
    return ts.cast(ts.uint8, (9798 * photo.r + 19235 * photo.g + 3735 * photo.b + 16384) // 32768)


@ts.pipeline
def absolute(image: Any) -> Any:
    return ts.cast(ts.uint8, abs(image - 100))


# ---- OpenCV ------------------------------------------------------------------------------------------------------


class Magnitude:
    def __init__(self) -> None:
        self.gx = self.gy = None

    def __call__(self, image: Any, out: Any) -> Any:
        self.gx = cv2.Sobel(image, cv2.CV_32F, 1, 0, dst=self.gx)
        self.gy = cv2.Sobel(image, cv2.CV_32F, 0, 1, dst=self.gy)
        return cv2.magnitude(self.gx, self.gy, magnitude=out)


class Unsharp:
    def __init__(self) -> None:
        self.smooth = None

    def __call__(self, image: Any, out: Any) -> Any:
        self.smooth = cv2.GaussianBlur(image, (9, 9), 1.5, dst=self.smooth)
        return cv2.addWeighted(image, 1.8, self.smooth, -0.8, 0, dst=out)


def morphology(operation: int, n: int) -> Call:
    return lambda a, o: cv2.morphologyEx(a, operation, ones(n), dst=o, borderType=MIRROR)


def all_jobs() -> Iterator[Job]:
    """Every job, once for each type that both have."""
    two = {"threads": THREADS}
    for kind in ("float32", "uint8"):
        step = 1 if kind == "uint8" else 1e-5  # OpenCV's Gaussians of bytes round between the passes

        def both(name: str, ours: Call, theirs: Call, limit: float = step, **more: Any) -> Job:
            return Job(name, kind, ours, theirs, limit=limit, **more)  # noqa: B023

        for sigma in (1.0, 3.0):
            n = 2 * int(3 * sigma) + 1
            yield both(
                f"GaussianBlur {n} x {n}",
                lambda a, o, s=sigma: ts.gaussian(a, s, out=o, **two),
                lambda a, o, s=sigma, n=n: cv2.GaussianBlur(a, (n, n), s, dst=o),
            )
        for n in (3, 15):
            yield both(
                f"blur {n} x {n}",
                lambda a, o, n=n: ts.box(a, n // 2, out=o, **two),
                lambda a, o, n=n: cv2.blur(a, (n, n), dst=o),
            )
        for n in (3, 7):
            yield both(
                f"filter2D {n} x {n}",
                lambda a, o, n=n: ts.correlate(a, kernel=DENSE[n], out=o, **two),
                lambda a, o, n=n: cv2.filter2D(a, -1, DENSE[n], dst=o),
            )
        for n in (3, 5):
            yield both(
                f"medianBlur {n}",
                lambda a, o, n=n: ts.median(a, n // 2, border="clamp", out=o, **two),
                lambda a, o, n=n: cv2.medianBlur(a, n, dst=o),
            )
        for n in (3, 15):
            yield both(
                f"dilate {n} x {n}",
                lambda a, o, n=n: ts.dilate(a, n // 2, out=o, **two),
                lambda a, o, n=n: cv2.dilate(a, ones(n), dst=o, borderType=MIRROR),
            )
        for name, operation, call in (
            ("MORPH_OPEN 5 x 5", cv2.MORPH_OPEN, ndimage.grey_opening),
            ("MORPH_GRADIENT 5 x 5", cv2.MORPH_GRADIENT, ndimage.morphological_gradient),
            ("MORPH_TOPHAT 9 x 9", cv2.MORPH_TOPHAT, ndimage.white_tophat),
        ):
            n = int(name[-1])
            yield both(
                name,
                lambda a, o, f=call, n=n: f(a, n, output=o, mode="mirror"),
                morphology(operation, n),
            )
        yield both(
            "unsharp, sigma 1.5",
            lambda a, o: ts.unsharp(a, 0.8, sigma=1.5, truncate=2.5, out=o, **two),
            Unsharp(),
            step,
        )
    yield Job(
        "Sobel x", "float32", lambda a, o: sobel_x(a, out=o, **two), lambda a, o: cv2.Sobel(a, cv2.CV_32F, 1, 0, dst=o)
    )
    yield Job(
        "Sobel x to int16",
        "uint8",
        lambda a, o: sobel_bytes(a, out=o, **two),
        lambda a, o: cv2.Sobel(a, cv2.CV_16S, 1, 0, dst=o),
        limit=0,
    )
    yield Job("Sobel, magnitude", "float32", lambda a, o: magnitude(a, out=o, **two), Magnitude())
    yield Job(
        "Laplacian",
        "float32",
        lambda a, o: ts.laplacian(a, out=o, **two),
        lambda a, o: cv2.Laplacian(a, cv2.CV_32F, dst=o),
    )
    yield Job(
        "cornerHarris 3, 3",
        "float32",
        lambda a, o: harris(a, out=o, **two),
        lambda a, o: cv2.cornerHarris(a, 3, 3, 0.04, dst=o),
        margin=2,
    )
    yield Job(
        "bilateralFilter 7",
        "float32",
        lambda a, o: ts.bilateral(a, 1.0, range=25, out=o, **two),
        lambda a, o: cv2.bilateralFilter(a, 7, 25, 1.0, dst=o),
        limit=5e-3,
    )
    yield Job(
        "blur 3 x 3, a pipeline of integers",
        "uint8",
        lambda a, o: box_bytes(a, out=o, **two),
        lambda a, o: cv2.blur(a, (3, 3), dst=o),
        limit=1,
    )
    yield Job("pyrDown", "float32", lambda a, o: pyrdown(a, out=o, **two), lambda a, o: cv2.pyrDown(a, dst=o))
    yield Job(
        "threshold",
        "uint8",
        lambda a, o: threshold(a, out=o, **two),
        lambda a, o: cv2.threshold(a, 127, 255, cv2.THRESH_BINARY, dst=o)[1],
        limit=0,
    )
    yield Job(
        "addWeighted, one image",
        "uint8",
        lambda a, o: blend(a, out=o, **two),
        lambda a, o: cv2.addWeighted(a, 1.5, a, 0, -20, dst=o),
        limit=1,
    )
    yield Job(
        "cvtColor to grey",
        "uint8",
        lambda a, o: grey(a, out=o, **two),
        lambda a, o: cv2.cvtColor(a, cv2.COLOR_RGB2GRAY, dst=o),
        limit=1,
        shape=(2160, 3840, 3),
    )
    yield Job(
        "GaussianBlur 7 x 7, colour",
        "uint8",
        lambda a, o: ts.gaussian(a, 1.0, channel_axis=-1, out=o, **two),
        lambda a, o: cv2.GaussianBlur(a, (7, 7), 1.0, dst=o),
        limit=1,
        shape=(2160, 3840, 3),
    )


def rows(only: str, quick: bool, seconds: float) -> Iterator[dict[str, Any]]:
    for job in all_jobs():
        if only in f"{job.name} {job.kind}":
            yield measured(job, seconds)


def version() -> str:
    return str(cv2.__version__)
