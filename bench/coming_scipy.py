"""Jobs of `coming.py scipy`: the functions of ndimage.py, whose results are new arrays in both libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scipy
import scipy.ndimage
from coming_timing import Job, measured
from ndimage import binaries, functions, image_of
from tessera import ndimage

SHAPES: list[tuple[tuple[int, ...], str]] = [
    ((2048, 2048), "float32"),
    ((2048, 2048), "uint8"),
    ((128, 128, 128), "float32"),
]


def rows(only: str, quick: bool, seconds: float) -> Iterator[dict[str, Any]]:
    for shape, kind in [*SHAPES, ((2048, 2048), "bool")]:
        calls = binaries(2) if kind == "bool" else functions(len(shape))
        for name, call in calls.items():
            if only not in f"{name} {kind}" or (quick and len(shape) == 3):
                continue
            job = Job(
                name,
                kind,
                lambda image, out, f=call: f(ndimage, image),
                lambda image, out, f=call: f(scipy.ndimage, image),
                limit=2e-6
                if kind == "float32"
                else int(kind == "uint8"),  # what lies just below an integer: docs/ndimage.md
                shape=(512, 512) if quick else shape,
                image=image_of,
            )
            yield measured(job, seconds / 4)


def version() -> str:
    return scipy.__version__
