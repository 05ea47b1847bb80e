"""tessera.ndimage beside scipy.ndimage: random cases. TESSERA_CASES sets how many of each function (6)."""

from __future__ import annotations

import os
import random
import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage
from tessera import ndimage

TYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
MODES = ("reflect", "grid-mirror", "mirror", "nearest", "wrap", "grid-wrap", "constant", "grid-constant")
CASES = int(os.environ.get("TESSERA_CASES", "6"))

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Case:
    """Random arguments."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(self.random.randrange(2**32))
        self.rank = self.random.choice((1, 2, 2, 2, 3, 3, 4, 5))
        most = {1: 40, 2: 14, 3: 8, 4: 5, 5: 3}[self.rank]
        self.shape = tuple(self.random.randint(1, most) for _ in range(self.rank))

    def image(self, kinds: tuple[str, ...] = TYPES) -> Any:
        """An image of some type, strides and contents."""
        kind = self.random.choice(kinds)
        if kind == "bool":
            image = self.numbers.random(self.shape) < 0.6
        elif kind.startswith("complex"):
            image = (self.numbers.normal(size=self.shape) + 1j * self.numbers.normal(size=self.shape)).astype(kind)
        elif kind.startswith("float"):
            image = (self.numbers.normal(size=self.shape) * 50).astype(kind)
        else:
            low = -90 if kind.startswith("int") else 0
            image = self.numbers.integers(low, 100, self.shape).astype(kind)
        way = self.random.randrange(5)
        if way == 0:
            image = np.asfortranarray(image)
        elif way == 1:
            image = np.repeat(image, 2, axis=0)[::2]
        elif way == 2:
            image = np.flip(image.copy())
        elif way == 3:
            image = image.astype(image.dtype.newbyteorder())
        return image

    def mode(self, per_axis: bool = False) -> Any:
        """A mode, or one per axis."""
        if per_axis and self.random.random() < 0.3:
            return [self.random.choice(MODES) for _ in range(self.rank)]
        return self.random.choice(MODES)

    def common(self, per_axis: bool = False) -> dict[str, Any]:
        """Keywords that most filters take."""
        keywords: dict[str, Any] = {"mode": self.mode(per_axis)}
        if self.random.random() < 0.5:
            keywords["cval"] = self.random.choice((0, 1, 3, 2.5, -4, 300))
        if self.random.random() < 0.3:
            keywords["output"] = np.dtype(self.random.choice(("uint8", "int16", "int32", "float32", "float64")))
        return keywords

    def size(self, least: int = 1, most: int = 6) -> Any:
        """A size, or one per axis."""
        if self.random.random() < 0.5:
            return self.random.randint(least, most)
        return [self.random.randint(least, most) for _ in range(self.rank)]

    def box(self, most: int = 0) -> tuple[int, ...]:
        """The shape of a window."""
        most = most or {1: 9, 2: 5, 3: 3, 4: 2, 5: 2}[self.rank]
        return tuple(self.random.randint(1, most) for _ in range(self.rank))

    def origin(self, shape: Any) -> Any:
        """An origin that a window may have."""
        if np.isscalar(shape):
            shape = [shape] * self.rank
        if self.random.random() < 0.5:
            return 0
        return [self.random.randint(-((n - 1) // 2), (n - 1) // 2) for n in shape]

    def footprint(self) -> Any:
        """Some places of a window."""
        places = self.numbers.random(self.box()) < 0.7
        places.flat[self.random.randrange(places.size)] = True
        return places

    def window(self) -> dict[str, Any]:
        """A size, a footprint or a structure."""
        way = self.random.randrange(3)
        if way == 0:
            size = self.size()
            return {"size": size, "origin": self.origin(size)}
        places = self.footprint()
        window: dict[str, Any] = {"footprint": places, "origin": self.origin(places.shape)}
        if way == 2:
            window["structure"] = self.numbers.integers(-3, 4, places.shape)
        return window


def _arguments(name: str, case: Case) -> tuple[Any, Arguments]:
    pick = case.random
    if name in ("correlate", "convolve"):
        box = case.box()
        weights = case.numbers.normal(size=box) if pick.random() < 0.5 else case.numbers.integers(-3, 4, box)
        keywords = {**case.common(), "origin": case.origin(box)}
        return case.image(), ((weights,), keywords)
    if name in ("correlate1d", "convolve1d"):
        count = pick.randint(1, 9)
        weights = case.numbers.normal(size=count) if pick.random() < 0.5 else case.numbers.integers(-3, 4, count)
        origin = pick.randint(-((count - 1) // 2), (count - 1) // 2)
        keywords = {**case.common(), "origin": origin, "axis": pick.randrange(case.rank)}
        return case.image(), ((weights,), keywords)
    if name in ("uniform_filter1d", "minimum_filter1d", "maximum_filter1d"):
        count = pick.randint(1, 9)
        origin = pick.randint(-((count - 1) // 2), (count - 1) // 2)
        keywords = {**case.common(), "origin": origin, "axis": pick.randrange(case.rank)}
        return case.image(), ((count,), keywords)
    if name.startswith("gaussian"):
        kinds = tuple(kind for kind in TYPES if kind not in ("bool", "uint64"))
        if name == "gaussian_gradient_magnitude":  # squares of what wraps below 0 are far apart
            kinds = tuple(kind for kind in kinds if not kind.startswith("u"))
        sigma = pick.choice((0.5, 0.8, 1.3))
        keywords = case.common(True)
        if name == "gaussian_filter1d":
            keywords["mode"] = case.mode()
            keywords.update(axis=pick.randrange(case.rank), order=pick.randrange(5))
        elif name == "gaussian_filter":
            keywords["order"] = [pick.randrange(3) for _ in range(case.rank)]
        if pick.random() < 0.3:
            keywords["truncate"] = 2.0
        return case.image(kinds), ((sigma,), keywords)
    if name in ("prewitt", "sobel"):
        return case.image(), ((), {**case.common(True), "axis": pick.randrange(case.rank)})
    if name == "laplace":
        return case.image(), ((), case.common(True))
    if name == "uniform_filter":
        size = case.size()
        return case.image(), ((size,), {**case.common(True), "origin": case.origin(size)})
    if name in ("minimum_filter", "maximum_filter"):
        window = case.window()
        window.pop("structure", None)
        return case.image(), ((), {**case.common("size" in window), **window})
    if name in ("rank_filter", "percentile_filter", "median_filter"):
        places = case.footprint()
        if pick.random() < 0.5 or case.rank == 1:  # SciPy overlooks the holes of a footprint of one dimension
            places = np.ones(places.shape, bool)
        rank = {"rank_filter": pick.randrange(int(places.sum())), "percentile_filter": pick.randint(-100, 100)}
        keywords = {**case.common(), "footprint": places, "origin": case.origin(places.shape)}
        if case.rank == 1:  # nor does it mind the output's type, and writes beyond it
            keywords.pop("output", None)
        return case.image(), (((rank[name],) if name in rank else ()), keywords)
    if name.startswith("fourier"):
        case.rank = min(case.rank, 3)
        case.shape = case.shape[: case.rank]
        size = case.numbers.random(case.rank) * 4
        kinds = ("float32", "float64", "complex64", "complex128", "int32")
        return case.image(kinds), ((size,), {})
    if name.startswith("binary"):
        return _binary_arguments(name, case)
    keywords = case.common()
    keywords.pop("output", None)
    window = case.window()
    kinds = tuple(kind for kind in TYPES if kind != "uint64" or "structure" not in window)
    if name.endswith("tophat") or name.startswith("morph"):  # SciPy subtracts no booleans
        return case.image(kinds[1:]), ((), {**keywords, **window})
    return case.image(kinds), ((), {**keywords, **window})


def _binary_arguments(name: str, case: Case) -> tuple[Any, Arguments]:
    pick = case.random
    keywords: dict[str, Any] = {}
    structure = case.footprint() if pick.random() < 0.5 else None
    image = case.image(("bool", "bool", "uint8", "float32", "int64"))
    if name == "binary_hit_or_miss":
        return image, ((), {"structure1": structure})
    keywords["structure"] = structure
    if structure is not None:
        keywords["origin"] = case.origin(structure.shape)
    if name == "binary_fill_holes":
        return image, ((), keywords)
    keywords["border_value"] = pick.randrange(2)
    if pick.random() < 0.5:
        keywords["mask"] = case.numbers.random(case.shape) < 0.7
    if name != "binary_propagation":
        keywords["iterations"] = pick.choice((1, 1, 2, 3, 11))
    return image, ((), keywords)


def _scipy(name: str, image: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """SciPy's result. Its way of many iterations writes beyond its arrays where structures are large, so not by that."""
    if name == "binary_propagation":
        return scipy.ndimage.binary_dilation(image, iterations=-1, brute_force=True, **keywords)
    if name == "binary_fill_holes":
        outside = {"mask": np.logical_not(image), "border_value": 1, "iterations": -1, "brute_force": True}
        return np.logical_not(scipy.ndimage.binary_dilation(np.zeros(image.shape, bool), **outside, **keywords))
    if "iterations" in keywords:
        keywords = {**keywords, "brute_force": True}
    return getattr(scipy.ndimage, name)(image, *arguments, **keywords)


def _check(test: unittest.TestCase, name: str, seed: str) -> None:
    case = Case(seed)
    image, (arguments, keywords) = _arguments(name, case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = _scipy(name, image, arguments, keywords)
        found = getattr(ndimage, name)(image, *arguments, **keywords)
    text = f"{seed}: {image.dtype} {image.shape} {arguments} {keywords}"
    if name not in GLOBAL:
        _check_part(test, case, getattr(ndimage, name), found, image, arguments, keywords, text)
    test.assertEqual(expected.dtype, found.dtype, text)
    test.assertEqual(expected.shape, found.shape, text)
    if expected.dtype.kind in "fc":
        large = float(max(np.abs(expected).max(initial=1.0), np.abs(image).max(initial=1.0)))
        single = "float32" in (expected.dtype.name, image.dtype.name) or expected.dtype.name == "complex64"
        np.testing.assert_allclose(found, expected, rtol=0, atol=large * (3e-6 if single else 1e-9), err_msg=text)
        return
    if expected.dtype == bool:  # SciPy leaves other bytes than 0 and 1
        expected = expected.view(np.uint8) != 0
    different = found != expected
    if name in ROUNDED:  # a number just below an integer is that integer, here and in what is summed after
        apart = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        if expected.dtype != bool:
            most = 3 if case.rank < 5 else 20  # each pass may be one off
            different &= (apart > most) & (apart < np.iinfo(expected.dtype).max - most)
        test.assertLessEqual(float(different.mean()), 0.02, f"{text}\n{found}\n{expected}")
        return
    test.assertFalse(different.any(), f"{text}\n{found}\n{expected}")


def _check_part(
    test: unittest.TestCase,
    case: Case,
    function: Any,
    whole: Any,
    image: Any,
    arguments: Any,
    keywords: dict[str, Any],
    text: str,
) -> None:
    """A part of the result has the bits of the whole."""
    starts = [case.random.randrange(n) for n in image.shape]
    region = tuple(slice(s, case.random.randint(s + 1, n)) for s, n in zip(starts, image.shape))
    wanted = whole[region]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        part = function(image, *arguments, **keywords, region=region)
        out = np.zeros(wanted.shape, wanted.dtype)
        function(image, *arguments, **{**keywords, "output": out}, region=region)
    text = f"{text} {region}"
    test.assertEqual(part.dtype, wanted.dtype, text)
    test.assertEqual(part.shape, wanted.shape, text)
    test.assertEqual(part.tobytes(), wanted.tobytes(), f"{text}\n{part}\n{wanted}")
    test.assertFalse(np.shares_memory(part, image), text)
    test.assertEqual(out.tobytes(), wanted.tobytes(), text)


#: What depends on the whole image.
GLOBAL = ("binary_propagation", "binary_fill_holes")
ROUNDED = {
    "correlate",
    "convolve",
    "correlate1d",
    "convolve1d",
    "uniform_filter",
    "uniform_filter1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_laplace",
    "gaussian_gradient_magnitude",
}
NOT_RANDOM = {"generate_binary_structure", "iterate_structure", "generic_laplace", "generic_gradient_magnitude"}


class Random(unittest.TestCase):
    """Every function with random arguments."""


def _method(name: str) -> Callable[[unittest.TestCase], None]:
    def test(self: unittest.TestCase) -> None:
        for k in range(CASES):
            with self.subTest(case=k):
                _check(self, name, f"{name} {k}")

    return test


for _name in ndimage.__all__:
    if _name not in NOT_RANDOM:
        setattr(Random, f"test_{_name}", _method(_name))


class Arguments_(unittest.TestCase):
    """Outputs, ranks, and what is not there."""

    def test_output_is_the_input(self) -> None:
        """Every filter may write where it reads."""
        image = np.random.default_rng(0).random((20, 30))
        for name, argument in (("gaussian_filter", 1.0), ("median_filter", 3), ("grey_opening", 3)):
            expected = getattr(scipy.ndimage, name)(image, argument)
            found = image.copy()
            getattr(ndimage, name)(found, argument, output=found)
            np.testing.assert_allclose(found, expected)

    def test_nothing_to_do_gives_a_copy(self) -> None:
        """The image stays as it was, and what comes back is another array, of the right values."""
        nothing = {
            "size": {"size": 1},
            "axes": {"size": 3, "axes": ()},
        }
        calls = [
            (name, (), keywords)
            for name in (
                "white_tophat",
                "black_tophat",
                "morphological_laplace",
                "morphological_gradient",
                "grey_erosion",
                "grey_dilation",
                "grey_opening",
                "grey_closing",
                "minimum_filter",
                "maximum_filter",
                "median_filter",
                "uniform_filter",
            )
            for keywords in nothing.values()
        ]
        calls += [
            ("gaussian_filter", (0,), {}),
            ("gaussian_filter", (1,), {"axes": ()}),
            ("laplace", (), {"axes": ()}),
            ("gaussian_laplace", (1,), {"axes": ()}),
            ("gaussian_gradient_magnitude", (1,), {"axes": ()}),
            ("minimum_filter1d", (1,), {}),
            ("rank_filter", (0, 1), {}),
            ("correlate1d", ([1],), {}),
        ]
        for shape in [(3, 4), (1,), (0, 3)]:
            for type in ("uint8", "float32", "float64"):
                for name, arguments, keywords in calls:
                    with self.subTest(name=name, keywords=keywords, shape=shape, type=type):
                        image = np.arange(np.prod(shape)).reshape(shape).astype(type)
                        before = image.copy()
                        image.setflags(write=False)
                        result = getattr(ndimage, name)(image, *arguments, **keywords)
                        np.testing.assert_array_equal(image, before)
                        self.assertFalse(np.shares_memory(result, image))
                        if name != "median_filter":
                            np.testing.assert_array_equal(
                                result, getattr(scipy.ndimage, name)(image, *arguments, **keywords)
                            )

    def test_output_of_any_strides(self) -> None:
        """Outputs are written where they lie."""
        image = np.random.default_rng(0).random((20, 30)).astype(np.float32)
        out = np.zeros((40, 60), np.float32)[::2, ::-2]
        self.assertIs(ndimage.uniform_filter(image, 3, output=out), out)
        np.testing.assert_allclose(out, scipy.ndimage.uniform_filter(image, 3), rtol=1e-5)
        swapped = np.zeros((20, 30), ">f8")
        ndimage.uniform_filter(image, 3, output=swapped)
        np.testing.assert_allclose(swapped, scipy.ndimage.uniform_filter(image, 3, output="float64"), rtol=1e-5)

    def test_ranks(self) -> None:
        """Of no dimension, of many, and of no element."""
        five = np.random.default_rng(0).random((3, 4, 3, 4, 3))
        for axes in (None, (0, 2), (1, 2, 3, 4), (4,)):
            size = 3 if axes is None else [3] * len(axes)
            for name in ("uniform_filter", "minimum_filter", "median_filter"):
                expected = getattr(scipy.ndimage, name)(five, size, axes=axes)
                np.testing.assert_allclose(getattr(ndimage, name)(five, size, axes=axes), expected)
        weights = np.random.default_rng(1).random((2, 3, 2, 3, 2))
        np.testing.assert_allclose(ndimage.correlate(five, weights), scipy.ndimage.correlate(five, weights))
        np.testing.assert_array_equal(ndimage.binary_erosion(five > 0.2), scipy.ndimage.binary_erosion(five > 0.2))
        self.assertEqual(ndimage.gaussian_filter(np.float64(3), 1.0), 3.0)
        self.assertEqual(ndimage.gaussian_filter(np.zeros((0, 4)), 1.0).shape, (0, 4))
        self.assertEqual(ndimage.median_filter(np.zeros((0, 4)), 3).shape, (0, 4))

    def test_complex(self) -> None:
        """Real and imaginary parts."""
        random = np.random.default_rng(0)
        image = random.random((9, 8)) + 1j * random.random((9, 8))
        weights = random.random((3, 3)) + 1j * random.random((3, 3))
        for name, argument in (("correlate", weights), ("convolve", weights), ("gaussian_filter", 1.0)):
            expected = getattr(scipy.ndimage, name)(image, argument)
            np.testing.assert_allclose(getattr(ndimage, name)(image, argument), expected)
        with self.assertRaises(TypeError):
            ndimage.median_filter(image, 3)

    def test_large_ranks(self) -> None:
        """Windows of more elements than a network sorts."""
        for kind in ("uint8", "float32", "int16"):
            image = (np.random.default_rng(0).random((40, 50)) * 250).astype(kind)
            for size in (8, 11, (3, 30)):
                for percentile in (5, 50, 80):
                    expected = scipy.ndimage.percentile_filter(image, percentile, size)
                    np.testing.assert_array_equal(ndimage.percentile_filter(image, percentile, size), expected)

    def test_blocks(self) -> None:
        """Large images are gone through by blocks first."""
        random = np.random.default_rng(3)
        for shape in ((515, 602), (64, 70, 75)):
            image = scipy.ndimage.uniform_filter(random.random(shape), 6) > 0.49
            mask = scipy.ndimage.uniform_filter(random.random(shape), 5) > 0.47
            np.testing.assert_array_equal(ndimage.binary_fill_holes(image), scipy.ndimage.binary_fill_holes(image))
            seeds = scipy.ndimage.binary_erosion(image, iterations=2)
            for border in (0, 1):
                expected = scipy.ndimage.binary_propagation(seeds, mask=mask, border_value=border)
                found = ndimage.binary_propagation(seeds, mask=mask, border_value=border)
                np.testing.assert_array_equal(found, expected)

    def test_generic(self) -> None:
        """Filters of a function's derivatives."""
        image = np.random.default_rng(0).random((12, 14))
        for name in ("generic_laplace", "generic_gradient_magnitude"):
            expected = getattr(scipy.ndimage, name)(image, scipy.ndimage.sobel)
            np.testing.assert_allclose(getattr(ndimage, name)(image, ndimage.sobel), expected)
        structure = ndimage.generate_binary_structure(2, 1)
        np.testing.assert_array_equal(structure, scipy.ndimage.generate_binary_structure(2, 1))
        found, origin = ndimage.iterate_structure(structure, 3, (0, -1))
        expected, there = scipy.ndimage.iterate_structure(structure, 3, (0, -1))
        np.testing.assert_array_equal(found, expected)
        self.assertEqual(origin, there)

    def test_memory(self) -> None:
        """Results keep their memory as long as a view of them lives."""
        image = np.random.default_rng(0).random((1500, 1500)).astype(np.float32)
        views = [ndimage.minimum_filter(image + k, 3)[::2] for k in range(12)]
        for k, view in enumerate(views):
            np.testing.assert_allclose(view, views[0] + k, atol=1e-5)

    def test_large_windows(self) -> None:
        """Sums that may be taken through transforms are integers where they have to be."""
        random = np.random.default_rng(0)
        image = random.integers(0, 255, (100, 120))
        weights = random.integers(-3, 4, (15, 15))
        for kind in ("uint8", "int64", "float32", "float64"):
            expected = scipy.ndimage.correlate(image.astype(kind), weights, output=np.int32)
            found = ndimage.correlate(image.astype(kind), weights, output=np.int32)
            np.testing.assert_array_equal(found, expected)

    def test_fourier_filters_of_no_size(self) -> None:
        """Sizes, and numbers of samples, of which there is no filter."""
        for shape in ((7,), (4, 6), (4, 6, 5), (2, 3, 2, 3, 2)):
            image = np.random.default_rng(0).random(shape) + 0.5
            for size in (0, -1, -2.5, 1e-3, np.nan, np.inf):
                for n in (-1, 0, 1, 6, 10):
                    for name in ("uniform", "gaussian", "ellipsoid", "shift"):
                        if name == "ellipsoid" and len(shape) > 3:
                            continue
                        with self.subTest(name=name, shape=shape, size=size, n=n), np.errstate(all="ignore"):
                            expected = getattr(scipy.ndimage, f"fourier_{name}")(image, size, n=n)
                            with warnings.catch_warnings():
                                warnings.simplefilter("error")
                                found = getattr(ndimage, f"fourier_{name}")(image, size, n=n)
                            np.testing.assert_allclose(found, expected, atol=1e-7)

    def test_not_here(self) -> None:
        """What Tessera cannot compute is no attribute."""
        with self.assertRaisesRegex(AttributeError, "Tessera cannot compute"):
            getattr(ndimage, "zoom")  # noqa: B009
        with self.assertRaises(AttributeError):
            getattr(ndimage, "nothing")  # noqa: B009

    def test_errors(self) -> None:
        """Errors are SciPy's."""
        image = np.zeros((5, 5))
        calls: list[Callable[[Any], Any]] = [
            lambda m: m.correlate(image, np.ones(3)),
            lambda m: m.correlate1d(image, []),
            lambda m: m.correlate1d(image, [1, 2, 3], origin=2),
            lambda m: m.gaussian_filter(image, 1, mode="round"),
            lambda m: m.gaussian_filter(image, [1, 2, 3]),
            lambda m: m.gaussian_filter(image, 1, axes=(0, 0)),
            lambda m: m.gaussian_filter(image, 1, axes=(0, 3)),
            lambda m: m.gaussian_filter(image, 1, order=-1),
            lambda m: m.gaussian_filter(image, 1, output=np.zeros((4, 5))),
            lambda m: m.minimum_filter(image),
            lambda m: m.minimum_filter(image, footprint=np.zeros((3, 3))),
            lambda m: m.rank_filter(image, 9, 3),
            lambda m: m.percentile_filter(image, 200, 3),
            lambda m: m.median_filter(image, 3, origin=5),
            lambda m: m.grey_erosion(image),
            lambda m: m.binary_erosion(image, iterations=1.5),
            lambda m: m.binary_erosion(image, np.ones((3, 3, 3))),
            lambda m: m.binary_erosion(image, mask=np.ones((4, 4))),
            lambda m: m.gaussian_filter(image.astype(np.float16), 1),
            lambda m: m.sobel(image, axis=2),
            lambda m: m.gaussian_filter(image, 1, axes=2),
            lambda m: m.median_filter(image, 3, axes=2),
            lambda m: m.gaussian_filter(image, 1, mode="constant", cval="x"),
            lambda m: m.uniform_filter1d(image, 2.7),
            lambda m: m.maximum_filter1d(image, 2.7),
            lambda m: m.gaussian_filter("x", 1),
            lambda m: m.fourier_uniform(image.astype(object), 2),
            lambda m: m.fourier_gaussian(image.astype(np.float16), 2),
        ]
        for k, call in enumerate(calls):
            with self.subTest(call=k):
                with self.assertRaises(Exception) as theirs:
                    call(scipy.ndimage)
                with self.assertRaises(type(theirs.exception)):
                    call(ndimage)


class ByHand(unittest.TestCase):
    """Cases that random ones rarely meet."""

    def test_results_of_the_other_byte_order(self):
        image = np.random.default_rng(0).random((6, 7)) * 100
        for name, argument in (("gaussian_filter", 1), ("median_filter", 3), ("sobel", 0), ("grey_opening", 2)):
            for to in (np.dtype(">i2"), ">f8"):
                found = getattr(ndimage, name)(image, argument, output=to)
                self.assertEqual(found.dtype, np.dtype(to))
                np.testing.assert_allclose(found, getattr(scipy.ndimage, name)(image, argument, output=to))

    def test_origins_that_leave_the_structure(self):
        for origin in (2, -2, (0, 3)):
            with self.assertRaisesRegex(RuntimeError, "invalid origin"):
                ndimage.binary_erosion(np.ones((5, 5), bool), origin=origin)

    def same(self, call):
        np.testing.assert_array_equal(call(ndimage), call(scipy.ndimage))

    def test_weights_that_are_zero(self):
        for dtype in (np.int8, np.uint8, np.int16, np.int32, np.float32, np.float64):
            image = np.array([53, 6, 7], dtype)
            self.same(lambda m, x=image: m.convolve(x, np.array([0, 0]), mode="grid-wrap", cval=9.0))
            self.same(lambda m, x=image: m.correlate1d(x, [0, 0, 0]))
        self.same(lambda m: m.correlate(np.array([np.inf, np.nan, 1]), np.array([0, 0, 0])))

    def test_large_integers_into_small_ones(self):
        image = np.array([2548743786, 343523318, 2392224657], np.uint32)
        self.same(lambda m: m.gaussian_laplace(image, 0.836813681662735, mode="constant", cval=201.0, output="i2"))


if __name__ == "__main__":
    unittest.main()
