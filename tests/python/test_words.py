"""Errors of the library name what Python calls it: no flag of the command, no option of C."""

import itertools
import re
import unittest
from pathlib import Path

import numpy as np
import tessera as ts
from programs import BLUR
from tessera._words import all_in_python, in_python

TERMS = " + ".join(f"sin(X@[0,{i}])" for i in range(3000))
LONG = BLUR.replace("(X@[-1,0] + X + X@[1,0]) / 3", TERMS)
SOURCES = Path(__file__).resolve().parents[2] / "src"


class Words(unittest.TestCase):
    def test_options(self):
        for given, wanted in (
            ("option threads is 'x', expected a number", "threads is 'x', expected a number"),
            ("option sigma is 'x', expected numbers", "sigma is 'x', expected numbers"),
            ("option parameter.k is 'x', expected a number", "parameters[\"k\"] is 'x', expected a number"),
            ("option shape.b names no array; expected one of a", 'shapes["b"] names no array; expected one of a'),
            ("option input names 'x', which is none", "inputs names 'x', which is none"),
            ("name it otherwise, as in option name=my_filter", 'name it otherwise, as in name="my_filter"'),
            ("allow more with option compile_limit=SECONDS", "allow more with compile_limit=SECONDS"),
            ("write option error=1e-05, or leave it out", "write error=1e-05, or leave it out"),
            ("allow a larger option error", "allow a larger error"),
            ("for example option input.image=uint8/4", 'for example inputs={"image": "uint8/4"}'),
            ("add option table.w, or give it values", 'add tables={"w": ...}, or give it values'),
            ("give option height, width and fixed", "give height, width and fixed"),
            ("leave option compiler away", "leave compiler away"),
            ("filter 'box' has no option 'k'", "filter 'box' has no option 'k'"),
            ("an option that counts, one option alone", "an option that counts, one option alone"),
        ):
            self.assertEqual(in_python(given), wanted)
        self.assertEqual(
            all_in_python("a.forma:1:2: option name is x\n    1 | option name is x\n      |  ^\nhelp: option error"),
            "a.forma:1:2: name is x\n    1 | option name is x\n      |  ^\nhelp: error",
        )

    def test_errors(self):
        image = np.zeros((8, 9), np.float32)
        program = ts.Program.from_text(BLUR)
        calls = (
            (lambda: program(image, threads="x"), r"^threads is 'x', expected a number of threads from 0 to 1048576$"),
            (lambda: program(image, numbers=3), r"^numbers is 3, expected fast, exact$"),
            (lambda: program(image, compiler="none-such"), r'give compiler="built-in", gcc or clang'),
            (lambda: program.emit("c", name="for"), r'as in name="my_filter"'),
            (lambda: program.emit("c", name=["x"]), r"^name has 'x' among its numbers"),
            (lambda: program.emit("verilog"), r"give height, width and fixed, or height and width for extents"),
            (lambda: program.emit("verilog", height=8, width=9), r'inputs=\{"image": "uint8'),
            (lambda: program.emit("hls", height=8, width=9, inputs={"x": "uint8"}), r"inputs names 'x', which is no"),
            (lambda: program.emit("hls", height=8, width=9, inputs={"image": "?"}), r'^inputs\["image"\] is \'\?\''),
            (lambda: program.emit("c", shapes={"image": (1,)}), r'^shapes\["image"\] is 1, expected 2 extents'),
            (lambda: ts.Program.from_text(LONG, compile_limit=0.001), r"allow more with compile_limit=SECONDS$"),
            (
                lambda: ts.Program.from_text("parameter M; table float w[3]; vector#1 float x[M]; return x * w[0];"),
                r'add tables=\{"w": ...\}, or give it values',
            ),
            (
                lambda: ts.Program.from_text(BLUR, parameters={"k": "x"}),
                r'^parameters\["k"\] is \'x\', expected a number',
            ),
            (
                lambda: ts.Program.from_text(BLUR, tables={"k": [["x"]]}),
                r'^tables\["k"\] is \[\[\'x\'\]\], expected an array',
            ),
            (lambda: ts.gaussian(image, "x"), r"^sigma is 'x', expected numbers$"),
        )
        for call, text in calls:
            with self.subTest(text), self.assertRaisesRegex(ts.Error, text) as caught:
                call()
            error = caught.exception
            self.assertNotRegex(
                "\n".join((str(error), error.message, error.help, *error.notes)), r"--\w|\boption [a-z_.]+\b"
            )

    def test_every_flag_that_the_compiler_names_has_an_option(self):
        known = set(re.findall(r'\{"(--[\w-]+)"', (SOURCES / "c" / "words.cpp").read_text()))
        # What the library does not reach: the command, files of pictures, what calls compilers.
        others = itertools.chain.from_iterable(
            (SOURCES / f).rglob("*.cpp") for f in ("base", "lang", "hardware", "engine")
        )
        for file in others:
            text = " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', file.read_text()))
            if file.name != "emit_head.cpp":  # says how a file was made
                used = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", text)) - {"--memory", "--depth"}
                self.assertLessEqual(used, known, file)


if __name__ == "__main__":
    unittest.main()
