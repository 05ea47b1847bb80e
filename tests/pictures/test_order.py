"""Filters that choose by order, of boxes and of footprints, beside SciPy bit for bit."""

import numpy
import pytest
from scipy import ndimage

SHAPES = [(70,), (23, 41), (9, 12, 14), (5, 6, 7, 8)]
MODES = {"mirror": "mirror", "symmetric": "reflect", "clamped": "nearest", "wrap": "wrap", "constant(3)": "constant"}
KINDS = ["u1", "i2", "u2", "i4", "u4", "f4", "f8"]


def image(numbers, kind, shape):
    """All values that a type has, but for floats."""
    if kind[0] == "f":
        return numbers.normal(100, 40, shape).astype(kind)
    limits = numpy.iinfo(kind)
    return numbers.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


def filtered(tessera, name, x, *options):
    numpy.save(tessera.folder / "in.npy", x)
    tessera("filter", name, "in.npy", "-q", *options, "-o", "out.npy")
    return numpy.load(tessera.folder / "out.npy")


def disc(shape):
    """What lies in the ellipsoid of a box, but for one element, so that it is not the same turned around."""
    at = numpy.meshgrid(*(numpy.linspace(-1, 1, n) if n > 1 else numpy.zeros(1) for n in shape), indexing="ij")
    inside = sum(a * a for a in at) <= 1.01
    inside.flat[0] = True
    return inside


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("border", MODES)
def test_boxes(tessera, numbers, kind, border):
    shape = SHAPES[int(numbers.integers(2)) if border != "wrap" else int(numbers.integers(2, 4))]
    x = image(numbers, kind, shape)
    radius = 2 if len(shape) < 3 else 1
    size = 2 * radius + 1
    count = size ** len(shape)
    like = {"size": size, "mode": MODES[border], "cval": 3}
    given = ("--radius", radius, "--border", border)
    for percent in (0, 12.5, int(numbers.integers(1, 100)), 100):
        expected = ndimage.percentile_filter(x, percent, **like)
        got = filtered(tessera, "percentile", x, "--percent", percent, *given)
        assert got.dtype == x.dtype
        numpy.testing.assert_array_equal(got, expected, err_msg=f"{percent} %")
    for rank in (0, -1, int(numbers.integers(count))):
        expected = ndimage.rank_filter(x, rank, **like)
        numpy.testing.assert_array_equal(filtered(tessera, "rank", x, "--rank", rank, *given), expected, err_msg=str(rank))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_footprints(tessera, numbers, kind, shape):
    border = list(MODES)[int(numbers.integers(5))]
    x = image(numbers, kind, shape)
    box = {1: (6,), 2: (5, 7), 3: (3, 4, 3), 4: (3, 1, 3, 2)}[len(shape)]
    footprint = disc(box)
    numpy.save(tessera.folder / "footprint.npy", footprint.astype("u1"))
    like = {"footprint": footprint, "mode": MODES[border], "cval": 3}
    given = ("--footprint", "footprint.npy", "--border", border)
    # SciPy takes the upper of the two elements in the middle, the language the lower one.
    middle = (int(footprint.sum()) - 1) // 2
    for name, options, expected in (
        ("median", (), ndimage.rank_filter(x, middle, **like)),
        ("percentile", ("--percent", 30), ndimage.percentile_filter(x, 30, **like)),
        ("rank", ("--rank", 2), ndimage.rank_filter(x, 2, **like)),
        ("rank", ("--rank", -2), ndimage.rank_filter(x, -2, **like)),
    ):
        numpy.testing.assert_array_equal(filtered(tessera, name, x, *options, *given), expected, err_msg=f"{name} {border}")


def test_large_windows(tessera, numbers):
    """Too large for a network: found bit by bit."""
    for kind, box in (("u1", (17, 15)), ("u2", (19, 17)), ("f4", (19, 17))):
        x = image(numbers, kind, (30, 33))
        footprint = disc(box)
        numpy.save(tessera.folder / "footprint.npy", footprint.astype("f8"))
        got = filtered(tessera, "percentile", x, "--footprint", "footprint.npy", "--percent", 80)
        numpy.testing.assert_array_equal(got, ndimage.percentile_filter(x, 80, footprint=footprint, mode="mirror"), err_msg=kind)
        got = filtered(tessera, "rank", x, "--radius", 9, "--rank", 25)
        numpy.testing.assert_array_equal(got, ndimage.rank_filter(x, 25, size=19, mode="mirror"), err_msg=kind)


def test_footprints_written_out_and_parts(tessera, numbers):
    x = image(numbers, "u1", (40, 50))
    cross = numpy.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    expected = ndimage.median_filter(x, footprint=cross, mode="mirror")
    numpy.testing.assert_array_equal(filtered(tessera, "median", x, "--footprint", "0,1,0; 1,1,1; 0,1,0"), expected)
    valid = filtered(tessera, "median", x, "--footprint", "0,1,0; 1,1,1; 0,1,0", "--extent", "valid")
    numpy.testing.assert_array_equal(valid, expected[1:-1, 1:-1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("percentile", "--percent", "101"), "percent 101 cannot be used, expected 0 to 100"),
        (("rank", "--rank", "9"), "rank 9 cannot be used, expected -9 to 8, as the window has 9 elements"),
        (("rank", "--rank", "0.5"), "rank 0.5 cannot be used, expected a whole number"),
        (("median", "--footprint", "0,0; 0,0"), "footprint holds nothing but zeros, expected an element that counts"),
        (("erode", "--footprint", "1,1; 1,1"), "has no option --footprint"),
    ],
)
def test_what_cannot_be_used(tessera, words, said):
    numpy.save(tessera.folder / "in.npy", numpy.zeros((9, 9), "f4"))
    name, *options = words
    assert said in tessera("filter", name, "in.npy", "-q", *options, "-o", "out.npy", status=2).stderr
    assert not (tessera.folder / "out.npy").exists()
