#!/usr/bin/env python3
"""compare.py TESSERA [scipy] [opencv] [itk]: `tessera filter` beside other libraries, on the same images; all of them where none is named.

scipy   gaussian, convolve, correlate, median, erode, dilate, box, with masks and NaN, of ranks 1 to 4, every border, odd and even weights,
        origins, weights larger than the image
opencv  photographs of bytes and floats: gaussian, box, median, erode, dilate, correlate, sobel, laplacian
itk     gaussian, median and box of volumes

Prints the largest difference of each, relative to the largest value (in grey values for bytes), and fails where one is too large. `./dev compare` installs what is needed.
"""

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

BORDERS = {"symmetric": "reflect", "mirror": "mirror", "clamped": "nearest", "wrap": "wrap", "constant(2)": "constant"}
SHAPES = {1: (23,), 2: (13, 17), 3: (7, 8, 9), 4: (4, 5, 6, 7)}
KERNELS = {1: [(5,), (4,), (31,)], 2: [(3, 5), (4, 2), (15, 19)], 3: [(3, 3, 5), (2, 3, 4)], 4: [(3, 3, 1, 3), (2, 2, 3, 2)]}


class Comparison:
    def __init__(self, tessera):
        self.tessera = tessera
        self.folder = Path(tempfile.mkdtemp())
        self.random = np.random.default_rng(7)
        self.rows = {}
        self.failed = False

    def put(self, name, array):
        np.save(self.folder / name, array)

    def run(self, name, border, *options):
        words = [o if isinstance(o, str) and not o.endswith(".npy") else self.folder / o for o in options]
        out = self.folder / "out.npy"
        command = [self.tessera, "filter", name, self.folder / "in.npy", "-o", out, "--border", border, "-q", *words]
        subprocess.run(command, check=True)
        return np.load(out)

    def compare(self, peer, what, ours, theirs, allowed=1e-5):
        """Bytes may differ by `allowed` grey values, others relatively."""
        both = np.isfinite(theirs)
        if not np.array_equal(np.isfinite(ours), both):
            difference = np.inf
        else:
            difference = float(np.abs(ours[both].astype("f8") - theirs[both].astype("f8")).max(initial=0))
            if ours.dtype != np.uint8:
                difference /= max(1.0, float(np.abs(theirs[both]).max(initial=0)))
        worst, bound, count = self.rows.get((peer, what), (0.0, allowed, 0))
        self.rows[peer, what] = (max(worst, difference), bound, count + 1)
        self.failed |= not difference <= allowed

    def summary(self):
        print(f"{'beside':8} {'what':34} {'cases':>5} {'difference':>10} {'allowed':>8}")
        for (peer, what), (worst, allowed, count) in self.rows.items():
            print(f"{peer:8} {what:34} {count:5} {worst:10.2g} {allowed:8.2g}{'' if worst <= allowed else '  TOO LARGE'}")


def beside_scipy(c):
    from scipy import ndimage

    for (rank, shape), (border, mode) in itertools.product(SHAPES.items(), BORDERS.items()):
        image = c.random.random(shape).astype("f4") * 10
        c.put("in.npy", image)
        like = {"mode": mode, "cval": 2.0}
        wide = image.astype("f8")
        of = f", rank {rank}"
        c.compare("SciPy", "gaussian" + of, c.run("gaussian", border, "--sigma", "1.0"), ndimage.gaussian_filter(wide, 1.0, truncate=3, **like))
        c.compare("SciPy", "box" + of, c.run("box", border), ndimage.uniform_filter(wide, 3, **like))
        c.compare("SciPy", "median" + of, c.run("median", border), ndimage.median_filter(image, size=3, **like), 0)
        c.compare("SciPy", "erode" + of, c.run("erode", border, "--radius", "2"), ndimage.minimum_filter(image, size=5, **like), 0)
        c.compare("SciPy", "dilate" + of, c.run("dilate", border, "--radius", "2"), ndimage.maximum_filter(image, size=5, **like), 0)
        for extents in KERNELS[rank]:
            weights = c.random.random(extents) - 0.3
            c.put("kernel.npy", weights)
            for origin in (0, -1) if min(extents) > 1 else (0,):
                anchor = ",".join(str(n // 2 + origin) for n in extents)
                for name, peer in (("correlate", ndimage.correlate), ("convolve", ndimage.convolve)):
                    ours = c.run(name, border, "--kernel", "kernel.npy", "--anchor", anchor)
                    c.compare("SciPy", name + of, ours, peer(wide, weights, origin=origin, **like))
        normalised(c, ndimage, shape, border.replace("2", "0"), {"mode": mode, "cval": 0.0})


def normalised(c, ndimage, shape, border, like):
    """Two convolutions and a quotient, where the image is certain and a number."""
    image = c.random.random(shape).astype("f4") * 10
    image.flat[3::11] = np.nan
    mask = (c.random.random(shape) * (c.random.random(shape) > 0.6)).astype("f4")
    certain = np.where(np.isfinite(image), mask, 0).astype("f8")
    known = np.where(certain > 0, certain * np.nan_to_num(image.astype("f8")), 0)
    c.put("in.npy", image)
    c.put("mask.npy", mask)

    def expected(of_values, of_certainties, whole=1.0):
        below = of_certainties(certain)
        nothing = below < 1e-12
        return np.where(nothing, np.nan, of_values(known) * whole / np.where(nothing, 1, below))

    with_mask = ("--mask", "mask.npy", "--ignore-nan")
    smooth = lambda a: ndimage.gaussian_filter(a, 1.0, truncate=3, **like)
    mean = lambda a: ndimage.uniform_filter(a, 3, **like)
    c.compare("SciPy", "gaussian with mask and NaN", c.run("gaussian", border, "--sigma", "1.0", *with_mask), expected(smooth, smooth))
    c.compare("SciPy", "box with mask and NaN", c.run("box", border, *with_mask), expected(mean, mean))
    weights = c.random.random((3,) * len(shape)) - 0.3
    c.put("kernel.npy", weights)
    by = lambda w: lambda a: ndimage.convolve(a, w, **like)
    c.compare("SciPy", "convolve with mask and NaN", c.run("convolve", border, "--kernel", "kernel.npy", *with_mask),
              expected(by(weights), by(np.abs(weights)), np.abs(weights).sum()), 1e-4)


def beside_opencv(c):
    import cv2

    modes = {"clamped": cv2.BORDER_REPLICATE, "mirror": cv2.BORDER_REFLECT_101, "symmetric": cv2.BORDER_REFLECT}
    for border, mode in modes.items():
        for type_ in ("u1", "f4"):
            image = (c.random.random((120, 161)) * 255).astype(type_)
            c.put("in.npy", image)
            one = 1 if type_ == "u1" else 1e-5  # OpenCV rounds sums of bytes in fixed point
            of = " of bytes" if type_ == "u1" else " of floats"
            c.compare("OpenCV", "gaussian" + of, c.run("gaussian", border, "--sigma", "2"), cv2.GaussianBlur(image, (13, 13), 2, borderType=mode), one)
            c.compare("OpenCV", "box" + of, c.run("box", border, "--radius", "3"), cv2.blur(image, (7, 7), borderType=mode), one)
            around = np.ones((7, 7), "u1")
            c.compare("OpenCV", "erode" + of, c.run("erode", border, "--radius", "3"), cv2.erode(image, around, borderType=mode), 0)
            c.compare("OpenCV", "dilate" + of, c.run("dilate", border, "--radius", "3"), cv2.dilate(image, around, borderType=mode), 0)
            if border == "clamped":  # the only one that OpenCV's median knows
                c.compare("OpenCV", "median" + of, c.run("median", border, "--radius", "2"), cv2.medianBlur(image, 5), 0)
            weights = (c.random.random((9, 5)) / 22).astype("f4")
            c.put("kernel.npy", weights)
            c.compare("OpenCV", "correlate" + of, c.run("correlate", border, "--kernel", "kernel.npy"), cv2.filter2D(image, -1, weights, borderType=mode), one)
            across, down = (cv2.Sobel(image, cv2.CV_32F, *d, ksize=3, scale=0.125, borderType=mode) for d in ((1, 0), (0, 1)))
            c.compare("OpenCV", "sobel" + of, c.run("sobel", border), np.sqrt(across * across + down * down))
            c.compare("OpenCV", "laplacian" + of, c.run("laplacian", border), cv2.Laplacian(image, cv2.CV_32F, ksize=1, borderType=mode))


def beside_itk(c):
    import itk

    image = (c.random.random((20, 24, 28)) * 100).astype("f4")
    c.put("in.npy", image)
    there = itk.image_from_array(image)
    near = {"median": itk.median_image_filter(there, radius=1), "box": itk.mean_image_filter(there, radius=2)}
    c.compare("ITK", "median of volumes", c.run("median", "clamped"), itk.array_from_image(near["median"]), 0)
    c.compare("ITK", "box of volumes", c.run("box", "clamped", "--radius", "2"), itk.array_from_image(near["box"]))
    # ITK's weights are those of a discrete diffusion, e^-t I_k(t): ours are given them.
    for variance in (1.0, 2.25):
        smooth = itk.discrete_gaussian_image_filter(there, variance=variance, maximum_error=1e-5, maximum_kernel_width=31, use_image_spacing=False)
        from scipy import special
        line = special.ive(np.abs(np.arange(-15, 16)), variance)
        weights = line[:, None, None] * line[None, :, None] * line[None, None, :]
        reach = 7  # beyond, they are below 1e-5 of the whole
        weights = weights[15 - reach : 16 + reach, 15 - reach : 16 + reach, 15 - reach : 16 + reach]
        c.put("kernel.npy", weights / weights.sum())
        c.compare("ITK", "discrete Gaussian of volumes", c.run("convolve", "clamped", "--kernel", "kernel.npy"), itk.array_from_image(smooth), 1e-4)


def main(tessera, *parts):
    all_parts = {"scipy": beside_scipy, "opencv": beside_opencv, "itk": beside_itk}
    unknown = [p for p in parts if p not in all_parts]
    if unknown:
        sys.exit(f"compare.py: no part {unknown[0]!r}, expected some of {', '.join(all_parts)}")
    comparison = Comparison(Path(tessera).resolve())
    for name in parts or all_parts:
        all_parts[name](comparison)
    comparison.summary()
    sys.exit(1 if comparison.failed else 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
