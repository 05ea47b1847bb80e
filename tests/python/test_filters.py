import inspect
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
import tessera as ts
from programs import photo

ROOT = Path(__file__).parents[2]
MODES = {"mirror": "reflect", "symmetric": "symmetric", "clamp": "edge", "wrap": "wrap"}


def correlated(image, weights, mode="reflect"):
    """sum K[k] X[i + k - anchor], plainly."""
    reach = [(n - 1) // 2 for n in weights.shape]
    wide = np.pad(
        image.astype(np.float64), [(r, n - 1 - r) for r, n in zip(reach, weights.shape, strict=True)], mode=mode
    )
    windows = np.lib.stride_tricks.sliding_window_view(wide, weights.shape)
    return (windows * weights).sum(axis=tuple(range(image.ndim, 2 * image.ndim)))


def windows(image, radius, mode="reflect"):
    wide = np.pad(image, radius, mode=mode)
    return np.lib.stride_tricks.sliding_window_view(wide, (2 * radius + 1,) * image.ndim).reshape(*image.shape, -1)


def bell(sigma, truncate=3):
    reach = int(np.ceil(truncate * sigma))
    k = np.arange(-reach, reach + 1)
    w = np.exp(-k * k / (2 * sigma * sigma))
    return w / w.sum()


def smoothed(image, sigma, mode="reflect", truncate=3):
    for axis in range(image.ndim):
        shape = [1] * image.ndim
        shape[axis] = -1
        image = correlated(image, bell(sigma, truncate).reshape(shape), mode)
    return image


class Filters(unittest.TestCase):
    def test_gaussian(self):
        for shape in ((50,), (40, 50), (12, 14, 16)):
            image = photo(shape)
            np.testing.assert_allclose(ts.gaussian(image), smoothed(image, 1.5), atol=1e-6)
        image = photo()
        for ours, theirs in MODES.items():
            np.testing.assert_allclose(ts.gaussian(image, 2, border=ours), smoothed(image, 2, theirs), atol=1e-6)
        np.testing.assert_allclose(ts.gaussian(image, 2, truncate=2), smoothed(image, 2, truncate=2), atol=1e-6)
        np.testing.assert_allclose(ts.gaussian(image, ts.fwhm(6)), smoothed(image, 6 / 2.35482), atol=1e-6)
        rows = ts.gaussian(image, (2, 0))
        np.testing.assert_allclose(rows, ts.gaussian(image, [2, 0]), atol=0)
        np.testing.assert_allclose(rows, correlated(image, bell(2)[:, None]), atol=1e-6)
        two = ts.gaussian(image, border=("wrap", "clamp"))
        np.testing.assert_allclose(two[:, 10:-10], ts.gaussian(image, border="wrap")[:, 10:-10], atol=1e-6)

    def test_windows(self):
        image = photo(dtype=np.uint8)
        seen = windows(image, 2)
        np.testing.assert_array_equal(ts.median(image, 2), np.median(seen, -1).astype(np.uint8))
        np.testing.assert_array_equal(ts.erode(image, radius=2), seen.min(-1))
        np.testing.assert_array_equal(ts.dilate(image, (2, 2)), seen.max(-1))
        np.testing.assert_allclose(ts.box(photo(), 2), windows(photo(), 2).mean(-1), atol=1e-6)

    def test_orders(self):
        image = photo(dtype=np.uint8)
        seen = np.sort(windows(image, 2), -1)
        np.testing.assert_array_equal(ts.percentile(image, 30, radius=2), seen[..., 7])
        np.testing.assert_array_equal(ts.percentile(image, 100, radius=2), seen[..., -1])
        np.testing.assert_array_equal(ts.rank(image, 3, radius=2), seen[..., 3])
        np.testing.assert_array_equal(ts.rank(image, -2, radius=(2, 2)), seen[..., -2])
        cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
        of_cross = np.sort(windows(image, 1)[..., cross.ravel()], -1)
        np.testing.assert_array_equal(ts.median(image, footprint=cross), of_cross[..., 2])
        np.testing.assert_array_equal(ts.rank(image, 1, footprint=cross.tolist()), of_cross[..., 1])
        with self.assertRaisesRegex(ts.ArgumentError, "expected -5 to 4, as the window has 5 elements"):
            ts.rank(image, 5, footprint=cross)

    def test_weights(self):
        image, weights = photo(), np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9.0]])
        wanted = correlated(image, weights)
        for given in (weights, weights.tolist(), weights.astype(int), weights.astype(np.float32), weights[::-1][::-1]):
            np.testing.assert_allclose(ts.correlate(image, given), wanted, rtol=1e-5)
        np.testing.assert_allclose(ts.convolve(image, weights[::-1, ::-1]), wanted, rtol=1e-5)
        moved = ts.correlate(image, weights, anchor=(0, 1), border="wrap")
        np.testing.assert_allclose(moved, np.roll(ts.correlate(image, weights, border="wrap"), -1, 0), rtol=1e-5)
        for wrong, message in (
            ([1, 2, 1], "kernel has rank 1"),
            ([["x"]], r"kernel is \[\[\'x\'\]\], expected an array of numbers"),
            ([[1, float("nan")]], "kernel"),
            ([[1, 2], [3]], "inhomogeneous"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                ts.convolve(image, wrong)

    def test_measures(self):
        image = np.add.outer(np.arange(20), 2 * np.arange(30)).astype(np.float32)
        np.testing.assert_allclose(ts.sobel(image)[2:-2, 2:-2], np.sqrt(5), rtol=1e-5)
        np.testing.assert_allclose(ts.laplacian(image)[2:-2, 2:-2], 0, atol=1e-4)
        np.testing.assert_allclose(ts.lowpass(image) + ts.highpass(image), image, atol=1e-3)
        for name in ("bandpass", "bilateral", "canny", "harris", "unsharp"):
            result = getattr(ts, name)(image)
            self.assertEqual((result.shape, result.dtype), (image.shape, np.float32))
        self.assertEqual(ts.sobel(photo(dtype=np.float64)).dtype, np.float64)
        with self.assertRaisesRegex(ts.ArgumentError, "takes images of rank 2"):
            ts.canny(photo((5, 6, 7)))

    def test_extent_and_type(self):
        image = photo(dtype=np.uint8)
        self.assertEqual(ts.gaussian(image).dtype, np.uint8)
        self.assertEqual(ts.gaussian(image, extent="valid").shape, (30, 40))
        self.assertEqual(ts.gaussian(image, extent="full").shape, (50, 60))
        for given in ("float32", np.float32, np.dtype("f4"), "float"):
            self.assertEqual(ts.gaussian(image, type=given).dtype, np.float32)
        np.testing.assert_allclose(ts.gaussian(image, type=float, arithmetic=float), smoothed(image, 1.5), rtol=1e-12)

    def test_channels(self):
        image = photo((20, 30, 4), np.uint8)
        each = np.stack([ts.gaussian(image[..., k]) for k in range(4)], -1)
        np.testing.assert_array_equal(ts.gaussian(image, channel_axis=-1), each)
        np.testing.assert_array_equal(ts.gaussian(image, channel_axis=2), each)
        for axis in (0, 1):
            moved = np.moveaxis(image, -1, axis)
            result = ts.gaussian(moved, channel_axis=axis)
            np.testing.assert_array_equal(result, np.moveaxis(each, -1, axis))
            result = ts.gaussian(np.ascontiguousarray(moved), channel_axis=axis)
            np.testing.assert_array_equal(result, np.moveaxis(each, -1, axis))
            out = np.empty(moved.shape, np.uint8)
            self.assertIs(ts.gaussian(moved, channel_axis=axis, out=out), out)
            np.testing.assert_array_equal(out, result)
        self.assertFalse(np.array_equal(ts.gaussian(image), each))  # a volume
        for count in (1, 2, 3, 5, 7):
            image = photo((9, 8, count))
            each = np.stack([ts.gaussian(image[..., k]) for k in range(count)], -1)
            np.testing.assert_allclose(ts.gaussian(image, channel_axis=-1), each, rtol=1e-6)
        with self.assertRaisesRegex(ts.ArgumentError, "channel_axis is 3, but the image has 3 dimensions"):
            ts.gaussian(image, channel_axis=3)
        with self.assertRaisesRegex(ts.ArgumentError, "channel_axis"):
            ts.gaussian(image[0, 0], channel_axis=0)

    def test_alpha(self):
        image = photo((20, 30, 4))
        colours, alpha = image[..., :3], image[..., 3:]
        weighted = ts.gaussian(image, channel_axis=-1, alpha="weighted")
        wanted = ts.gaussian(colours * alpha, channel_axis=-1) / ts.gaussian(alpha, channel_axis=-1)
        np.testing.assert_allclose(weighted[..., :3], wanted, rtol=1e-4)
        np.testing.assert_allclose(ts.gaussian(image, channel_axis=-1, alpha="kept")[..., 3], image[..., 3])
        plain = ts.gaussian(image, channel_axis=-1)
        np.testing.assert_allclose(ts.gaussian(image, channel_axis=-1, alpha="associated"), plain, rtol=1e-6)
        np.testing.assert_array_equal(ts.gaussian(image[..., 2:], channel_axis=-1, alpha="kept")[..., 1], image[..., 3])
        for given, message in (
            (colours, "has 3 channels, expected 2 or 4"),
            (image, "^alpha is 'x', expected weighted, kept, associated"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                ts.gaussian(given, channel_axis=-1, alpha="x")
        with self.assertRaisesRegex(ts.ArgumentError, "the image has no channels"):
            ts.gaussian(image, alpha="kept")

    def test_masks(self):
        image = photo()
        mask = photo(seed=1) > 0.3
        wanted = smoothed(image * mask, 1.5) / smoothed(mask.astype(float), 1.5)
        for given in (mask, mask.astype(np.uint8) * 255, mask * np.float32(0.3)):
            np.testing.assert_allclose(ts.gaussian(image, mask=given), wanted, rtol=1e-4)
        holes = np.where(mask, image, np.float32("nan"))
        np.testing.assert_allclose(ts.gaussian(holes, ignore_nan=True), wanted, rtol=1e-4)
        np.testing.assert_allclose(ts.gaussian(holes, nodata=float("nan")), wanted, rtol=1e-4)
        marked = np.where(mask, image, np.float32(-1))
        np.testing.assert_allclose(ts.gaussian(marked, nodata=-1), wanted, rtol=1e-4)
        np.testing.assert_allclose(ts.gaussian(marked, nodata=[-1, -2]), wanted, rtol=1e-4)
        colour = np.stack([image, image], 0)
        result = ts.gaussian(colour, channel_axis=0, mask=mask)
        np.testing.assert_allclose(result, np.stack([wanted, wanted]), rtol=1e-4)
        with self.assertRaisesRegex(ts.ArgumentError, "mask has shape"):
            ts.gaussian(image, mask=mask[:3])

    def test_out(self):
        image = photo()
        out = np.empty_like(image)
        self.assertIs(ts.gaussian(image, out=out), out)
        np.testing.assert_array_equal(out, ts.gaussian(image))
        for wrong, message in (
            (image, "shares memory"),
            (np.empty((3, 3), np.float32), "has the shape"),
            (np.empty((40, 50)), "is an array of float64, expected float32"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                ts.gaussian(image, out=wrong)

    def test_wrong_options(self):
        image = photo()
        for named, message in (
            ({"sigma": -1}, "sigma -1 cannot be used"),
            ({"sigma": (1, 2, 3)}, "sigma has 3 numbers"),
            ({"sigma": "x"}, "sigma"),
            ({"border": "x"}, "border 'x' is no border mode, expected mirror, symmetric"),
            ({"border": True}, "border True is no border mode"),
            ({"extent": "x"}, "expected same, valid, full"),
            ({"type": "x"}, "'x' is no element type, expected bool, uint8"),
            ({"type": "int8"}, "type 'int8' cannot be used, expected bool, uint8"),
            ({"type": complex}, "type 'complex128' cannot be used"),
            ({"type": object()}, "is no element type"),
            ({"arithmetic": "uint8"}, "arithmetic"),
            ({"numbers": "x"}, "expected fast, exact"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                ts.gaussian(image, **named)
        with self.assertRaises(TypeError):
            ts.gaussian(image, nonsense=1)

    def test_by_name(self):
        image = photo()
        np.testing.assert_array_equal(ts.filter("gaussian", image, sigma=2, threads=1), ts.gaussian(image, 2))
        with self.assertRaisesRegex(ts.ArgumentError, "there is no filter 'nonsense'"):
            ts.filter("nonsense", image)
        with self.assertRaisesRegex(ts.ArgumentError, "has no option 'sgma'"):
            ts.filter("gaussian", image, sgma=3)
        self.assertIn("predicted", ts.explain_filter("gaussian", image, sigma=4))
        self.assertTrue(ts.explain_filter("gaussian", image)._repr_svg_().startswith("<svg"))

    def test_functions_are_what_the_library_has(self):
        for info in ts.filters():
            function = getattr(ts, info.name)
            names = set(inspect.signature(function).parameters)
            self.assertLessEqual({o.name for o in info.options}, names)
            self.assertEqual("mask" in names, info.takes_mask)
            self.assertTrue(inspect.getdoc(function).startswith(info.summary[:40]))
            for option in info.options:
                default = inspect.signature(function).parameters[option.name].default
                if option.type not in ("border", "table"):
                    self.assertEqual(default, float(option.value))

    def test_the_file_is_what_is_written(self):
        try:
            import ruff  # noqa: F401
        except ImportError:
            self.skipTest("no ruff")
        done = subprocess.run(
            [sys.executable, ROOT / "python" / "make_filters.py", "--check"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
