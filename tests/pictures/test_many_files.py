"""Stacks page by page (`--pages`) and many files in one call, beside SciPy: each slice and each file by itself."""

import nibabel
import numpy
import pytest
import tifffile
from numpy.lib.recfunctions import structured_to_unstructured
from scipy import ndimage


def stack(numbers, shape, dtype="uint8"):
    return numbers.integers(0, 200, shape).astype(dtype)


def test_filters_take_slices_by_themselves(tessera, numbers):
    data = stack(numbers, (3, 4, 17, 19), "uint16")
    tifffile.imwrite(tessera.folder / "in.tif", data, imagej=True, metadata={"axes": "TZYX"})
    tessera("filter", "median", "in.tif", "--radius", 1, "--pages", "-q", "-o", "out.tif")
    expected = numpy.stack([[ndimage.median_filter(p, 3, mode="mirror") for p in volume] for volume in data])
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert file.series[0].axes == "TZYX" and numpy.array_equal(file.series[0].asarray(), expected)
    # A filter of images alone says what to do.
    error = tessera("filter", "canny", "in.tif", "-q", "-o", "x.tif", status=2).stderr
    assert "--pages" in error
    assert tessera.array("filter", "canny", "in.tif", "--pages").shape == data.shape
    valid = tessera.array("filter", "median", "in.tif", "--radius", 2, "--pages", "--extent", "valid")
    assert valid.shape == (3, 4, 13, 15)
    expected = numpy.stack([[ndimage.median_filter(p, 5)[2:-2, 2:-2] for p in volume] for volume in data])
    assert numpy.array_equal(valid, expected)


def test_channels_and_pages(tessera, numbers):
    data = stack(numbers, (4, 2, 11, 13))
    tifffile.imwrite(tessera.folder / "in.tif", data, imagej=True, metadata={"axes": "ZCYX"})
    tessera("filter", "erode", "in.tif", "--pages", "-q", "-o", "out.tif")
    expected = numpy.stack([[ndimage.grey_erosion(p, 3, mode="mirror") for p in s] for s in data])
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert file.series[0].axes == "ZCYX" and numpy.array_equal(file.series[0].asarray(), expected)


def test_masks_and_pages(tessera, numbers):
    data, mask = stack(numbers, (3, 12, 14), "float32"), stack(numbers, (3, 12, 14)) % 2
    numpy.save(tessera.folder / "in.npy", data)
    for shape in (mask, mask[0]):
        numpy.save(tessera.folder / "mask.npy", shape)
        whole = tessera.array("filter", "box", "in.npy", "--mask", "mask.npy", "--pages")
        for k in range(3):
            numpy.save(tessera.folder / "page.npy", data[k])
            numpy.save(tessera.folder / "part.npy", shape[k] if shape.ndim == 3 else shape)
            one = tessera.array("filter", "box", "page.npy", "--mask", "part.npy")
            assert numpy.array_equal(whole[k], one, equal_nan=True)


PROGRAM = """stencil shifted(vector#2 uint8 X, uint8 amount) { return X@[0,-1] + amount; }
parameter M, N;
vector#2 uint8 image[M,N];
uint8 amount;
return shifted(image:clamped, amount);
"""


def test_programs_take_slices_by_themselves(tessera, numbers):
    (tessera.folder / "p.forma").write_text(PROGRAM)
    data = stack(numbers, (5, 6, 7))
    numpy.save(tessera.folder / "in.npy", data)
    result = tessera.array("run", "p.forma", "in.npy", 3, "--pages")
    assert numpy.array_equal(result, data[..., [0, *range(6)]] + 3)
    assert "--pages" in tessera("run", "p.forma", "in.npy", 3, "-q", "-o", "x.npy", status=2).stderr


def test_pages_keep_the_header(tessera, numbers):
    data = stack(numbers, (6, 7, 8, 3), "int16")
    image = nibabel.Nifti1Image(data, numpy.diag([2, 3, 4, 1]))
    image.header.set_zooms((2, 3, 4, 1.5))
    nibabel.save(image, tessera.folder / "in.nii")
    tessera("filter", "median", "in.nii", "--pages", "--extent", "valid", "-q", "-o", "out.nii")
    back = nibabel.load(tessera.folder / "out.nii")
    assert back.shape == (4, 5, 8, 3) and back.header.get_zooms() == (2, 3, 4, 1.5)
    assert numpy.array_equal(back.affine[:3, 3], [2, 3, 0])


def test_many_files(tessera, numbers):
    (tessera.folder / "out").mkdir()
    data = {f"in{k}.tif": stack(numbers, (20 + k % 2, 30)) for k in range(4)}
    for name, values in data.items():
        tifffile.imwrite(tessera.folder / name, values)
    done = tessera("filter", "median", *data, "-q", "-o", "out/{stem}.npy")
    for name, values in data.items():
        result = numpy.load(tessera.folder / "out" / f"{name[:-4]}.npy")
        assert numpy.array_equal(result, ndimage.median_filter(values, 3, mode="mirror"))
    (tessera.folder / "in2.tif").write_bytes(b"II*\0rubbish")
    done = tessera("filter", "dilate", *data, "missing.png", "-q", "-o", "out/{index}_{name}", status=2)
    assert "in2.tif" in done.stderr and "missing.png" in done.stderr and "2 of 5 files failed" in done.stderr
    assert sorted(p.name for p in (tessera.folder / "out").glob("*.tif")) == ["0_in0.tif", "1_in1.tif", "3_in3.tif"]


def test_many_files_of_a_program(tessera, numbers):
    (tessera.folder / "p.forma").write_text(PROGRAM)
    names = [f"a{k}.npy" for k in range(3)]
    arrays = [stack(numbers, (5, 6 + k)) for k in range(3)]
    for name, values in zip(names, arrays):
        numpy.save(tessera.folder / name, values)
    for words in ([*names, 4], [*names, "amount=4"], [*names, "-p", "amount=4"]):
        tessera("run", "p.forma", *words, "-q", "-o", "{stem}_out.npy")
        for name, values in zip(names, arrays):
            result = numpy.load(tessera.folder / f"{name[:-4]}_out.npy")
            assert numpy.array_equal(result, values[:, [0, *range(values.shape[1] - 1)]] + 4)
            (tessera.folder / f"{name[:-4]}_out.npy").unlink()
    assert "one input too many" in tessera("run", "p.forma", names[0], 4, 5, status=2).stderr


def test_files_that_would_meet_are_refused(tessera, numbers):
    for folder in "ab":
        (tessera.folder / folder).mkdir()
        numpy.save(tessera.folder / folder / "x.npy", stack(numbers, (4, 5)))
    refused = lambda *words: tessera("filter", "median", *words, "-q", status=2).stderr
    assert "{stem}" in refused("a/x.npy", "b/x.npy", "-o", "out.npy")
    assert "both be written into" in refused("a/x.npy", "b/x.npy", "-o", "{stem}.npy")
    assert "both be written into" in refused("a/x.npy", "a/x.npy", "-o", "./b/../{stem}.npy")
    assert not list(tessera.folder.glob("*.npy"))
    before = (tessera.folder / "b" / "x.npy").read_bytes()
    numpy.save(tessera.folder / "a" / "y.npy", stack(numbers, (4, 5)))
    (tessera.folder / "b" / "y.npy").write_bytes(before)
    assert "another input" in refused("a/x.npy", "b/x.npy", "-o", "b/{name}")
    assert (tessera.folder / "b" / "x.npy").read_bytes() == before
    tessera("filter", "median", "a/x.npy", "b/x.npy", "-q", "-o", "{stem}{index}.npy")
    assert sorted(p.name for p in tessera.folder.glob("*.npy")) == ["x0.npy", "x1.npy"]
    tessera("filter", "median", "a/x.npy", "-q", "-o", "{stem}_one.npy")
    assert (tessera.folder / "x_one.npy").exists()


def test_stems_of_double_suffixes(tessera, numbers):
    data = stack(numbers, (4, 5, 6), "int16")
    nibabel.save(nibabel.Nifti1Image(data, numpy.eye(4)), tessera.folder / "brain.nii.gz")
    tifffile.imwrite(tessera.folder / "cells.ome.tif", data, metadata={"axes": "ZYX"})
    tessera("filter", "median", "brain.nii.gz", "cells.ome.tif", "-q", "-o", "{stem}.npy")
    assert (tessera.folder / "brain.npy").exists() and (tessera.folder / "cells.npy").exists()
