import unittest

import numpy as np
import tessera as ts
from programs import photo
from tessera import _core


class Pipelines(unittest.TestCase):
    """The builder, every call of it."""

    def run_one(self, p, image, *inputs, name="", fields=None):
        images = image if isinstance(image, list) else [image]
        program = p.compile([(name, images, fields)])
        (result,) = program.run(inputs)
        (slow,) = program.interpret(inputs)
        np.testing.assert_allclose(result, slow, rtol=1e-5, atol=1e-6)
        return result

    def test_window(self):
        p, image = _core.Pipeline(), photo()
        (x,) = p.input("image", "float32", 2)
        self.assertEqual(p.image_type(x), ("float32", 2))
        b = p.borders(x, [("mirror", 0), ("constant", 3)])
        i, j = p.variables([(-1, 1), (-1, 1)])
        w = p.table("w", np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32))
        weight = p.lookup(w, [p.offset((1, [(i, 1)])), p.offset((1, [(j, 1)]))])
        total = p.reduce("sum", [i, j], p.apply("mul", [weight, p.read(b, [(0, [(i, 1)]), (0, [(j, 1)])])]))
        self.assertEqual(p.value_type(total), "float32")
        s = p.stage("s", p.apply("div", [total, p.constant("float32", 16)]))
        result = self.run_one(p, s, image)
        wide = np.pad(np.pad(image, ((1, 1), (0, 0)), mode="reflect"), ((0, 0), (1, 1)), constant_values=3)
        wanted = sum(
            (2 - abs(a)) * (2 - abs(c)) * wide[1 + a : 41 + a, 1 + c : 51 + c] for a in (-1, 0, 1) for c in (-1, 0, 1)
        )
        np.testing.assert_allclose(result, wanted / 16, rtol=1e-5)

    def test_values(self):
        p, image = _core.Pipeline(), photo(dtype=np.uint8)
        (x,) = p.input("image", "uint8", 2)
        gain = p.scalar("gain", "float64")
        v = p.read(x, [0, 0])
        self.assertEqual(p.value_type(p.apply("add", [v, v])), "int32")
        bright = p.apply("lt", [p.constant("uint8", 100), v])
        scaled = p.saturate("uint8", p.apply("mul", [v, gain]))
        s = p.stage("s", p.select(bright, scaled, p.convert("uint8", p.coord(1))))
        result = self.run_one(p, s, image, 1.5)
        wanted = np.where(image > 100, np.clip(np.rint(image * 1.5), 0, 255), np.arange(50) % 256).astype(np.uint8)
        np.testing.assert_array_equal(result, wanted)

    def test_gather_and_extents(self):
        p, image = _core.Pipeline(), photo()
        (x,) = p.input("image", "float32", 2)
        last = p.apply("sub", [p.extent_value(1), p.constant("int32", 1)])
        there = p.gather(p.borders(x, [("clamp", 0)] * 2), [p.coord(0), p.apply("sub", [last, p.coord(1)])])
        nothing = p.apply("mul", [p.constant("float32", 0), p.read(x, [0, 0])])
        s = p.stage("flipped", p.apply("add", [there, nothing]))
        np.testing.assert_array_equal(self.run_one(p, s, image), image[:, ::-1])

    def test_sizes(self):
        p = _core.Pipeline()
        n = p.size("n")
        two = p.multiply_extents(p.extent(2), n)
        (x,) = p.input("x", "float32", 1, extents=[n])
        (y,) = p.input("y", "float32", 1, extents=[p.subtract_extents(p.add_extents(two, n), p.divide_extent(two, 2))])
        s = p.stage("s", p.apply("add", [p.read(x, [0]), p.read(y, [0])]))
        a, b = photo((5,)), photo((10,))
        np.testing.assert_allclose(self.run_one(p, s, a, b), a + b[:5], rtol=1e-6)
        with self.assertRaises(ts.ArgumentError):
            p.compile([("", [s], None)]).run((a, a))

    def test_planes_and_totals(self):
        p, image = _core.Pipeline(), photo((6, 7, 3))
        planes = p.input("image", "float32", 2, fields=["r", "g", "b"])
        self.assertEqual(len(planes), 3)
        most = p.total("most", "max_of", planes[0])
        stages = [
            p.stage(n, p.apply("div", [p.read(x, [0, 0]), p.only(most)])) for n, x in zip("rgb", planes, strict=True)
        ]
        result = self.run_one(p, stages, image, fields=["r", "g", "b"])
        np.testing.assert_allclose(result, image / image[..., 0].max(), rtol=1e-5)

    def test_rearranging(self):
        p, image = _core.Pipeline(), photo((6, 8))
        (x,) = p.input("image", "float32", 2)
        half = p.stage("half", p.read(p.every(x, [1, 2]), [0, 0]))
        wide = p.compose("wide", [half, half], 2, [[0, 0], [0, 1]], [[1, 2], [1, 2]])
        np.testing.assert_array_equal(self.run_one(p, wide, image), np.repeat(image[:, ::2], 2, 1))
        with self.assertRaisesRegex(ts.ArgumentError, "1 starts are given for 2 pieces"):
            p.compose("wrong", [half, half], 2, [[0, 0]], [[1, 2], [1, 2]])
        with self.assertRaisesRegex(ts.ArgumentError, "expected 2, the rank"):
            p.compose("wrong", [half], 2, [[0]], [[1, 2]])

    def test_fourier(self):
        p, image = _core.Pipeline(), photo((6, 8))
        (x,) = p.input("image", "float32", 2)
        re, im = p.fourier("F", False, [x], [])
        back, _ = p.fourier("back", True, [re, im], [])
        program = p.compile([("F", [re, im], ["re", "im"]), ("back", [back], None)])
        spectrum, again = program.run((image,))
        np.testing.assert_allclose(spectrum[..., 0] + 1j * spectrum[..., 1], np.fft.fft2(image), atol=1e-4)
        np.testing.assert_allclose(again, image, atol=1e-5)

    def test_loops(self):
        p, image = _core.Pipeline(), photo()
        (x,) = p.input("image", "float32", 2)
        (before,) = p.begin_loop("halve", 100, [x])
        next_ = p.stage("next", p.apply("mul", [p.read(before, [0, 0]), p.constant("float32", 0.5)]))
        most = p.total("most", "max_of", next_)
        (after,) = p.end_loop([next_], p.apply("lt", [p.constant("float32", 0.1), p.only(most)]))
        result = self.run_one(p, after, image)
        steps = int(np.ceil(np.log2(image.max() / 0.1)))
        np.testing.assert_allclose(result, image * 0.5**steps, rtol=1e-6)

    def test_wrong(self):
        p = _core.Pipeline()
        (x,) = p.input("image", "float32", 2)
        v = p.read(x, [0, 0])
        for call in (
            lambda: p.input("y", "int64", 2),
            lambda: p.input("y", "float32", 2, extents=[0]),
            lambda: p.apply("nonsense", [v]),
            lambda: p.apply("add", [v, 12345]),
            lambda: p.read(x, [0]),
            lambda: p.read(99, [0, 0]),
            lambda: p.borders(x, [("nonsense", 0)]),
            lambda: p.reduce("nonsense", [], v),
            lambda: p.stage("", 77),
            lambda: p.value_type(77),
            lambda: p.table("t", np.zeros((2, 2), np.int64)),
            lambda: p.compile([("a", [x], ["r", "g"])]),
            lambda: p.compile([]),
        ):
            self.assertRaises(ts.ArgumentError, call)
        for call in (lambda: p.coord("x"), lambda: p.apply("add", [-1]), lambda: p.read(x, ["a"])):
            self.assertRaises((TypeError, ValueError), call)

    def test_program_outlives_its_pipeline(self):
        p = _core.Pipeline()
        (x,) = p.input("image", "float32", 1)
        program = p.compile([("out", [p.stage("s", p.read(x, [0]))], None)])
        del p
        np.testing.assert_array_equal(program.run([photo((5,))])[0], photo((5,)))


if __name__ == "__main__":
    unittest.main()
