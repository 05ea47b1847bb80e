"""Axes of files beside tifffile, nibabel and NumPy: what stands in a file as time, slices and channels is read as that,
and results are written back under the axes that they were read with."""

import itertools
import json

import nibabel
import numpy
import pytest
import tifffile
from numpy.lib.recfunctions import structured_to_unstructured

from conftest import FAULTS

EXTENTS = {"T": 3, "Z": 4, "C": 2, "Y": 7, "X": 9, "S": 3}
TYPES = ["uint8", "uint16", "int16", "float32"]


def random_array(numbers, shape, dtype):
    if numpy.dtype(dtype).kind == "f":
        return numbers.standard_normal(shape).astype(dtype)
    return numbers.integers(0, 200, shape).astype(dtype)


def canonical(array, axes):
    """As the command has it: time, slices, rows, columns, then channels as the last dimension."""
    axes = axes.upper()
    channels = [d for d, c in enumerate(axes) if c in "CS"]
    points = [d for d, c in enumerate(axes) if c not in "CS"]
    if all(axes[d] in "TZYX" for d in points):
        points.sort(key=lambda d: "TZYX".index(axes[d]))
    moved = array.transpose(points + channels)
    if channels:
        moved = moved.reshape(moved.shape[: len(points)] + (-1,))
    return moved


def plain(array):
    return structured_to_unstructured(array) if array.dtype.names else array


def identity(tessera, name, *more):
    return plain(tessera.array("filter", "gaussian", name, "--sigma", 0, *more))


def written(tessera, name, out, *more):
    tessera("filter", "gaussian", name, "--sigma", 0, "-q", "-o", out, *more)
    with tifffile.TiffFile(tessera.folder / out) as file:
        return file.series[0].axes, file.series[0].asarray(), len(file.series)


def subsets(letters):
    return [s for n in range(len(letters) + 1) for s in itertools.combinations(letters, n)]


@pytest.mark.parametrize("colour", [False, True])
def test_imagej(tessera, numbers, colour):
    for leading in subsets("TZC"):
        axes = "".join(leading) + "YX" + ("S" if colour else "")
        dtype = "uint8" if colour else numbers.choice(["uint8", "uint16", "float32"])
        data = random_array(numbers, [EXTENTS[c] for c in axes], dtype)
        tifffile.imwrite(tessera.folder / "in.tif", data, imagej=True, metadata={"axes": axes})
        expected = canonical(data, axes)
        result = identity(tessera, "in.tif")
        assert result.dtype == expected.dtype and numpy.array_equal(result, expected), axes
        back, values, series = written(tessera, "in.tif", "out.tif")
        assert (back, series) == (axes, 1) and numpy.array_equal(values, data)
        back, values, series = written(tessera, "in.tif", "out.ome.tif")
        assert (back, series) == (axes, 1) and numpy.array_equal(values, data)


def test_ome(tessera, numbers):
    for leading in [p for s in subsets("TZC") for p in itertools.permutations(s)]:
        axes = "".join(leading) + "YX"
        data = random_array(numbers, [EXTENTS[c] for c in axes], numbers.choice(TYPES))
        more = {"byteorder": numbers.choice(["<", ">"]), "bigtiff": bool(numbers.integers(2)),
                "compression": numbers.choice([None, "zlib", "lzw"])}
        tifffile.imwrite(tessera.folder / "in.ome.tif", data, metadata={"axes": axes}, **more)
        expected = canonical(data, axes)
        assert numpy.array_equal(identity(tessera, "in.ome.tif"), expected), axes
        for out in "out.ome.tif", "out.tif":
            back, values, series = written(tessera, "in.ome.tif", out)
            assert (back, series) == (axes, 1) and numpy.array_equal(values, data), (axes, out)


def test_ome_colours(tessera, numbers):
    for planar in False, True:
        axes = "TSYX" if planar else "TYXS"
        data = random_array(numbers, [EXTENTS[c] for c in axes], "uint8")
        tifffile.imwrite(tessera.folder / "in.ome.tif", data, photometric="rgb", metadata={"axes": axes},
                         planarconfig="separate" if planar else "contig")
        assert numpy.array_equal(identity(tessera, "in.ome.tif"), canonical(data, axes))
    back, values, _ = written(tessera, "in.ome.tif", "out.ome.tif")
    assert back == "TYXS" and numpy.array_equal(values, canonical(data, axes))


def test_shaped(tessera, numbers):
    for axes in ["TYX", "ZYX", "CYX", "TZYX", "ZTYX", "CZYX", "ZCYX", "TCZYX", "TZCYX", "QYX", "YXC", "TYXC", "PYX"]:
        shape = [EXTENTS.get(c, 5) for c in axes]
        data = random_array(numbers, shape, numbers.choice(TYPES))
        tifffile.imwrite(tessera.folder / "in.tif", data, photometric="minisblack", metadata={"axes": axes})
        assert numpy.array_equal(identity(tessera, "in.tif"), canonical(data, axes)), axes
        back, values, series = written(tessera, "in.tif", "out.tif")
        assert (back, series) == (axes, 1) and numpy.array_equal(values, data), axes


def test_shape_without_axes(tessera, numbers):
    for shape in [(7, 9), (4, 7, 9), (3, 4, 7, 9), (2, 1, 4, 7, 9)]:
        data = random_array(numbers, shape, "uint16")
        tifffile.imwrite(tessera.folder / "in.tif", data, photometric="minisblack")
        assert numpy.array_equal(identity(tessera, "in.tif"), data.squeeze())
        back, values, series = written(tessera, "in.tif", "out.tif")
        assert back == "Q" * (len(data.squeeze().shape) - 2) + "YX" and numpy.array_equal(values, data.squeeze())
    data = random_array(numbers, (4, 7, 9), "uint16")  # pages without any word are slices
    tifffile.imwrite(tessera.folder / "in.tif", data, photometric="minisblack", metadata=None)
    assert numpy.array_equal(identity(tessera, "in.tif"), data)


def test_channels_are_not_smoothed_together(tessera, numbers):
    from scipy import ndimage

    data = random_array(numbers, (2, 11, 13), "float32")
    for name, more in [("a.tif", {"imagej": True}), ("a.ome.tif", {}), ("b.tif", {})]:
        tifffile.imwrite(tessera.folder / name, data, metadata={"axes": "CYX"}, photometric="minisblack", **more)
        result = plain(tessera.array("filter", "gaussian", name, "--sigma", 1.5))
        expected = numpy.stack([ndimage.gaussian_filter(c.astype(float), 1.5, mode="mirror", radius=5) for c in data], -1)
        assert numpy.allclose(result, expected, atol=1e-5)


@pytest.mark.parametrize("name, file, sigma, off", [("imagej_channels", "in.tif", 1.5, 0), ("ome_tzyx", "in.ome.tif", 0, 0),
                                                    ("extrasample_unspecified_rgbnir", "in.tif", 1, 1)])
def test_faults(tessera, name, file, sigma, off):
    result = plain(tessera.array("filter", "gaussian", FAULTS / name / file, "--sigma", sigma))
    expected = numpy.load(FAULTS / name / "expected.npy")
    assert result.shape == expected.shape and numpy.abs(result.astype(float) - expected).max() <= off


def test_numpy_by_hand(tessera, numbers):
    for axes in ["yxc", "cyx", "zyx", "czyx", "zyxc", "tzcyx", "ztyx", "xy", "yxs", "xc"]:
        data = random_array(numbers, [EXTENTS[c.upper()] for c in axes], numbers.choice(TYPES))
        numpy.save(tessera.folder / "in.npy", data)
        if axes in ("tzcyx",):
            data = data[:, :, :1]
            numpy.save(tessera.folder / "in.npy", data)
        result = tessera.array("filter", "gaussian", "in.npy", "--sigma", 0, "--axes", axes)
        assert result.dtype == data.dtype and numpy.array_equal(result, data), axes  # as it was
    data = random_array(numbers, (7, 9, 2), "uint8")
    numpy.save(tessera.folder / "in.npy", data)
    back, values, _ = written(tessera, "in.npy", "out.tif", "--axes", "yxc")
    assert numpy.array_equal(values, data)
    tessera("filter", "median", "in.npy", "--axes", "yx", "-o", "out.npy", status=2)
    assert "3 (7x9x2)" in tessera("filter", "median", "in.npy", "--axes", "yx", "-o", "out.npy", status=2).stderr


def test_numpy_channels_are_filtered_apart(tessera, numbers):
    from scipy import ndimage

    data = random_array(numbers, (3, 11, 13), "uint8")
    numpy.save(tessera.folder / "in.npy", data)
    expected = numpy.stack([ndimage.median_filter(c, 3, mode="mirror") for c in data])
    assert numpy.array_equal(tessera.array("filter", "median", "in.npy", "--axes", "cyx"), expected)
    (tessera.folder / "twice.forma").write_text(
        "parameter M, N;\nvector#2 uint8 image[M,N];\nstencil twice(vector#2 uint8 X) { return X * 2; }\nreturn twice(image);\n")
    result = plain(tessera.array("run", "twice.forma", "in.npy", "--axes", "cyx"))
    assert numpy.array_equal(result, data.astype(int) * 2)


def test_tiff_by_hand(tessera, numbers):
    data = random_array(numbers, (12, 7, 9), "uint16")
    tifffile.imwrite(tessera.folder / "in.tif", data, photometric="minisblack", metadata=None)
    assert numpy.array_equal(identity(tessera, "in.tif", "--axes", "t3z4yx"), data.reshape(3, 4, 7, 9))
    assert numpy.array_equal(identity(tessera, "in.tif", "--axes", "tz4yx"), data.reshape(3, 4, 7, 9))
    assert numpy.array_equal(identity(tessera, "in.tif", "--axes", "zc2yx"),
                             canonical(data.reshape(6, 2, 7, 9), "ZCYX"))
    back, values, _ = written(tessera, "in.tif", "out.tif", "--axes", "t3z2c2yx")
    assert back == "TZCYX" and numpy.array_equal(values, data.reshape(3, 2, 2, 7, 9))
    error = tessera("filter", "median", "in.tif", "--axes", "tzyx", "-o", "x.tif", status=2).stderr
    assert "12 pages" in error and "--axes t3z4yx" in error
    # Names that an ImageJ file has wrong.
    data = data.reshape(3, 4, 7, 9)
    tifffile.imwrite(tessera.folder / "j.tif", data, imagej=True, metadata={"axes": "TZYX"})
    assert numpy.array_equal(identity(tessera, "j.tif", "--axes", "zcyx"), canonical(data, "ZCYX"))
    colour = random_array(numbers, (4, 7, 9, 3), "uint8")
    tifffile.imwrite(tessera.folder / "c.tif", colour, photometric="rgb", metadata=None)
    for axes in "tyx", "tyxc", "tyxs":
        assert numpy.array_equal(identity(tessera, "c.tif", "--axes", axes), colour)


def test_contradictions_are_refused(tessera, numbers):
    data = random_array(numbers, (6, 7, 9), "uint8")
    for text in ["ImageJ=1.53\nimages=6\nchannels=2\nslices=2\nhyperstack=true\n",
                 "ImageJ=1.53\nimages=12\nchannels=2\nslices=6\n",
                 json.dumps({"shape": [3, 3, 7, 9]}),
                 '<?xml version="1.0"?><OME><Image><Pixels DimensionOrder="XYCZT" SizeX="9" SizeY="7" SizeC="2" SizeZ="6" '
                 'SizeT="1"></Pixels></Image></OME>']:
        tifffile.imwrite(tessera.folder / "in.tif", data, photometric="minisblack", description=text, metadata=None)
        error = tessera("filter", "median", "in.tif", "-q", "-o", "x.tif", status=2).stderr
        assert "--axes" in error and "6" in error, error
        assert numpy.array_equal(identity(tessera, "in.tif", "--axes", "zyx"), data)


def test_ome_of_several_images(tessera, numbers):
    first, second = random_array(numbers, (3, 7, 9), "uint8"), random_array(numbers, (2, 2, 7, 9), "uint8")
    with tifffile.TiffWriter(tessera.folder / "in.ome.tif", ome=True) as file:
        file.write(first, metadata={"axes": "TYX", "Name": "first"}, photometric="minisblack")
        file.write(second, metadata={"axes": "CZYX", "Name": "second"}, photometric="minisblack")
    error = tessera("filter", "median", "in.ome.tif", "-q", "-o", "x.tif", status=2).stderr
    assert "first" in error and "pages 3 to 6" in error and "--page" in error
    assert numpy.array_equal(identity(tessera, "in.ome.tif", "--page", "0-2"), first)
    assert numpy.array_equal(identity(tessera, "in.ome.tif", "--page", "3-6"), canonical(second, "CZYX"))
    assert numpy.array_equal(identity(tessera, "in.ome.tif", "--page", 1), first[1])


def test_pyramids(tessera, numbers):
    data = random_array(numbers, (2, 64, 48), "uint16")
    with tifffile.TiffWriter(tessera.folder / "in.ome.tif", ome=True) as file:
        file.write(data, metadata={"axes": "CYX"}, subifds=1, tile=(16, 16), photometric="minisblack")
        file.write(data[:, ::2, ::2], subfiletype=1, tile=(16, 16), photometric="minisblack")
    assert numpy.array_equal(identity(tessera, "in.ome.tif"), canonical(data, "CYX"))
    with tifffile.TiffWriter(tessera.folder / "overviews.tif") as file:
        file.write(data[0], metadata=None)
        file.write(data[0, ::2, ::2], subfiletype=1, metadata=None)
    assert numpy.array_equal(identity(tessera, "overviews.tif"), data[0])


def test_pages_of_two_sizes(tessera, numbers):
    given = FAULTS / "pages_of_two_sizes" / "in.tif"
    error = tessera("filter", "gaussian", given, "--sigma", 0, "-q", "-o", "x.npy", status=2).stderr
    assert "page 1" in error and "20x30" in error and "--page 0" in error and "ReadOptions" not in error
    with tifffile.TiffFile(given) as file:
        for page in range(2):
            assert numpy.array_equal(identity(tessera, given, "--page", page), file.pages[page].asarray())
    for k, shape in enumerate([(3, 7, 9), (2, 4, 9)]):
        tifffile.imwrite(tessera.folder / "in.tif", random_array(numbers, shape, "uint8"), metadata=None, append=k > 0,
                         photometric="minisblack")
    error = tessera("filter", "median", "in.tif", "-q", "-o", "x.npy", status=2).stderr
    assert "page 3 is 4x9" in error and "--page 3" in error
    assert identity(tessera, "in.tif", "--page", "3-4").shape == (2, 4, 9)
    tessera("filter", "median", "in.tif", "--page", "4-9", "-o", "x.npy", status=2)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_nifti_vectors(tessera, numbers, dtype):
    for shape in [(4, 5, 6, 1, 3), (4, 5, 6, 2, 3), (4, 5, 6, 1, 2)]:
        data = random_array(numbers, shape, dtype)
        image = nibabel.Nifti1Image(data, numpy.diag([2, 2, 3, 1]))
        image.header.set_intent("vector")
        nibabel.save(image, tessera.folder / "in.nii.gz")
        expected = numpy.moveaxis(data, 4, 0).transpose(4, 3, 2, 1, 0)  # t z y x c
        result = identity(tessera, "in.nii.gz")
        assert numpy.array_equal(result, expected[0] if shape[3] == 1 else expected)
        tessera("filter", "gaussian", "in.nii.gz", "--sigma", 0, "-q", "-o", "out.nii")
        back = nibabel.load(tessera.folder / "out.nii")
        assert back.shape == shape and numpy.array_equal(numpy.asarray(back.dataobj), data)
        assert back.header.get_intent()[0] == "vector" and numpy.array_equal(back.affine, image.affine)


def test_nifti_by_hand(tessera, numbers):
    data = random_array(numbers, (4, 5, 6, 2), "int16")
    nibabel.save(nibabel.Nifti1Image(data, numpy.eye(4)), tessera.folder / "in.nii")
    result = identity(tessera, "in.nii", "--axes", "czyx")
    assert numpy.array_equal(result, data.transpose(2, 1, 0, 3))
    tessera("filter", "gaussian", "in.nii", "--sigma", 0, "--axes", "czyx", "-q", "-o", "out.nii")
    assert numpy.array_equal(numpy.asarray(nibabel.load(tessera.folder / "out.nii").dataobj), data)


def test_series_of_images_stay_in_time(tessera, numbers):
    data = random_array(numbers, (5, 7, 9), "uint8")
    tifffile.imwrite(tessera.folder / "in.tif", data, imagej=True, metadata={"axes": "TYX", "finterval": 0.5})
    tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", "out.nii")
    back = nibabel.load(tessera.folder / "out.nii")
    assert back.shape == (9, 7, 1, 5) and back.header.get_zooms()[3] == 0.5
    tessera("filter", "gaussian", "out.nii", "--sigma", 0, "-q", "-o", "again.tif")
    with tifffile.TiffFile(tessera.folder / "again.tif") as file:
        assert file.series[0].axes == "TYX" and numpy.array_equal(file.series[0].asarray(), data)


def test_extra_samples(tessera, numbers):
    for extra, names in [([0], "rgbc3"), ([2], "rgba"), ([0, 0], "rgbc3c4"), ([0, 2], "rgbc3a")]:
        data = random_array(numbers, (7, 9, 3 + len(extra)), "uint16")
        tifffile.imwrite(tessera.folder / "in.tif", data, photometric="rgb", extrasamples=extra, metadata=None)
        result = tessera.array("filter", "gaussian", "in.tif", "--sigma", 0, "--alpha", "keep")
        assert "".join(result.dtype.names) == names and numpy.array_equal(plain(result), data)
        tessera("filter", "gaussian", "in.tif", "--sigma", 0, "--alpha", "keep", "-q", "-o", "out.tif")
        with tifffile.TiffFile(tessera.folder / "out.tif") as file:
            assert [int(e) for e in file.pages[0].extrasamples] == extra and file.pages[0].photometric == 2
            assert numpy.array_equal(file.asarray(), data)
    for extra, names in [([0], "c0c1"), ([2], "ga"), ([0, 0], "c0c1c2"), ([0, 0, 0], "c0c1c2c3")]:
        data = random_array(numbers, (7, 9, 1 + len(extra)), "uint8")
        tifffile.imwrite(tessera.folder / "in.tif", data, photometric="minisblack", extrasamples=extra, metadata=None,
                         planarconfig="contig")
        result = tessera.array("filter", "gaussian", "in.tif", "--sigma", 0, "--alpha", "keep")
        assert "".join(result.dtype.names) == names and numpy.array_equal(plain(result), data)
    error = tessera("filter", "median", "in.tif", "-q", "-o", "x.png", status=2).stderr
    assert "alpha" in error and "c3" in error
    assert "colour" in tessera("filter", "median", "in.tif", "--gray", "-q", "-o", "x.png", status=2).stderr


def test_packbits_with_predictor(tessera, numbers):
    for dtype in ["uint8", "uint16", "int16", "uint32"]:
        for axes in ["YX", "YXS"]:
            data = random_array(numbers, [40 if c == "Y" else EXTENTS[c] * (1 if c == "S" else 5) for c in axes], dtype)
            more = {"tile": (16, 16)} if numbers.integers(2) else {"rowsperstrip": 7}
            tifffile.imwrite(tessera.folder / "in.tif", data, photometric="rgb" if "S" in axes else "minisblack",
                             compression="packbits", predictor=2, byteorder=numbers.choice(["<", ">"]), **more)
            assert numpy.array_equal(identity(tessera, "in.tif"), data), (dtype, axes, more)


def test_standard_input(tessera, numbers):
    data = random_array(numbers, (2, 7, 9), "uint8")
    numpy.save(tessera.folder / "in.npy", data)
    import os
    import subprocess

    with open(tessera.folder / "in.npy", "rb") as file:
        subprocess.run([os.environ["TESSERA"], "filter", "gaussian", "/dev/stdin", "--sigma", "0", "--axes", "cyx", "-q", "-o",
                        "out.npy"], cwd=tessera.folder, stdin=file, check=True)
    assert numpy.array_equal(numpy.load(tessera.folder / "out.npy"), data)


def test_fft_with_axes(tessera, numbers):
    data = random_array(numbers, (3, 8, 9), "float32")
    numpy.save(tessera.folder / "in.npy", data)
    result = tessera.array("fft", "in.npy", "--axes", "tyx", "--axes", "1,2")
    assert numpy.allclose(result, numpy.fft.fft2(data), atol=1e-3)


STACKS = [("ZYX", (4, 30, 40)), ("ZYX", (3, 5, 6)), ("TYX", (3, 7, 9)), ("QYX", (4, 7, 9)), ("TZYX", (5, 4, 30, 40)),
          ("TZYX", (3, 4, 20, 24)), ("TZYX", (2, 3, 7, 9)), ("ZYX", (4, 4, 4)), ("ZYX", (3, 3, 3)), ("TZYX", (2, 4, 4, 4)),
          ("ZYX", (7, 9, 3)), ("TZYX", (2, 7, 9, 4)), ("CYX", (3, 7, 9)), ("CYX", (4, 4, 4)), ("TCYX", (2, 3, 3, 3))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("axes, shape", STACKS)
def test_stacks_of_three_or_four(tessera, numbers, axes, shape):
    """tifffile writes them as samples of RGB; its description says what they are."""
    data = random_array(numbers, shape, "uint16")
    for more in {}, {"compression": "zlib"}:
        tifffile.imwrite(tessera.folder / "in.tif", data, metadata={"axes": axes}, **more)
        with tifffile.TiffFile(tessera.folder / "in.tif") as file:
            assert file.pages[0].samplesperpixel in (3, 4) and file.series[0].axes == axes
        expected = canonical(data, axes)
        result = identity(tessera, "in.tif", "--alpha", "keep")
        assert result.dtype == data.dtype and numpy.array_equal(result, expected)
        _, values, series = written(tessera, "in.tif", "out.tif", "--alpha", "keep")
        assert series == 1 and values.size == data.size
        assert numpy.array_equal(identity(tessera, "out.tif", "--alpha", "keep"), expected)
        if "C" not in axes:
            back, values, _ = written(tessera, "in.tif", "out.tif")
            assert back == axes and numpy.array_equal(values, data)
        assert numpy.array_equal(identity(tessera, "in.tif", "--axes", axes.lower(), "--alpha", "keep"), expected)


@pytest.mark.filterwarnings("ignore")
def test_stacks_of_three_or_four_are_smoothed(tessera, numbers):
    from scipy import ndimage

    data = random_array(numbers, (4, 30, 40), "float32")
    tifffile.imwrite(tessera.folder / "in.tif", data, metadata={"axes": "ZYX"})
    expected = ndimage.gaussian_filter(data.astype(float), 1, mode="mirror", radius=3)
    result = tessera.array("filter", "gaussian", "in.tif", "--sigma", 1)
    flat = ndimage.gaussian_filter(data.astype(float), (0, 1, 1), mode="mirror", radius=3)
    assert result.shape == data.shape and numpy.abs(result - expected).max() < 0.1 * numpy.abs(result - flat).max()


@pytest.mark.filterwarnings("ignore")
def test_samples_by_hand(tessera, numbers):
    data = random_array(numbers, (4, 7, 9), "uint16")
    tifffile.imwrite(tessera.folder / "in.tif", data, photometric="rgb", planarconfig="separate", metadata=None)
    assert identity(tessera, "in.tif", "--alpha", "keep").shape == (7, 9, 4)
    for axes in "zyx", "z4yx", "tyx", "qyx", "z4y7x9":
        assert numpy.array_equal(identity(tessera, "in.tif", "--axes", axes), data), axes
    for axes in "cyx", "yxc", "yxs", "yx":
        assert numpy.array_equal(identity(tessera, "in.tif", "--axes", axes, "--alpha", "keep"), data.transpose(1, 2, 0)), axes
    tessera("filter", "gaussian", "in.tif", "--axes", "z3yx", "-q", "-o", "x.npy", status=2)
    series = random_array(numbers, (5, 4, 7, 9), "uint16")
    tifffile.imwrite(tessera.folder / "in.tif", series, photometric="rgb", planarconfig="separate", metadata=None)
    for axes in "tzyx", "t5zyx", "t5z4yx", "tz4yx":
        assert numpy.array_equal(identity(tessera, "in.tif", "--axes", axes), series), axes
    assert numpy.array_equal(identity(tessera, "in.tif", "--axes", "tyx", "--alpha", "keep"), series.transpose(0, 2, 3, 1))
    # One page of a series that says what its samples are.
    tifffile.imwrite(tessera.folder / "in.tif", series, metadata={"axes": "TZYX"})
    assert numpy.array_equal(identity(tessera, "in.tif", "--page", 2), series[2])
    assert numpy.array_equal(identity(tessera, "in.tif", "--page", "1-3"), series[1:4])


@pytest.mark.filterwarnings("ignore")
def test_planes_as_large_as_they_are_many(tessera, numbers):
    for n in 3, 4:
        for leading in "", "T", "TZ":
            axes, shape = leading + "SYX", [2, 5][: len(leading)] + [n] * 3
            for dtype in TYPES:
                data = random_array(numbers, shape, dtype)
                tifffile.imwrite(tessera.folder / "in.tif", data, photometric="rgb", planarconfig="separate",
                                 metadata={"axes": axes})
                expected = canonical(data, axes)
                result = tessera.array("filter", "gaussian", "in.tif", "--sigma", 0, "--alpha", "keep")
                assert "".join(result.dtype.names) == "rgba"[:n] and numpy.array_equal(plain(result), expected), axes
                back, values, _ = written(tessera, "in.tif", "out.tif", "--alpha", "keep")
                assert back == leading + "YXS" and numpy.array_equal(values, expected), axes
