"""Parts of results of tessera.ndimage: the bits of the whole, what is read, what is refused."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import tessera as ts
from tessera import ndimage

IMAGE = (np.random.default_rng(7).normal(size=(150, 170)) * 60).astype(np.float32)
WEIGHTS = np.random.default_rng(8).normal(size=(41, 43))
REGIONS = (np.s_[0:150, 0:170], np.s_[70:71, 99:100], np.s_[-9:, ...], np.s_[..., :3], np.s_[33:120, 2:169], np.s_[:])


def _second(image: Any, axis: int, output: Any, mode: Any, cval: Any) -> Any:
    return ndimage.correlate1d(image, [1, -2, 1], axis, output, mode, cval)


CALLS: dict[str, Any] = {
    "gaussian": lambda i, **o: ndimage.gaussian_filter(i, (5, 2), mode="wrap", **o),
    "laplace": lambda i, **o: ndimage.laplace(i, **o),
    "magnitude": lambda i, **o: ndimage.gaussian_gradient_magnitude(i, 1.5, **o),
    "generic": lambda i, **o: ndimage.generic_laplace(i, _second, **o),
    "generic magnitude": lambda i, **o: ndimage.generic_gradient_magnitude(i, _second, **o),
    "dense": lambda i, **o: ndimage.correlate(i, WEIGHTS, mode="constant", cval=2, **o),
    "median": lambda i, **o: ndimage.median_filter(i, 5, **o),
    "opening": lambda i, **o: ndimage.grey_opening(i, (7, 3), **o),
    "gradient": lambda i, **o: ndimage.morphological_gradient(i, 3, **o),
    "uniform": lambda i, **o: ndimage.uniform_filter(i, 25, mode="nearest", **o),
    "nothing": lambda i, **o: ndimage.gaussian_filter(i, 0, **o),
    "eroded": lambda i, **o: ndimage.binary_erosion(i > -80, iterations=19, border_value=1, mask=i < 90, **o),
    "hit": lambda i, **o: ndimage.binary_hit_or_miss(i > 0, **o),
    "transformed": lambda i, **o: ndimage.fourier_gaussian(i, 0.1, **o),
    "ellipsoid": lambda i, **o: ndimage.fourier_ellipsoid(i, 3.0, n=200, **o),
    "uniform, transformed": lambda i, **o: ndimage.fourier_uniform(i, (1, 0), **o),
}


class Regions(unittest.TestCase):
    def test_a_region_is_that_part_of_the_whole(self) -> None:
        for name, call in CALLS.items():
            whole = call(IMAGE)
            for region in REGIONS:
                with self.subTest(name=name, region=region):
                    part = call(IMAGE, region=region)
                    self.assertEqual(part.dtype, whole.dtype)
                    self.assertEqual(part.shape, whole[region].shape)
                    self.assertEqual(part.tobytes(), whole[region].tobytes())
                    self.assertFalse(np.shares_memory(part, IMAGE))
            np.testing.assert_array_equal(call(IMAGE, region=None), whole)

    def test_of_all_types_and_orders(self) -> None:
        region = np.s_[20:31, 150:170]
        calls = ("gaussian", "opening", "generic")
        for dtype in ("int8", "uint8", "int64", "uint64", ">f4", "float64", "int32", "complex64"):
            image = (np.abs(IMAGE) if dtype.startswith("u") else IMAGE).astype(dtype)
            for turned in (image, np.asfortranarray(image), image[::-1, ::-1], np.repeat(image, 2, axis=1)[:, ::2]):
                for name in calls if dtype != "complex64" else ("gaussian", "uniform", "laplace", "transformed"):
                    with self.subTest(name=name, dtype=dtype):
                        whole = CALLS[name](turned)
                        part = CALLS[name](turned, region=region)
                        self.assertEqual(part.dtype, whole.dtype)
                        self.assertEqual(part.tobytes(), whole[region].tobytes())

    def test_into_an_array(self) -> None:
        region = np.s_[20:31, 150:]
        for name, call in CALLS.items():
            kind = bool if name in ("hit", "eroded") else np.float64
            with self.subTest(name=name):
                whole = np.zeros(IMAGE.shape, kind)
                call(IMAGE, output=whole)
                out = np.zeros((20, 11), kind).T[:, ::-1] if name != "ellipsoid" else np.zeros((11, 20), kind)
                call(IMAGE, region=region, output=out)
                np.testing.assert_array_equal(out, whole[region])
        image = IMAGE.copy()
        wanted = ndimage.gaussian_filter(image, 2)[region]
        ndimage.gaussian_filter(image, 2, region=region, output=image[region])  # where it reads
        np.testing.assert_array_equal(image[region], wanted)

    def test_into_a_type(self) -> None:
        region = np.s_[20:31, 150:]
        for name, call in CALLS.items():
            kinds = (
                (np.float32, np.float64)
                if "transformed" in name or name == "ellipsoid"
                else (np.float64, np.dtype("i4"))
            )
            for kind in kinds:
                with self.subTest(name=name, kind=kind):
                    whole, part = call(IMAGE, output=kind), call(IMAGE, output=kind, region=region)
                    self.assertEqual((part.dtype, part.tobytes()), (whole.dtype, whole[region].tobytes()))

    def test_of_other_ranks(self) -> None:
        many = IMAGE[:24, :90].reshape(3, 4, 2, 5, 6, 3)
        region = np.s_[1:2, ..., 2:5, 0:2]
        for call in (
            lambda i, **o: ndimage.gaussian_filter(i, 1, **o),
            lambda i, **o: ndimage.median_filter(i, (1, 1, 1, 1, 3, 3), **o),
            lambda i, **o: ndimage.maximum_filter(i, 2, **o),
            lambda i, **o: ndimage.white_tophat(i, 2, **o),
            lambda i, **o: ndimage.morphological_laplace(i, 2, **o),
            lambda i, **o: ndimage.gaussian_laplace(i, 1, **o),
            lambda i, **o: ndimage.fourier_shift(i, 1, **o),
        ):
            self.assertEqual(call(many, region=region).tobytes(), call(many)[region].tobytes())
        number = np.float32(3)
        self.assertEqual(ndimage.gaussian_filter(number, 1, region=...), ndimage.gaussian_filter(number, 1))

    def test_what_is_no_region_is_refused(self) -> None:
        for region, message in [
            (np.s_[0:151], r"is 0:151 along dimension 0, expected a part of \[0, 150\) of at least one point"),
            (np.s_[5:5], r"expected a part of \[0, 150\)"),
            (np.s_[3], "expected a slice"),
            (np.s_[:, ::2], "has the step 2"),
            (np.s_[0:1, 0:1, 0:1], "has 3 slices, expected 2"),
            ({}, "region names no output"),
        ]:
            for name, call in CALLS.items():
                with self.subTest(name=name, region=region), self.assertRaisesRegex(ts.ArgumentError, message):
                    call(IMAGE, region=region)
        for name, call in CALLS.items():
            with self.subTest(name=name), self.assertRaisesRegex(RuntimeError, "output shape not correct"):
                call(IMAGE, region=np.s_[0:2], output=np.zeros(IMAGE.shape, np.float32))
        with self.assertRaisesRegex(ts.ArgumentError, r"expected a part of \[0, 0\)"):
            ndimage.laplace(np.zeros((0, 3)), region=np.s_[:])
        with self.assertRaisesRegex(ts.ArgumentError, "input is an InputWindow"):
            ndimage.laplace(ts.InputWindow(IMAGE, (0, 0), IMAGE.shape), region=np.s_[0:1])

    def test_what_depends_on_the_whole_is_refused(self) -> None:
        mask = IMAGE > 0
        for call in (
            lambda o: ndimage.binary_fill_holes(mask, region=o),
            lambda o: ndimage.binary_propagation(mask, region=o),
            lambda o: ndimage.binary_dilation(mask, iterations=-1, region=o),
            lambda o: ndimage.binary_opening(mask, iterations=0, region=o),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, "on until nothing changes in the whole image"):
                call(np.s_[0:2])
            self.assertEqual(call(None).shape, mask.shape)


if __name__ == "__main__":
    unittest.main()
