"""Jobs of `coming.py inductor`: pipelines on tensors of torch beside the same filters in torch, compiled by Inductor, on a card.

Filters in torch are written as its users do: the image padded by replication, shifted views of it, arithmetic on these; torch.compile
fuses that, as one graph. Dense windows are convolutions of cuDNN as well, the faster way counts. Both get the same tensors and give new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tessera as ts
import torch
from torch.nn import functional

SIDE = 4096
BINOMIAL = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
DENSE = {n: np.random.default_rng(n).random((n, n), dtype=np.float32) / (n * n / 2) for n in (3, 5)}

Filter = Callable[[Any], Any]


# ---- torch -------------------------------------------------------------------------------------------------------


def padded(x: Any, n: int) -> Any:
    return functional.pad(x[None, None], (n, n, n, n), mode="replicate")[0, 0]


def at(x: Any, n: int, i: int, j: int) -> Any:
    """The image seen from a neighbour, of one padded by n."""
    high, wide = x.shape[0] - 2 * n, x.shape[1] - 2 * n
    return x[n + i : n + i + high, n + j : n + j + wide]


def torch_dense(n: int) -> Filter:
    r = n // 2
    terms = [(i, j, float(DENSE[n][i + r, j + r])) for i in range(-r, r + 1) for j in range(-r, r + 1)]

    def of(x: Any) -> Any:
        p = padded(x, r)
        total = torch.zeros_like(x)
        for i, j, w in terms:
            total = total + w * at(p, r, i, j)
        return total

    return of


def torch_convolution(n: int) -> Filter:
    weights = torch.from_numpy(DENSE[n])[None, None].cuda()
    return lambda x: functional.conv2d(padded(x, n // 2)[None, None], weights)[0, 0]


def torch_gaussian(x: Any) -> Any:
    p = padded(x, 2)
    high, wide = x.shape
    a, b, c = BINOMIAL[:3]
    rows = a * (p[:high] + p[4 : 4 + high]) + b * (p[1 : 1 + high] + p[3 : 3 + high]) + c * p[2 : 2 + high]
    left, right = rows[:, :wide] + rows[:, 4 : 4 + wide], rows[:, 1 : 1 + wide] + rows[:, 3 : 3 + wide]
    return a * left + b * right + c * rows[:, 2 : 2 + wide]


def torch_slopes(x: Any) -> tuple[Any, Any]:
    p = padded(x, 1)
    gx = at(p, 1, -1, 1) - at(p, 1, -1, -1) + 2 * (at(p, 1, 0, 1) - at(p, 1, 0, -1)) + at(p, 1, 1, 1) - at(p, 1, 1, -1)
    gy = at(p, 1, 1, -1) - at(p, 1, -1, -1) + 2 * (at(p, 1, 1, 0) - at(p, 1, -1, 0)) + at(p, 1, 1, 1) - at(p, 1, -1, 1)
    return gx, gy


def torch_sobel(x: Any) -> Any:
    gx, gy = torch_slopes(x)
    return torch.sqrt(gx * gx + gy * gy)


def torch_box(x: Any) -> Any:
    p = padded(x, 1)
    total = torch.zeros_like(x)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            total = total + at(p, 1, i, j)
    return total


def torch_harris(x: Any) -> Any:
    gx, gy = torch_slopes(x)
    a, b, c = torch_box(gx * gx), torch_box(gy * gy), torch_box(gx * gy)
    return a * b - c * c - 0.04 * (a + b) * (a + b)


def torch_unsharp(x: Any) -> Any:
    return x + 0.75 * (x - torch_gaussian(x))


def torch_bilateral(x: Any) -> Any:
    p = padded(x, 2)
    total, weight = torch.zeros_like(x), torch.zeros_like(x)
    for i in range(-2, 3):
        for j in range(-2, 3):
            y = at(p, 2, i, j)
            w = torch.exp(-(i * i + j * j) / 8 - (y - x) * (y - x) * 12.5)
            total, weight = total + w * y, weight + w
    return total / weight


def torch_chain(x: Any) -> Any:
    return torch_box(torch_sobel(torch_gaussian(x))) / 9


# ---- Tessera -----------------------------------------------------------------------------------------------------


def dense(n: int) -> Filter:
    r, table = n // 2, ts.table(DENSE[n])
    return ts.pipeline(
        lambda image: ts.over((-r, r), (-r, r)).sum(lambda i, j: table[i + r, j + r] * image.clamped()[i, j])
    )


def gaussian_of(image: Any) -> Any:
    b = image.clamped()
    rows = ts.stage(sum(w * b[k - 2, 0] for k, w in enumerate(BINOMIAL))).clamped()
    return sum(w * rows[0, k - 2] for k, w in enumerate(BINOMIAL))


def slopes_of(image: Any) -> tuple[Any, Any]:
    b = image.clamped()
    gx = b[-1, 1] - b[-1, -1] + 2 * (b[0, 1] - b[0, -1]) + b[1, 1] - b[1, -1]
    gy = b[1, -1] - b[-1, -1] + 2 * (b[1, 0] - b[-1, 0]) + b[1, 1] - b[-1, 1]
    return gx, gy


def magnitude_of(image: Any) -> Any:
    gx, gy = slopes_of(image)
    return ts.sqrt(gx * gx + gy * gy)


def box_of(value: Any) -> Any:
    b = ts.stage(value).clamped()
    return ts.over(1, 1).sum(lambda i, j: b[i, j])


def harris_of(image: Any) -> Any:
    gx, gy = slopes_of(image)
    a, b, c = box_of(gx * gx), box_of(gy * gy), box_of(gx * gy)
    return a * b - c * c - 0.04 * (a + b) * (a + b)


def bilateral_of(image: Any) -> Any:
    b = image.clamped()

    def weight(i: Any, j: Any) -> Any:
        apart = b[i, j] - image
        return ts.exp(-(i * i + j * j) / 8.0 - apart * apart * 12.5)

    window = ts.over((-2, 2), (-2, 2))
    return window.sum(lambda i, j: weight(i, j) * b[i, j]) / window.sum(weight)


JOBS: dict[str, tuple[Filter, list[Filter]]] = {
    "dense 3 x 3": (dense(3), [torch_dense(3), torch_convolution(3)]),
    "dense 5 x 5": (dense(5), [torch_dense(5), torch_convolution(5)]),
    "Gaussian 5 x 5": (ts.pipeline(gaussian_of), [torch_gaussian]),
    "Sobel's magnitude": (ts.pipeline(magnitude_of), [torch_sobel]),
    "Harris": (ts.pipeline(harris_of), [torch_harris]),
    "unsharp 5 x 5": (ts.pipeline(lambda image: image + 0.75 * (image - gaussian_of(image))), [torch_unsharp]),
    "bilateral 5 x 5": (ts.pipeline(bilateral_of), [torch_bilateral]),
    "Gaussian, Sobel, mean": (
        ts.pipeline(lambda image: box_of(magnitude_of(ts.stage(gaussian_of(image)))) / 9),
        [torch_chain],
    ),
}


def least(call: Filter, image: Any, seconds: float) -> float:
    """Milliseconds of one call: the least of several between events of the stream."""
    for _ in range(3):
        call(image)
    torch.cuda.synchronize()
    times: list[float] = []
    while sum(times) < 1e3 * seconds:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call(image)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return min(times)


def rows(only: str, quick: bool, seconds: float) -> Iterator[dict[str, Any]]:
    torch.manual_seed(1)
    image = torch.rand(SIDE, SIDE, device="cuda")
    for name, (ours, theirs) in JOBS.items():
        if only not in f"{name} float32":
            continue
        compiled = [torch.compile(f, dynamic=False, fullgraph=True) for f in (theirs[:1] if quick else theirs)]
        got = ours(image)
        expected = compiled[0](image)
        apart = float((got - expected).abs().max() / expected.abs().max())
        mine = least(ours, image, seconds / 20)
        peer = min(least(f, image, seconds / 20) for f in compiled)
        yield {
            "job": name,
            "type": "float32",
            "shape": [SIDE, SIDE],
            "tessera_ms": mine,
            "peer_ms": peer,
            "ratio": peer / mine,
            "difference": apart,
            "same": apart <= 1e-4,
        }


def version() -> str:
    return str(torch.__version__)
