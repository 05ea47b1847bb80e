"""What people write who come from NumPy: each is an error of one sentence that says what to write instead."""

import copy
import gc
import importlib.util
import pickle
import threading
import unittest
import weakref

import numpy as np
import tessera as ts
import tessera.ndimage
from programs import photo

image, struct = photo((6, 7)), np.zeros((4, 5), [("r", "u1"), ("g", "u1"), ("b", "u1")])


def built(f, *arrays, **named):
    return ts.pipeline(f)(*(arrays or (image,)), **named)


class Scaled:
    gain = 3

    @ts.pipeline
    def by_gain(self, image):
        return image * self.gain


class Misuse(unittest.TestCase):
    def says(self, error, text, f, *arrays):
        with self.subTest(text), self.assertRaisesRegex(error, text) as caught:
            built(f, *arrays)
        message = str(caught.exception)
        self.assertNotIn("incompatible function arguments", message)
        self.assertNotIn("tessera._", message)

    def test_truth_and_elements(self):
        for f, text in (
            (lambda a: 1 if a > 0 else 2, "write ts.where"),
            (lambda a: a > 0 and a < 5, "& for and"),
            (lambda a: 0 < a < 5, "ts.where"),
            (lambda a: max(a, 0), "ts.where"),
            (lambda a: not a, "~ for not"),
            (lambda a: 3 in a, "ts.where"),
            (lambda a: list(a), "no elements"),
            (lambda a: sum(ts.table([1.0, 2])), "go through the array"),
            (lambda a: len(a), "ts.extent"),
            (lambda a: float(a), "no number"),
            (lambda a: range(a), "no number"),
            (lambda a: np.asarray(a), "no array"),
            (lambda a: np.std(a), "NumPy's std"),
            (lambda a: a * np.ones(3), r"ts.table\(array\)"),
            (lambda a: np.ones(3) * a, r"ts.table\(array\)"),
            (lambda a: ts.over(1).sum(lambda i: np.ones(3)[i + 1] * a[0, i]), r"ts.table\(array\)"),
            (lambda a: ts.over(1).sum(lambda i: [1, 2, 3][i + 1] * a[0, i]), r"ts.table\(array\)"),
            (lambda a: ts.over(1).sum(lambda i: a[0, i] if i else 0), "window variable"),
            (lambda a: a * 1j, "neither a value"),
            (lambda a: np.max(a, 0), "NumPy's max does not work with these arguments"),
            (lambda a: np.round(a, 1), "NumPy's round does not work with these arguments"),
            (lambda a: a @ a, "an image is no matrix"),
            (lambda a: np.ones((6, 6)) @ a, "NumPy's matmul"),
            (lambda a: pickle.dumps(a), "cannot be pickled"),
            (lambda a: a + None, "neither a value"),
        ):
            self.says(TypeError, text, f)

    def test_reads(self):
        for error, f, text in (
            (TypeError, lambda a: a[1:, 0], "offsets"),
            (TypeError, lambda a: a[a > 0], "gather"),
            (TypeError, lambda a: a[0.5, 0], "whole number"),
            (ts.ArgumentError, lambda a: a[0], "2 dimensions"),
            (TypeError, lambda a: a.gather(a, a), r"ts.floor\(x\).astype\(ts.int32\)"),
            (TypeError, lambda a: a + ts.table([1.0])[a], r"ts.floor\(x\).astype\(ts.int32\)"),
            (TypeError, lambda a: (a * 2)[0, 1], "ts.stage"),
            (AttributeError, lambda a: (a * 2).mirror(), "ts.stage"),
            (AttributeError, lambda a: np.max(a * 2), r"ts.stage\(value\).max"),
            (AttributeError, lambda a: a.T, "keeps the dimensions of its array"),
            (AttributeError, lambda a: a.std(), r"write ts.sqrt\(ts.stage\("),
            (AttributeError, lambda a: a.float(), r"write image.astype\(\"float32\"\)"),
            (ts.ArgumentError, lambda a: a.sum(0), "of all its elements, not along axis 0"),
            (ts.ArgumentError, lambda a: a.max(axis=1), "of all its elements, not along axis 1"),
            (TypeError, lambda a: a.every(1.5, 1), "whole numbers"),
            (ts.ArgumentError, lambda a: a.every(0, 1), "stride 0"),
            (ts.ArgumentError, lambda a: a.borders("reflect"), "'symmetric' for SciPy"),
            (ts.ArgumentError, lambda a: a.constant("x"), "a number that is known"),
            (ts.ArgumentError, lambda a: a.constant(a), "a number that is known"),
            (ts.ArgumentError, lambda a: a.borders("mirror", "wrap", "wrap"), "3 border modes"),
            (ts.ArgumentError, lambda a: a + ts.coord(7), "no dimension 7"),
        ):
            self.says(error, text, f)

    def test_windows_tables_pieces(self):
        leaked = []
        for f, text in (
            (lambda a: ts.over(1, 1).sum(lambda i: a[i, 0]), "2 ranges"),
            (lambda a: ts.over(1).sum(lambda i: None), "gives nothing"),
            (lambda a: ts.over((-(10**6), 10**10)).sum(lambda i: a[i, 0]), "has the range"),
            (lambda a: ts.over((1, -1)).sum(lambda i: a[i, 0]), "has the range"),
            (lambda a: ts.over().sum(lambda: a), "no range"),
            (
                lambda a: ts.over(1).sum(lambda i: leaked.append(i) or a[i, 0]) + a[leaked[0], 0],
                "outside of its window",
            ),
            (lambda a: a + ts.table([[1], [1, 2]])[0, 0], "different lengths"),
            (lambda a: a + ts.table(np.zeros((1,) * 5))[0], "1 to 4 dimensions"),
            (lambda a: a + ts.table([])[0], "not empty"),
            (lambda a: a + ts.table([1j])[0], "expected numbers"),
            (lambda a: a + ts.table([1.0])[0, 0], "2 indices"),
            (lambda a: ts.compose([]), "no pieces"),
            (lambda a: ts.compose([a, a]), r"\(image, places\)"),
            (lambda a: ts.repeat(lambda b: b * 0.5, a), r"\(next, test\)"),
            (lambda a: ts.repeat(lambda b: (b * 0.5, b > 0.1), a), "point by point"),
            (lambda a: ts.repeat(lambda b: (b * 0.5, b.max() > 0.1), a, most=0), "at least 1"),
        ):
            self.says(ts.ArgumentError, text, f)
        self.says(TypeError, "expected a function", lambda a: ts.over(1).sum(a[0, 1]))

    def test_planes(self):
        for f in (
            lambda p: p + 1,
            lambda p: 2 * p,
            lambda p: np.float32(2) * p,
            lambda p: p > 3,
            lambda p: -p,
        ):
            self.says(TypeError, r"photo.map\(lambda c: 2 \* c\)", f, struct)
        self.says(ts.ArgumentError, "no plane 'q', the planes are r, g, b", lambda p: p["q"], struct)

    def test_what_is_returned(self):
        for f, text in (
            (lambda a: None, "returns nothing"),
            (lambda a: 5, "returns 5"),
            (lambda a: {}, "no image"),
            (lambda a: (v for v in [a]), "generator"),
            (lambda a: {"a b": a * 2, "c": a}, "letters, digits"),
        ):
            self.says(ts.ArgumentError, text, f)

    def test_pipelines_of_what_is_none(self):
        for what in (5, "text", None, np.add):
            if what is not None:
                self.assertRaises(ts.ArgumentError, ts.pipeline, what)
        with self.assertRaisesRegex(ts.ArgumentError, r"takes \*\*named"):
            ts.pipeline(lambda **named: named["a"])(a=image)

    def test_recursion_and_other_pipelines(self):
        @ts.pipeline
        def one(a):
            return two(a)

        @ts.pipeline
        def two(a):
            return one(a)

        kept = []
        built(lambda a: kept.append(a) or a * 1)
        for f, text in (
            (one, "calls itself"),
            (ts.pipeline(lambda a: two(image)), "calls itself"),
            (ts.pipeline(lambda a: a + kept[0]), "two pipelines"),
            (ts.pipeline(lambda a: kept[0]), "another pipeline"),
            (ts.pipeline(lambda a: kept[0].gather(a.astype(ts.int32), ts.coord(1))), "two pipelines"),
            (ts.pipeline(lambda a: ts.compose([(kept[0], (0, 0)), (a, (0, 1))])), "two pipelines"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ts.ArgumentError, text):
                f(image)
        self.assertEqual(built(lambda a: a * 2)[0, 0], 2 * image[0, 0])  # nothing is left of what failed

    def test_outside(self):
        for f in (lambda: ts.coord(0), lambda: ts.extent(0), lambda: ts.over(1).sum(lambda i: i), lambda: ts.stage(3)):
            with self.assertRaisesRegex(ts.ArgumentError, "outside of a pipeline"):
                f()


class Words(unittest.TestCase):
    """Names and numbers that are nearly right: the message says which one is."""

    def test_what_is_nearly_right(self):
        program = ts.Program.from_text(
            "stencil f(vector#2 float X, float g) { return g * X@[0,1]; } parameter M, N; vector#2 float image[M,N];"
            "float gain; return f(image:mirror, gain);"
        )

        @ts.pipeline
        def scaled(image, amount=2.0):
            return {"sharp": amount * image, "smooth": image.mirror()[0, 1]}

        rows = np.s_[2:4]
        for call, text in (
            (lambda: program(image, gian=2), r"help: did you mean 'gain'\?"),
            (lambda: program(image, gain=2, treads=2), "did you mean 'threads'"),
            (lambda: scaled(image, amuont=2), r"did you mean 'amount'\? it takes \(image, amount=2.0\)"),
            (lambda: scaled(image, regoin=rows), "did you mean 'region'"),
            (lambda: scaled(image, width=2), r"help: it takes \(image, amount=2.0\)"),
            (lambda: program(image, gain=1, region=3), "one row is 3:4"),
            (lambda: program(image, gain=1, region=np.int64(-1)), "one row is -1:$"),
            (lambda: program(image, gain=1, region=np.array([1, 5])), r"has array\(\[1, 5\]\) .*\n.*one row is 10:11"),
            (lambda: program(image, gain=1, region=np.s_[::2]), "leave the step out"),
            (lambda: program(image, gain=1, out=np.empty((6, 7), ">f4")), "give an array of the byte order"),
            (lambda: program(image.astype("c8"), gain=1), "write image.real, or image.imag"),
            (lambda: built(lambda a: program(a, 2)), "is an image of a pipeline, expected an array"),
            (lambda: built(lambda a: ts.gaussian(a, 2)), "is an image of a pipeline, expected an array"),
            (lambda: built(lambda a: image), r"returns array\(.*\.\.\.\n.*make the array a parameter"),
            (lambda: built(lambda a: a / a.max(), image, region=rows), "output 'out' has no windows"),
            (lambda: ts.tasks(ts.ndimage.laplace, image, "x.zarr"), "laplace has no tasks, .*\n.*arrays in memory"),
            (lambda: scaled.store("gone.zarr", "x.zarr"), "no file 'gone.zarr', which is to be the source"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ts.Error, text):
                call()
        with self.assertRaisesRegex(KeyError, "no output 'soft', the outputs are sharp, smooth"):
            scaled(image)["soft"]
        wanted = scaled.reads(rows, image, output="smooth")
        self.assertEqual(scaled.reads({"smooth": rows}, image), wanted)
        np.testing.assert_array_equal(ts.gaussian(image, np.array(2.0)), ts.gaussian(image, 2.0))


class Arguments(unittest.TestCase):
    def test_what_is_given(self):
        @ts.pipeline
        def f(a, amount=2):
            return a * amount

        for args, named, text in (
            ((), {}, "missing a required argument: 'a'"),
            ((image, 1, 2), {}, "too many"),
            ((image,), {"nothing": 2}, "nothing"),
            (([[1.0, 2]],), {}, "np.asarray"),
            ((np.arange(5),), {}, r"astype\('int32'\)"),
            ((image, 2**40), {}, "2147483647"),
            ((image, 1j), {}, "real number"),
            ((np.zeros((0, 3), np.float32),), {}, "at least 1"),
            ((np.zeros((1,) * 5, np.float32),), {}, "1 to 4"),
            ((image,), {"out": np.empty((2, 2), np.float32)}, r"expected \(6, 7\)"),
            ((image,), {"numbers": "sloppy"}, "sloppy"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ts.ArgumentError, text):
                f(*args, **named)

    def test_constants_are_told_apart(self):
        @ts.pipeline
        def f(a, w: ts.Constant):
            return a * w[0]

        whole = image.astype(np.int32)
        self.assertEqual([f(whole, w).dtype for w in ((1,), (1.0,), (2,), [2.5])], [np.int32, np.float32] * 2)
        big = [np.zeros(3000), np.zeros(3000)]
        other = [np.zeros(3000), np.ones(3000)]

        @ts.pipeline
        def last(a, w: ts.Constant):
            return a + float(w[1][1500])

        self.assertEqual((last(image, big) - image).max(), 0)
        self.assertEqual(round(float((last(image, other) - image).max())), 1)

    def test_functions_of_numbers_are_numbers(self):
        wide = photo((4, 5), np.float64)
        for f, wanted in (
            (lambda a: a * ts.sqrt(2.0), wide * np.sqrt(2)),
            (lambda a: ts.minimum(0.1, 0.7) + a, wide + 0.1),
            (lambda a: a * ts.atan2(1, 3), wide * np.arctan2(1, 3)),
            (lambda a: ts.clip(7, 0, 3) - a, 3 - wide),
        ):
            np.testing.assert_allclose(built(f, wide), wanted, rtol=1e-14)
        self.assertEqual([ts.round(v) for v in (0.5, -1.5, 2.4, 7)], [1, -2, 2, 7])
        self.assertEqual([ts.floor(-0.5), ts.ceil(0.5), ts.abs(-3), ts.maximum(2, 5)], [-1, 1, 3, 5])

    def test_what_numpy_has_for_it(self):
        for f, wanted in (
            (lambda a: a - np.mean(a), image - image.mean()),
            (lambda a: a / np.max(a) - np.amin(a), image / image.max() - image.min()),
            (lambda a: a / np.sum(a), image / image.sum()),
            (lambda a: np.sign(a - 0.5), np.sign(image - 0.5)),
            (lambda a: a.clip(0.2, 0.4) + (a * 2).clip(0, 1), image.clip(0.2, 0.4) + (image * 2).clip(0, 1)),
            (lambda a: copy.deepcopy(a) + copy.copy(a + 1), 2 * image + 1),
        ):
            np.testing.assert_allclose(built(f), wanted, atol=1e-6)
        self.assertTrue(np.isnan(built(lambda a: np.sign(a), np.array([np.nan], np.float32))[0]))

    def test_arrays_of_no_dimension_are_numbers(self):
        f = ts.pipeline(lambda a, amount: a * amount)
        np.testing.assert_array_equal(f(image, np.array(2.0)), image * 2)
        if importlib.util.find_spec("torch"):
            import torch

            np.testing.assert_array_equal(f(image, torch.tensor(3.0)), image * 3)

    def test_methods(self):
        class Filter:
            def __init__(self, gain):
                self.gain = gain

            @ts.pipeline
            def scaled(self, a, amount=1.0):
                return a * (self.gain * amount)

        two, three = Filter(2), Filter(3)
        np.testing.assert_array_equal(two.scaled(image), image * 2)
        np.testing.assert_array_equal(three.scaled(image, amount=2.0), image * 6)
        self.assertIn("float32", repr(two.scaled.compile(image)))
        self.assertIn("stage", two.scaled.explain(image))
        self.assertIn("for", two.scaled.emit("c", image).source)
        self.assertEqual(two.scaled.submit(image).result().shape, (6, 7))

    def test_methods_are_copied_and_pickled(self):
        x = np.ones((3, 4), np.float32)
        method = Scaled().by_gain
        for again in (copy.copy(method), copy.deepcopy(method), pickle.loads(pickle.dumps(method))):
            self.assertEqual(again(x)[0, 0], 3)

    def test_closures_are_as_they_were(self):
        def made(k):
            return ts.pipeline(lambda a: a * k)

        pipelines = [made(k) for k in range(1, 4)]
        for k, p in enumerate(pipelines, 1):
            np.testing.assert_array_equal(p(image), image * np.float32(k))

    def test_pipelines_are_freed(self):
        p = ts.pipeline(lambda a: a * 2)
        p(image)
        gone = weakref.ref(p)
        del p
        gc.collect()
        self.assertIsNone(gone())

    def test_pipelines_are_built_in_several_threads(self):
        """Each thread builds its own, while others build and call theirs."""
        failed = []

        def work(k):
            try:
                for n in range(1, 6):
                    inner = ts.pipeline(lambda a, n=n: ts.stage(a * n))
                    outer = ts.pipeline(lambda a, inner=inner: inner(a) + ts.over(1).sum(lambda i: a.wrap()[0, i]))
                    wanted = image * np.float32(n) + image + np.roll(image, 1, 1) + np.roll(image, -1, 1)
                    np.testing.assert_allclose(outer(image), wanted, rtol=1e-5)
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])


if __name__ == "__main__":
    unittest.main()
