"""Values that stand for points that nobody measured: by --nodata, or by the file's own tag."""

import numpy
import pytest
import tifffile
from scipy import ndimage

from test_certainties import normalised
from test_outliers import gaussian_weights


def right(image, nodata, sigma, mode="mirror"):
    known = numpy.ones(image.shape)
    for v in nodata:
        known[image == image.dtype.type(v)] = 0
    result = normalised(numpy.where(known > 0, image, 0), known, [gaussian_weights(sigma)] * image.ndim, mode)
    return result, numpy.isnan(result)


@pytest.mark.parametrize("type, value", [("float32", -9999.0), ("float32", -3.4028234663852886e38), ("float64", 9.96920996838687e36),
                                         ("int16", -32768), ("uint8", 255), ("uint16", 0), ("int32", -2147483648)])
@pytest.mark.parametrize("sigma", [1, 6])
def test_points_of_a_value(tessera, numbers, type, value, sigma):
    shape = tuple(int(n) for n in numbers.integers(60, 200, 2))
    image = (1 + 100 * numbers.random(shape)).astype(type)
    image[numbers.random(shape) < 0.2] = value
    image[: shape[0] // 2, : shape[1] // 2] = value  # more than a window
    numpy.save(tessera.folder / "in.npy", image)
    got = tessera.array("filter", "gaussian", "in.npy", f"--nodata={value!r}", "--sigma", sigma)
    expected, unknown = right(image, [value], sigma)
    assert got.dtype == image.dtype and unknown.any()
    assert (got[unknown] == image.dtype.type(value)).all()
    if image.dtype.kind == "f":
        assert numpy.allclose(got[~unknown], expected[~unknown], rtol=1e-4, atol=1e-3)
    else:
        assert (numpy.abs(got[~unknown].astype(float) - expected[~unknown]) < 0.5001).all()


def test_several_values_and_a_mask(tessera, numbers):
    image = numbers.random((80, 90)).astype(numpy.float32)
    image[20:30] = -1
    image[40:44] = 1e30
    image[60, 60] = numpy.nan
    mask = numpy.ones(image.shape, numpy.uint8)
    mask[:, 70:] = 0
    numpy.save(tessera.folder / "in.npy", image)
    numpy.save(tessera.folder / "m.npy", mask)
    got = tessera.array("filter", "gaussian", "in.npy", "--nodata=-1", "--nodata=1e30", "--ignore-nan", "--mask", "m.npy",
                        "--sigma", 2)
    known = mask * ((image != -1) & (image != numpy.float32(1e30)) & ~numpy.isnan(image))
    expected = normalised(numpy.where(known > 0, image, 0), known, [gaussian_weights(2)] * 2, "mirror")
    unknown = numpy.isnan(expected)
    assert (got[unknown] == -1).all() and unknown.any()
    assert numpy.allclose(got[~unknown], expected[~unknown], rtol=1e-4, atol=1e-4)


def test_the_tag_of_the_file(tessera, numbers):
    image = (100 * numbers.random((70, 80))).astype(numpy.float32)
    image[:, :40] = -9999
    tifffile.imwrite(tessera.folder / "in.tif", image, extratags=[(42113, "s", 0, "-9999", True)])
    done = tessera("filter", "box", "in.tif", "-o", "out.tif", "-q", "--radius", 2)
    assert "-9999" in done.stderr
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert float(file.pages[0].tags[42113].value) == -9999
        got = file.asarray()
    assert (got[:, :38] == -9999).all() and (got[:, 38:] >= 0).all()
    got = tessera.array("filter", "box", "in.tif", "--nodata", "none", "--radius", 2)
    assert (got[:, 39] < -1000).all()
    tessera("filter", "sobel", "in.tif", "--nodata=-9999", status=2)


def test_any_extent(tessera, numbers):
    image = numbers.integers(1, 100, (30, 40)).astype(numpy.uint8)
    image[:10] = 0
    numpy.save(tessera.folder / "in.npy", image)
    for extent, shape in (("valid", (28, 38)), ("full", (32, 42))):
        got = tessera.array("filter", "box", "in.npy", "--nodata=0", "--extent", extent)
        assert got.shape == shape and (got[:8] == 0).all() and (got[12:-2, 3:-3] > 0).all()
