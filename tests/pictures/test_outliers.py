"""One huge finite value among ordinary ones, as files have for points that nobody measured: it shows as far as windows
that hold it, and nowhere else. Beside SciPy in double, each point by its own measure: 1e-5 of the sum of all |weights|
times the largest |value| in its own window (docs/convolution.md, Accuracy)."""

import numpy
import pytest
from scipy import ndimage

from conftest import FAULTS

HUGE = [9.97e36, -3.4e38, 1e20, -9999.0, 1e10, -32768.0, 65535.0]
BORDERS = {"clamped": "nearest", "mirror": "mirror", "symmetric": "reflect", "wrap": "wrap", "constant(0)": "constant"}


def gaussian_weights(sigma):
    radius = int(numpy.ceil(3 * sigma))
    k = numpy.arange(-radius, radius + 1)
    w = numpy.exp(-(k**2) / (2 * sigma**2))
    return w / w.sum()


def outer(lines):
    w = numpy.ones(())
    for line in lines:
        w = numpy.multiply.outer(w, line)
    return w


def close(got, image, weights, mode, terms=None):
    """`terms`: what is added before it is scaled, weights if not given. `weights` as tessera correlate has them: the middle is (n-1)//2, SciPy's n//2."""
    image = image.astype(numpy.float64)
    origin = [-((n + 1) % 2) for n in weights.shape]
    with numpy.errstate(over="ignore"):
        right = ndimage.correlate(image, weights, mode=mode, origin=origin)
    most = ndimage.maximum_filter(numpy.abs(image), size=weights.shape, mode=mode, origin=origin)
    allowed = 1e-5 * numpy.abs(weights).sum() * most
    wrong = ~(numpy.abs(got.astype(numpy.float64) - right) <= allowed)
    if got.dtype == numpy.float32:  # sums on the way may leave the type
        wrong &= ndimage.correlate(numpy.abs(image), numpy.abs(weights if terms is None else terms), mode=mode, origin=origin) < 1e38
    assert not wrong.any(), (
        f"{wrong.sum()} of {wrong.size} points, the first at {numpy.argwhere(wrong)[0]}: "
        f"{got[wrong][0]} is not {right[wrong][0]}, allowed {allowed[wrong][0]}")


def with_outliers(numbers, image):
    for _ in range(numbers.choice([1, 1, 2, 5])):
        at = tuple(numbers.integers(0, n) for n in image.shape)
        value = numbers.choice(HUGE)
        if numbers.random() < 0.3:  # a patch of them
            at = tuple(slice(a, a + numbers.integers(1, 30)) for a in at)
        image[at] = value
    return image


def test_point_far_from_the_outlier(tessera):
    folder = FAULTS / "outlier_1x400"
    got = tessera.array("filter", "gaussian", folder / "in.npy", "--sigma", 8)
    expected = numpy.load(folder / "expected.npy")
    assert numpy.allclose(got, expected, rtol=1e-5, atol=0)
    assert numpy.allclose(got[0, 25:], 1, rtol=1e-6)


@pytest.mark.parametrize("round", range(8))
def test_dense_weights(tessera, numbers, round):
    shape = (numbers.integers(60, 400), numbers.integers(60, 500))
    size = tuple(int(n) for n in numbers.choice([9, 12, 15, 24, 31], 2))
    image = with_outliers(numbers, numbers.random(shape).astype(numpy.float32))
    weights = numbers.random(size) - numbers.choice([0, 0.5])
    border, mode = list(BORDERS.items())[numbers.integers(len(BORDERS))]
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "k.npy", weights.astype(numpy.float32))
    method = numbers.choice(["auto", "transform"])
    got = tessera.array("filter", "correlate", "in.npy", "--kernel", "k.npy", "--border", border, "--method", method)
    close(got, image, weights.astype(numpy.float32).astype(numpy.float64), mode)


@pytest.mark.parametrize("round", range(6))
def test_gaussians_and_boxes_of_any_rank(tessera, numbers, round):
    rank = int(numbers.choice([1, 2, 2, 3]))
    shape = tuple(numbers.integers(*((400, 3000) if rank == 1 else (80, 300) if rank == 2 else (20, 45)), rank))
    image = with_outliers(numbers, numbers.random(shape).astype(numbers.choice([numpy.float32, numpy.float64])))
    sigma = float(numbers.choice([2, 4.5, 8, 12] if rank < 3 else [1.5, 2.5]))
    border, mode = list(BORDERS.items())[numbers.integers(len(BORDERS))]
    numpy.save(tessera.folder / "in.npy", image)
    got = tessera.array("filter", "gaussian", "in.npy", "--sigma", sigma, "--border", border)
    close(got, image, outer([gaussian_weights(sigma)] * rank), mode)
    radius = int(numbers.choice([1, 7, 16] if rank < 3 else [1, 4]))
    got = tessera.array("filter", "box", "in.npy", "--radius", radius, "--border", border)
    ones = outer([numpy.ones(2 * radius + 1)] * rank)
    close(got, image, ones / ones.size, mode, terms=ones)


@pytest.mark.parametrize("round", range(3))
def test_volumes_and_rows_through_transforms(tessera, numbers, round):
    image = with_outliers(numbers, numbers.random((24, 70, 90)).astype(numpy.float32))
    weights = numbers.random((5, 7, 6)).astype(numpy.float32)
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "k.npy", weights)
    got = tessera.array("filter", "correlate", "in.npy", "--kernel", "k.npy", "--border", "mirror", "--method", "transform")
    close(got, image, weights.astype(numpy.float64), "mirror")
    rows = with_outliers(numbers, numbers.random((40, 900)).astype(numpy.float32))
    weights = numbers.random((1, 41)).astype(numpy.float32)
    numpy.save(tessera.folder / "in.npy", rows)
    numpy.save(tessera.folder / "k.npy", weights)
    got = tessera.array("filter", "correlate", "in.npy", "--kernel", "k.npy", "--border", "wrap", "--method", "transform")
    close(got, rows, weights.astype(numpy.float64), "wrap")


def test_nothing_is_left_where_there_is_nothing(tessera, numbers):
    """Exact zeros beside bright points, and what is dim beside them."""
    image = numpy.zeros((300, 300), numpy.float32)
    image[100:160, 90:200] = 1000 * numbers.random((60, 110))
    image[:, 260:] = 0.01 * numbers.random((300, 40))
    weights = numbers.random((15, 15)).astype(numpy.float32)
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "k.npy", weights)
    got = tessera.array("filter", "correlate", "in.npy", "--kernel", "k.npy", "--border", "clamped", "--method", "transform")
    close(got, image, weights.astype(numpy.float64), "nearest")
    reach = ndimage.maximum_filter(image, size=15, mode="nearest")
    assert (got[reach == 0] == 0).all()


@pytest.mark.parametrize("arguments", [["--method", "transform"], ["--method", "low-rank"], ["--method", "direct"], []])
def test_parts_of_an_image_are_the_same(tessera, numbers, arguments):
    image = with_outliers(numbers, numbers.random((200, 260)).astype(numpy.float32))
    column, row = numbers.random((11, 2)), numbers.random((2, 11))
    weights = column @ row  # of rank 2
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "k.npy", weights.astype(numpy.float32))
    words = ["filter", "correlate", "in.npy", "--kernel", "k.npy", "--border", "mirror", *arguments]
    got = tessera.array(*words)
    close(got, image, weights.astype(numpy.float32).astype(numpy.float64), "mirror")
    if "low-rank" not in arguments:
        one = tessera.array(*words, "--threads", 1)
        assert numpy.array_equal(got, one)
