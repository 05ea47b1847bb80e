"""Products of matrices and convolution layers beside NumPy and OpenVINO: python bench/contractions.py [--quick] [--only WORD] [--tessera FILE]

NumPy multiplies matrices by OpenBLAS; OpenVINO, where it is installed, takes convolutions by oneDNN. What `tessera emit` writes is
compiled by the system's compiler and called in the same process, on the same arrays, in turn with the peer, on one thread and on all.
Times are milliseconds into new outputs of ours and of theirs: medians, and the least, which a busy machine disturbs less. The table
goes to bench/results/contractions.json, with --quick to build/contractions.json.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from coming_timing import difference

PRODUCT = """
parameter M, K, N;
stencil mul(vector#2 float A, vector#2 float B)[i, j] { return sum(k : A.1) ( A[i,k] * B[k,j] ); }
vector#2 float a[M,K];
vector#2 float b[K,N];
return mul(a, b);
"""
LAYER = """
parameter M, N, C, D;
stencil conv(vector#3 float X, vector#4 float W, vector#1 float B)[o, y, x] {
  return max(0.0f, sum(c : X.0, i = -1..1, j = -1..1) ( W[o,c,i+1,j+1] * X[c,y+i,x+j] ) + B[o]);
}
vector#3 float x[C,M,N];
vector#4 float w[D,C,3,3];
vector#1 float b[D];
return conv(x:[none,constant(0),constant(0)], w, b);
"""


def compiled(name: str, text: str, tessera: str) -> Callable[..., None]:
    """The emitted function of a program: arrays, extents in the order of the parameters, the output."""
    folder = Path(tempfile.mkdtemp())
    (folder / f"{name}.forma").write_text(text)
    subprocess.run([tessera, "emit", folder / f"{name}.forma", "--target", "c", "-o", folder / f"{name}.c"], check=True, stdout=sys.stderr)
    flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, "-o", folder / f"{name}.so", folder / f"{name}.c"], check=True)
    function = getattr(ctypes.CDLL(str(folder / f"{name}.so")), name + "_status")

    def call(*given: Any) -> None:
        status = function(*(g.ctypes.data_as(ctypes.c_void_p) if isinstance(g, np.ndarray) else g for g in given))
        if status != 0:
            raise RuntimeError(f"{name} gives {status}")

    return call


def in_turn(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Milliseconds of every call; the first ones are not counted."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not all(times.values()):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - start) * 1e3)
    return times


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def openvino_layer(weights: Any, bias: Any, shape: tuple[int, ...], threads: int) -> Callable[[Any], Any] | None:
    """A convolution of 3 x 3 with a bias and an activation, or nothing where OpenVINO is not there."""
    try:
        import openvino as ov
        from openvino import opset13 as ops
    except ImportError:
        return None
    image = ops.parameter((1, *shape), np.float32)
    layer = ops.convolution(image, ops.constant(weights), [1, 1], [1, 1], [1, 1], [1, 1])
    result = ops.relu(ops.add(layer, ops.constant(bias.reshape(1, -1, 1, 1))))
    options = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    request = ov.Core().compile_model(ov.Model([result], [image]), "CPU", options).create_infer_request()
    return lambda x: request.infer([x[None]], share_inputs=True, share_outputs=True)[0][0]


def columns_layer(x: Any, weights: Any, bias: Any) -> Any:
    """The same by NumPy: windows as columns of a matrix."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).transpose(0, 3, 4, 1, 2)
    matrix = windows.reshape(-1, x.shape[1] * x.shape[2])
    return np.maximum(weights.reshape(len(bias), -1) @ matrix + bias[:, None], 0).reshape(-1, *x.shape[1:])


def row(
    name: str,
    threads: int,
    peer: str,
    operations: float,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    result: Callable[[], Any],
    seconds: float,
) -> dict[str, Any]:
    times = in_turn({"ours": ours, "theirs": theirs}, seconds)
    least = {name: min(all_of) for name, all_of in times.items()}
    found = {
        "job": name,
        "threads": threads,
        "peer": peer,
        "tessera_ms": least["ours"],
        "peer_ms": least["theirs"],
        "tessera_median_ms": statistics.median(times["ours"]),
        "peer_median_ms": statistics.median(times["theirs"]),
        "speed": least["theirs"] / least["ours"],
        "gflops": operations / least["ours"] * 1e-6,
        "difference": difference(result(), theirs()),
    }
    print("{job:24} {threads:2} {peer:9} {tessera_ms:9.3f} ms, peer {peer_ms:9.3f} ms: {speed:5.2f} of its speed, "
          "{gflops:6.1f} GFLOP/s, apart {difference:.1e}".format(**found), flush=True)
    return found


def measured(threads: int, only: str, quick: bool, tessera: str) -> list[dict[str, Any]]:
    seconds = 1.0 if quick else 6.0
    rows = []
    product = compiled("product", PRODUCT, tessera)
    for n in (512, 1024) if quick else (128, 256, 512, 1024, 2048):
        name = f"product {n}"
        if only not in name:
            continue
        a, b = arrays((n, n), (n, n))
        out, there = np.empty((n, n), np.float32), np.empty((n, n), np.float32)
        rows.append(row(name, threads, "numpy", 2.0 * n**3, lambda: product(a, b, n, n, n, out), lambda: np.matmul(a, b, out=there),
                        lambda: out, seconds))
    layer = compiled("layer", LAYER, tessera)
    for channels in (32, 64):
        for m, n in ((128, 128),) if quick else ((128, 128), (270, 480), (1080, 1920)):
            name = f"layer {channels} {m}x{n}"
            if only not in name:
                continue
            x, w, b = arrays((channels, m, n), (channels, channels, 3, 3), (channels,))
            out = np.empty((channels, m, n), np.float32)
            theirs = openvino_layer(w, b, x.shape, threads)
            operations = 2.0 * 9 * channels * channels * m * n
            rows.append(row(name, threads, "openvino" if theirs else "numpy", operations,
                            lambda: layer(x, w, b, m, n, channels, channels, out),
                            (lambda: theirs(x)) if theirs else (lambda: columns_layer(x, w, b)), lambda: out, seconds))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=0, help="of this process alone")
    parser.add_argument("--tessera", default="build/release/src/cli/tessera")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.threads:
        print(json.dumps(measured(given.threads, given.only, given.quick, given.tessera)), file=sys.stderr)
        return 0
    rows = []
    for threads in (1, os.cpu_count() or 1):  # OpenBLAS reads its number once
        command = [sys.executable, __file__, "--threads", str(threads), "--only", given.only, "--tessera", given.tessera]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        run = subprocess.run(command + ["--quick"] * given.quick, env=environment, stderr=subprocess.PIPE, text=True, check=True)
        rows += json.loads(run.stderr.splitlines()[-1])
    root = Path(__file__).resolve().parent
    out = given.out or (root.parent / "build" if given.quick else root / "results") / "contractions.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"machine": platform.processor() or platform.machine(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
