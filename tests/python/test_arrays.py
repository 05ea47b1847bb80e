import array
import gc
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import tessera as ts
from programs import BLUR, COLOUR, SCALED, photo


def has(module):
    return importlib.util.find_spec(module) is not None


class NumPy(unittest.TestCase):
    def setUp(self):
        self.program = ts.Program.from_text(BLUR)

    def same(self, image):
        wanted = self.program(np.ascontiguousarray(image))
        np.testing.assert_array_equal(self.program(image), wanted)
        np.testing.assert_allclose(self.program.interpret(image), wanted, rtol=1e-6)

    def test_any_strides(self):
        image = photo((40, 50))
        cube = photo((20, 30, 40))
        packed = np.zeros((20, 30), [("a", "u1"), ("b", "<f4")])
        packed["b"] = photo((20, 30))
        bytes_ = np.zeros(20 * 30 * 4 + 1, np.uint8)
        odd = bytes_[1:].view(np.float32).reshape(20, 30)
        odd[:] = packed["b"]
        for view in (
            image[::-1],
            image[:, ::-1],
            image[::-2, ::3],
            image.T,
            np.asfortranarray(image),
            np.broadcast_to(image[:1], (40, 50)),
            cube[3],
            cube[:, 3],
            cube[..., 3],
            np.lib.stride_tricks.as_strided(image, (30, 30), (4, 8)),
            packed["b"],  # no multiple of its elements
            odd,  # not aligned
        ):
            self.same(view)

    def test_read_only(self):
        image = photo()
        image.flags.writeable = False
        self.same(image)
        self.same(np.frombuffer(image.tobytes(), np.float32).reshape(40, 50))

    def test_subclasses_and_buffers(self):
        image = photo()
        wanted = self.program(image)
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "image.npy", image)
            mapped = np.load(Path(folder) / "image.npy", mmap_mode="r")
            result = self.program(mapped)
            self.assertIs(type(result), np.ndarray)
            np.testing.assert_array_equal(result, wanted)
            del mapped
        np.testing.assert_array_equal(self.program(memoryview(image)), wanted)
        np.testing.assert_array_equal(self.program(image.view(np.matrix)), wanted)
        np.testing.assert_array_equal(self.program(image.astype(np.float64).tolist() and image), wanted)

        class Wrapper:
            def __init__(self, array):
                self.__array_interface__ = array.__array_interface__
                self.array = array

        class Converted:
            def __array__(self, dtype=None, copy=None):
                return image

        np.testing.assert_array_equal(self.program(Wrapper(image)), wanted)
        np.testing.assert_array_equal(self.program(Converted()), wanted)
        line = "parameter N; vector#1 double x[N]; stencil f(vector#1 double X) { return X + 1; } return f(x);"
        np.testing.assert_array_equal(ts.Program.from_text(line)(array.array("d", [1, 2, 3])), [2, 3, 4])
        np.testing.assert_array_equal(ts.Program.from_text(line)([1.0, 2, 3]), [2, 3, 4])
        out = array.array("d", [0, 0, 0])
        ts.Program.from_text(line)(np.array([1.0, 2, 3]), out=out)
        self.assertEqual(list(out), [2, 3, 4])

    def test_all_types(self):
        names = {"bool": "bool", "uint8": "uint8", "int16": "int16", "uint16": "uint16", "int32": "int32",
                 "uint32": "uint32", "half": "float16", "float": "float32", "double": "float64"}  # fmt: skip
        for ours, theirs in names.items():
            text = f"parameter N; vector#1 {ours} x[N]; stencil f(vector#1 {ours} X) {{ return X; }} return f(x);"
            program = ts.Program.from_text(text)
            image = (photo((9,), np.float64) * 9).astype(theirs)
            result = program(image)
            self.assertEqual(result.dtype, np.dtype(theirs) if ours not in ("bool",) else result.dtype)
            np.testing.assert_array_equal(result, image)

    def test_refused(self):
        image = photo()
        masked = np.ma.masked_less(image, 0.5)
        for wrong, message, help in (
            (image.astype(np.float64), "'image' is an array of float64, expected float32", "image.astype('float32')"),
            (image.astype(np.int64), "'image' is an array of int64, expected float32", "image.astype('float32')"),
            (image.astype(np.complex64), "complex64, expected float32", "image.real"),
            (image.astype(">f4"), "'image' has foreign byte order, >f4", "image.astype(image.dtype.newbyteorder('='))"),
            (image.astype(object), "an array of object", "image.astype('float32')"),
            (image.astype("M8[s]"), "datetime64", ""),
            (image.astype(str), "'image' is an array of <U", ""),
            (image.astype(np.longdouble), "longdouble|float128", "image.astype('float32')"),
            (masked, "masked array, whose mask would be lost", "mask=~image.mask"),
            ("text", "'image' is a str", ""),
            (None, "'image' is a NoneType", ""),
            (object(), "'image' is a object", ""),
            ([[1, 2], [3]], "'image' is a list, expected an array", ""),
            (image[0], "1 dimensions", ""),
            (photo((2, 2, 2, 2, 2, 2, 2)), "7 dimensions", ""),
            (np.zeros((0, 4), np.float32), "every extent must be at least 1", ""),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message) as caught:
                self.program(wrong)
            self.assertIn(help, caught.exception.help)
        for type_ in (np.int8, np.int64, np.uint64):
            with self.assertRaisesRegex(ts.ArgumentError, np.dtype(type_).name) as caught:
                ts.gaussian(photo(dtype=np.uint8).astype(type_))
            self.assertIn("astype", caught.exception.help)

    def test_structs(self):
        program = ts.Program.from_text(COLOUR)
        image = photo((6, 7, 3), np.uint8)
        wanted = image.astype(np.float32).sum(-1) / 3
        np.testing.assert_allclose(program(image), wanted, rtol=1e-6)
        colours = np.ascontiguousarray(image).view([("r", "u1"), ("g", "u1"), ("b", "u1")])[..., 0]
        self.assertEqual(colours.shape, (6, 7))
        np.testing.assert_allclose(program(colours), wanted, rtol=1e-6)
        np.testing.assert_allclose(program(colours[::-1, ::2]), wanted[::-1, ::2], rtol=1e-6)
        padded = np.zeros(
            (6, 7), np.dtype({"names": "rgb", "formats": ["u1"] * 3, "offsets": [0, 1, 2], "itemsize": 4})
        )
        for k, name in enumerate("rgb"):
            padded[name] = image[..., k]
        np.testing.assert_allclose(program(padded), wanted, rtol=1e-6)
        planes = np.ascontiguousarray(np.moveaxis(image, -1, 0))
        np.testing.assert_allclose(program(np.moveaxis(planes, 0, -1)), wanted, rtol=1e-6)
        for wrong, message in (
            (np.zeros((6, 7), [("r", "u1"), ("g", "f4"), ("b", "u1")]), "fields of several types"),
            (np.zeros((6, 7), [("r", "u1"), ("g", "u1")]), "last dimension of 2"),
            (np.zeros((6, 7), [("r", ">u2"), ("g", ">u2"), ("b", ">u2")]), "foreign byte order"),
            (np.zeros((6, 7), "V3"), "V3|void"),
            (image[..., :2], "last dimension of 2"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                program(wrong)

    def test_complex(self):
        text = """
        parameter M, N;
        struct complex { float re; float im; }
        vector#2 complex F[M,N];
        stencil f(vector#2 complex X) { return X.re * X.re + X.im * X.im; }
        return f(F);
        """
        image = (photo((5, 6)) + 1j * photo((5, 6), seed=1)).astype(np.complex64)
        np.testing.assert_allclose(ts.Program.from_text(text)(image), abs(image) ** 2, rtol=1e-6)

    def test_references_stay_the_same(self):
        program, scaled = self.program, ts.Program.from_text(SCALED)
        image, wide, out = photo(), photo(dtype=np.float64), np.zeros(3, np.float32)
        big = np.zeros((0, 4), np.float32)
        foreign, gain = image.astype(">f4"), object()
        options = {"numbers": "exact"}

        def failing():
            for call in (
                lambda: program(wide),
                lambda: program(image, out=out),
                lambda: program(image, out=image),
                lambda: program(big),
                lambda: program(foreign),
                lambda: program(),
                lambda: program(image, image),
                lambda: scaled(image, gain, 1),
                lambda: program(image, nonsense=gain),
                lambda: ts.gaussian(image, sigma=-1),
            ):
                try:
                    call()
                except ts.ArgumentError:
                    continue
                raise AssertionError("it did not fail")

        failing()
        held = (
            image,
            wide,
            out,
            big,
            foreign,
            gain,
            options,
            None,
            np.ndarray,
            np.dtype("float32"),
            program,
            ts.ArgumentError,
        )
        gc.collect()
        before = [sys.getrefcount(o) for o in held]
        blocks = sys.getallocatedblocks()
        for _ in range(1000):
            failing()
        gc.collect()
        after = [sys.getrefcount(o) for o in held]
        for o, b, a in zip(held, before, after, strict=True):
            self.assertLess(abs(a - b), 50, f"{type(o)}: {b} references became {a}")
        self.assertLess(sys.getallocatedblocks() - blocks, 2000)

    def test_results_are_freed(self):
        image = photo((500, 500))
        self.program(image)
        gc.collect()
        held, blocks = sys.getrefcount(image), sys.getallocatedblocks()
        for _ in range(2000):
            self.program(image)
        self.assertEqual(sys.getrefcount(image), held)
        self.assertLess(sys.getallocatedblocks() - blocks, 500)


class DLPack(unittest.TestCase):
    """Arrays of a library that has DLPack alone."""

    class Foreign:
        def __init__(self, array, fails=None, old=False):
            self.array, self.fails, self.old, self.asked = array, fails, old, []

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __dlpack__(self, **named):
            self.asked.append(named)
            if self.old and "max_version" in named:
                raise TypeError("unexpected keyword argument 'max_version'")
            if self.fails:
                raise self.fails
            return self.array.__dlpack__(**named)

    def test_host(self):
        program, image = ts.Program.from_text(BLUR), photo()
        foreign = self.Foreign(image)
        np.testing.assert_array_equal(program(foreign), program(image))
        self.assertEqual(foreign.asked, [{"stream": None, "max_version": (1, 1)}])
        np.testing.assert_array_equal(program(self.Foreign(image[::-1, ::2])), program(image[::-1, ::2]))
        old = self.Foreign(image, old=True)
        np.testing.assert_array_equal(program(old), program(image))
        self.assertEqual(len(old.asked), 2)
        out = np.empty_like(image)
        program(image, out=self.Foreign(out))
        np.testing.assert_array_equal(out, program(image))

    def test_refused(self):
        program, image = ts.Program.from_text(BLUR), photo()
        with self.assertRaisesRegex(ts.ArgumentError, "'image' is an array of int64, expected float32") as caught:
            program(self.Foreign(image.astype(np.int64)))
        self.assertIn("image.to(torch.float32)", caught.exception.help)
        with self.assertRaisesRegex(ts.ArgumentError, "does not let its memory be seen: requires grad") as caught:
            program(self.Foreign(image, fails=BufferError("requires grad")))
        self.assertEqual(caught.exception.help, "write image.detach()")
        with self.assertRaises(KeyboardInterrupt):
            program(self.Foreign(image, fails=KeyboardInterrupt()))

        class Elsewhere(self.Foreign):
            def __dlpack_device__(self):
                return (8, 0)

        with self.assertRaisesRegex(ts.ArgumentError, "a device of DLPack's type 8"):
            program(Elsewhere(image))

        class Nonsense(self.Foreign):
            def __dlpack__(self, **named):
                return 3

        with self.assertRaisesRegex(ts.ArgumentError, "gives 3, expected a capsule of DLPack"):
            program(Nonsense(image))

    def test_references(self):
        program, image = ts.Program.from_text(BLUR), photo()
        foreign = self.Foreign(image)
        program(foreign)
        foreign.asked.clear()
        before = sys.getrefcount(image)
        for _ in range(100):
            program(foreign)
        self.assertEqual(sys.getrefcount(image), before)


@unittest.skipUnless(has("jax"), "no JAX")
class Jax(unittest.TestCase):
    def test_jax_in_jax_out(self):
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_platforms", "cpu")
        program, image = ts.Program.from_text(BLUR), photo()
        result = program(jnp.asarray(image))
        self.assertIn("jax", type(result).__module__ + str(type(result).__mro__))
        np.testing.assert_allclose(np.asarray(result), program(image), rtol=1e-6)
        colour = jnp.asarray(photo((9, 8, 3)))
        np.testing.assert_allclose(
            np.asarray(ts.gaussian(jnp.moveaxis(colour, -1, 0), channel_axis=0)),
            np.moveaxis(ts.gaussian(np.asarray(colour), channel_axis=-1), -1, 0),
            rtol=1e-6,
        )


@unittest.skipUnless(has("torch"), "no torch")
class Torch(unittest.TestCase):
    def test_views_that_are_to_be_negated(self):
        import torch

        x = torch.imag(torch.rand(6, 7, dtype=torch.complex64).conj())
        self.assertTrue(x.is_neg())
        f = ts.pipeline(lambda image: image * 2)
        torch.testing.assert_close(f(x), x * 2)
        with self.assertRaisesRegex(ts.ArgumentError, "is negated when it is read"):
            f(torch.rand(6, 7), out=x)

    def test_torch_in_torch_out(self):
        import torch

        program, image = ts.Program.from_text(BLUR), photo()
        result = program(torch.from_numpy(image))
        self.assertIsInstance(result, torch.Tensor)
        np.testing.assert_array_equal(result.numpy(), program(image))
        out = torch.empty(40, 50)
        self.assertIs(program(torch.from_numpy(image), out=out), out)
        with self.assertRaises(ts.ArgumentError) as caught:
            program(torch.from_numpy(image).requires_grad_())
        self.assertIn("detach", caught.exception.help)

        class Derived(torch.Tensor):
            pass

        for kind in (
            torch.nn.Parameter(torch.from_numpy(image), requires_grad=False),
            torch.from_numpy(image).as_subclass(Derived),
        ):
            np.testing.assert_array_equal(program(kind).numpy(), program(image))
        with self.assertRaises(ts.ArgumentError) as caught:
            program(torch.from_numpy(image).bfloat16())
        self.assertIn("image.to(torch.float32)", caught.exception.help)
        planes = torch.from_numpy(photo((3, 9, 8)))
        np.testing.assert_array_equal(
            ts.gaussian(planes, channel_axis=0).numpy(), ts.gaussian(planes.numpy(), channel_axis=0)
        )


@unittest.skipUnless(has("xarray"), "no xarray")
class XArray(unittest.TestCase):
    def test_labels_stay(self):
        import xarray as xr

        image = xr.DataArray(
            photo((4, 5)),
            dims=("y", "x"),
            coords={"y": [10, 20, 30, 40], "time": 3, "far": (("y", "x"), np.ones((4, 5)))},
            attrs={"unit": "mm"},
            name="photo",
        )
        program = ts.Program.from_text(BLUR)
        result = program(image)
        xr.testing.assert_identical(result, image.copy(data=program(image.values)))
        xr.testing.assert_identical(ts.gaussian(image), image.copy(data=ts.gaussian(image.values)))
        small = ts.gaussian(image, sigma=0.3, extent="valid")
        self.assertEqual(small.dims, ("y", "x"))
        self.assertEqual(small.shape, (2, 3))
        self.assertEqual(set(small.coords), {"time"})
        part = np.s_[1:3, 2:5]
        xr.testing.assert_identical(program(image, region=part), result[part])
        xr.testing.assert_identical(ts.gaussian(image, region=part), ts.gaussian(image)[part])
        wide = ts.gaussian(image, sigma=0.3, extent="full", region=np.s_[1:5, 1:6])
        self.assertEqual((wide.shape, set(wide.coords)), ((4, 5), {"time"}))
        out = np.empty((4, 5), np.float32)
        self.assertIs(program(image, out=out), out)
        np.testing.assert_array_equal(out, result.values)
        into = xr.zeros_like(image)
        self.assertIs(program(image.values, out=into), into)
        np.testing.assert_array_equal(into.values, out)
        self.assertIn("M = 4", program.explain(image))

    def test_pipelines_take_them(self):
        import xarray as xr

        image = xr.DataArray(photo((6, 5)), dims=("y", "x"), coords={"y": np.arange(6)}, attrs={"unit": "mm"})

        @ts.pipeline
        def slope(image, amount=0.5):
            b = image.mirror()
            return amount * (b[0, 1] - b[0, -1])

        wanted = slope(image.values)
        xr.testing.assert_identical(slope(image), image.copy(data=wanted))
        xr.testing.assert_identical(slope.submit(image).result(), image.copy(data=wanted))
        self.assertIn("M = 6", slope.explain(image))
        self.assertIsInstance(slope.compile(image), ts.Program)
        colours = xr.DataArray(photo((6, 5, 3)), dims=("y", "x", "c"))
        by_channel = ts.pipeline(lambda image: image.mirror().map(lambda c: c[0, 1] - c), channel_axis=-1)
        xr.testing.assert_identical(by_channel(colours), colours.copy(data=by_channel(colours.values)))


MIXED = """
parameter M, N;
struct two { float x; uint8 n; }
vector#2 two a[M,N];
stencil f(vector#2 two X) { return struct two(2 * X.x, cast<uint8>(X.n + 1)); }
return f(a);
"""


class Lists(unittest.TestCase):
    def test_what_is_to_be_written_for_a_list(self):
        image, program = photo((4, 6)), ts.Program.from_text(BLUR)
        for call, text in (
            (
                lambda: ts.gaussian([[1, 2], [3, 4]], 1),
                r"write np.asarray\(image, 'int32'\), or np.asarray\(image, 'float64'\)",
            ),
            (lambda: ts.gaussian(image, 1, mask=[[1] * 6] * 4), r"write np.asarray\(mask, 'int32'\)"),
            (lambda: program([[1.0, 2], [3, 4]]), r"write np.asarray\(image, 'float32'\)"),
            (lambda: program(image.astype(np.float64)), r"write image.astype\('float32'\)"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ts.ArgumentError, text):
                call()
        for nodata in (np.array([0, 1]), np.float32(0), [0, 1]):
            self.assertEqual(ts.gaussian(image, 1, nodata=nodata).shape, image.shape)


class Structs(unittest.TestCase):
    """Fields of several types: NumPy's structs, in and out."""

    def setUp(self):
        self.program = ts.Program.from_text(MIXED)
        self.type = self.program.outputs[0].numpy_type
        self.packed = np.zeros((4, 6), [("x", "f4"), ("n", "u1")])
        self.packed["x"] = photo((4, 6))
        self.packed["n"] = np.arange(24).reshape(4, 6)

    def same(self, result, of):
        self.assertEqual(result.dtype, self.type)
        np.testing.assert_array_equal(result["x"], 2 * of["x"])
        np.testing.assert_array_equal(result["n"], of["n"] + 1)

    def test_in_and_out(self):
        aligned, turned = self.packed.astype(self.type), np.empty((4, 6), [("n", "u1"), ("x", "f4")])
        turned["x"], turned["n"] = self.packed["x"], self.packed["n"]
        for a in (self.packed, aligned, turned, aligned[::-1, ::2], aligned.T, np.rec.array(aligned)):
            self.same(self.program(a), a)
            self.same(self.program.interpret(a), a)
        self.same(self.program.submit(aligned).result(), aligned)
        as_bytes = np.ascontiguousarray(aligned).view(np.uint8).reshape(4, 6, 8)
        self.same(self.program(as_bytes), aligned)
        memory = np.zeros((8, 12), self.type)
        out = memory[::2, ::2]
        self.assertIs(self.program(self.packed, out=out), out)
        self.same(out, self.packed)
        self.assertFalse(memory[1::2].view(np.uint8).any())
        self.assertEqual(self.program.output_shapes((4, 6)), ((4, 6),))
        self.assertEqual(self.program.output_shapes(self.packed), ((4, 6),))
        self.assertIn("M = 4, N = 6", self.program.explain((4, 6)))
        port = self.program.inputs[0]
        self.assertEqual((port.dtype, port.fields, port.types), ("struct", ("x", "n"), ("float32", "uint8")))
        self.assertEqual(str(port), "a: structs[M x N] {x: float32, n: uint8}")

    def test_other_structs(self):
        aligned = self.packed.astype(self.type)
        for given, text in (
            (np.zeros((4, 6), np.float32), "'a' is an array of float32, expected structs of x float32, n uint8"),
            (
                np.zeros((4, 6), [("x", "f8"), ("n", "u1")]),
                "structs of x float64, n uint8, expected x float32, n uint8",
            ),
            (
                np.zeros((4, 6), [("x", "f4"), ("m", "u1")]),
                "structs of x float32, m uint8, expected x float32, n uint8",
            ),
            ([[1, 2]], "'a' is a list, expected an array of structs of x float32"),
            (None, "'a' is a NoneType"),
            (np.zeros((4, 6, 7), np.uint8), "a last dimension of 8"),
            (np.ma.masked_array(aligned), "whose mask would be lost"),
            (aligned[:0], "at least 1"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ts.ArgumentError, text):
                self.program(given)
        for out, text in (
            (self.packed.copy(), "at other places than C puts them"),
            (np.zeros((4, 6), np.float32), "expected structs of x float32"),
            (aligned[:2].copy(), "has the shape"),
            (aligned, "shares memory with an input"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ts.ArgumentError, text):
                self.program(aligned, out=out)

    def test_in_pipelines(self):
        """Each field is an array of its own there; planes of several types come back as structs."""

        @ts.pipeline
        def marked(s, gain=2.0):
            return {"both": {"x": s.x.mirror()[0, 1] * gain, "n": ts.saturate(ts.uint8, s["n"] + 1)}}

        for a in (self.packed, self.packed.astype(self.type)):
            result = marked(a)
            self.assertEqual(result.dtype, self.type)
            np.testing.assert_array_equal(result["x"][:, :-1], 2 * a["x"][:, 1:])
            np.testing.assert_array_equal(result["n"], a["n"] + 1)
            np.testing.assert_array_equal(marked(a, gain=4)["x"], 2 * result["x"])
        gaps = np.zeros((4, 6), {"names": ["r", "g"], "formats": ["u1", "u1"], "offsets": [0, 3], "itemsize": 4})
        gaps["g"] = 3
        np.testing.assert_array_equal(ts.pipeline(lambda s: s.r + s.g)(gaps), np.full((4, 6), 3))
        with self.assertRaisesRegex(ts.ArgumentError, r"'s\['n'\]' is an array of int64"):
            ts.pipeline(lambda s: s.x)(np.zeros((4, 6), [("x", "f4"), ("n", "i8")]))

        nested = np.zeros((4, 6), [("x", "f4"), ("n", "u1", (2,))])
        with self.assertRaisesRegex(ts.ArgumentError, "has a field 'n' of .*, expected fields that are numbers"):
            ts.pipeline(lambda s: s.x)(nested)

        def planes(s: ts.Image["uint8", 2, ("r", "g")]):  # noqa: F821
            return s.r

        with self.assertRaisesRegex(ts.ArgumentError, r"structs of x float32, n uint8, expected Image\['uint8', 2"):
            ts.pipeline(planes)(self.packed)
        with self.assertRaisesRegex(ts.ArgumentError, r"x float32, n uint8, expected fields of one type"):
            ts.gaussian(self.packed, 1)


if __name__ == "__main__":
    unittest.main()
