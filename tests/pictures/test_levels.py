"""Histogram equalisation and Otsu's threshold beside what they are defined by, counted in NumPy."""

import numpy
import pytest

SHAPES = [(301,), (23, 41), (9, 12, 14), (5, 6, 7, 8)]
BRIGHTEST = {"u1": 255, "i2": 32767, "u2": 65535, "f4": 1}


def image(numbers, kind, shape):
    """Values that crowd together, with a gap between two heaps of them."""
    x = numpy.where(numbers.random(shape) < 0.3, numbers.normal(60, 9, shape), numbers.normal(140, 20, shape))
    return (x if kind == "f4" else numpy.clip(x, 0, 255) * (1 if kind == "u1" else 100)).astype(kind)


def filtered(tessera, name, x, *options):
    numpy.save(tessera.folder / "in.npy", x)
    return tessera.array("filter", name, "in.npy", *options)


def levels_of(x):
    """Bytes as they are; others in 65536 levels."""
    if x.dtype == numpy.uint8:
        return x.astype(int), 256
    wide = x.astype("f8")
    return ((wide - wide.min()) * (65535 / (wide.max() - wide.min()))).astype(int), 65536


def equalized(x, kind):
    """As OpenCV's equalizeHist."""
    level, count = levels_of(x)
    up_to = numpy.cumsum(numpy.bincount(level.ravel(), minlength=count))
    first = up_to[up_to > 0].min()
    scale = numpy.float32(BRIGHTEST[kind]) / numpy.float32(max(up_to[-1] - first, 1))
    new = numpy.maximum(up_to - first, 0).astype("f4") * scale
    return (new if kind == "f4" else numpy.rint(new)).astype(kind)[level]


def above(x, kind):
    """The level that leaves most variance between two classes."""
    level, count = levels_of(x)
    often = numpy.bincount(level.ravel(), minlength=count).astype("f8")
    low, part = numpy.cumsum(often) / often.sum(), numpy.cumsum(often * numpy.arange(count)) / often.sum()
    with numpy.errstate(invalid="ignore", divide="ignore"):
        between = (part[-1] * low - part) ** 2 / (low * (1 - low))
    between[~((low > 0) & (low < 1))] = 0
    return numpy.where(level > between.argmax(), BRIGHTEST[kind], 0).astype(kind)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", BRIGHTEST)
def test_levels_are_counted(tessera, numbers, kind, shape):
    x = image(numbers, kind, shape)
    got = filtered(tessera, "equalize", x)
    assert got.dtype == x.dtype
    numpy.testing.assert_allclose(got, equalized(x, kind), rtol=1e-6 if kind == "f4" else 0)
    got = filtered(tessera, "otsu", x)
    assert got.dtype == x.dtype
    assert numpy.count_nonzero(got != above(x, kind)) <= (0 if kind == "u1" else x.size // 50)


def limited(often, clip):
    """What is above the limit is given to all levels alike, what is left of that to some of them: as OpenCV does."""
    count, limit = len(often), max(int(numpy.float32(clip) * numpy.float32(often.sum()) / numpy.float32(len(often))), 1)
    excess = numpy.maximum(often - limit, 0).sum()
    left = excess % count
    some = numpy.arange(0, count, max(count // max(left, 1), 1))[:left]
    new = numpy.minimum(often, limit) + excess // count
    new[some] += 1
    return new


@pytest.mark.parametrize(("tiles", "clip"), [(8, 40), (2, 3), (4, 0)])
def test_parts_of_images_are_equalised(tessera, numbers, tiles, clip):
    x = image(numbers, "u1", (64, 96))
    got = filtered(tessera, "clahe", x, "--tiles", tiles, "--clip", clip)
    high, wide = x.shape[0] // tiles, x.shape[1] // tiles
    new = numpy.empty((tiles, tiles, 256), "f4")
    for i in range(tiles):
        for j in range(tiles):
            part = x[i * high : (i + 1) * high, j * wide : (j + 1) * wide]
            up_to = numpy.cumsum(limited(numpy.bincount(part.ravel(), minlength=256), clip))
            new[i, j] = numpy.clip(numpy.rint(up_to.astype("f4") * (numpy.float32(255) / numpy.float32(part.size))), 0, 255)
    y, z = numpy.mgrid[: x.shape[0], : x.shape[1]]
    y, z = y / high - 0.5, z / wide - 0.5
    i, j = numpy.floor(y).astype(int), numpy.floor(z).astype(int)
    u, v = y - i, z - j
    at = lambda a, b: new[numpy.clip(a, 0, tiles - 1), numpy.clip(b, 0, tiles - 1), x]  # noqa: E731
    expected = (at(i, j) * (1 - v) + at(i, j + 1) * v) * (1 - u) + (at(i + 1, j) * (1 - v) + at(i + 1, j + 1) * v) * u
    assert numpy.abs(got - expected).max() <= 0.5 + 1e-3


def test_images_of_one_value_and_channels(tessera, numbers):
    flat = numpy.full((7, 9), 93, "u1")
    assert (filtered(tessera, "equalize", flat) == 0).all()
    assert (filtered(tessera, "otsu", flat) == 255).all() or (filtered(tessera, "otsu", flat) == 0).all()
    rgb = numpy.stack([image(numbers, "u1", (30, 40)) // k for k in (1, 2, 3)], -1)
    got = filtered(tessera, "equalize", rgb, "--axes", "yxc")
    for k in range(3):
        numpy.testing.assert_array_equal(got[..., k], equalized(rgb[..., k], "u1"))


def test_borders_are_refused(tessera):
    numpy.save(tessera.folder / "in.npy", numpy.zeros((4, 4), "u1"))
    said = tessera("filter", "equalize", "in.npy", "--border", "wrap", "-o", "out.npy", status=2).stderr
    assert "border" in said
