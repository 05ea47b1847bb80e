"""TIFF by region beside tifffile: what one writes the other reads, to the bit."""

import numpy
import pytest
import tifffile

from conftest import samples

TYPES = ["uint8", "int16", "uint16", "int32", "uint32", "float16", "float32", "float64"]


def fields(array):
    """Channels of a structured array as its last dimension."""
    return numpy.stack([array[name] for name in array.dtype.names], -1) if array.dtype.names else array


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", "<>")
def test_types_and_byte_orders_are_read(tool, dtype, order):
    image = samples((3, 70, 51), dtype)
    for options in ({}, {"tile": (16, 32)}, {"rowsperstrip": 7, "compression": "zlib"},
                    {"tile": (32, 32), "compression": "lzw", "predictor": dtype.startswith(("int", "uint"))}):
        tifffile.imwrite(tool.folder / "x.tif", image, byteorder=order, photometric="minisblack", **options)
        assert numpy.array_equal(tool.read("tiff", "x.tif"), image), options


@pytest.mark.parametrize("compression", ["zlib", "lzw", "packbits", "zstd", "lzma", "jpeg"])
def test_compressions_are_read(tool, compression):
    image = samples((90, 77, 3), "uint8")
    tifffile.imwrite(tool.folder / "x.tif", image, photometric="rgb", tile=(32, 48), compression=compression)
    expected = tifffile.imread(tool.folder / "x.tif")
    got = fields(tool.read("tiff", "x.tif"))
    if compression == "jpeg":
        assert numpy.abs(got.astype(int) - expected).max() <= 3
    else:
        assert numpy.array_equal(got, expected)


def test_planes_stacks_and_dimensions_are_read(tool):
    planes = samples((3, 60, 50), "uint16")
    tifffile.imwrite(tool.folder / "x.tif", planes, photometric="rgb", planarconfig="separate", tile=(16, 16))
    assert numpy.array_equal(fields(tool.read("tiff", "x.tif")), numpy.moveaxis(planes, 0, -1))
    hyper = samples((2, 3, 4, 40, 30), "uint16")
    tifffile.imwrite(tool.folder / "x.tif", hyper, imagej=True, metadata={"axes": "TZCYX"})
    assert numpy.array_equal(fields(tool.read("tiff", "x.tif")), numpy.moveaxis(hyper, 2, -1))
    for axes in ("TCZYX", "CTZYX", "ZCTYX"):
        tifffile.imwrite(tool.folder / "x.ome.tif", hyper, ome=True, metadata={"axes": axes}, photometric="minisblack")
        expected = numpy.moveaxis(hyper, [axes.index(letter) for letter in "TZYXC"], range(5))
        assert numpy.array_equal(fields(tool.read("tiff", "x.ome.tif")), expected), axes


def test_levels_of_a_pyramid_are_read(tool):
    image = samples((128, 192), "uint16")
    with tifffile.TiffWriter(tool.folder / "x.ome.tif") as tiff:
        tiff.write(image, subifds=2, tile=(32, 32), compression="zlib")
        for step in (2, 4):
            tiff.write(image[::step, ::step], subfiletype=1, tile=(32, 32), compression="zlib")
    for level, step in enumerate((1, 2, 4)):
        assert numpy.array_equal(tool.read("tiff", "x.ome.tif", level), image[::step, ::step])
    assert "3 levels of a pyramid" in tool("read", "tiff", "x.ome.tif", "y.npy", 3, status=1)


@pytest.mark.parametrize("packing", ["none", "deflate", "lzw", "packbits", "zstd"])
@pytest.mark.parametrize("dtype", TYPES)
def test_what_is_written_is_read(tool, dtype, packing):
    for shape, chunk in (((45, 67), (16, 32)), ((600, 600), ()), ((3, 40, 50), ()), ((2, 3, 20, 70), (1, 1, 16, 16))):
        if dtype == "float16" and packing != "none":
            continue  # the library has a predictor of no halves that others read
        image = samples(shape, dtype)
        file = tool.write("tiff", image, "x.tif", packing=packing, chunk=chunk)
        assert numpy.array_equal(tifffile.imread(file), image), (shape, chunk)


def test_dimensions_that_are_written_are_read(tool):
    hyper = samples((2, 3, 4, 40, 30), "uint16")
    file = tool.write("tiff", hyper, "x.tif", "tzcyx", "deflate")
    with tifffile.TiffFile(file) as tiff:
        assert tiff.is_imagej and tiff.series[0].axes == "TZCYX"
        assert numpy.array_equal(tiff.asarray(), hyper)
    for letters in ("tczyx", "ctzyx"):
        file = tool.write("tiff", hyper, "x.ome.tif", letters, "zstd")
        with tifffile.TiffFile(file) as tiff:
            assert tiff.is_ome and tiff.series[0].axes == letters.upper()
            assert numpy.array_equal(tiff.asarray(), hyper)
        file = tool.write("tiff", hyper, "x.tif", letters, "lzw")
        with tifffile.TiffFile(file) as tiff:
            assert tiff.series[0].axes == letters.upper()
            assert numpy.array_equal(tiff.asarray(), hyper)
    colours = samples((3, 40, 50, 3), "uint8")
    file = tool.write("tiff", colours, "x.tif", "zyxs", "deflate", (1, 16, 16, 3))
    with tifffile.TiffFile(file) as tiff:
        assert tiff.pages[0].photometric == tifffile.PHOTOMETRIC.RGB and tiff.pages[0].tile == (16, 16)
        assert numpy.array_equal(tiff.asarray(), colours)


def test_thousands_of_pages(tool):
    image = samples((3000, 8, 9), "uint8")
    file = tool.write("tiff", image, "x.tif", packing="deflate")
    assert numpy.array_equal(tifffile.imread(file), image)
    assert numpy.array_equal(tool.read("tiff", "x.tif"), image)
