"""Pipelines by tracing: their results beside plain NumPy, what they are built for, what they refuse."""

import math
import pickle
import threading
import unittest
from typing import Annotated

import numpy as np
import tessera as ts
from programs import photo

W = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32)


def padded(image, mode="reflect"):
    return np.pad(image, 1, mode=mode)


def neighbours(image, mode="reflect"):
    wide = padded(image, mode)
    rows, columns = image.shape
    return {(a, b): wide[1 + a : 1 + a + rows, 1 + b : 1 + b + columns] for a in (-1, 0, 1) for b in (-1, 0, 1)}


@ts.pipeline
def top_level(image, amount=0.5):
    return image * amount


class Case(unittest.TestCase):
    def run_of(self, f, *args, **options):
        """What a function makes, compiled and interpreted, which agree."""
        p = f if isinstance(f, ts.Pipeline) else ts.pipeline(f, **options)
        result, slow = p(*args), p.interpret(*args)
        several = isinstance(result, ts.Outputs)
        for r, s in zip(result, slow, strict=True) if several else [(result, slow)]:
            self.assertEqual((r.dtype, r.shape), (s.dtype, s.shape))
            np.testing.assert_allclose(r, s, rtol=1e-5, atol=1e-5)
        return result

    def same(self, f, wanted, *args, rtol=1e-5, atol=1e-6, **options):
        result = self.run_of(f, *args, **options)
        self.assertEqual(result.dtype, np.asarray(wanted).dtype)
        np.testing.assert_allclose(result, wanted, rtol=rtol, atol=atol)


class Images(Case):
    def test_neighbours_and_borders(self):
        image = photo()
        for method, mode in (("mirror", "reflect"), ("symmetric", "symmetric"), ("clamped", "edge"), ("wrap", "wrap")):
            n = neighbours(image, mode)
            with self.subTest(method):
                self.same(lambda a: getattr(a, method)()[-1, 1], n[-1, 1], image)  # noqa: B023
        self.same(lambda a: a.constant(3)[0, -1], np.pad(image, ((0, 0), (1, 0)), constant_values=3)[:, :-1], image)
        mixed = np.pad(np.pad(image, ((1, 0), (0, 0)), mode="wrap"), ((0, 0), (1, 0)), constant_values=2)
        self.same(lambda a: a.borders("wrap", ("constant", 2))[-1, -1], mixed[:-1, :-1], image)
        self.same(lambda a: a.borders("wrap", 2)[-1, -1], mixed[:-1, :-1], image)
        self.same(lambda a: ts.stage(a * 1.0, border=("wrap", 2))[-1, -1], mixed[:-1, :-1], image)
        self.same(lambda a: ts.stage(a * 1.0, border="wrap")[-1, 0], np.roll(image, 1, 0), image)

    def test_points_whose_neighbours_lie_outside_are_left_out(self):
        image = photo((5, 6))
        wanted = np.zeros_like(image)
        wanted[:, 1:-1] = image[:, 2:] - image[:, :-2]
        self.same(lambda a: a[0, 1] - a[0, -1], wanted, image)

    def test_sums_over_numbers_and_over_windows(self):
        image, doubles = photo(), W.astype(np.float64)
        wanted = sum(W[a + 1, b + 1] * v for (a, b), v in neighbours(image).items()) / 16
        table = ts.table(W)
        forms = (
            lambda a: sum(W[i + 1, j + 1] * a.mirror()[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)) / 16,
            lambda a: sum(doubles[i, j] * a.mirror()[i - 1, j - 1] for i, j in np.ndindex(3, 3)) / np.float64(16),
            lambda a: ts.over(1, 1).sum(lambda i, j: table[i + 1, j + 1] * a.mirror()[i, j]) / 16,
            lambda a: ts.over((0, 2), range(3)).sum(lambda i, j: table[i, j] * a.mirror()[i - 1, j - 1]) / 16,
            lambda a: ts.over(1, 1).sum(lambda i, j: ts.table(W.tolist())[1 - i, 1 - j] * a.mirror()[i, j]) / 16,
        )
        for f in forms:
            self.same(f, wanted.astype(np.float32), image)

    def test_windows(self):
        image = photo()
        n = np.stack(list(neighbours(image).values()))
        w = lambda: ts.over((-1, 1), (-1, 1))
        for name, wanted in (("min", n.min(0)), ("max", n.max(0)), ("median", np.median(n, 0)), ("prod", n.prod(0))):
            with self.subTest(name):
                self.same(lambda a: getattr(w(), name)(lambda i, j: a.mirror()[i, j]), wanted, image)  # noqa: B023
        self.same(lambda a: w().any(lambda i, j: a.mirror()[i, j] > 0.9), (n > 0.9).any(0), image)
        self.same(lambda a: w().all(lambda i, j: a.mirror()[i, j] > 0.1), (n > 0.1).all(0), image)
        self.same(lambda a: w().mean(lambda i, j: a.mirror()[i, j]), n.mean(0), image)
        weights = [a * 2 - b for a in (-1, 0, 1) for b in (-1, 0, 1)]
        wanted = sum(k * v for k, v in zip(weights, n, strict=True)).astype(np.float32)
        self.same(lambda a: w().sum(lambda i, j: (2 * i - j) * a.mirror()[i, j]), wanted, image, rtol=1e-4, atol=1e-5)
        self.same(lambda a: ts.over((0, 3)).sum(lambda k: k // 2 * a), 2 * image, image)

    def test_narrow_types_stay_where_one_is_picked(self):
        image = photo(dtype=np.uint8)
        n = np.stack(list(neighbours(image).values()))
        self.same(lambda a: ts.over(1, 1).max(lambda i, j: a.mirror()[i, j]), n.max(0), image)
        self.same(lambda a: ts.over(1, 1).median(lambda i, j: a.mirror()[i, j]), np.median(n, 0).astype("u1"), image)
        self.same(lambda a: ts.where(a > 9, a, 0), np.where(image > 9, image, 0).astype("u1"), image)
        self.same(lambda a: ts.clip(a, 10, 200), np.clip(image, 10, 200), image)
        self.same(lambda a: ts.maximum(a, 300), np.full(image.shape, 300, np.int32), image)
        self.same(lambda a: ts.minimum(a, 0.5), np.minimum(image.astype(np.float32), np.float32(0.5)), image)

    def test_strides_and_pieces(self):
        image = photo((6, 8))

        @ts.pipeline
        def pyramid(a):
            even = a.clamped().every(2)
            half = ts.stage((even[0, 0] + even[0, 1] + even[1, 0] + even[1, 1]) / 4)
            back = ts.compose([(half, ((r, 2), (c, 2))) for r in (0, 1) for c in (0, 1)])
            return {"half": half, "back": back, "every": a.every(2, 4), "piece": ts.compose([(a.every(2), (0, 0))])}

        r = self.run_of(pyramid, image)
        half = (image[::2, ::2] + image[::2, 1::2] + image[1::2, ::2] + image[1::2, 1::2]) / 4
        np.testing.assert_allclose(r.half, half, rtol=1e-5)
        np.testing.assert_allclose(r.back, half.repeat(2, 0).repeat(2, 1), rtol=1e-5)
        np.testing.assert_array_equal(r.every, image[::2, ::4])
        np.testing.assert_array_equal(r.piece, image[::2, ::2])
        stacked = self.run_of(lambda a: ts.compose([(a, (0, 0, 0)), (a * 2, (1, 0, 0))]), image)
        np.testing.assert_allclose(stacked, np.stack([image, 2 * image]))

    def test_places_that_are_computed(self):
        image = photo((5, 6))
        flip = lambda a: a.gather(ts.coord(0), ts.extent(1) - 1 - ts.coord(1)) + 0 * a
        self.same(flip, image[:, ::-1], image)
        levels = np.sqrt(np.arange(256)).astype(np.float32)
        self.same(lambda a: ts.table(levels)[a], levels[photo(dtype=np.uint8)], photo(dtype=np.uint8))

    def test_totals(self):
        image = photo()
        self.same(lambda a: (a - a.min()) / (a.max() - a.min()), (image - image.min()) / np.ptp(image), image)
        r = self.run_of(
            lambda a: {"sum": a.sum(), "mean": a.mean().image, "least": a.min(), "every": a.every(2).max()}, image
        )
        self.assertEqual([v.shape for v in r], [(1,)] * 4)
        np.testing.assert_allclose([r.sum[0], r.mean[0]], [image.sum(dtype=float), image.mean(dtype=float)], rtol=1e-6)
        self.assertEqual((r.least[0], r.every[0]), (image.min(), image[::2, ::2].max()))
        self.same(lambda a: a - a.mean().value.astype("float32"), image - image.mean(), image, atol=1e-6)
        self.same(lambda a: a.max() - a.min(), [np.ptp(image)], image)
        self.same(lambda a: ts.sqrt(ts.stage((a - a.mean()) ** 2).mean()), [image.std(dtype=float)], image)
        self.same(lambda a: a.mean().astype("float32"), [image.mean()], image)

    def test_spectra(self):
        image = photo((8, 6))
        spectrum = self.run_of(lambda a: a.fft(), image)
        np.testing.assert_allclose(spectrum[..., 0] + 1j * spectrum[..., 1], np.fft.fft2(image), atol=1e-4)
        rows = self.run_of(lambda a: a.fft(-1), image)
        np.testing.assert_allclose(rows[..., 0] + 1j * rows[..., 1], np.fft.fft(image), atol=1e-4)

        def low(a):
            f = a.fft()
            keep = ts.where((ts.coord(0) < 2) & (ts.coord(1) < 2), 1.0, 0.0)
            return ts.ifft(f.re * keep, f.im * keep).re

        kept = np.fft.fft2(image)
        kept[2:], kept[:, 2:] = 0, 0
        np.testing.assert_allclose(self.run_of(low, image), np.fft.ifft2(kept).real, atol=1e-5)
        bytes_ = photo((4, 4), np.uint8)
        np.testing.assert_allclose(self.run_of(lambda a: a.fft().re, bytes_), np.fft.fft2(bytes_).real, atol=1e-2)

    def test_loops(self):
        image = photo()
        self.same(
            lambda a: ts.repeat(lambda b: ((n := ts.stage(b / 2)), n.max() > 0.1), a),
            image / 2 ** math.ceil(math.log2(image.max() / 0.1)),
            image,
        )

        @ts.pipeline
        def two(a):
            def body(u, v):
                v2 = ts.stage(u + v)
                return (v, v2), v2.max() < 100

            u, v = ts.repeat(body, (a, a * 1.0), most=5)
            return {"u": u, "v": v}

        r = self.run_of(two, image)
        np.testing.assert_allclose(r.u, 8 * image, rtol=1e-5)
        np.testing.assert_allclose(r.v, 13 * image, rtol=1e-5)

    def test_sizes(self):
        m = ts.size("M")

        @ts.pipeline
        def thin(x: ts.Image[ts.f32, 2 * m + 1], y: ts.Image[ts.f32, m]):
            return x.every(2)[1] + y

        a, b = photo((11,)), photo((5,), seed=1)
        self.same(thin, a[1::2] + b, a, b)
        self.assertEqual(thin.compile().inputs[0].extents, "2*M+1")
        with self.assertRaises(ts.ArgumentError):
            thin(a, a)
        self.same(lambda x, y: x + y, photo((3, 5)) + b, photo((3, 5)), b)


class Arithmetic(Case):
    a = np.array([-7, -6, -1, 0, 1, 2, 6, 7, 100], np.int32)
    f = np.array([-7.5, -3, -0.5, -0.25, 0, 0.5, 1.5, 2.5, 7], np.float32)

    def test_integers_divide_as_in_numpy(self):
        for n in (3, -3, 1, -1, 7, 2):
            self.same(lambda a: a // n, self.a // n, self.a)  # noqa: B023
            self.same(lambda a: a % n, self.a % n, self.a)  # noqa: B023
            self.same(lambda a: n // (a * a + 1), n // (self.a * self.a + 1), self.a)  # noqa: B023
        b = self.a[::-1].copy()
        with np.errstate(divide="ignore"):
            self.same(lambda a, b: a // b, self.a // b, self.a, b)
            self.same(lambda a, b: a % b, self.a % b, self.a, b)
        u = self.a.view(np.uint32)
        self.same(lambda a: a // 3, u // 3, u)
        small = photo((9,), np.uint8)
        self.same(lambda a: a // 7, (small // 7).astype(np.int32), small)
        self.same(lambda a: a % 7, (small % 7).astype(np.int32), small)
        self.same(lambda a: a / 2, (self.a / 2).astype(np.float32), self.a)
        self.same(lambda a: 1 / (a * a + 1), (1 / (self.a * self.a + 1)).astype(np.float32), self.a)

    def test_floats_divide_as_in_numpy(self):
        for n in (2.0, -2.0, 0.3, 0.0):
            with np.errstate(all="ignore"):
                self.same(lambda a: a // n, self.f // np.float32(n), self.f)  # noqa: B023
                self.same(lambda a: a % n, self.f % np.float32(n), self.f)  # noqa: B023
        b = self.f[::-1].copy()
        with np.errstate(all="ignore"):
            self.same(lambda a, b: a // b, self.f // b, self.f, b)
            self.same(lambda a, b: a % b, self.f % b, self.f, b)

    def test_powers(self):
        for n in (0, 1, 2, 3, 5):
            self.same(lambda a: a**n, self.a**n, self.a)  # noqa: B023
            self.same(lambda a: a**n, self.f**n, self.f)  # noqa: B023
        self.same(lambda a: a**0.5, np.sqrt(self.f[4:]), self.f[4:].copy())
        self.same(lambda a: 2.0**a, 2**self.f, self.f)
        self.same(lambda a: pow(a, 1.5), self.f[4:] ** np.float32(1.5), self.f[4:].copy())

    def test_rounding(self):
        self.same(lambda a: round(a), np.round(self.f), self.f)
        self.same(lambda a: np.rint(a), np.rint(self.f), self.f)
        self.same(lambda a: ts.rint(a), np.rint(self.f), self.f)
        self.same(lambda a: ts.round(a), np.sign(self.f) * np.floor(abs(self.f) + 0.5), self.f)
        self.same(lambda a: math.floor(a), np.floor(self.f), self.f)
        self.same(lambda a: math.ceil(a), np.ceil(self.f), self.f)
        self.same(lambda a: math.trunc(a), np.trunc(self.f), self.f)
        self.same(lambda a: ts.saturate(ts.uint8, a * 100), np.clip(np.rint(self.f * 100), 0, 255).astype("u1"), self.f)
        self.same(lambda a: a.astype(np.int16), self.f.astype(np.int16), self.f)

    def test_bits_and_comparisons(self):
        a, b = self.a, self.a[::-1].copy()
        for f in (
            lambda a, b: a & b,
            lambda a, b: a | 12,
            lambda a, b: 5 ^ b,
            lambda a, b: ~a,
            lambda a, b: a << 2,
            lambda a, b: a >> 1,
            lambda a, b: (a < b) & ~(b == 2) | (a != b) ^ (3 >= b),
            lambda a, b: ~(a > 0),
            lambda a, b: abs(-a) + +b,
            lambda a, b: (a > 0) & True,
        ):
            self.same(f, f(a, b), a, b)

    def test_types_follow_the_language(self):
        u8, f32, f64 = (photo((4, 5), t) for t in (np.uint8, np.float32, np.float64))
        for f, image, wanted in (
            (lambda a: a + 1, u8, "int32"),
            (lambda a: a * 0.5, u8, "float32"),
            (lambda a: a + a, u8, "int32"),
            (lambda a: a * 0.5 + 1, f32, "float32"),
            (lambda a: a * np.float64(0.5), f32, "float32"),
            (lambda a: a * np.int64(3), f32, "float32"),
            (lambda a: a * 0.5, f64, "float64"),
            (lambda a: ts.sqrt(a), u8, "float32"),
            (lambda a: a > 3, u8, "bool"),
            (lambda a: sum([a]), u8, "int32"),
            (lambda a: ts.table(np.ones(3))[1] * a, f32, "float64"),
            (lambda a: ts.table([1.0, 2])[1] * a, f32, "float32"),
        ):
            self.assertEqual(ts.pipeline(f)(image).dtype, wanted)

    def test_functions_and_those_of_numpy(self):
        x = photo((5, 6)) + np.float32(0.25)
        for name in [
            "sqrt",
            "exp",
            "exp2",
            "log",
            "log2",
            "log10",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "cbrt",
            "floor",
            "ceil",
            "trunc",
        ]:
            self.same(lambda a: getattr(ts, name)(a), getattr(np, name)(x), x)  # noqa: B023
            self.same(lambda a: getattr(np, name)(a), getattr(np, name)(x), x)  # noqa: B023
        for name in ("asin", "acos", "atan"):
            self.same(lambda a: getattr(ts, name)(a / 2), getattr(np, name.replace("a", "arc", 1))(x / 2), x)  # noqa: B023
        self.same(
            lambda a: ts.hypot(a, 2) + ts.atan2(a, 1) + ts.fmod(a, 0.3),
            np.hypot(x, 2) + np.arctan2(x, 1) + np.fmod(x, np.float32(0.3)),
            x,
        )
        self.same(
            lambda a: np.where(a > 1, np.maximum(a, 0.5), np.clip(a, 0.3, 0.6)),
            np.where(x > 1, np.maximum(x, np.float32(0.5)), np.clip(x, 0.3, 0.6)),
            x,
        )
        self.same(lambda a: np.float64(2) * a + np.multiply(a, a), np.float32(2) * x + x * x, x)
        holes = np.where(x > 1, np.nan, x).astype(np.float32)
        self.same(lambda a: ts.where(ts.isnan(a), 0, a), np.nan_to_num(holes), holes)


class Calls(Case):
    def test_what_the_first_example_says(self):
        image = photo(dtype=np.uint8)

        @ts.pipeline
        def edges(image, amount=0.8):
            """Edges."""
            b = image.mirror()
            g = ts.stage(ts.over((-1, 1), (-1, 1)).sum(lambda i, j: ts.table(W)[i + 1, j + 1] * b[i, j])).clamped()
            return {
                "edges": ts.saturate(ts.uint8, amount * ts.hypot(g[0, 1] - g[0, -1], g[1, 0] - g[-1, 0])),
                "smooth": g,
            }

        out = edges(image, amount=0.5, out=None, numbers="exact", progress=lambda *_: None)
        self.assertEqual(out.keys(), ("edges", "smooth"))
        self.assertEqual((out.edges.dtype, out.smooth.dtype), ("uint8", "float32"))
        self.assertEqual((edges.__name__, edges.__doc__), ("edges", "Edges."))
        self.assertIn("smooth", edges.explain(image))
        self.assertIsInstance(edges.compile(image), ts.Program)
        self.assertIn("__global__", edges.emit("cuda").source)
        self.assertIn("edges", repr(edges))
        np.testing.assert_array_equal(edges.submit(image, amount=0.5).result().edges, edges(image, 0.5).edges)
        self.assertEqual(edges.output_shapes(image), (image.shape, image.shape))

    def count(self, **options):
        calls = []

        def f(image, amount=0.5, shift=2, flip=False, *, mode="mirror", power=None):
            calls.append((image.dtype, amount.dtype, shift.dtype, flip.dtype, mode, power))
            return ts.where(flip, -image.borders(mode)[0, 1] * amount, shift + image)

        return ts.pipeline(f, **options), calls

    def test_traced_once_for_each_kind_of_arguments(self):
        p, calls = self.count()
        image = photo()
        for k in (0.25, 1, np.float64(3), np.float32(2), True):
            np.testing.assert_allclose(
                p(image, k, flip=True), -k * np.pad(image, ((0, 0), (0, 1)), mode="reflect")[:, 1:], rtol=1e-6
            )
        p(photo((3, 3)), shift=5)
        self.assertEqual(calls, [("float32", "float32", "int32", "bool", "mirror", None)])
        p(image, shift=2.5)
        p(photo(dtype=np.uint8))
        p(image, mode="wrap")
        p(image, power=(1,))
        p(image, power=(True,))
        p(image, power=(1.0,))
        p(image, power=[1])
        p(image, power=[1])
        self.assertEqual(len(calls), 8)
        p.clear()
        p(image)
        self.assertEqual(len(calls), 9)

    def test_constants(self):
        image = photo()
        taken = []

        @ts.pipeline
        def f(image, radius: ts.Constant[int], weights: ts.Constant = None, *, of=None):
            taken.append(radius)
            return (of or (lambda v: v))(sum(image.clamped()[0, i] for i in range(-radius, radius + 1)))

        for radius in (1, 2, 1):
            wide = np.pad(image, ((0, 0), (radius, radius)), mode="edge")
            wanted = sum(wide[:, k : k + image.shape[1]] for k in range(2 * radius + 1))
            np.testing.assert_allclose(f(image, radius), wanted, rtol=1e-5)
        f(image, 1, weights=np.arange(3))
        f(image, 1, weights=np.arange(3))
        f(image, 1, weights=np.arange(4))
        f(image, 1, of=ts.sqrt)
        self.assertEqual(len(taken), 5)
        with self.assertRaisesRegex(ts.ArgumentError, "cannot be told from others"):
            f(image, 1, of=[bytearray(3)])

    def test_calls_like_those_before(self):
        image = photo()

        @ts.pipeline
        def f(a, b=2.0, c=3, *, d=0.5, of: ts.Constant = 1, mode="wrap"):
            return (a * b + c) * d * of

        for _ in range(2):
            for args, named in (
                ((image,), {}),
                ((image, 3.0), {}),
                ((image, 3.0, 4), {}),
                ((image,), {"d": 0.25}),
                ((image,), {"c": 1, "b": 5}),
                ((), {"d": 1.0, "a": image}),
                ((image,), {"of": 2}),
                ((image,), {"of": 3, "c": 1.5}),
                ((image,), {"mode": "x"}),
                ((image, 2.0), {"threads": 1}),
                ((image, image), {}),
            ):
                values = {"b": 2.0, "c": 3, "d": 0.5, "of": 1} | dict(zip("abc", args, strict=False)) | named
                wanted = (values["a"] * values["b"] + values["c"]) * values["d"] * values["of"]
                np.testing.assert_allclose(f(*args, **named), wanted, rtol=1e-6)
        with self.assertRaises(ts.ArgumentError):
            f(3.0)

    def test_as_many_programs_as_are_kept(self):
        p, calls = self.count()
        for k in range(70):
            p(photo((3, 3)), power=k + 0.5)  # a number: no constant
        self.assertEqual(len(calls), 1)  # a number is no constant
        q = ts.pipeline(lambda image, *, mode: image * len(mode))
        for k in range(70):
            q(photo((3, 3)), mode="x" * k)
        self.assertEqual(len(q._built), 64)

    def test_annotations(self):
        @ts.pipeline
        def f(image: ts.Image[ts.f32, 2], amount: ts.f64 = 0.5, shift: int = 2):
            return image * amount + shift

        self.assertEqual(
            [(i.dtype, i.rank) for i in f.compile().inputs], [("float32", 2), ("float64", 0), ("int32", 0)]
        )
        self.assertEqual(f(photo()).dtype, "float64")
        self.assertIn("void", f.emit().source)
        with self.assertRaisesRegex(ts.ArgumentError, "'image' is an array of uint8 with 2 dimensions, expected Image"):
            f(photo(dtype=np.uint8))
        with self.assertRaisesRegex(ts.ArgumentError, "'image' is a int, expected an array"):
            f(3)

        @ts.pipeline
        def g(image: Annotated[ts.Image, ts.uint8, 1], other: ts.Image[None, 1], more: ts.Image):
            return image + other + more

        one = photo((4,), np.uint8)
        self.assertEqual(g(one, one.astype(np.float64), one).dtype, "float64")
        with self.assertRaisesRegex(ts.ArgumentError, "the type of 'other' is not known"):
            g.compile()
        self.assertEqual(g.compile(other=ts.Image["float32", 1], more=ts.Image["int16", 1]).outputs[0].dtype, "float32")
        h = ts.pipeline(lambda image, amount: image * amount)
        self.assertEqual(h.compile(ts.Image["uint8", 3], ts.f32).inputs[0].rank, 3)

    def test_annotations_as_text(self):
        radius = ts.Constant
        names = {"ts": ts}
        exec("def f(image: 'ts.Image[\"float32\", 1]', n: 'ts.Constant'): return image * len(n)", names)  # noqa: S102
        self.assertEqual(ts.pipeline(names["f"])(photo((3,)), (1, 2)).dtype, "float32")

        def g(image, n: "radius"):
            return image * (n + len(str(radius)) * 0)

        self.assertEqual(len(ts.pipeline(g).compile(photo(), 2).inputs), 1)
        exec("def f(image: 'Image[3]'): return image", names)  # noqa: S102
        with self.assertRaisesRegex(ts.ArgumentError, "the annotation .* of 'image' is not understood"):
            ts.pipeline(names["f"])

    def test_planes(self):
        image = photo((6, 7, 3))
        grey = ts.pipeline(lambda p: (p["r"] + p.g + p.planes[2]) / 3, channel_axis=-1)
        np.testing.assert_allclose(grey(image), image.mean(-1), rtol=1e-5)
        plain = ts.pipeline(lambda p: (p.r + p.g + p.b) / 3)
        np.testing.assert_allclose(plain(image, channel_axis=-1), image.mean(-1), rtol=1e-5)
        blur = ts.pipeline(lambda p: p.mirror().map(lambda c: (c[0, -1] + c[0, 1]) / 2), channel_axis=0)
        first = np.ascontiguousarray(np.moveaxis(image, -1, 0))
        wide = np.pad(image, ((0, 0), (1, 1), (0, 0)), mode="reflect")
        wanted = np.moveaxis((wide[:, :-2] + wide[:, 2:]) / 2, -1, 0)
        self.assertEqual(blur(first).shape, first.shape)
        np.testing.assert_allclose(blur(first), wanted, rtol=1e-5)
        out = np.empty_like(first)
        self.assertIs(blur(first, out=out), out)
        np.testing.assert_allclose(out, wanted, rtol=1e-5)
        pixels = image.view([("x", "f4"), ("y", "f4"), ("z", "f4")])[..., 0]
        np.testing.assert_allclose(self.run_of(lambda p: p.y, pixels), image[..., 1])

        names = ("a", "b", "c")

        @ts.pipeline
        def f(photo: ts.Image[ts.f32, 2, names], mask: ts.Image[ts.f32, 2]):
            return {"turned": {"c": photo.c * mask, "a": photo.a * mask}, "b": photo.b}

        r = self.run_of(f, image, image[..., 0].copy())
        np.testing.assert_allclose(r.turned, image[..., ::-2] * image[..., :1], rtol=1e-6)
        np.testing.assert_array_equal(r.b, image[..., 1])
        mixed = ts.pipeline(lambda p, mask: p.r * mask, channel_axis=-1)
        with self.assertRaisesRegex(AttributeError, "an image has no 'r': .* give channel_axis"):
            plain(image)
        with self.assertRaisesRegex(ts.ArgumentError, "channel_axis is 3, but 'p' has 3 dimensions"):
            plain(image, channel_axis=3)
        self.assertEqual(mixed(image, 2).shape, (6, 7))

    def test_out_that_is_not_given(self):
        f = ts.pipeline(lambda image: image * 2)
        program, x = f.compile(photo()), photo()
        for call in (f, program):
            for out in ({}, {"out": None}, [None], (None,)):
                np.testing.assert_array_equal(call(x, out=out), x * 2)

    def test_memory_views_are_errors(self):
        with self.assertRaisesRegex(ts.ArgumentError, "is a memoryview"):
            ts.pipeline(lambda image: image * 2)(memoryview(photo()))

    def test_out(self):
        image = photo()
        p = ts.pipeline(lambda a: {"twice": a * 2, "half": a / 2})
        twice = np.empty_like(image)
        r = p(image, out={"twice": twice})
        np.testing.assert_array_equal(twice, image * 2)
        np.testing.assert_array_equal(r.half, image / 2)
        single = ts.pipeline(lambda a: a * 2)
        self.assertIs(single(image, out=twice), twice)

    def test_pipelines_in_pipelines(self):
        @ts.pipeline
        def smooth(image, weight=0.5):
            return ts.stage(weight * (image.mirror()[0, -1] + image.mirror()[0, 1]))

        image = photo()
        n = neighbours(image)
        both = ts.pipeline(lambda a: a - smooth(a + 0, weight=0.25) if False else a - smooth(a, weight=0.25))
        self.same(both, image - (n[0, -1] + n[0, 1]) / 4, image, atol=1e-6)
        self.assertEqual(len(both.compile(image).inputs), 1)

    def test_methods_lambdas_and_several_arguments(self):
        class Camera:
            gain = 3

            @ts.pipeline
            def developed(self, image):
                return image * self.gain

        np.testing.assert_allclose(Camera().developed(photo()), photo() * 3, rtol=1e-6)
        total = ts.pipeline(lambda *images: sum(images))
        np.testing.assert_allclose(
            total(photo(), photo(seed=1), photo(seed=2)), sum(photo(seed=k) for k in range(3)), rtol=1e-6
        )

    def test_one_build_in_many_threads(self):
        calls = []

        @ts.pipeline
        def f(image):
            calls.append(1)
            return image + 1

        barrier, results = threading.Barrier(8), []

        def work():
            barrier.wait()
            results.append(f(photo()))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(calls), len(results)), (1, 8))

    def test_pickle(self):
        self.assertIs(pickle.loads(pickle.dumps(top_level)), top_level)

    def test_the_function_may_fail_and_be_called_again(self):
        fail = [True]

        @ts.pipeline
        def f(image):
            if fail:
                raise KeyError("mine")
            return image * 2

        self.assertRaises(KeyError, f, photo())
        fail.clear()
        np.testing.assert_allclose(f(photo()), photo() * 2)
        with self.assertRaisesRegex(ts.ArgumentError, "outside of a pipeline"):
            ts.coord(0)


if __name__ == "__main__":
    unittest.main()
