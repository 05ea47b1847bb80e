"""Jobs of `coming.py halide`: every filter as a pipeline of Tessera and as a Func of Halide, clamped at the borders.

Halide is scheduled by hand, in the way of its own demo programs: rows in strips, one task each, vectors along the rows, a few rows
at a time, the stages before the last in rings of lines, or in tiles of their own, or written out. The fastest of such schedules
is taken, for every job and machine anew.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from coming_timing import SHAPE, THREADS, Job, measured, median_in_turn, photograph

os.environ["HL_NUM_THREADS"] = str(THREADS)  # before it is loaded

import halide as hl
import numpy as np
import tessera as ts

x, y, xi, yi, xo, yo = (hl.Var(name) for name in ("x", "y", "xi", "yi", "xo", "yo"))
BINOMIAL = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
SMOOTH = [0.120078, 0.233881, 0.292082, 0.233881, 0.120078]  # sigma 1.5
DENSE = np.random.default_rng(7).random((3, 3), dtype=np.float32) / 4


# ---- Halide ------------------------------------------------------------------------------------------------------


@dataclass
class Algorithm:
    """Stages that are not scheduled yet: the last one, those before it that may be stored."""

    edge: hl.Func
    out: hl.Func = field(default_factory=lambda: hl.Func("out"))
    lines: list[hl.Func] = field(default_factory=list)

    def stage(self, name: str, value: Any) -> hl.Func:
        f = hl.Func(name)
        f[x, y] = value
        self.lines.append(f)
        return f


@dataclass(frozen=True)
class Cut:
    """A schedule: lanes of a vector, rows of a strip, columns of a tile (0: whole rows), rows at a time, what is stored."""

    lanes: int
    strip: int
    wide: int
    high: int
    pad: bool  # the image with its border is a stage, too
    stored: bool = True

    def __call__(self, a: Algorithm) -> None:
        guard = hl.TailStrategy.GuardWithIf
        stages = (a.lines if self.stored else []) + ([a.edge] if self.pad else [])
        if self.wide:
            a.out.tile(x, y, xo, yo, x, y, self.wide, self.strip, guard).parallel(yo)
            a.out.split(x, x, xi, self.lanes, guard).vectorize(xi).split(y, y, yi, self.high, guard)
            a.out.reorder(xi, yi, x, y, xo, yo).unroll(yi)
            for f in stages:
                f.compute_at(a.out, xo).vectorize(x, self.lanes)
        else:
            a.out.split(y, yo, y, self.strip, guard).parallel(yo)
            a.out.tile(x, y, xi, yi, self.lanes, self.high, guard).vectorize(xi).unroll(yi)
            for f in stages:
                f.store_at(a.out, yo).compute_at(a.out, y).vectorize(x, self.lanes)


def cuts(lanes: int, quick: bool) -> Iterator[Cut]:
    if quick:
        yield from (Cut(lanes, 64, 0, 1, False), Cut(lanes, 64, 0, 2, True))
        return
    for lane, high, pad in itertools.product((lanes, 2 * lanes), (1, 2, 4), (False, True)):
        yield Cut(lane, 32, 0, high, pad)
    yield Cut(lanes, 32, 0, 2, True, False)
    for wide, strip in ((256, 32), (512, 64)):
        yield Cut(lanes, strip, wide, 2, True)


Define = Callable[[Algorithm], Any]


def compiled(define: Define, kind: str, cut: Cut) -> Callable[[Any, Any], Any]:
    types = {"float32": hl.Float(32), "uint8": hl.UInt(8)}
    image = hl.ImageParam(types[kind], 2, "image")
    a = Algorithm(hl.Func("edge"))
    a.edge[x, y] = hl.BoundaryConditions.repeat_edge(image)[x, y]
    a.out[x, y] = define(a)
    cut(a)
    run = a.out.compile_to_callable([image], hl.get_jit_target_from_environment())
    kept: dict[int, Any] = {}

    def buffer(array: Any) -> Any:  # made once for every array
        if id(array) not in kept:
            kept[id(array)] = hl.Buffer(array), array
        return kept[id(array)][0]

    def call(given: Any, out: Any) -> Any:
        run(buffer(given), buffer(out))
        return out

    return call


def fastest(define: Define, kind: str, result: str, quick: bool) -> tuple[Callable[[Any, Any], Any], str]:
    """The best schedule of the grid, and which it is."""
    images = [photograph(kind, SHAPE) for _ in range(3)]
    outs = [np.zeros(SHAPE, result) for _ in range(3)]
    best, least, shown = None, float("inf"), ""
    for cut in cuts(32 if kind == "uint8" else 16, quick):
        call = compiled(define, kind, cut)
        found = median_in_turn({"": lambda i, c=call: c(images[i % 3], outs[i % 3])}, 0.15)[""]
        if found < least:
            best, least, shown = call, found, str(cut)
    assert best is not None
    return best, shown


def weighted(f: Any, weights: list[float], along: bool) -> Any:
    middle = len(weights) // 2
    terms = [hl.f32(w) * (f[x + k - middle, y] if along else f[x, y + k - middle]) for k, w in enumerate(weights)]
    return sum(terms[1:], terms[0])


def slope_x(f: Any) -> Any:
    return (f[x + 1, y - 1] - f[x - 1, y - 1]) + 2 * (f[x + 1, y] - f[x - 1, y]) + (f[x + 1, y + 1] - f[x - 1, y + 1])


def slope_y(f: Any) -> Any:
    return (f[x - 1, y + 1] - f[x - 1, y - 1]) + 2 * (f[x, y + 1] - f[x, y - 1]) + (f[x + 1, y + 1] - f[x + 1, y - 1])


def sum3(f: Any) -> Any:
    terms = [f[x + i, y + j] for j in (-1, 0, 1) for i in (-1, 0, 1)]
    return sum(terms[1:], terms[0])


def halide_dense(a: Algorithm) -> Any:
    terms = [hl.f32(float(DENSE[j, i])) * a.edge[x + i - 1, y + j - 1] for j in range(3) for i in range(3)]
    return sum(terms[1:], terms[0])


def halide_blur(a: Algorithm) -> Any:
    rows = a.stage("rows", (a.edge[x - 1, y] + a.edge[x, y] + a.edge[x + 1, y]) * hl.f32(1 / 3))
    return (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) * hl.f32(1 / 3)


def halide_gaussian(a: Algorithm) -> Any:
    return weighted(a.stage("rows", weighted(a.edge, BINOMIAL, True)), BINOMIAL, False)


def halide_bytes(a: Algorithm) -> Any:
    u16 = hl.UInt(16)

    def total(f: Any, at: Callable[[Any, int], Any]) -> Any:
        terms = [hl.cast(u16, w) * hl.cast(u16, at(f, k - 2)) for k, w in enumerate((1, 4, 6, 4, 1))]
        return sum(terms[1:], terms[0])

    rows = a.stage("rows", total(a.edge, lambda f, k: f[x + k, y]))
    return hl.cast(hl.UInt(8), (total(rows, lambda f, k: f[x, y + k]) + hl.cast(u16, 128)) / hl.cast(u16, 256))


def halide_sobel(a: Algorithm) -> Any:
    gx, gy = slope_x(a.edge), slope_y(a.edge)
    return hl.sqrt(gx * gx + gy * gy)


def halide_harris(a: Algorithm) -> Any:
    ix = a.stage("ix", slope_x(a.edge) * hl.f32(1 / 12))
    iy = a.stage("iy", slope_y(a.edge) * hl.f32(1 / 12))
    products = []
    for f, g in ((ix, ix), (ix, iy), (iy, iy)):
        product = hl.Func("product")
        product[x, y] = f[x, y] * g[x, y]
        products.append(product)
    xx, xy, yy = (sum3(f) for f in products)
    trace = xx + yy
    return xx * yy - xy * xy - hl.f32(0.04) * trace * trace


def halide_unsharp(a: Algorithm) -> Any:
    smooth = weighted(a.stage("rows", weighted(a.edge, SMOOTH, True)), SMOOTH, False)
    return hl.f32(1.7) * a.edge[x, y] - hl.f32(0.7) * smooth


def halide_chain(a: Algorithm) -> Any:
    rows = a.stage("rows", weighted(a.edge, BINOMIAL, True))
    smooth = a.stage("smooth", weighted(rows, BINOMIAL, False))
    slope = a.stage("slope", slope_x(smooth))
    return sum3(slope) * hl.f32(1 / 9)


# ---- Tessera -----------------------------------------------------------------------------------------------------


def along(image: Any, weights: list[float], axis: int) -> Any:
    b, middle = image.clamped(), len(weights) // 2
    at = [(k - middle, 0) if axis == 0 else (0, k - middle) for k in range(len(weights))]
    return sum(w * b[place] for w, place in zip(weights, at, strict=True))


def smoothed(image: Any, weights: list[float]) -> Any:
    return ts.stage(along(ts.stage(along(image, weights, 1)), weights, 0))


def slopes(image: Any) -> tuple[Any, Any]:
    b = image.clamped()
    gx = (b[-1, 1] - b[-1, -1]) + 2 * (b[0, 1] - b[0, -1]) + (b[1, 1] - b[1, -1])
    gy = (b[1, -1] - b[-1, -1]) + 2 * (b[1, 0] - b[-1, 0]) + (b[1, 1] - b[-1, 1])
    return gx, gy


def box(image: Any) -> Any:
    b = image.clamped()
    return ts.over(1, 1).sum(lambda i, j: b[i, j])


@ts.pipeline
def dense(image: Any) -> Any:
    b, weights = image.clamped(), ts.table(DENSE)
    return ts.over(1, 1).sum(lambda i, j: weights[i + 1, j + 1] * b[i, j])


@ts.pipeline
def blur(image: Any) -> Any:
    return smoothed(image, [1 / 3] * 3)


@ts.pipeline
def gaussian(image: Any) -> Any:
    return smoothed(image, BINOMIAL)


@ts.pipeline
def gaussian_bytes(image: Any) -> Any:
    b = image.clamped()
    rows = ts.stage(ts.cast(ts.uint16, sum(w * b[0, k - 2] for k, w in enumerate((1, 4, 6, 4, 1))))).clamped()
    return ts.cast(ts.uint8, (sum(w * rows[k - 2, 0] for k, w in enumerate((1, 4, 6, 4, 1))) + 128) // 256)


@ts.pipeline
def sobel(image: Any) -> Any:
    gx, gy = slopes(image)
    return ts.sqrt(gx * gx + gy * gy)


@ts.pipeline
def harris(image: Any) -> Any:
    ix, iy = (ts.stage(g * (1 / 12)) for g in slopes(image))
    xx, xy, yy = (box(ts.stage(product)) for product in (ix * ix, ix * iy, iy * iy))
    return xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)


@ts.pipeline
def unsharp(image: Any) -> Any:
    return 1.7 * image - 0.7 * smoothed(image, SMOOTH)


@ts.pipeline
def chain(image: Any) -> Any:
    return box(ts.stage(slopes(smoothed(image, BINOMIAL))[0])) * (1 / 9)


JOBS = [
    ("dense 3 x 3", "float32", dense, halide_dense),
    ("blur 3 x 3", "float32", blur, halide_blur),
    ("Gaussian 5 x 5", "float32", gaussian, halide_gaussian),
    ("Gaussian 5 x 5", "uint8", gaussian_bytes, halide_bytes),
    ("Sobel's magnitude", "float32", sobel, halide_sobel),
    ("Harris", "float32", harris, halide_harris),
    ("unsharp 5 x 5", "float32", unsharp, halide_unsharp),
    ("Gaussian, Sobel, mean", "float32", chain, halide_chain),
]


def jobs(only: str, quick: bool) -> Iterator[Job]:
    """One after the other: schedules of a job are tried when it is asked for."""
    for name, kind, ours, theirs in JOBS:
        if only in f"{name} {kind}":
            call, shown = fastest(theirs, kind, kind, quick)
            run = lambda image, out, f=ours: f(image, out=out, threads=THREADS)
            # Harris and the chain clamp their stages, Halide the image alone.
            yield Job(name, kind, run, call, limit=1 if kind == "uint8" else 1e-5, margin=4, note=shown)


def version() -> str:
    from importlib.metadata import version as of

    return of("halide")


def rows(only: str, quick: bool, seconds: float) -> Iterator[dict[str, Any]]:
    for job in jobs(only, quick):
        yield measured(job, seconds)
