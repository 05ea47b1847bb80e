"""Windows of results: a region of a program, of a pipeline, inputs that are parts of images, what is refused."""

import unittest

import numpy as np
import tessera as ts

BLUR = """
stencil f(vector#2 float X) { return X@[-1,0] + 2 * X + X@[0,2] + coord(1); }
parameter M, N; vector#2 float image[M,N]; return f(image:mirror);
"""
PLANES = """
struct rgb { uint8 r; uint8 g; uint8 b; }
stencil f(vector#2 rgb X) { return struct rgb(X.b, X@[0,1].g, X.r); }
parameter M, N; vector#2 rgb image[M,N]; return f(image:wrap);
"""
TWO = """
stencil f(vector#2 float X) { return X@[1,0]; } stencil g(vector#2 float X, float m) { return X / m; }
parameter M, N; vector#2 float image[M,N]; m = max(image); a = f(image:clamped);
return shifted = a, scaled = g(image, m);
"""
RGB = ts.Image["uint8", 2, ("r", "g", "b")]
ROW = ts.Image["float32", 1]
IMAGE = np.random.default_rng(3).random((40, 60), np.float32)


class Regions(unittest.TestCase):
    def test_a_region_is_that_part_of_the_whole(self):
        program = ts.Program.from_text(BLUR)
        whole = program(IMAGE, numbers="exact")
        for region in (np.s_[0:40, 0:60], np.s_[7:9, 11:60], np.s_[39:40, 0:1], np.s_[-5:, ...], np.s_[3:4]):
            with self.subTest(region=region):
                part = program(IMAGE, region=region, numbers="exact")
                np.testing.assert_array_equal(part, whole[region])
                out = np.empty_like(part)
                self.assertIs(program(IMAGE, region=region, numbers="exact", out=out), out)
                np.testing.assert_array_equal(out, part)

    def test_inputs_may_be_windows_of_what_is_read(self):
        program = ts.Program.from_text(BLUR)
        region = np.s_[10:20, 30:44]
        (read,) = program.reads(region, IMAGE)
        self.assertEqual(read, (slice(9, 20), slice(30, 46)))
        self.assertEqual(program.reads(region, (40, 60)), (read,))
        part = ts.InputWindow(IMAGE[read].copy(), at=(9, 30), whole=IMAGE.shape)
        np.testing.assert_array_equal(
            program(part, region=region, numbers="exact"), program(IMAGE, region=region, numbers="exact")
        )
        narrow = ts.InputWindow(IMAGE[10:20].copy(), at=(10, 0), whole=IMAGE.shape)
        with self.assertRaisesRegex(ts.ArgumentError, "the window reads"):
            program(narrow, region=region)

    def test_planes_are_no_dimension_of_a_region(self):
        picture = np.random.default_rng(4).integers(0, 256, (20, 30, 3), np.uint8)
        program = ts.Program.from_text(PLANES)
        np.testing.assert_array_equal(program(picture, region=np.s_[3:9, 25:30]), program(picture)[3:9, 25:30])

    def test_of_several_outputs_those_that_are_named(self):
        program = ts.Program.from_text(TWO)
        results = program(IMAGE, region={"shifted": np.s_[5:7, 1:3]})
        np.testing.assert_array_equal(results.shifted, IMAGE[6:8, 1:3])
        self.assertIsNone(results.scaled)
        with self.assertRaisesRegex(ts.ArgumentError, "has no windows: stage .* reduces a whole image"):
            program(IMAGE, region=np.s_[0:2])
        shifted, scaled = program.locality()
        self.assertEqual((shifted.depends_on_all, shifted.inputs["image"][0].after), ("", 1))
        self.assertIn("reduces a whole image", scaled.depends_on_all)

    def test_of_outputs_beside_a_transform(self):
        @ts.pipeline
        def two(picture):
            b = picture.mirror()
            soft = ts.stage((b[0, 1] + 2 * b + b[0, -1]) / 4)
            re, im = soft.fft()
            return {"spectrum": re * re + im * im, "soft": soft, "edges": soft.clamped()[1, 0] - soft}

        whole = two(IMAGE)
        part = two(IMAGE, region={"soft": np.s_[3:9, :], "edges": np.s_[39:40, 50:]})
        np.testing.assert_array_equal(part.soft, whole.soft[3:9])
        np.testing.assert_array_equal(part.edges, whole.edges[39:40, 50:])
        self.assertIsNone(part.spectrum)
        with self.assertRaisesRegex(ts.ArgumentError, "is a Fourier transform of a whole image"):
            two(IMAGE, region={"spectrum": np.s_[3:9]})

    def test_of_pipelines(self):
        @ts.pipeline
        def edges(picture, amount=0.5):
            b = picture.mirror()
            return amount * (b[0, 1] - b[0, -1])

        part = edges(IMAGE, amount=2.0, region=np.s_[4:9, 0:7])
        np.testing.assert_allclose(part, edges(IMAGE, amount=2.0)[4:9, 0:7], atol=1e-6)

        self.assertEqual(edges.submit(IMAGE, region=np.s_[4:9, 0:7]).result().shape, (5, 7))

    def test_what_pipelines_read(self):
        @ts.pipeline
        def edges(picture, amount=0.5):
            b = picture.mirror()
            return amount * (b[0, 1] - b[0, -1])

        region = np.s_[4:9, 0:7]
        program = edges.compile(IMAGE)
        self.assertEqual(edges.reads(region, IMAGE), program.reads(region, IMAGE, 0.5))
        self.assertEqual(edges.reads(region, picture=IMAGE, amount=2, threads=1), ((slice(4, 9), slice(0, 8)), None))
        self.assertEqual(edges.locality(IMAGE), program.locality())

        @ts.pipeline(channel_axis=0)
        def two(photo: RGB, gain: ts.f64):
            right = photo.mirror().map(lambda c: ts.saturate(ts.uint8, gain * c[0, 1]))
            return {"right": right, "red": photo.r, "most": photo.g.max()}

        for shape in ((40, 60), (3, 40, 60), np.zeros((3, 40, 60), np.uint8)):
            self.assertEqual(two.reads(region, shape, output="right")[0], (slice(4, 9), slice(0, 8)))
        self.assertEqual(two.reads(region, (40, 60), 2.0, output="red"), ((slice(4, 9), slice(0, 7)), None))
        photo = np.random.default_rng(6).integers(0, 256, (3, 40, 60), np.uint8)
        part = two(photo, 0.5, region={"red": region})
        np.testing.assert_array_equal(part.red, photo[0][region])
        self.assertIsNone(part.right)
        self.assertEqual([bool(p.depends_on_all) for p in two.locality()], [False, False, True])

        class Scaled:
            gain = 2

            @ts.pipeline
            def right(self, picture):
                return self.gain * picture.mirror()[0, 1]

        self.assertEqual(Scaled().right.reads(region, IMAGE), ((slice(4, 9), slice(0, 8)),))
        self.assertEqual(Scaled().right.locality(IMAGE)[0].inputs["picture"][1].after, 1)

        @ts.pipeline
        def named(output: ROW, threads=1.0):
            return output * threads

        self.assertEqual(named.reads(np.s_[1:2], output=(5,)), ((slice(1, 2),), None))
        for call, message in [
            (lambda: edges.reads(region, (40, 60)), r"no annotation says .*\n.*picture: ts.Image"),
            (lambda: edges.locality(), "'picture' is not given"),
            (lambda: two.reads(region, (40, 60)), "output is not given, expected one of right, red, most"),
            (lambda: two.reads(region, (40, 60), output="blue"), "output is 'blue', expected one of"),
            (lambda: two.reads(region, output="red"), "'photo' is not given"),
            (lambda: two.reads(region, (40,), output="red"), r"has the shape \(40,\), expected 3 dimensions"),
            (lambda: two.reads(np.s_[0:41], (40, 60), output="red"), r"is 0:41 along dimension 0"),
            (lambda: two.reads(np.s_[0:1], (40, 60), output="most"), "has no windows: stage .* reduces a whole image"),
            (lambda: edges.reads(region, IMAGE, width=3), "unexpected keyword argument 'width'"),
        ]:
            with self.assertRaisesRegex(ts.ArgumentError, message):
                call()

    def test_of_named_filters(self):
        photo = np.random.default_rng(5).integers(0, 256, (30, 44, 4), np.uint8)
        mask = (IMAGE > 0.3).astype(np.uint8)
        calls = {
            "gaussian": lambda **o: ts.gaussian(IMAGE, 2, **o),
            "valid": lambda **o: ts.box(IMAGE, 2, extent="valid", **o),
            "full": lambda **o: ts.median(IMAGE, 1, extent="full", border="wrap", **o),
            "masked": lambda **o: ts.gaussian(IMAGE, 2, mask=mask, **o),
            "weights": lambda **o: ts.convolve(IMAGE, [[1, 2, 0], [0, -1, 3]], **o),
            "by name": lambda **o: ts.filter("erode", IMAGE, radius=3, **o),
        }
        for name, call in calls.items():
            whole = call()
            for region in (np.s_[7:9, 11:50], np.s_[-3:], np.s_[...], np.s_[..., 0:1]):
                with self.subTest(filter=name, region=region):
                    part = call(region=region)
                    np.testing.assert_array_equal(part, whole[region])
                    out = np.full_like(part, -1)
                    self.assertIs(call(region=region, out=out), out)
                    np.testing.assert_array_equal(out, part)
            np.testing.assert_array_equal(call(region=None), whole)
        for axis, picture in ((-1, photo), (0, np.moveaxis(photo, -1, 0))):
            whole = np.moveaxis(ts.gaussian(picture, channel_axis=axis, alpha="weighted"), axis, -1)
            part = ts.gaussian(picture, channel_axis=axis, alpha="weighted", region=np.s_[2:5, 40:])
            np.testing.assert_array_equal(np.moveaxis(part, axis, -1), whole[2:5, 40:])

    def test_of_named_filters_what_is_no_region_is_refused(self):
        whole = ts.InputWindow(IMAGE, at=(0, 0), whole=(40, 60))
        out = np.empty((3, 3), np.float32)
        for call, message in [
            (lambda: ts.box(IMAGE, region=np.s_[0:41]), r"the region of 'out' is 0:41 along dimension 0"),
            (lambda: ts.box(IMAGE, region=np.s_[2**70 :]), r"a bound of the region of 'out'|expected a part"),
            (lambda: ts.box(IMAGE, region=np.s_[0:2, 0:2, 0:2]), "has 3 slices, expected 2"),
            (lambda: ts.box(IMAGE, region=np.s_[:, ::2]), "has the step 2"),
            (lambda: ts.box(IMAGE, region=3), "expected a slice"),
            (lambda: ts.box(IMAGE, extent="valid", region=np.s_[0:39]), r"expected a part of \[0, 38\)"),
            (lambda: ts.box(IMAGE, region=np.s_[0:2, 0:2], out=out), "expected \\(2, 2\\)"),
            (lambda: ts.box(IMAGE, region=np.s_[0:3, 0:3], out=IMAGE[0:3, 0:3]), "shares memory"),
            (lambda: ts.lowpass(IMAGE, region=np.s_[0:2]), "is a Fourier transform of a whole image"),
            (lambda: ts.box(whole, region=np.s_[0:2]), "image is an InputWindow"),
        ]:
            with self.assertRaisesRegex(ts.ArgumentError, message):
                call()

    def test_what_is_no_region_is_refused(self):
        for region, message in [
            (np.s_[0:41], r"is 0:41 along dimension 0, expected a part of \[0, 40\) of at least one point"),
            (np.s_[5:5], r"expected a part of \[0, 40\)"),
            (np.s_[3, 0:5], "expected a slice"),
            (np.s_[0:10:2], "has the step 2"),
            (np.s_[0:1, 0:1, 0:1], "has 3 slices, expected 2"),
            ("rows", "expected a slice"),
            (np.array([1, 2]), "expected a slice"),
            (np.s_[0 : 2**64], "expected a whole number"),
            (np.s_[-50:3], r"is -50:3 along"),
            (np.s_[..., ...], "more than one"),
            ({}, "no window is wanted"),
            ({"other": np.s_[0:1]}, "region has 'other', expected some of out"),
        ]:
            with self.subTest(region=region), self.assertRaisesRegex(ts.ArgumentError, message):
                ts.Program.from_text(BLUR)(IMAGE, region=region)

    def test_arrays_that_do_not_fit_are_refused(self):
        two = ts.Program.from_text(
            "stencil f(vector#2 float X) { return X@[0,1]; } parameter M, N; vector#2 float a[M,N]; "
            "return x = f(a), y = f(f(a));"
        )
        out = np.empty((2, 3), np.float32)
        fixed = np.empty((2, 2), np.float32)
        fixed.flags.writeable = False
        part, one = np.s_[0:2, 0:2], {"x": np.s_[0:2, 0:2]}
        for call, message in [
            (lambda: two(IMAGE, region=part, out=(out[:, :2], out[:, 1:])), "'y' shares memory with 'x'"),
            (lambda: two(IMAGE, region=part, out=(IMAGE[:2, :2], None)), "'x' shares memory with an input"),
            (lambda: two(IMAGE, region=one, out=(out[:, :2], out[:, 1:])), "out has an array for 'y'"),
            (lambda: two(IMAGE, region=part, out=(fixed, None)), "is read-only"),
            (lambda: two(IMAGE[0], region=part), "has the shape .60,., expected 2 dimensions"),
            (lambda: two.reads(part, (5,), output="x"), "has the shape .5,., expected 2 dimensions"),
            (lambda: two.reads(part, (2**62, 2**62), output="x"), "which no array has"),
            (lambda: ts.box(IMAGE, region={"in": part}), "region has 'in', expected some of out"),
            (lambda: ts.box(IMAGE, region={}), "region names no output"),
        ]:
            with self.assertRaisesRegex(ts.ArgumentError, message):
                call()
        backwards = IMAGE.T[::-1, ::2]
        np.testing.assert_array_equal(two(backwards, region=part).y, two(backwards).y[part])
        out = np.zeros((2, 7), np.float32)[:, ::-3]
        two(IMAGE, region={"x": np.s_[4:6, 1:4]}, out=(out, None))
        np.testing.assert_array_equal(out, IMAGE[4:6, 2:5])

    def test_windows_that_do_not_fit_are_refused(self):
        program = ts.Program.from_text(BLUR)
        for at, whole in [((0,), (40, 60)), ((0, 0), (40,)), ((1, 0), (40, 60)), ((-1, 0), (40, 60)), ("ab", (40, 60))]:
            with self.subTest(at=at, whole=whole), self.assertRaises(ts.ArgumentError):
                program(ts.InputWindow(IMAGE, at=at, whole=whole), region=np.s_[0:1])

    def test_windows_without_a_region_say_what_is_missing(self):
        window = ts.InputWindow(IMAGE, at=(0, 0), whole=(40, 60))
        program = ts.Program.from_text(BLUR)
        with self.assertRaisesRegex(ts.ArgumentError, "is an InputWindow, but no region is asked for"):
            program(window)

        @ts.pipeline
        def blurred(image):
            return image.mirror()

        with self.assertRaisesRegex(ts.ArgumentError, "a pipeline takes whole images"):
            blurred(window)
        self.assertNotEqual(window, ts.InputWindow(IMAGE, at=(0, 0), whole=(40, 60)))


if __name__ == "__main__":
    unittest.main()
