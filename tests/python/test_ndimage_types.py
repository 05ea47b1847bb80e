"""Types of images and results beside SciPy's: constants and results beyond them, booleans, squares that wrap."""

import unittest
import warnings

import numpy as np
from programs import photo
from scipy import ndimage as scipy
from tessera import ndimage

GREY = (
    "grey_erosion",
    "grey_dilation",
    "grey_opening",
    "grey_closing",
    "morphological_gradient",
    "morphological_laplace",
    "white_tophat",
    "black_tophat",
)
SMALL = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64")
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")


def result(module, name, *args, **named):
    try:
        return getattr(module, name)(*args, **named)
    except (RuntimeError, ValueError, TypeError) as error:
        return type(error).__name__


class Types(unittest.TestCase):
    def same(self, name, *args, **named):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted, got = (result(m, name, *args, **named) for m in (scipy, ndimage))
        shown = f"{name} {args[0].dtype} {named}"
        if isinstance(wanted, str) or isinstance(got, str):
            self.assertEqual(wanted, got, shown)
            return
        self.assertEqual(wanted.dtype, got.dtype, shown)
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5, err_msg=shown)
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=shown)

    def test_large_numbers_as_other_types(self):
        image = np.array([[5, 2**31 + 5, 2**32 - 3, 2**31 - 1, 300]] * 3, np.uint32)
        for to in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32"):
            for named in ({"size": (1, 1)}, {"size": (3, 1)}, {"footprint": [[1, 0]]}, {"footprint": [[0, 1], [1, 0]]}):
                self.same("minimum_filter", image, output=np.dtype(to), **named)
                self.same("grey_closing", image, output=np.dtype(to), **named)

    def test_windows_of_one_element(self):
        """NumPy converts them: a fraction is True."""
        for of in ("float32", "int32"):
            image = (photo((6, 7)) * (1 if of == "float32" else 600)).astype(of)
            for name in GREY:
                for named in ({"size": 1}, {"footprint": [[True]]}, {"structure": [[2]]}, {"size": (1, 3)}):
                    for to in (bool, np.int8, np.float64):
                        self.same(name, image, output=to, **named)

    def test_constants_beyond_the_type(self):
        numbers = photo((7, 8)) * 100
        for of in (*SMALL, "int64"):
            image = numbers.astype(of) if of != "bool" else numbers > 50
            for cval in (-1, 200, 300, -300.5, 70000, 2.0**31 + 5):
                for name in ("minimum_filter", "grey_opening", "black_tophat", "median_filter"):
                    self.same(name, image, size=3, mode="constant", cval=cval)
                footprint = np.array([[0, 1, 0], [1, 1, 1]], bool)
                self.same("grey_closing", image, footprint=footprint, mode="constant", cval=cval)
                self.same("percentile_filter", image, 60, footprint=footprint, mode="constant", cval=cval)
                self.same("uniform_filter", image, 3, mode="constant", cval=cval)

    def test_grey_morphology_of_any_type(self):
        random = np.random.default_rng(5)
        for _ in range(60):
            rank = random.integers(1, 4)
            of, to = random.choice(SMALL), random.choice((*SMALL, "bool", "bool"))
            image = random.integers(-90, 90, random.integers(3, 8, rank)).astype(of)
            shape = random.integers(1, 4, rank)
            named = {"mode": str(random.choice(MODES)), "cval": float(random.choice([0, 7.5, 200, -300]))}
            named["output"] = np.dtype(to)
            kind = random.choice(["size", "footprint", "structure"])
            if kind == "size":
                named["size"] = tuple(int(n) for n in shape)
            elif kind == "footprint":
                named["footprint"] = random.random(shape) < 0.7
            else:
                named["structure"] = random.integers(-3, 5, shape)
            self.same(str(random.choice(GREY)), image, **named)

    def test_squares_that_wrap(self):
        """As SciPy makes them of derivatives, which may be one more or less where they are near to integers."""

        def derivative(image, axis, output, mode, cval, sigma):
            order = [0] * image.ndim
            order[axis] = 1
            return ndimage.gaussian_filter(image, sigma, order, output, mode, cval)

        random = np.random.default_rng(6)
        for of in ("uint8", "int16", "uint16", "int32", "float32"):
            for to in ("int8", "uint8", "uint16", "int32", "uint32"):
                mode = str(random.choice(MODES))
                image = (random.random((9, 8)) * random.choice([100, 60000])).astype(of)
                named = {"output": np.dtype(to), "mode": mode, "cval": 3}
                got = ndimage.gaussian_gradient_magnitude(image, 0.7, **named)
                with np.errstate(invalid="ignore"):
                    own = scipy.generic_gradient_magnitude(image, derivative, extra_arguments=(0.7,), **named)
                np.testing.assert_array_equal(got, own, err_msg=f"{of} {to} {mode}")


if __name__ == "__main__":
    unittest.main()
