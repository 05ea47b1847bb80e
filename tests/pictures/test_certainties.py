"""Certainties that are small beside others, and windows that hold few known points: right wherever anything is known,
NaN nowhere else. Beside normalised convolution in double."""

import numpy
import pytest
from scipy import ndimage

from conftest import FAULTS
from test_outliers import gaussian_weights, outer


def normalised(image, certainty, weights, mode):
    image, certainty = image.astype(numpy.float64), numpy.maximum(certainty.astype(numpy.float64), 0)
    known = certainty > 0
    if isinstance(weights, list):
        def correlated(a, size=False):
            for d, w in enumerate(weights):
                a = ndimage.correlate1d(a, numpy.abs(w) if size else w, axis=d, mode=mode)
            return a
        total = numpy.prod([numpy.abs(w).sum() for w in weights])
    else:
        origin = [-((n + 1) % 2) for n in weights.shape]
        def correlated(a, size=False):
            return ndimage.correlate(a, numpy.abs(weights) if size else weights, mode=mode, origin=origin)
        total = numpy.abs(weights).sum()
    with numpy.errstate(divide="ignore", invalid="ignore"):
        p, q = correlated(numpy.where(known, image, 0) * certainty), correlated(certainty, True)
        result = p / q * total
    result[q == 0] = numpy.nan
    return result


def check(got, right, scale, rtol=1e-4):
    assert numpy.array_equal(numpy.isnan(got), numpy.isnan(right)), (
        f"{(numpy.isnan(got) & ~numpy.isnan(right)).sum()} points are NaN that are known, "
        f"{(~numpy.isnan(got) & numpy.isnan(right)).sum()} the other way round")
    fine = ~numpy.isnan(right)
    assert numpy.allclose(got[fine], right[fine], rtol=rtol, atol=rtol * scale)


def test_low_weights(tessera):
    folder = FAULTS / "mask_low_weights"
    expected = numpy.load(folder / "expected.npy")
    for more in ([], ["--method", "direct"], ["--exact"]):
        got = tessera.array("filter", "gaussian", folder / "in.npy", "--mask", folder / "m.npy", "--sigma", 5, *more)
        assert numpy.allclose(got, expected, rtol=1e-5), more


@pytest.mark.parametrize("round", range(6))
def test_masks_of_any_range(tessera, numbers, round):
    shape = tuple(int(n) for n in numbers.integers(90, 700, 2))
    image = (100 * numbers.random(shape)).astype(numpy.float32)
    mask = numbers.random(shape).astype(numpy.float32)
    kind = round % 3
    if kind == 0:  # many magnitudes
        mask *= (10.0 ** numbers.integers(-12, 1, shape[1])).astype(numpy.float32)
    elif kind == 1:  # a few points
        mask[numbers.random(shape) > 0.001] = 0
    else:  # half
        mask[:, shape[1] // 2 :] = 0
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "m.npy", mask)
    sigma = float(numbers.choice([3, 5, 9]))
    got = tessera.array("filter", "gaussian", "in.npy", "--mask", "m.npy", "--sigma", sigma, "--border", "mirror")
    check(got, normalised(image, mask, [gaussian_weights(sigma)] * 2, "mirror"), 100)
    size = int(numbers.choice([7, 15, 25]))
    y, x = numpy.mgrid[:size, :size] - size // 2
    weights = (numbers.random((size, size)) + 0.1) * (y**2 + x**2 <= (size // 2) ** 2)  # zeros at the corners
    numpy.save(tessera.folder / "k.npy", weights.astype(numpy.float32))
    for method in ("auto", "transform"):
        got = tessera.array("filter", "correlate", "in.npy", "--mask", "m.npy", "--kernel", "k.npy", "--border", "clamped",
                            "--method", method)
        check(got, normalised(image, mask, weights.astype(numpy.float32).astype(numpy.float64), "nearest"), 100)


@pytest.mark.parametrize("shape", [(1, 25), (25, 1), (1, 20), (5, 5), (3, 3), (4, 6)])
def test_few_terms(tessera, numbers, shape):
    """Known points that stand alone, under weights as small as 1e-5: whichever way sums are taken."""
    image = (1 + 9 * numbers.random((200, 220))).astype(numpy.float32)
    mask = numpy.zeros(image.shape, numpy.float32)
    mask[3::25, 7::26] = 1
    mask[numbers.random(image.shape) > 0.999] = 1e-6
    weights = 10.0 ** numbers.uniform(-5, 0, shape).astype(numpy.float32)
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "m.npy", mask)
    numpy.save(tessera.folder / "k.npy", weights.astype(numpy.float32))
    right = normalised(image, mask, weights.astype(numpy.float32).astype(numpy.float64), "constant")
    for method in ("auto", "direct", "transform"):
        got = tessera.array("filter", "correlate", "in.npy", "--mask", "m.npy", "--kernel", "k.npy", "--border",
                            "constant(0)", "--type", "float", "--method", method)
        check(got, right, 0, rtol=1e-5)


def test_volume(tessera, numbers):
    shape = (20, 60, 70)
    image = numbers.random(shape).astype(numpy.float32)
    mask = (numbers.random(shape) > 0.999).astype(numpy.uint8) * 255
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "m.npy", mask)
    got = tessera.array("filter", "gaussian", "in.npy", "--mask", "m.npy", "--sigma", 2)
    check(got, normalised(image, mask, [gaussian_weights(2)] * 3, "mirror"), 1)
    weights = numbers.random((5, 5, 5)).astype(numpy.float32)
    numpy.save(tessera.folder / "k.npy", weights)
    got = tessera.array("filter", "correlate", "in.npy", "--mask", "m.npy", "--kernel", "k.npy", "--method", "transform")
    check(got, normalised(image, mask, weights.astype(numpy.float64), "mirror"), 1)


def test_nan_is_unknown(tessera, numbers):
    image = numbers.random((300, 400)).astype(numpy.float32)
    image[numbers.random(image.shape) > 0.002] = numpy.nan
    numpy.save(tessera.folder / "in.npy", image)
    got = tessera.array("filter", "gaussian", "in.npy", "--ignore-nan", "--sigma", 6)
    check(got, normalised(numpy.nan_to_num(image), ~numpy.isnan(image) * 1.0, [gaussian_weights(6)] * 2, "mirror"), 1)
