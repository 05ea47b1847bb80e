"""The same pipelines in Python and in C++ (twins.cpp) are the same graphs, as text."""

import os
import subprocess
import unittest

import numpy as np
import tessera as ts

TWINS = os.environ.get("TESSERA_TWINS")

image2, bytes2 = np.zeros((8, 9), np.float32), np.zeros((8, 9), np.uint8)


@ts.pipeline
def blur(image):
    image = image.clamped()
    rows = ts.stage((image[-1, 0] + image + image[1, 0]) / 3, "rows").clamped()
    return ts.stage((rows[0, -1] + rows + rows[0, 1]) / 3, "blur")


@ts.pipeline
def edges(image, amount=0.8):
    image = image.mirror()
    weights = ts.table([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]], "weights")
    total = ts.over((-1, 1), (-1, 1)).sum(lambda i, j: weights[i + 1, j + 1] * image[i, j])
    g = ts.stage(total / 16, "g").clamped()
    strength = ts.hypot(g[0, 1] - g[0, -1], g[1, 0] - g[-1, 0])
    return {"edges": ts.stage(ts.saturate(ts.uint8, amount * strength), "edges1"), "smooth": g}


@ts.pipeline
def unsharp(image):
    image = image.wrap()
    smooth = ts.stage((image[0, 0, -1] + 2 * image + image[0, 0, 1]) * 0.25, "smooth")
    return ts.stage(image + 0.5 * (image - smooth), "sharp")


@ts.pipeline
def choices(a, b):
    larger = ts.where(a > b, a * 2, b - 1)
    rest = ts.abs(b)
    return ts.stage(
        ts.maximum(larger, (a & 15) << 2) + ts._values._apply("rem", rest, ts._values._in(rest._b, 7, None)), "chosen"
    )


@ts.pipeline
def windows(image):
    image = image.symmetric()
    box = ts.over((-1, 1), (-2, 2))
    middle = ts.stage(box.median(lambda i, j: image[i, j]), "middle")
    span = ts.stage(box.max(lambda i, j: image[i, j]) - box.min(lambda i, j: image[2 * i, j + 1]), "span")
    some = ts.stage(ts.cast(ts.uint8, box.any(lambda i, j: image[i, j] > 1)), "any")
    return {"middle": middle, "span": span, "any": some}


@ts.pipeline
def pyramid(image):
    even = image.clamped().every(2, 2)
    half = ts.stage((even[0, 0] + even[0, 1] + even[1, 0] + even[1, 1]) / 4, "half")
    twice = ts.compose([(half, ((0, 2), (0, 2))), (half, ((1, 2), (1, 2)))], "twice")
    return {"half": half, "twice": twice}


@ts.pipeline
def totals(image):
    mean, most = image.mean("mean"), image.max("most")
    return {"flat": ts.stage((image - mean) / most, "flat"), "mean": mean}


@ts.pipeline
def heat(image):
    def body(before):
        b = before.clamped()
        after = ts.stage((b[-1, 0] + b[1, 0] + b[0, -1] + b[0, 1]) / 4, "next")
        return after, ts.stage(abs(after - before), "change").max("gap") > 0.05

    return ts.repeat(body, image, most=50, name="loop")


@ts.pipeline
def spectra(image):
    spectrum = image.fft(1, "spectrum")
    re, im = ts.stage(spectrum.re * 0.5, "re"), ts.stage(spectrum.im * 0.5, "im")
    return ts.ifft(re, im, 1, "back").re


@ts.pipeline(channel_axis=-1)
def colours(photo):
    grey = ts.stage((ts.cast(ts.float32, photo["r"]) + photo["g"] + photo["b"]) / 3, "grey")
    return {"grey": grey, "turned": {"b": photo.b, "g": photo.g, "r": photo.r}}


@ts.pipeline
def places(image):
    image = image.clamped()
    return ts.stage(image.gather(ts.coord(0), ts.extent(1) - 1 - ts.coord(1)) + 0.0 * image, "flipped")


@ts.pipeline
def sizes(a: ts.Image["float32", ts.Size("M")], b: ts.Image["float32", ts.Size("M") * 2 + 1]):  # noqa: F821
    return ts.stage(a + b, "sum")


@ts.pipeline
def functions(x):
    y = ts.exp(x) + ts.log(x) * ts.sin(x) - ts.cos(x) / ts.tan(x) + ts.atan2(x, x) + x**2.5
    y = y + ts.floor(x) + ts.ceil(x) + ts.round(x) + ts.trunc(x) + ts.sqrt(x) + ts.cbrt(x) + ts.fmod(x, 2.0)
    return ts.stage(y, "y")


@ts.pipeline
def canny(image, threshold=4.0):
    image = image.mirror()
    dx, dy = ts.stage(image[0, 1] - image[0, -1], "dx"), ts.stage(image[1, 0] - image[-1, 0], "dy")
    m = ts.stage(ts.hypot(dx, dy), "m", border="clamp")
    across = abs(dx) > abs(dy)
    before, after = ts.where(across, m[0, -1], m[-1, 0]), ts.where(across, m[0, 1], m[1, 0])
    edge = ts.stage((m >= before) & (m > after) & (m > threshold), "edge")
    return ts.stage(ts.where(edge, 255, 0).astype("int32"), "marked")


@ts.pipeline
def narrow(a):
    a = a.symmetric()
    middle = ts.over(1, 1).median(lambda i, j: a[i, j])
    most = ts.stage(ts.maximum(middle, a), "most")
    return {"most": most, "wide": ts.stage(~(most > 3) | (most == a), "wide")}


@ts.pipeline
def two(image):
    def body(a, b):
        total = ts.stage(a + b, "sum")
        return (b, total), total.max("most") < 100

    a, b = ts.repeat(body, (image, ts.stage(image * 2, "first")), most=5, name="steps")
    return {"a": a, "b": b}


PROGRAMS = {
    "blur": lambda: blur.compile(image2),
    "edges": lambda: edges.compile(bytes2),
    "unsharp": lambda: unsharp.compile(np.zeros((4, 5, 6))),
    "choices": lambda: choices.compile(np.zeros(5, np.uint8), np.zeros(5, np.int16)),
    "windows": lambda: windows.compile(image2),
    "pyramid": lambda: pyramid.compile(image2),
    "totals": lambda: totals.compile(image2),
    "heat": lambda: heat.compile(image2),
    "spectra": lambda: spectra.compile(image2),
    "colours": lambda: colours.compile(np.zeros((8, 9, 3), np.uint8)),
    "places": lambda: places.compile(image2),
    "sizes": lambda: sizes.compile(),
    "canny": lambda: canny.compile(bytes2),
    "narrow": lambda: narrow.compile(bytes2),
    "two": lambda: two.compile(image2),
    "functions": lambda: functions.compile(np.zeros(5, np.float32)),
}


@unittest.skipUnless(TWINS, "TESSERA_TWINS names the program that prints the graphs of C++")
class Twins(unittest.TestCase):
    def test_graphs(self):
        printed = subprocess.run([TWINS], check=True, capture_output=True, text=True).stdout
        graphs = dict(part.split("\n", 1) for part in printed.split("== ")[1:])
        self.assertEqual(set(graphs), set(PROGRAMS))
        for name, build in PROGRAMS.items():
            with self.subTest(name):
                self.assertEqual(build().graph, graphs[name])


if __name__ == "__main__":
    unittest.main()
