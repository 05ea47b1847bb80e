#!/usr/bin/env python3
"""compare_scipy.py TESSERA: `tessera filter` beside scipy.ndimage: gaussian, convolve, correlate, median, erode and dilate, of ranks
1 to 4, with every border, odd and even weights and origins, and weights larger than the image. Needs NumPy and SciPy.
"""

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import ndimage

BORDERS = {"symmetric": "reflect", "mirror": "mirror", "clamped": "nearest", "wrap": "wrap", "constant(2)": "constant"}
SHAPES = {1: (23,), 2: (13, 17), 3: (7, 8, 9), 4: (4, 5, 6, 7)}
KERNELS = {1: [(5,), (4,), (31,)], 2: [(3, 5), (4, 2), (15, 19)], 3: [(3, 3, 5), (2, 3, 4)], 4: [(3, 3, 1, 3), (2, 2, 3, 2)]}


def main(tessera):
    folder = Path(tempfile.mkdtemp())
    random = np.random.default_rng(7)
    worst = {}

    def run(name, border, *options):
        out = folder / "out.npy"
        subprocess.run([tessera, "filter", name, folder / "in.npy", "-o", out, "--border", border, "-q", *options], check=True)
        return np.load(out)

    def compare(what, ours, theirs):
        error = float(np.abs(ours.astype("f8") - theirs.astype("f8")).max() / max(1.0, np.abs(theirs).max()))
        worst[what] = max(worst.get(what, 0.0), error)
        if not error < 1e-5:
            sys.exit(f"{what}: a relative difference of {error:.3g}")

    for (rank, shape), (border, mode) in itertools.product(SHAPES.items(), BORDERS.items()):
        image = random.random(shape).astype("f4") * 10
        np.save(folder / "in.npy", image)
        with_mode = {"mode": mode, "cval": 2.0}
        compare(f"gaussian, rank {rank}", run("gaussian", border, "--sigma", "1.0"),
                ndimage.gaussian_filter(image.astype("f8"), 1.0, truncate=3, **with_mode))
        compare(f"median, rank {rank}", run("median", border), ndimage.median_filter(image, size=3, **with_mode))
        compare(f"erode, rank {rank}", run("erode", border, "--radius", "2"), ndimage.minimum_filter(image, size=5, **with_mode))
        compare(f"dilate, rank {rank}", run("dilate", border, "--radius", "2"), ndimage.maximum_filter(image, size=5, **with_mode))
        for extents in KERNELS[rank]:
            weights = random.random(extents) - 0.3
            np.save(folder / "kernel.npy", weights)
            for origin in (0, -1) if min(extents) > 1 else (0,):
                anchor = ",".join(str(n // 2 + origin) for n in extents)
                for name, peer in (("correlate", ndimage.correlate), ("convolve", ndimage.convolve)):
                    ours = run(name, border, "--kernel", folder / "kernel.npy", "--anchor", anchor)
                    compare(f"{name}, rank {rank}", ours, peer(image.astype("f8"), weights, origin=origin, **with_mode))
    for what, error in worst.items():
        print(f"{what:22} {error:.2g}")


if __name__ == "__main__":
    main(sys.argv[1])
