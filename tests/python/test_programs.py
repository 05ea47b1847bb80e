import copy
import pickle
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
import tessera as ts
from programs import BLUR, COLOUR, SCALED, SLOW, TWO, blurred, photo

EXAMPLES = Path(__file__).parents[2] / "examples"


class Programs(unittest.TestCase):
    def test_one_output_is_an_array(self):
        program, image = ts.Program.from_text(BLUR), photo()
        result = program(image)
        self.assertIs(type(result), np.ndarray)
        self.assertEqual(result.dtype, np.float32)
        np.testing.assert_allclose(result, blurred(image), rtol=1e-5)
        np.testing.assert_allclose(result, program.interpret(image), rtol=1e-6)

    def test_shapes_change_from_call_to_call(self):
        program = ts.Program.from_text(BLUR)
        for shape in ((40, 50), (3, 3), (50, 40), (40, 50), (1, 7)):
            image = photo(shape)
            np.testing.assert_allclose(program(image), program.interpret(image), rtol=1e-6)

    def test_several_outputs_have_names(self):
        program, image = ts.Program.from_text(TWO), photo(dtype=np.uint8)
        result = program(image)
        self.assertEqual(result.keys(), ("double_of", "rest"))
        twice, rest = result
        np.testing.assert_array_equal(twice, image.astype(np.int32) * 2)
        np.testing.assert_array_equal(rest, image.astype(np.float32) / 2)
        self.assertIs(result.rest, rest)
        self.assertIs(result["double_of"], twice)
        self.assertIs(result[0], twice)
        self.assertIn("rest", result)
        self.assertEqual(list(dict(result)), ["double_of", "rest"])
        self.assertIn("double_of", dir(result))
        with self.assertRaisesRegex(AttributeError, "the outputs are double_of, rest"):
            result.other  # noqa: B018
        with self.assertRaises(KeyError):
            result["other"]
        again = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(again.rest, rest)

    def test_numbers(self):
        program, image = ts.Program.from_text(SCALED), photo()
        for gain, shift in ((2, 3), (np.float32(0.5), np.int64(4)), (np.array(1.5), 2.0), (True, np.uint8(7))):
            wanted = image * np.float32(gain) + np.float32(shift)
            np.testing.assert_allclose(program(image, gain, shift), wanted, rtol=1e-6)
            np.testing.assert_allclose(program(image, shift=shift, gain=gain), wanted, rtol=1e-6)

    def test_wrong_numbers(self):
        program, image = ts.Program.from_text(SCALED), photo()
        for gain, shift, message in (
            ("x", 1, "'gain' is 'x', expected a number"),
            (1, 1.5, "'shift' is 1.5, expected an integer"),
            (1, 2**40, "expected an integer from -2147483648 to 2147483647"),
            (1, float("nan"), "expected an integer"),
            (1, 1e300, "expected an integer"),
            (np.ones(1), 1, "expected a number"),
            (None, 1, "'gain' is None, expected a number"),
            (1j, 1, "expected a number"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                program(image, gain, shift)

    def test_description(self):
        program = ts.Program.from_text(SCALED)
        image, gain, shift = program.inputs
        self.assertEqual((image.name, image.array, image.rank, image.dtype), ("image", True, 2, "float32"))
        self.assertEqual((gain.array, gain.dtype, shift.dtype), (False, "float32", "int32"))
        self.assertEqual(program.parameters, ("M", "N"))
        self.assertEqual(
            repr(program),
            "<Program (image: float32[M x N], gain: float32, shift: int32) -> (out: float32[M x N]), M, N by shapes>",
        )
        self.assertEqual(
            repr(ts.Program.from_text(COLOUR)).replace(" by shapes", ""),
            "<Program (image: uint8[M x N] {r, g, b}) -> (out: float32[M x N]), M, N>",
        )
        chosen = ts.Program.from_text("parameter M, k = 1; vector#1 float x[M]; return x;", parameters={"k": 3})
        self.assertEqual(repr(chosen), "<Program (x: float32[M]) -> (out: float32[M]), M by shapes, k = 3>")
        self.assertEqual(ts.Program.from_text(COLOUR).inputs[0].fields, ("r", "g", "b"))
        self.assertEqual(program.graph, ts.Program.from_text(SCALED).graph)
        self.assertEqual(program.output_shapes((4, 5)), ((4, 5),))
        self.assertEqual(program.output_shapes(photo((4, 5)), 1, 2), ((4, 5),))

    def test_files(self):
        program = ts.Program(EXAMPLES / "canny.forma", parameters={"sigma": 2})
        self.assertEqual(program(photo(dtype=np.float32) * 255).dtype, np.uint8)
        with self.assertRaisesRegex(ts.IoError, "nonsense.forma"):
            ts.Program("nonsense.forma")
        with self.assertRaises(OSError):
            ts.Program(Path("nonsense.forma"))

    def test_compile_time_arguments(self):
        text = """
        parameter M, N;
        parameter border edge = mirror;
        parameter type real = float;
        parameter float k = 1;
        table float w[3];
        vector#2 real image[M,N];
        stencil f(vector#2 real X) { return k * (w[0] * X@[0,-1] + w[1] * X + w[2] * X@[0,1]); }
        return f(image:edge);
        """
        program = ts.Program.from_text(
            text, parameters={"k": 2}, borders={"edge": "wrap"}, types={"real": np.float64}, tables={"w": [1, 2, 3]}
        )
        image = photo(dtype=np.float64)
        wanted = 2 * (np.roll(image, 1, 1) + 2 * image + 3 * np.roll(image, -1, 1))
        np.testing.assert_allclose(program(image), wanted, rtol=1e-6)
        with self.assertRaisesRegex(ts.Error, "nonsense"):
            ts.Program.from_text(text, parameters={"nonsense": 2}, tables={"w": [1, 2, 3]})

    def test_imports(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "one.forma").write_text("stencil one(vector#2 float X) { return X + 1; }\n")
            text = 'import "one.forma"; parameter M, N; vector#2 float image[M,N]; return one(image);'
            program = ts.Program.from_text(text, import_paths=[folder])
            np.testing.assert_array_equal(program(np.zeros((2, 3), np.float32)), np.ones((2, 3)))
            with self.assertRaises(ts.CompileError):
                ts.Program.from_text(text)

    def test_options(self):
        program, image = ts.Program.from_text(BLUR), photo()
        wanted = program.interpret(image)
        np.testing.assert_array_equal(program(image, numbers="exact"), wanted)
        np.testing.assert_allclose(program(image, threads=1, schedule="untiled", target="cpu"), wanted, rtol=1e-6)
        for named, message in (
            ({"numbers": "x"}, "expected fast, exact"),
            ({"threads": "x"}, "a number of threads"),
            ({"threads": -1}, "a number of threads"),
            ({"target": "gpu"}, "expected cpu, cuda, opencl"),
            ({"sigma": 1}, "'sigma' is neither an input nor an option of a run"),
            ({"image": image}, "input 'image' is given twice"),
            ({"progress": 3}, "expected a function of two numbers"),
            ({"cancel": 3}, "expected a tessera.Cancel"),
            ({"stream": 3}, "expected a tessera.Stream"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                program(image, **named)

    def test_out(self):
        program, image = ts.Program.from_text(BLUR), photo()
        out = np.empty_like(image)
        self.assertIs(program(image, out=out), out)
        np.testing.assert_array_equal(out, program(image))
        strange = np.zeros((80, 100), np.float32)[::-2, ::2]
        self.assertIs(program(image, out=[strange]), strange)
        np.testing.assert_array_equal(strange, out)
        # Planes of one array lie between each other, and share nothing.
        both = np.zeros((*image.shape, 2), np.float32)
        both[..., 0] = image
        program(both[..., 0], out=both[..., 1])
        np.testing.assert_array_equal(both[..., 1], out)

        frozen = np.empty_like(image)
        frozen.flags.writeable = False
        for wrong, message in (
            (image, "shares memory with an input"),
            (image[:, ::-1], "shares memory with an input"),
            (np.empty((3, 3), np.float32), r"has the shape \(3, 3\), expected \(40, 50\)"),
            (np.empty((40, 50)), "is an array of float64, expected float32"),
            (frozen, "is read-only"),
            (np.broadcast_to(np.float32(0), (40, 50)), "read-only|share their memory"),
            ([], "0 arrays are given as out, expected 1"),
            ({"nonsense": out}, "out has 'nonsense'"),
            (3, "expected an array to write to"),
            ([[0.0]], "expected an array to write to"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                program(image, out=wrong)

    def test_out_of_several(self):
        program, image = ts.Program.from_text(TWO), photo(dtype=np.uint8)
        rest = np.empty(image.shape, np.float32)
        result = program(image, out={"rest": rest})
        self.assertIs(result.rest, rest)
        np.testing.assert_array_equal(result.double_of, image.astype(np.int32) * 2)
        result = program(image, out=(None, rest))
        self.assertIs(result.rest, rest)
        memory = np.zeros(image.shape, np.int32)
        with self.assertRaisesRegex(ts.ArgumentError, "shares memory with"):
            program(image, out=(memory, memory.view(np.float32)))
        with self.assertRaisesRegex(ts.ArgumentError, "out is one array, expected 2"):
            program(image, out=rest)

    def test_explain(self):
        program, image = ts.Program.from_text(BLUR), photo()
        text = program.explain(image)
        self.assertIn("M = 40, N = 50", text)
        self.assertEqual(str(text), repr(text))
        self.assertTrue(text._repr_svg_().startswith("<svg"))
        self.assertIsInstance(text.json, dict)
        self.assertEqual(program.explain((40, 50)), text)
        self.assertIn("M = 40", ts.Program.from_text(SCALED).explain((40, 50)))
        self.assertTrue(program.explain((40, 50), format="svg").startswith("<svg"))
        with self.assertRaisesRegex(ts.ArgumentError, "expected text, json or svg"):
            program.explain(image, format="png")
        copy.copy(text), pickle.loads(pickle.dumps(text))

    def test_emit(self):
        program = ts.Program.from_text(BLUR)
        code = program.emit("c", name="blur")
        self.assertIn("blur", code.header)
        self.assertIn("blur", code.source)
        self.assertIn("__global__", program.emit("cuda").source)
        self.assertIn(
            "module", program.emit("verilog", height=40, width=50, fixed=True, inputs={"image": "uint8"}).source
        )
        with self.assertRaisesRegex(ts.ArgumentError, "there is no target 'nonsense'"):
            program.emit("nonsense")

    def test_numbers_are_real(self):
        program = ts.Program.from_text(
            "parameter M; vector#1 float x[M]; float k; int n; stencil s(vector#1 float X, float k, int n) { return k * n * X; } return s(x, k, n);"
        )
        image = photo((5,))
        np.testing.assert_allclose(program(image, np.float32(2), np.int16(3)), 6 * image, rtol=1e-6)
        for wrong in (1j, np.complex64(1 + 5j), np.complex128(2), np.array(2 + 1j), np.ma.masked):
            for numbers in ((wrong, 3), (2.0, wrong)):
                with self.subTest(numbers=numbers), self.assertRaises(ts.ArgumentError):
                    program(image, *numbers)
            with self.assertRaises(ts.ArgumentError):
                ts.pipeline(lambda a, k: a * k)(image, wrong)

    def test_texts_are_read_whole(self):
        text = "parameter M; vector#1 float x[M]; return x;"
        for make, said in [
            (lambda: ts.Program.from_text(text + "\0rest"), "the text has a NUL character"),
            (lambda: ts.Program.from_text(text, name="a\0b"), "the name has a NUL character"),
            (lambda: ts.Program("/nowhere.forma\0.txt"), "the path has a NUL character"),
            (lambda: ts.Program.from_text(text.encode()), "the text is b'parameter.*, expected the text of a program"),
            (lambda: ts.Program.from_text(5), "the text is 5, expected the text of a program"),
            (lambda: ts.Program.from_text(text, name=5), "the name is 5, expected a text"),
            (lambda: ts.Program.from_text("\ud800"), "the text is no text"),
        ]:
            with self.assertRaisesRegex(ts.ArgumentError, said):
                make()
        with self.assertRaises(ts.IoError):
            ts.Program(b"/nowhere.forma")

    def test_emit_for_extents(self):
        program = ts.Program.from_text("parameter M, N; vector#2 float a[M,N]; b = ifft(fft(a)); return b.re;")
        made = program.emit("cuda", shapes={"a": (16, 20)}).source
        self.assertIn("--size 16x20", made)
        self.assertIn("shape[0] == 16LL", made)
        self.assertNotIn("shape[0] == 16LL", program.emit("cuda").source)
        self.assertEqual(made, program.emit("cuda", shapes=(16, 20)).source)
        self.assertRegex(repr(program.emit("c")), r"^<Emitted source: \d+ characters, header: \d+ characters>$")
        with self.assertRaisesRegex(ts.ArgumentError, "the target is a ndarray, expected a word"):
            program.emit(np.zeros((3, 4), np.float32))
        with self.assertRaisesRegex(ts.ArgumentError, r"expected extents by the names of arrays"):
            program.emit("cuda", shapes=[(16, 20)])
        for wrong, said in [
            ({"b": (16, 20)}, "names no array; expected one of a"),
            ({"a": (16,)}, "2 extents of input 'a'"),
            ({"a": (16, 0)}, "an extent of shapes.* is 0, expected a whole number from 1 on"),
        ]:
            with self.assertRaisesRegex(ts.ArgumentError, said):
                program.emit("cuda", shapes=wrong)

    def test_pickle(self):
        program, image = ts.Program.from_text(BLUR), photo()
        again = pickle.loads(pickle.dumps(program))
        np.testing.assert_array_equal(again(image), program(image))
        file = pickle.loads(pickle.dumps(ts.Program(str(EXAMPLES / "canny.forma"), parameters={"sigma": 2})))
        self.assertEqual(file.outputs[0].dtype, "uint8")

    def test_many_threads(self):
        program, image = ts.Program.from_text(BLUR), photo((200, 300))
        wanted, wrong = program(image), []

        def work():
            for k in range(50):
                shape = (200, 300) if k % 2 else (100, 300)
                if not np.array_equal(program(image[: shape[0]], threads=1)[:99], wanted[:99]):
                    wrong.append(k)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_submit(self):
        program, image = ts.Program.from_text(BLUR), photo()
        runs = [program.submit(image) for _ in range(8)]
        for run in runs:
            np.testing.assert_array_equal(run.result(), program(image))
        with self.assertRaises(ts.ArgumentError):
            program.submit(image.astype(np.int64)).result()

    def test_submitted_runs_end(self):
        slow, image = ts.Program.from_text(SLOW), photo((3000, 3000))
        run = slow.submit(image)
        while not run.running():
            pass
        self.assertTrue(run.cancel())
        with self.assertRaises(ts.Cancelled):
            run.result()
        self.assertFalse(run.cancel())


class CompileErrors(unittest.TestCase):
    def test_diagnostics(self):
        with self.assertRaises(ts.CompileError) as caught:
            ts.Program.from_text(BLUR.replace("return blur", "return blurr"), name="blur.forma")
        error = caught.exception
        self.assertIn("blur.forma:5:8: error:", str(error))
        self.assertIn("^", str(error))
        (found,) = error.diagnostics
        self.assertEqual((found.file, found.line, found.column, found.severity), ("blur.forma", 5, 8, "error"))
        self.assertEqual(found.text, "return blurr(image:mirror);")
        self.assertEqual(found.message, error.message)
        self.assertIn("blur", found.help)
        with self.assertRaises(AttributeError):
            found.line = 3
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(str(again), str(error))
        self.assertEqual(again.diagnostics, error.diagnostics)
        self.assertIs(type(again), ts.CompileError)

    def test_classes(self):
        self.assertTrue(issubclass(ts.ArgumentError, ValueError))
        self.assertTrue(issubclass(ts.DeviceError, RuntimeError))
        self.assertTrue(issubclass(ts.IoError, OSError))
        error = ts.ArgumentError("a sentence", ("one",), "do so")
        self.assertEqual(str(error), "a sentence\nnote: one\nhelp: do so")
        for cls in (ts.IoError, ts.ArgumentError, ts.InternalError):
            again = pickle.loads(pickle.dumps(cls("a sentence", help="x")))
            self.assertEqual(
                (type(again), again.message, again.help, str(again)), (cls, "a sentence", "x", "a sentence\nhelp: x")
            )


if __name__ == "__main__":
    unittest.main()
