"""Lengths, widths, frequencies, weights and types of filters as they are typed, beside SciPy and nibabel."""

import nibabel
import numpy
import pytest
import tifffile
from scipy import ndimage

from conftest import FAULTS

WIDTH = 2 * numpy.sqrt(2 * numpy.log(2))


def volume(folder, numbers, units, zooms=(2, 2.5, 4), shape=(9, 8, 7), name="x.nii"):
    data = numbers.normal(size=shape).astype("f4")
    image = nibabel.Nifti1Image(data, numpy.diag([*zooms[:3], 1]))
    image.header.set_zooms(zooms)
    if units:
        image.header.set_xyzt_units(*units)
    nibabel.save(image, folder / name)
    return data


def gaussian(data, sigmas, axes=None):
    out = data.astype("f8")
    for axis, s in zip(axes or range(out.ndim), sigmas):
        if s > 0:
            out = ndimage.gaussian_filter1d(out, s, axis, mode="mirror", radius=int(numpy.ceil(3 * s - 1e-9)))
    return out


def test_nifti_without_units_is_in_millimetres(tessera, numbers):
    data = volume(tessera.folder, numbers, None)
    done = tessera("filter", "gaussian", "x.nii", "--sigma", "5mm", "-q", "-o", "o.nii")
    assert done.stderr.count("note: ") == 1 and "millimetres" in done.stderr
    result = numpy.asarray(nibabel.load(tessera.folder / "o.nii").dataobj)
    assert numpy.abs(result - gaussian(data, (2.5, 2, 1.25))).max() <= 1e-5
    tessera("filter", "box", "x.nii", "--radius", "5.2mm", "-q", "-o", "b.nii")
    assert numpy.abs(numpy.asarray(nibabel.load(tessera.folder / "b.nii").dataobj)
                     - ndimage.uniform_filter(data.astype("f8"), (7, 5, 3), mode="mirror")).max() <= 1e-5


def test_nifti_series_without_units(tessera, numbers):
    data = volume(tessera.folder, numbers, None, (2, 2.5, 4, 0.8), (5, 6, 7, 9))
    tessera("filter", "gaussian", "x.nii", "--sigma", "1.6s", "-q", "-o", "o.nii")
    assert numpy.abs(numpy.asarray(nibabel.load(tessera.folder / "o.nii").dataobj) - gaussian(data, (2,), (3,))).max() <= 1e-5
    tessera("filter", "gaussian", "x.nii", "--sigma", "4mm", "-q", "-o", "o.nii")
    assert numpy.abs(numpy.asarray(nibabel.load(tessera.folder / "o.nii").dataobj) - gaussian(data, (2, 1.6, 1), (0, 1, 2))).max() <= 1e-5


def test_units_that_are_given_hold(tessera, numbers):
    data = volume(tessera.folder, numbers, ("micron", "msec"))
    done = tessera("filter", "gaussian", "x.nii", "--sigma", "5um", "-q", "-o", "o.nii")
    assert "note" not in done.stderr
    assert numpy.abs(numpy.asarray(nibabel.load(tessera.folder / "o.nii").dataobj) - gaussian(data, (2.5, 2, 1.25))).max() <= 1e-5


def test_the_given_case(tessera):
    folder = FAULTS / "nifti_units_unknown"
    result = tessera.array("filter", "gaussian", folder / "in.nii", "--sigma", "2mm")
    wanted = numpy.load(folder / "expected.npy")
    assert numpy.abs(result - wanted).max() <= 1e-4


def test_fwhm(tessera, numbers):
    data = volume(tessera.folder, numbers, ("mm", "sec"))
    for words, sigmas in ((["--fwhm", "12mm"], (6 / WIDTH * 1, 4.8 / WIDTH, 3 / WIDTH)), (["--fwhm", "4,3,2"], (2 / WIDTH, 3 / WIDTH, 4 / WIDTH))):
        tessera("filter", "gaussian", "x.nii", *words, "-q", "-o", "o.nii")
        result = numpy.asarray(nibabel.load(tessera.folder / "o.nii").dataobj)
        assert numpy.abs(result - gaussian(data, sigmas)).max() <= 1e-5, words
    for name in ("unsharp", "bilateral"):
        tessera("filter", name, "x.nii", "--fwhm", "6mm", "-q", "-o", "o.nii")
        tessera("filter", name, "x.nii", "--sigma", f"{6 / WIDTH:.15g}mm", "-q", "-o", "p.nii")
        a, b = (numpy.asarray(nibabel.load(tessera.folder / f).dataobj) for f in ("o.nii", "p.nii"))
        assert numpy.abs(a - b).max() <= 1e-5
    assert "--fwhm" in tessera("filter", "box", "x.nii", "--fwhm", "3", status=2).stderr
    both = tessera("filter", "gaussian", "x.nii", "--fwhm", "3", "--sigma", "1", status=2).stderr
    assert "--sigma" in both and "--fwhm" in both


def test_without_distances_the_sentence_is_true(tessera, numbers):
    numpy.save(tessera.folder / "x.npy", numbers.random((5, 6)))
    assert "does not say how far apart" in tessera("filter", "gaussian", "x.npy", "--sigma", "2mm", status=2).stderr
    tifffile.imwrite(tessera.folder / "x.tif", numbers.random((5, 6)).astype("f4"), imagej=True, resolution=(2, 2))
    done = tessera("filter", "gaussian", "x.tif", "--sigma", "2mm", status=2)
    assert "0.5" in done.stderr and "unit" in done.stderr


def test_micrometres_of_imagej(tessera, numbers):
    data = numbers.random((6, 12, 13)).astype("f4")
    tifffile.imwrite(tessera.folder / "x.tif", data, imagej=True, resolution=(4, 4), metadata={"axes": "ZYX", "spacing": 0.5, "unit": "um"})
    result = tessera.array("filter", "gaussian", "x.tif", "--sigma", "0.5um")
    assert numpy.abs(result - gaussian(data, (1, 2, 2))).max() <= 1e-5


def test_cutoffs_with_units(tessera, numbers):
    data = volume(tessera.folder, numbers, ("mm", "sec"), shape=(12, 10, 9))
    tessera("filter", "lowpass", "x.nii", "--cutoff", "0.05/mm", "-q", "-o", "o.nii")
    grid = numpy.meshgrid(*(numpy.fft.fftfreq(n) / (0.05 * z) for n, z in zip(data.shape, (2, 2.5, 4))), indexing="ij")
    wanted = numpy.fft.ifftn(numpy.fft.fftn(data) / (1 + sum(g * g for g in grid) ** 2)).real
    assert numpy.abs(numpy.asarray(nibabel.load(tessera.folder / "o.nii").dataobj) - wanted).max() <= 1e-4
    series = volume(tessera.folder, numbers, ("mm", "sec"), (2, 2, 2, 0.5), (4, 5, 6, 16), "s.nii")
    for name in ("lowpass", "highpass"):
        tessera("filter", name, "s.nii", "--cutoff", "250mHz", "-q", "-o", "o.nii")
        roll = 1 / (1 + (numpy.fft.fftfreq(16) / (0.25 * 0.5)) ** 4)
        wanted = numpy.fft.ifft(numpy.fft.fft(series, axis=3) * (roll if name == "lowpass" else 1 - roll), axis=3).real
        assert numpy.abs(numpy.asarray(nibabel.load(tessera.folder / "o.nii").dataobj) - wanted).max() <= 1e-4
    assert "/mm" in tessera("filter", "lowpass", "x.nii", "--cutoff", "3mm", status=2).stderr
    assert "no dimension in time" in tessera("filter", "lowpass", "x.nii", "--cutoff", "1Hz", status=2).stderr


def test_weights_as_text(tessera, numbers):
    x = numbers.random((9, 11)).astype("f4")
    numpy.save(tessera.folder / "x.npy", x)
    for text, kernel in (("1,2,1", [[1, 2, 1]]), ("1,2,1;2,4,2;1,2,1", numpy.outer([1, 2, 1], [1, 2, 1])), ("1;-1", [[1], [-1]]),
                         (" 0.5 , 1/4 ", [[0.5, 0.25]]), ("2", [[2]])):
        kernel = numpy.array(kernel, "f8")
        result = tessera.array("filter", "correlate", "x.npy", "--kernel", text, "--border", "wrap")
        origin = [(n - 1) // 2 - n // 2 for n in kernel.shape]
        assert numpy.abs(result - ndimage.correlate(x.astype("f8"), kernel, mode="wrap", origin=origin)).max() <= 1e-5, text
    assert "rows" in tessera("filter", "correlate", "x.npy", "--kernel", "1,2;3", status=2).stderr
    assert "'two'" in tessera("filter", "correlate", "x.npy", "--kernel", "1,two", status=2).stderr
    numpy.save(tessera.folder / "v.npy", numbers.random((4, 5, 6)))
    v = numpy.load(tessera.folder / "v.npy")
    result = tessera.array("filter", "correlate", "v.npy", "--kernel", "1,2,1", "--border", "clamped")
    assert numpy.abs(result - ndimage.correlate1d(v, [1, 2, 1], 2, mode="nearest")).max() <= 1e-12


@pytest.mark.parametrize("name, help", [("blur", "gaussian or box"), ("Gaussian_Filter", "gaussian"), ("medianBlur", "median"),
                                        ("uniform_filter", "box"), ("maximum_filter", "dilate"), ("min", "erode"), ("sharpen", "unsharp"),
                                        ("edge", "sobel or canny"), ("denoise", "median"), ("gradient", "sobel"), ("gausian", "'gaussian'")])
def test_names_by_meaning(tessera, numbers, name, help):
    done = tessera("filter", name, "x.png", status=2)
    assert "help: " in done.stderr and help in done.stderr.split("help: ")[1]


def test_double_arithmetic(tessera, numbers):
    x = numbers.integers(0, 256, (30, 31)).astype("u1")
    f = (numbers.random((30, 31)) * 1e5 + 1e6).astype("f4")
    numpy.save(tessera.folder / "x.npy", x)
    numpy.save(tessera.folder / "f.npy", f)
    for file, data in (("x.npy", x), ("f.npy", f)):
        wanted = gaussian(data, (1.3, 1.3))
        words = ["filter", "gaussian", file, "--sigma", "1.3", "--type", "double"]
        assert numpy.abs(tessera.array(*words, "--arithmetic", "double") / wanted - 1).max() <= 1e-12
        assert 1e-12 < numpy.abs(tessera.array(*words, "--arithmetic", "float") / wanted - 1).max() <= 1e-5
    assert tessera.array("filter", "laplacian", "f.npy", "--arithmetic", "double").dtype == numpy.float64
    assert numpy.array_equal(tessera.array("filter", "laplacian", "f.npy", "--arithmetic", "double", "--border", "clamped"),
                             ndimage.laplace(f.astype("f8"), mode="nearest"))
    bilateral = tessera.array("filter", "bilateral", "x.npy", "--arithmetic", "double", "--type", "double", "--border", "clamped")
    wide = numpy.pad(x.astype("f8"), 3, mode="edge")
    total, weight = numpy.zeros(x.shape), numpy.zeros(x.shape)
    for i in range(-3, 4):
        for j in range(-3, 4):
            y = wide[3 + i:3 + i + 30, 3 + j:3 + j + 31]
            w = numpy.exp(-(i * i + j * j) / 4.5) * numpy.exp(-((y - x) ** 2) / 1250)
            total, weight = total + w * y, weight + w
    assert numpy.abs(bilateral - total / weight).max() <= 1e-9
    assert "float or double" in tessera("filter", "box", "x.npy", "--arithmetic", "half", status=2).stderr.replace("double or float", "float or double")


def test_rounding_is_said_once(tessera, numbers):
    for kind in ("i2", "u2", "i4", "u1", "f4"):
        numpy.save(tessera.folder / "x.npy", (numbers.random((8, 9)) * 100).astype(kind))
        said = tessera("filter", "gaussian", "x.npy", "-q", "-o", "o.npy").stderr.count("rounded to")
        assert said == (kind in ("i2", "u2", "i4")), kind
        assert "rounded" not in tessera("filter", "median", "x.npy", "-q", "-o", "o.npy").stderr
        assert "rounded" not in tessera("filter", "gaussian", "x.npy", "--type", "int16", "-q", "-o", "o.npy").stderr
        assert "rounded" not in tessera("filter", "sobel", "x.npy", "-q", "-o", "o.npy").stderr


def test_a_grey_photograph_for_a_program_of_colours(tessera, numbers):
    (tessera.folder / "p.forma").write_text(
        "struct rgb { float r; float g; float b; }\nstencil f(vector#2 rgb X) { return X.r; }\nparameter M, N;\nvector#2 rgb x[M,N];\nreturn f(x);\n")
    numpy.save(tessera.folder / "x.npy", numbers.random((4, 5)))
    done = tessera("run", "p.forma", "x.npy", status=2)
    assert "1 channel" in done.stderr and "help: " in done.stderr
