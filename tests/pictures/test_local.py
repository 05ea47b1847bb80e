"""Filters by name that compare a point with what lies around it: local thresholds, the structure tensor, non-local means;
each by the formulas of the field in double."""

import numpy
import pytest
from PIL import Image
from scipy import ndimage

from test_morphology import MODES, filtered, image

SHAPES = [(200,), (60, 70), (20, 30, 33), (5, 9, 14, 20)]


def moments(x, radius, border):
    wide, size, mode = x.astype("f8"), 2 * radius + 1, MODES[border]
    mean = ndimage.uniform_filter(wide, size, mode=mode)
    return mean, numpy.sqrt(numpy.maximum(ndimage.uniform_filter(wide * wide, size, mode=mode) - mean**2, 0))


def agrees(got, x, threshold, white):
    """But where the value is the threshold, as far as rounding can tell."""
    assert got.dtype == x.dtype and set(numpy.unique(got)) <= {0, white}
    sure = numpy.abs(x - threshold) > 1e-6 * numpy.abs(threshold).max()
    assert numpy.array_equal(got[sure] == white, (x > threshold)[sure])
    assert sure.mean() > 0.97


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["u1", "u2", "f4", "f8"])
def test_local_thresholds(tessera, numbers, kind, shape):
    border = ["mirror", "symmetric", "clamped", "wrap"][len(shape) - 1]
    x = image(numbers, kind, shape)
    white = 1 if kind[0] == "f" else numpy.iinfo(kind).max
    mean, deviation = moments(x, 2, border)
    options = ("--radius", 2, "--border", border)
    agrees(filtered(tessera, "local_threshold", x, *options), x, mean, white)
    agrees(filtered(tessera, "local_threshold", x, *options, "--offset", 3.3), x, mean - 3.3, white)
    agrees(filtered(tessera, "local_threshold", x, *options, "--deviations", -0.21), x, mean - 0.21 * deviation, white)
    agrees(filtered(tessera, "sauvola", x, *options), x, mean * (1 + 0.2 * (deviation / (white / 2) - 1)), white)
    agrees(filtered(tessera, "sauvola", x, *options, "--k", 0.34, "--spread", 60), x, mean * (1 + 0.34 * (deviation / 60 - 1)), white)


def test_the_usual_window_has_15_points(tessera, numbers):
    x = image(numbers, "u1", (60, 70))
    mean, _ = moments(x, 7, "mirror")
    agrees(filtered(tessera, "local_threshold", x), x, mean, 255)


def test_flat_images_and_nan(tessera):
    flat = numpy.full((20, 30), 80, "u1")
    assert not filtered(tessera, "local_threshold", flat).any()
    assert (filtered(tessera, "sauvola", flat) == 255).all()  # lowered, where nothing varies
    x = numpy.full((40, 40), 5, "f4")
    x[20, 20] = numpy.nan
    got = filtered(tessera, "local_threshold", x, "--radius", 2, "--offset", 1)
    assert got[0, 0] == 1 and not got[18:23, 18:23].any()


def test_colours_keep_their_alpha(tessera, numbers):
    rgba = numbers.integers(0, 256, (30, 40, 4), dtype="uint8")
    Image.fromarray(rgba).save(tessera.folder / "in.png")
    tessera("filter", "local_threshold", "in.png", "-q", "--radius", 3, "-o", "out.png")
    got = numpy.asarray(Image.open(tessera.folder / "out.png"))
    assert numpy.array_equal(got[..., 3], rgba[..., 3])
    for c in range(3):
        agrees(got[..., c], rgba[..., c], moments(rgba[..., c], 3, "mirror")[0], 255)


@pytest.mark.parametrize("shape", SHAPES[1:3], ids=str)
@pytest.mark.parametrize("kind", ["u1", "f4", "f8"])
def test_structure_tensor(tessera, numbers, kind, shape):
    x = image(numbers, kind, shape)
    wide = x.astype("f8")
    gradients = [ndimage.sobel(wide, d, mode="mirror") / (8 if len(shape) == 2 else 32) for d in range(len(shape))]
    for row in range(len(shape)):
        for column in range(row + 1):
            expected = ndimage.gaussian_filter(gradients[row] * gradients[column], 1.3, truncate=5, mode="mirror")
            options = ("--sigma", 1.3, "--truncate", 5)
            got = filtered(tessera, "structure_tensor", x, "--row", row, "--column", column, *options)
            assert got.dtype == ("f8" if kind == "f8" else "f4")
            numpy.testing.assert_allclose(got, expected, atol=2e-5 * numpy.abs(expected).max())
            assert numpy.array_equal(got, filtered(tessera, "structure_tensor", x, "--row", column, "--column", row, *options))


def nonlocal_means(x, search, patch, strength, noise, mode):
    wide = x.astype("f8")
    reach = search + patch
    padded = numpy.pad(wide, reach, mode=mode)
    inner = padded[search : padded.shape[0] - search, search : padded.shape[1] - search]
    total, weights = numpy.zeros(x.shape), numpy.zeros(x.shape)
    for dy in range(-search, search + 1):
        for dx in range(-search, search + 1):
            moved = padded[search + dy : padded.shape[0] - search + dy, search + dx : padded.shape[1] - search + dx]
            d = ndimage.uniform_filter((inner - moved) ** 2, 2 * patch + 1, mode="constant")
            d = d[patch : d.shape[0] - patch, patch : d.shape[1] - patch]
            w = numpy.exp(-numpy.maximum(d - 2 * noise**2, 0) / strength**2)
            total += w * padded[reach + dy : reach + dy + x.shape[0], reach + dx : reach + dx + x.shape[1]]
            weights += w
    return total / weights


@pytest.mark.parametrize("kind", ["u1", "f4", "f8"])
@pytest.mark.parametrize(("search", "patch", "noise"), [(3, 2, 0), (2, 1, 6)])
def test_nonlocal_means(tessera, numbers, kind, search, patch, noise):
    x = ndimage.gaussian_filter(numbers.random((50, 60)) * 900, 2)
    x = numpy.clip(x - x.mean() + 128 + numbers.normal(0, 6, x.shape), 0, 255).astype(kind)
    options = ("--search", search, "--patch", patch, "--strength", 9, "--noise", noise)
    got = filtered(tessera, "nonlocal_means", x, *options)
    expected = nonlocal_means(x, search, patch, 9, noise, "reflect")
    assert got.dtype == x.dtype
    # At the edges differences are continued, and not the image: the same where it is mirrored by itself.
    inside = (slice(patch, -patch), slice(patch, -patch))
    numpy.testing.assert_allclose(got[inside], expected[inside], atol=0.5001 if kind == "u1" else 2e-3)
    assert numpy.abs(got.astype("f8") - expected).max() < 12


def test_noise_goes_and_edges_stay(tessera, numbers):
    clean = numpy.zeros((64, 64)) + 60
    clean[:, 32:] = 180
    noisy = (clean + numbers.normal(0, 8, clean.shape)).astype("f4")
    got = filtered(tessera, "nonlocal_means", noisy, "--search", 5, "--strength", 8, "--noise", 8)
    assert numpy.abs(got - clean).mean() < 0.3 * numpy.abs(noisy - clean).mean()
    assert numpy.abs(got[:, 31].mean() - 60) < 3 and numpy.abs(got[:, 32].mean() - 180) < 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("structure_tensor", "--row", "2"), "row 2 cannot be used, expected an axis of the image, 0 to 1"),
        (("structure_tensor", "--column", "-1"), "column -1 cannot be used, expected an axis of the image, 0 to 1"),
        (("structure_tensor", "--row", "0.5"), "row 0.5 cannot be used, expected a whole number"),
        (("nonlocal_means", "--search", "11"), "search 11 cannot be used, expected 0 to 10 points"),
        (("nonlocal_means", "--strength", "0"), "strength 0 cannot be used"),
        (("sauvola", "--spread", "-1"), "spread -1 cannot be used"),
        (("adaptive_threshold",), "write local_threshold"),
        (("nlmeans",), "write nonlocal_means"),
    ],
)
def test_what_cannot_be_used(tessera, words, said):
    numpy.save(tessera.folder / "in.npy", numpy.zeros((9, 9), "f4"))
    name, *options = words
    assert said in tessera("filter", name, "in.npy", "-q", *options, "-o", "out.npy", status=2).stderr
    assert not (tessera.folder / "out.npy").exists()
