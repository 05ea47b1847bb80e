"""Reductions that choose, beside SciPy, OpenCV and NumPy: python bench/choosing.py TESSERA writes bench/results/choosing.json.

Each row is a program of a few lines, run by the command on one thread, and the same in a peer's call. Results are compared. Times are processor time of
one run, in turns, the least of three rounds: other work on the machine counts less in them than in time by the clock.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from scipy import ndimage

SHAPE = (1080, 1920)
HEAD = "parameter M, N;\n"
WINDOW = "stencil f(vector#2 {t} X) {{ return {e}; }}\nparameter M, N;\nvector#2 {t} x[M,N];\nreturn f(x:mirror);\n"
MATCH = """\
stencil best(vector#2 uint8 L, vector#2 uint8 R) {
  return min(d = 0..63) ( sum(i = -4..4, j = -4..4) (absd(L@[i,j] - R@[i,j-d])) : cast<uint8>(d) );
}
parameter M, N;
vector#2 uint8 l[M,N];
vector#2 uint8 r[M,N];
return best(l:clamped, r:clamped);
"""


def used(who: int) -> float:
    return resource.getrusage(who).ru_utime


def peer_ms(call: Callable[[], object], runs: int) -> float:
    call()
    rounds = []
    for _ in range(3):
        begin = used(resource.RUSAGE_SELF)
        for _ in range(runs):
            call()
        rounds.append((used(resource.RUSAGE_SELF) - begin) / runs * 1e3)
    return min(rounds)


class Command:
    def __init__(self, tessera: str, folder: Path, text: str, inputs: list[np.ndarray]) -> None:
        (folder / "p.forma").write_text(text)
        self.words = [tessera, "run", str(folder / "p.forma")]
        for k, a in enumerate(inputs):
            np.save(folder / f"i{k}.npy", a)
            self.words.append(str(folder / f"i{k}.npy"))
        self.words += ["--threads", "1", "-q"]
        self.out = folder / "o.npy"

    def run(self, *more: str) -> float:
        begin = used(resource.RUSAGE_CHILDREN)
        subprocess.run([*self.words, *more], check=True, stdout=subprocess.DEVNULL)
        return used(resource.RUSAGE_CHILDREN) - begin

    def result(self) -> tuple[np.ndarray, float]:
        begin = time.perf_counter()
        self.run("-o", str(self.out))
        return np.load(self.out), time.perf_counter() - begin

    def ms(self, runs: int) -> float:
        few = min(self.run("--time", "--repeat", "2") for _ in range(3))
        many = min(self.run("--time", "--repeat", str(2 + runs)) for _ in range(3))
        return (many - few) / runs * 1e3


def rows() -> list[tuple[str, str, list[np.ndarray], Callable[[], np.ndarray], bool]]:
    numbers = np.random.default_rng(3)
    of = {
        "uint8": numbers.integers(0, 256, SHAPE, dtype=np.uint8),
        "uint16": numbers.integers(0, 65536, SHAPE, dtype=np.uint16),
        "float": numbers.normal(0, 1, SHAPE).astype(np.float32),
    }
    y, x = np.mgrid[-5:6, -5:6]
    disc = x * x + y * y <= 25
    found: list[tuple[str, str, list[np.ndarray], Callable[[], np.ndarray], bool]] = []
    for t, a in of.items():
        found.append((
            f"percentile 5x5, {t}", WINDOW.format(t=t, e="rank(6; i = -2..2, j = -2..2) (X@[i,j])"), [a],
            lambda a=a: ndimage.rank_filter(a, 6, size=5, mode="mirror"), True,
        ))
        found.append((
            f"rank of a disc of radius 5, {t}",
            WINDOW.format(t=t, e="rank(24; i = -5..5, j = -5..5; i*i + j*j <= 25) (X@[i,j])"), [a],
            lambda a=a: ndimage.rank_filter(a, 24, footprint=disc, mode="mirror"), True,
        ))
    found.append((
        "median 15x15, uint8", WINDOW.format(t="uint8", e="rank(112; i = -7..7, j = -7..7) (X@[i,j])"), [of["uint8"]],
        lambda: ndimage.rank_filter(of["uint8"], 112, size=15, mode="mirror"), True,
    ))
    found.append((
        "argmax, float", HEAD + "vector#2 float x[M,N];\nk = argmax(x);\nreturn k.0;\n", [of["float"]],
        lambda: np.array([np.argmax(of["float"]) // SHAPE[1]]), True,
    ))
    left = of["uint8"][:540, :960].copy()
    right = (np.roll(left, -7, 1) // 2 + numbers.integers(0, 100, left.shape)).astype(np.uint8)
    matcher = cv2.StereoBM_create(64, 9)
    matcher.setTextureThreshold(0)
    matcher.setUniquenessRatio(0)
    found.append(("block matching 9x9, 64 disparities, 540x960", MATCH, [left, right], lambda: matcher.compute(left, right), False))
    return found


def main() -> None:
    cv2.setNumThreads(1)
    results = []
    for name, text, inputs, peer, alike in rows():
        with tempfile.TemporaryDirectory() as folder:
            command = Command(sys.argv[1], Path(folder), text, inputs)
            got, first = command.result()
            if alike and not np.array_equal(np.squeeze(got), np.squeeze(peer())):
                sys.exit(f"{name}: the results differ")
            ours, theirs = command.ms(40), peer_ms(peer, 2)
        results.append({"name": name, "ms": round(ours, 3), "peer_ms": round(theirs, 2), "ratio": round(theirs / ours, 2), "first_s": round(first, 2)})
        print(results[-1], flush=True)
    Path(__file__).with_name("results").joinpath("choosing.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
