"""Arguments of wrong types, in every public function: one sentence that says what was given and what was expected."""

import re
import traceback
import unittest
import warnings
from pathlib import Path

import numpy as np
import tessera as ts
from programs import SCALED, photo

PACKAGE = Path(ts.__file__).parent
IMAGE, COLOURS = photo((5, 7)), np.zeros((5, 7, 3), np.uint8)
#: What somebody might give where something else is meant.
WRONG = (
    *(None, "x", "", "\ud800", "a\0b", b"x", True, -1, 3, 2.5, float("nan"), 10**30, 10**400, 1j),
    *([], [1, 2], ["x"], [None], [[1, 2], [3]], (1, 2, 3), {}, {"a": 1}, {1, 2}, range(3)),
    *(np.array([1, 2]), np.array("x"), np.float32(2), np.int64(2), IMAGE, ts.uint8, float, ts, object(), lambda: 1),
)
#: Words of Python, of nanobind and of NumPy, and names that are nobody's outside.
FOREIGN = re.compile(
    r"incompatible function|tessera\._|std::|bad_cast|nanobind|has no attribute|not iterable|must be (?!at least)|unsupported operand|"
    r"not supported between|too large to convert|could not convert|is not callable|invalid literal|indices must|unhashable|"
    r"ambiguous|has no len|0-d|\boption (?!of )[a-z_.]+ |--[a-z]"
)

scaled = ts.Program.from_text(SCALED)
stretched = ts.pipeline(lambda a, gain=1.0: a.mirror()[0, 1] * gain)
TEXT = "parameter M; parameter real k = 2; parameter border b = mirror; vector#1 float x[M]; return x;"
RUN = (
    "numbers",
    "method",
    "schedule",
    "threads",
    "target",
    "device",
    "devices",
    "device_memory",
    "compiler",
    "compile_limit",
)
RUN = (*RUN, "tile_rows", "tile_columns", "cancel", "stream", "out")
FILTER = (
    "sigma",
    "truncate",
    "border",
    "extent",
    "type",
    "alpha",
    "mask",
    "ignore_nan",
    "nodata",
    "channel_axis",
    "out",
)
EMIT = ("name", "numbers", "vector_bits", "inputs", "shapes", "height", "width", "lanes", "error", "frequency", "chip")


def calls():
    """Each with the one argument that is wrong."""
    for o in RUN:
        yield f"program({o}=)", lambda v, o=o: scaled(IMAGE, 1, 2, **{o: v})
        yield f"pipeline({o}=)", lambda v, o=o: stretched(IMAGE, **{o: v})
    for o in FILTER:
        yield f"gaussian({o}=)", lambda v, o=o: ts.gaussian(COLOURS, **{"sigma": 1, "channel_axis": -1, o: v})
    for f, o in (("median", "radius"), ("canny", "threshold"), ("lowpass", "order"), ("bandpass", "low")):
        yield f"{f}({o}=)", lambda v, f=f, o=o: getattr(ts, f)(IMAGE, **{o: v})
    yield "convolve(kernel)", lambda v: ts.convolve(IMAGE, v)
    yield "convolve(anchor=)", lambda v: ts.convolve(IMAGE, [[1.0]], anchor=v)
    yield "gaussian(image)", lambda v: ts.gaussian(v)
    yield "filter(name)", lambda v: ts.filter(v, IMAGE)
    yield "explain_filter(name)", lambda v: ts.explain_filter(v, IMAGE)
    yield "fwhm", ts.fwhm
    for o in ("parameters", "types", "borders", "tables", "import_paths", "import_only", "compile_limit", "name"):
        yield f"from_text({o}=)", lambda v, o=o: ts.Program.from_text(TEXT, **{o: v})
    for o, n in (("parameters", "k"), ("types", "T"), ("borders", "b"), ("tables", "w")):
        yield f"from_text({o}[])", lambda v, o=o, n=n: ts.Program.from_text(TEXT, **{o: {n: v}})
    yield "from_text(text)", ts.Program.from_text
    yield "Program(path)", ts.Program
    yield "program(image)", lambda v: scaled(v, 1, 2)
    yield "program(gain)", lambda v: scaled(IMAGE, v, 2)
    yield "program(shift)", lambda v: scaled(IMAGE, 1, v)
    yield "submit(cancel=)", lambda v: scaled.submit(IMAGE, 1, 2, cancel=v).result()
    yield "interpret", lambda v: scaled.interpret(v, 1, 2)
    yield "interpret(cancel=)", lambda v: scaled.interpret(IMAGE, 1, 2, cancel=v)
    yield "explain", lambda v: scaled.explain(v, 1, 2)
    yield "explain(format=)", lambda v: scaled.explain(IMAGE, 1, 2, format=v)
    yield "output_shapes", lambda v: scaled.output_shapes(v, 1, 2)
    yield "emit(target)", scaled.emit
    for o in EMIT:
        target = "c" if o in EMIT[:3] + EMIT[4:5] else "hls"
        frame = {} if target == "c" else {"height": 8, "width": 9}
        yield f"emit({o}=)", lambda v, o=o, t=target, f=frame: scaled.emit(t, **{**f, o: v})
    yield "emit(shapes[])", lambda v: scaled.emit("c", shapes={"image": v})
    yield "emit(inputs[])", lambda v: scaled.emit("hls", height=8, width=9, inputs={"image": v})
    yield "pipeline.emit(options=)", lambda v: stretched.emit("c", IMAGE, options=v)
    yield "pipeline.explain(format=)", lambda v: stretched.explain(IMAGE, format=v)
    yield "pipeline.compile", stretched.compile
    yield "pipeline(a)", stretched
    yield "pipeline(gain)", lambda v: stretched(IMAGE, v)
    yield "pipeline(channel_axis=)", lambda v: stretched(COLOURS, channel_axis=v)
    yield "ts.pipeline(channel_axis=)", lambda v: ts.pipeline(lambda a: a.r, channel_axis=v)(COLOURS)
    yield "ts.size", ts.size
    for op in ("__add__", "__sub__", "__mul__", "__floordiv__"):
        yield f"Size.{op}", lambda v, op=op: getattr(ts.size("M"), op)(v)
    yield "Image[v]", lambda v: ts.Image[v]
    yield "Image[, v]", lambda v: ts.Image["float32", v]
    yield "Image[, v, v]", lambda v: ts.Image["float32", v, v]
    yield "Image[, 2, v]", lambda v: ts.Image["float32", 2, v]
    yield "Stream.new", ts.Stream.new
    yield "Stream.new(device)", lambda v: ts.Stream.new("cuda", v)
    yield "Stream.borrow", lambda v: ts.Stream.borrow(v, v)
    yield "Stream", ts.Stream
    yield "Cancel", ts.Cancel
    yield "Cancel.now", lambda v: ts.Cancel().now(v)
    for name, f in BUILT.items():
        yield name, lambda v, f=f: ts.pipeline(lambda a: f(a, v)).compile(IMAGE)
    for name, f in PLANES.items():
        yield name, lambda v, f=f: ts.pipeline(lambda p: f(p, v), channel_axis=-1).compile(COLOURS)


BUILT = {
    "coord": lambda a, v: a + ts.coord(v),
    "extent": lambda a, v: a + ts.extent(v),
    "stage": lambda _, v: ts.stage(v),
    "stage(name)": ts.stage,
    "stage(border=)": lambda a, v: ts.stage(a, border=v),
    "compose": lambda _, v: ts.compose(v),
    "compose(places)": lambda a, v: ts.compose([(a, v)]),
    "compose(place)": lambda a, v: ts.compose([(a, (v, v))]),
    "compose(stride)": lambda a, v: ts.compose([(a, ((0, v), (0, v)))]),
    "repeat(body)": lambda a, v: ts.repeat(v, a),
    "repeat(first)": lambda _, v: ts.repeat(lambda b: (b * 0.5, b.max() > 1), v),
    "repeat(most=)": lambda a, v: ts.repeat(lambda b: (b * 0.5, b.max() > 1), a, most=v),
    "fft": lambda a, v: a.fft(v).re,
    "ifft": lambda _, v: ts.ifft(v, v).re,
    "every": lambda a, v: a.every(v),
    "gather": lambda a, v: a.gather(v, v),
    "borders": lambda a, v: a.borders(v),
    "borders(,)": lambda a, v: a.borders(v, v),
    "constant": lambda a, v: a.constant(v)[0, 1],
    "cast": lambda a, v: ts.cast(v, a),
    "cast(x)": lambda _, v: ts.cast("uint8", v),
    "astype": lambda a, v: a.astype(v),
    "saturate": lambda a, v: ts.saturate(v, a),
    "where": lambda a, v: ts.where(v, a, a),
    "read": lambda a, v: a[v, v],
    "over": lambda a, v: ts.over(v).sum(lambda i: a[i, 0]),
    "over(,)": lambda a, v: ts.over((v, v)).sum(lambda i: a[i, 0]),
    "sum": lambda _, v: ts.over(1).sum(v),
    "offset": lambda a, v: ts.over(1).sum(lambda i: a[i * v, 0]),
    "table": lambda a, v: a + ts.table(v)[0],
    "table(name)": lambda a, v: a + ts.table([1.0, 2], v)[0],
    "table[]": lambda a, v: a + ts.table([1.0, 2])[v],
    "+": lambda a, v: a + v,
    "**": lambda a, v: a**v,
    "//": lambda a, v: a // v,
    "&": lambda a, v: (a > 1) & v,
    "sqrt": lambda a, v: a + ts.sqrt(v),
    "clip": lambda a, v: ts.clip(a, v, v),
    "floor": lambda a, v: a + ts.floor(v),
    "rint": lambda a, v: a + ts.rint(v),
    "round": lambda a, v: round(a, v),
    "min(name)": lambda a, v: a + a.min(v),
    "returned": lambda _, v: v,
    "returned by name": lambda _, v: {"x": v},
}
PLANES = {
    "planes[]": lambda p, v: p[v],
    "planes.map": lambda p, v: p.map(v),
    "planes.borders": lambda p, v: p.borders(v).r,
}


def raised_here(error):
    """Whether the package wrote it, not Python where the package did not look."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if "takes no argument" in str(error) or "a stream is made by" in str(error):
        return True  # by the module in C++
    lines = Path(last.filename).read_text().split("\n")[max(0, last.lineno - 8) : last.lineno + 1]
    return Path(last.filename).is_relative_to(PACKAGE.resolve().parents[2]) and "raise" in "\n".join(lines)


class Given(unittest.TestCase):
    def test_wrong_types_are_one_clear_error(self):
        for name, call in calls():
            for value in WRONG:
                if name == "planes.map" and callable(value):
                    continue  # whatever it does is its own
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        call(value)
                        continue
                    except Exception as error:  # noqa: BLE001
                        found = error
                shown = f"{name} given {value if type(value) is not int else hex(value)!r}: {found!r}"
                if not isinstance(found, ts.Error):
                    self.assertIsInstance(found, (TypeError, AttributeError), shown)
                    self.assertTrue(raised_here(found), shown)
                sentence = str(found).split("\n")[0]
                self.assertIsNone(FOREIGN.search(sentence), shown)
                self.assertRegex(sentence, r"[^.]$|[.]{3}$", shown)

    def test_what_they_say(self):
        for call, text in (
            (
                lambda: scaled(IMAGE, 1, 2, threads="x"),
                "threads is 'x', expected a number of threads from 0 to 1048576",
            ),
            (lambda: scaled(IMAGE, 1, 2, threads=object()), "threads is <object object .*, expected a word, a number"),
            (lambda: scaled.explain((-1, 3)), "an extent of 'image' is -1, expected a whole number from 1 on"),
            (lambda: scaled.explain((1.5, 3)), "an extent of 'image' is 1.5, expected a whole number from 1 on"),
            (lambda: scaled.explain((2**40, 2**40)), "the shape of 'image' is .*, which no array has"),
            (lambda: scaled.output_shapes((0, 3)), "an extent of 'image' is 0, expected a whole number from 1 on"),
            (lambda: scaled.explain(np.zeros((3, 4), np.float16)), "'image' is an array of float16, expected float32"),
            (lambda: scaled.emit("c", nonsense=1), "'nonsense' is no option of emit"),
            (lambda: scaled.emit("c", shape=(3, 4)), "did you mean 'shapes'?"),
            (lambda: ts.Program.from_text(TEXT, parameters=[1]), r"parameters is \[1\], expected values by names"),
            (lambda: ts.Program(5), "the path is 5, expected a path"),
            (lambda: stretched("x"), r"<lambda> is given no array: a is 'x'"),
            (lambda: ts.fwhm("x"), "the width of a Gaussian is 'x', expected a number that is known"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ts.ArgumentError, text):
                call()
        for given, name in (
            ("f4", "float32"),
            ("f2", "float16"),
            (float, "float64"),
            (np.uint8, "uint8"),
            ("half", "float16"),
        ):
            self.assertEqual(ts.gaussian(IMAGE, 1, type=given).dtype, name)
        for given in ("int8", "int64", complex, None, "x", 3):
            with self.assertRaisesRegex(
                ts.ArgumentError, "expected bool, uint8, uint16, uint32, int16, int32, float16"
            ):
                ts.pipeline(lambda a, g=given: a.astype(g))(IMAGE)
        self.assertEqual(scaled.output_shapes(tuple(np.array([3, 4]))), ((3, 4),))
        with self.assertRaisesRegex(ts.IoError, r"write ts.Program.from_text\(...\)"):
            ts.Program(TEXT)
        with self.assertRaisesRegex(
            ts.ArgumentError, r"'canny.forma', expected the text of a program\nhelp: write ts.Program"
        ):
            ts.Program.from_text("canny.forma")
        with self.assertRaises(ts.IoError):
            ts.Program(b"/nowhere/\xff.forma")
        with self.assertRaises(ts.IoError):
            ts.Program("/nowhere/\udcff.forma")


if __name__ == "__main__":
    unittest.main()
