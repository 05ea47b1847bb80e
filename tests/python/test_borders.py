"""Words for what lies outside mean the same wherever one is taken; what is no word is an error that lists them."""

import itertools
import re
import unittest
from pathlib import Path

import numpy as np
import tessera as ts
from programs import photo
from tessera import ndimage

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
PAD = {"mirror": "reflect", "symmetric": "symmetric", "clamp": "edge", "wrap": "wrap", "constant": "constant"}

image = photo((9, 11))


def words():
    """The rows of the page: our word, and all words for it."""
    page = PAGE.read_text()
    table = page[page.index("### Borders") :]
    for row in re.findall(r"^\| `\"(\w+)(?:\(3\))?\"` \|([^|]*)\|", table, re.MULTILINE):
        yield row[0], [row[0], *re.findall(r"`\"([\w-]+)\"`", row[1])]


def shifted(mode, value=0.0):
    keywords = {"constant_values": value} if mode == "constant" else {}
    return np.pad(image, ((2, 0), (0, 3)), mode=PAD[mode], **keywords)[: image.shape[0], 3:]


def by_pipeline(border):
    return ts.pipeline(lambda a: a.borders(border)[-2, 3])(image)


def by_stage(border):
    return ts.pipeline(lambda a: ts.stage(a + 0, border=border)[-2, 3])(image)


def by_program(border):
    return ts.Program.from_text(TEXT, borders={"b": border})(image)


def by_filter(border):
    kernel = np.zeros((5, 7))
    kernel[0, 6] = 1
    return ts.correlate(image, kernel, border=border)


TEXT = """
parameter M, N;
parameter border b = mirror;
vector#2 float image[M,N];
stencil far(vector#2 float X) { return X@[-2,3]; }
return far(image:b);
"""
WAYS = (by_pipeline, by_stage, by_program, by_filter)


class Borders(unittest.TestCase):
    def test_the_page_and_the_package_have_the_same_words(self):
        from tessera import _borders

        listed = {mode: set(all_of) - {"zero"} for mode, all_of in words()}
        self.assertEqual(listed, {mode: {mode, *others} for mode, others in _borders.SYNONYMS.items()})

    def test_every_word_everywhere(self):
        for mode, all_of in words():
            if mode == "none":
                continue
            for word, way in itertools.product(all_of, WAYS):
                with self.subTest(word=word, way=way.__name__):
                    np.testing.assert_array_equal(way(word), shifted(mode))
                    np.testing.assert_array_equal(way(word.upper()), shifted(mode))

    def test_constants(self):
        for given in (
            "constant(3)",
            "constant( 3.0 )",
            3,
            ("constant", 3),
            np.float32(3),
            np.array(3),
            "grid-constant(3)",
        ):
            for way in WAYS:
                with self.subTest(given=given, way=way.__name__):
                    np.testing.assert_array_equal(way(given), shifted("constant", 3))

    def test_one_for_each_dimension(self):
        wanted = np.pad(np.pad(image, ((2, 0), (0, 0)), "edge"), ((0, 0), (0, 3)), constant_values=7)[:-2, 3:]
        for given in (("edge", "constant(7)"), ["clamp", 7], "nearest, constant(7)", ("clamp", ("constant", 7))):
            for way in WAYS:
                with self.subTest(given=given, way=way.__name__):
                    np.testing.assert_array_equal(way(given), wanted)
        self.assertEqual(ts.pipeline(lambda a: a.borders("edge", 7)[-2, 3])(image)[0, 0], wanted[0, 0])

    def test_ndimage_takes_them_too(self):
        for word, theirs in (
            ("edge", "nearest"),
            ("symmetric", "reflect"),
            ("periodic", "wrap"),
            ("reflect101", "mirror"),
        ):
            np.testing.assert_array_equal(
                ndimage.uniform_filter(image, 3, mode=word), ndimage.uniform_filter(image, 3, mode=theirs)
            )
        five = np.random.default_rng(0).random((2, 3, 2, 3, 2))
        np.testing.assert_array_equal(
            ndimage.correlate(five, np.ones((2,) * 5), mode="edge"),
            ndimage.correlate(five, np.ones((2,) * 5), mode="nearest"),
        )
        for word in ("valid", "none", "nonsense", 3, None):
            with self.assertRaisesRegex(RuntimeError, "boundary mode not supported: .*, expected reflect, "):
                ndimage.uniform_filter(image, 3, mode=word)

    def test_what_is_no_word(self):
        for given, text in (
            ("mirorr", "'mirorr' is no border mode, expected mirror, symmetric, clamp, .*\n?.*did you mean 'mirror'"),
            ("reflect", "'reflect' means two things"),
            ("", "is no border mode, expected mirror"),
            ((), "has no mode"),
            ("mirror(3)", "has a value, which mode mirror does not take"),
            ("constant(x)", "has no number, expected one, as in constant"),
            ("constant(nan)", "expected a finite number"),
            (float("inf"), "expected a finite number"),
            (True, "True is no border mode, expected mirror"),
            (1j, "1j is no border mode"),
            ((("mirror", "wrap"), "wrap"), "is no border mode"),
            (object(), "is no border mode"),
        ):
            for way in WAYS:
                with self.subTest(given=given, way=way.__name__), self.assertRaisesRegex(ts.ArgumentError, text):
                    way(given)
        with self.assertRaisesRegex(ts.ArgumentError, r"borders\[\"b\"\] 'sideways' is no border mode"):
            by_program("sideways")


if __name__ == "__main__":
    unittest.main()
