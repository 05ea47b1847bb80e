"""What pipelines refuse while they are traced, and what they say to write."""

import math
import unittest

import numpy as np
import tessera as ts
from programs import photo


class Refusals(unittest.TestCase):
    def refused(self, error, message, f, *args, **named):
        with self.assertRaisesRegex(error, message):
            ts.pipeline(f)(*(args or (photo(),)), **named)

    def test_what_is_not_known_while_it_is_built(self):
        bad = np.ones((3, 3))
        for f, message in (
            (lambda a: a if a > 0 else 1, r"write ts.where\(condition, a, b\)"),
            (lambda a: 0 < a < 1, r"\(a < x\) & \(x < b\)"),
            (lambda a: a > 0 and a < 1, "& for and"),
            (lambda a: not a, "~ for not"),
            (lambda a: [v for v in a], r"ts.over\(...\) for a window"),
            (lambda a: len(a), r"ts.extent\(dimension\)"),
            (lambda a: float(a), "no number"),
            (lambda a: math.sqrt(a), "no number"),
            (lambda a, n=3: sum(a for _ in range(n)), "ts.Constant"),
            (lambda a: np.array(a), "no array"),
            (lambda a: np.std(a), "std does not work"),
            (lambda a: a * bad, "a NumPy array is no value: write ts.table"),
            (lambda a: bad * a, "a NumPy array is no value: write ts.table"),
            (lambda a: ts.over(1, 1).sum(lambda i, j: bad[i + 1, j + 1] * a[i, j]), r"ts.table\(array\)"),
            (lambda a: (a + 1)[0, 1], r"g = ts.stage\(value\)"),
            (lambda a: a[0:2, 1], "an image is read at offsets"),
            (lambda a: a[0.5, 1], "a whole number or a window variable"),
            (lambda a: a[ts.coord(0), 0], r"image.gather\(y, x\)"),
            (lambda a: a + "x", "neither a value, an image nor a number"),
            (lambda a: round(a, 2), "ts.rint"),
        ):
            with self.subTest(message):
                self.refused(TypeError, message, f)
        self.refused(AttributeError, r"ts.stage\(value\).mirror", lambda a: (a + 1).mirror())
        self.refused(AttributeError, r"ts.extent\(dimension\)", lambda a: a.shape)

    def test_arguments(self):
        leaked = []
        ts.pipeline(lambda a: leaked.append(a + 1) or a)(photo())

        @ts.pipeline
        def again(a):
            return again(a)

        for f, message in (
            (lambda a: None, "returns nothing"),
            (lambda a: 3, "returns 3"),
            (lambda a: {}, "returns no image"),
            (lambda a: {"x": "y"}, "returns 'y' as 'x'"),
            (lambda a: leaked[0], "a value of another pipeline"),
            (lambda a: a + leaked[0], "mixes values of two pipelines"),
            (again, "calls itself while it is built"),
            (lambda a: a[0], "'a' has 2 dimensions, but is read at 1 offset"),
            (lambda a: a.borders("reflect"), "'symmetric' for SciPy's reflect"),
            (lambda a: a.borders("nonsense"), "is no border mode"),
            (lambda a: a.borders("wrap", "wrap", "wrap"), "3 border modes are given"),
            (lambda a: ts.stage(3), "its extents are not known"),
            (lambda a: ts.over((1, -1)).sum(lambda i: a[i, 0]), "has the range"),
            (lambda a: ts.over("ab").sum(lambda i: a[i, 0]), "has the range"),
            (lambda a: ts.over(1).sum(lambda i: None), "gives nothing"),
            (lambda a: ts.over(1).sum(lambda i, j: a[i, j]), "a window with 1 range calls"),
            (lambda a: ts.stage(a, 3), "a stage is called 3"),
            (lambda a: ts.compose([]), "no pieces"),
            (lambda a: ts.repeat(lambda b: b, a), r"return next, difference.max\(\) > 0.01"),
            (lambda a: ts.repeat(lambda b: ((b, b), b.max() > 1), a), "its body gives 2"),
            (lambda a: ts.table("x")[0] * a, "made of <U1"),
            (lambda a: ts.table(np.array([2**40]))[0] * a, "beyond int32"),
            (lambda a: a.astype(np.int32) + 2**31, "is no int32"),
        ):
            with self.subTest(message):
                self.refused(ts.ArgumentError, message, f)
        self.refused(ts.ArgumentError, "-1 is no uint32", lambda a: a > -1, np.zeros(3, np.uint32))
        self.refused(ts.ArgumentError, "'a' is a list, expected an array", lambda a: a, [[1.0, 2]])
        self.refused(ts.ArgumentError, "missing a required argument: 'b'", lambda a, b: a)
        self.refused(ts.ArgumentError, "unexpected keyword argument 'threats'", lambda a: a, photo(), threats=2)
        self.refused(ts.ArgumentError, "real number", lambda a, b: a * b, photo(), 1j)
        with self.assertRaisesRegex(ts.ArgumentError, r"takes \*\*named"):
            ts.pipeline(lambda a, **named: a)
        with self.assertRaisesRegex(ts.ArgumentError, "'a' is not given"):
            ts.pipeline(lambda a: a).compile()

    def test_filters(self):
        image = photo((5, 6))
        memory = np.zeros(image.size + 10, image.dtype)
        overlapping = np.lib.stride_tricks.as_strided(memory, image.shape, (4, 4))
        with self.assertRaisesRegex(ts.ArgumentError, "share their memory"):
            ts.gaussian(image, out=overlapping)
        with self.assertRaisesRegex(ts.ArgumentError, "channel_axis is 'x', expected a whole number"):
            ts.gaussian(image, channel_axis="x")
        struct = np.zeros((4, 5), [("r", "u1"), ("g", "u1")])
        with self.assertRaisesRegex(AttributeError, "no plane 'gather', the planes are r, g: write image.map"):
            ts.pipeline(lambda a: a.gather(0, 1))(struct)


if __name__ == "__main__":
    unittest.main()
