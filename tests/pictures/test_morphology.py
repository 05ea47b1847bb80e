"""What is made of extremes, and of details as large as a window or a sigma, beside SciPy in doubles."""

import numpy
import pytest
from scipy import ndimage

SHAPES = [(70,), (23, 41), (9, 12, 14), (5, 6, 7, 8)]
MODES = {"mirror": "mirror", "symmetric": "reflect", "clamped": "nearest", "wrap": "wrap", "constant(3)": "constant"}
SMOOTH = ("--sigma", 1.2, "--truncate", 7)  # what lies beyond does not matter in float


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


def clipped(x, kind):
    return x.astype(kind) if kind[0] == "f" else numpy.clip(x, numpy.iinfo(kind).min, numpy.iinfo(kind).max).astype(kind)


@pytest.mark.parametrize("kind", ["u1", "i2", "u2", "i4", "u4", "f4", "f8"])
@pytest.mark.parametrize("border", MODES)
def test_what_is_made_of_extremes(tessera, numbers, kind, border):
    shape = SHAPES[int(numbers.integers(2)) if border != "wrap" else 2]
    x = image(numbers, kind, shape)
    like = {"size": (5 if len(shape) < 3 else 3,) * len(shape), "mode": MODES[border], "cval": 3}
    least, most = ndimage.minimum_filter(x, **like), ndimage.maximum_filter(x, **like)
    opened, closed = ndimage.maximum_filter(least, **like), ndimage.minimum_filter(most, **like)
    expected = {
        "opening": opened,
        "closing": closed,
        "tophat": clipped(x.astype("f8") - opened, kind),
        "blackhat": clipped(closed.astype("f8") - x, kind),
        "morphological_gradient": clipped(most.astype("f8") - least, kind),
    }
    for name, result in expected.items():
        got = filtered(tessera, name, x, "--radius", 2 if len(shape) < 3 else 1, "--border", border)
        assert got.dtype == result.dtype, name
        numpy.testing.assert_allclose(got, result, rtol=1e-6 if kind == "f4" else 0, atol=1e-5 if kind == "f4" else 0, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["u1", "f4", "f8"])
def test_what_is_as_large_as_a_window_or_a_sigma(tessera, numbers, kind, shape):
    border = ["mirror", "symmetric", "clamped", "wrap"][len(shape) - 1]
    x = image(numbers, kind, shape)
    wide, like = x.astype("f8"), {"mode": MODES[border]}
    mean, squares = ndimage.uniform_filter(wide, 3, **like), ndimage.uniform_filter(wide * wide, 3, **like)
    deviation = numpy.sqrt(numpy.maximum(squares - mean**2, 0))
    orders = [1] + [0] * (len(shape) - 1) if kind != "f8" else [2] * len(shape)
    expected = {
        "deviation": ((), deviation),
        "local_contrast": (("--least", 5), (wide - mean) / numpy.maximum(deviation, 5)),
        "difference_of_gaussians": (
            (*SMOOTH, "--ratio", 2),
            ndimage.gaussian_filter(wide, 1.2, truncate=7, **like) - ndimage.gaussian_filter(wide, 2.4, truncate=7, **like),
        ),
        "laplacian_of_gaussian": (SMOOTH, ndimage.gaussian_laplace(wide, 1.2, truncate=7, **like)),
        "gaussian_derivative": (
            (*SMOOTH, "--derivative", ",".join(map(str, orders))),
            ndimage.gaussian_filter(wide, 1.2, order=orders, truncate=7, **like),
        ),
    }
    for name, (options, result) in expected.items():
        got = filtered(tessera, name, x, *options, "--border", border)
        assert got.dtype == ("f8" if kind == "f8" else "f4"), name
        # (The weights of derivatives are made exact for parabolas, which those of SciPy are to 3e-6 at this sigma.)
        numpy.testing.assert_allclose(got, result, atol=2e-5 * numpy.abs(wide).max(), err_msg=name)


def test_derivatives_of_ramps_and_parabolas_are_exact(tessera):
    y, x = numpy.mgrid[0:40, 0:50].astype("f8")
    inside = (slice(8, -8), slice(8, -8))
    for sigma in (0.3, 0.8, 2):
        options = ("--sigma", sigma, "--arithmetic", "double")
        for orders, field, value in (
            ("1,0", 3 * y - 2 * x + 7, 3), ("0,1", 3 * y - 2 * x + 7, -2), ("0,2", 2.5 * x * x + y, 5), ("1,1", 4 * x * y, 4), ("2,0", x + 9, 0)
        ):
            got = filtered(tessera, "gaussian_derivative", field, "--derivative", orders, *options)
            numpy.testing.assert_allclose(got[inside], value, atol=1e-8, err_msg=f"{orders} at {sigma}")
        got = filtered(tessera, "laplacian_of_gaussian", 2.5 * x * x - y * y + 100, *options)
        numpy.testing.assert_allclose(got[inside], 3, atol=1e-8)


def test_alpha_has_no_part_in_differences(tessera, numbers):
    from PIL import Image

    rgba = numbers.integers(0, 256, (30, 40, 4), dtype="uint8")
    Image.fromarray(rgba).save(tessera.folder / "in.png")
    tessera("filter", "tophat", "in.png", "-q", "-o", "out.png")
    got = numpy.asarray(Image.open(tessera.folder / "out.png"))
    assert numpy.array_equal(got[..., 3], rgba[..., 3])
    for c in range(3):
        x = rgba[..., c]
        opened = ndimage.maximum_filter(ndimage.minimum_filter(x, 3, mode="mirror"), 3, mode="mirror")
        assert numpy.array_equal(got[..., c], x - opened)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gaussian_derivative", "--derivative", "3"), "derivative 3 cannot be used, expected 0 to 2"),
        (("gaussian_derivative", "--derivative", "0.5"), "derivative 0.5 cannot be used, expected a whole number"),
        (("gaussian_derivative", "--derivative", "1,0", "--sigma", "0,1"), "sigma is 0 along dimension 0, where the derivative is of order 1"),
        (("difference_of_gaussians", "--ratio", "1"), "ratio 1 cannot be used, expected 1.0001 to 1000"),
        (("difference_of_gaussians", "--sigma", "4000", "--ratio", "100"), "reaches"),
        (("local_contrast", "--least", "0"), "least 0 cannot be used"),
        (("opening", "--sigma", "3"), "has no option --sigma"),
    ],
)
def test_what_cannot_be_used(tessera, words, said):
    numpy.save(tessera.folder / "in.npy", numpy.zeros((9, 9), "f4"))
    name, *options = words
    assert said in tessera("filter", name, "in.npy", "-q", *options, "-o", "out.npy", status=2).stderr
    assert not (tessera.folder / "out.npy").exists()
