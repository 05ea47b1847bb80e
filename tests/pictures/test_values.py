"""Numbers on their way into files of integers: floats of 0..1, bool, ranges, and what is said of values that are lost."""

import numpy
import pytest
import tifffile
from PIL import Image

from conftest import FAULTS

WHITE = {"png": 255, "jpg": 255, "bmp": 255, "pgm": 255}


def program(tessera, body, given="float", taken="float"):
    name = tessera.folder / "p.forma"
    name.write_text(f"stencil f(vector#2 {given} X) {{ return cast<{taken}>({body}); }}\n"
                    f"parameter M, N;\nvector#2 {given} image[M,N];\nreturn result = f(image);\n")
    return name


def read(tessera, name):
    with Image.open(tessera.folder / name) as image:
        return numpy.asarray(image).astype(int)


def close(found, expected, name):
    assert numpy.abs(found - numpy.rint(expected)).max() <= (6 if name.endswith(".jpg") else 0.5)


def test_the_picture_of_the_report(tessera):
    folder = FAULTS / "float01_to_png"
    done = tessera("filter", "gaussian", folder / "in.tif", "--sigma", 0, "-o", "out.png", "-q")
    assert numpy.array_equal(read(tessera, "out.png"), numpy.rint(tifffile.imread(folder / "in.tif") * 255))
    assert "times 255" in done.stderr and "--range 0,255" in done.stderr


@pytest.mark.parametrize("suffix", WHITE)
@pytest.mark.parametrize("depth", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("channels", [1, 3])
def test_floats_of_0_to_1(tessera, numbers, suffix, depth, channels):
    if suffix == "pgm" and channels == 3:
        suffix = "ppm"
    array = (numpy.linspace(0, 1, 35 * channels).reshape((5, 7) if channels == 1 else (5, 7, 3)) ** 1.5).astype(depth)
    tifffile.imwrite(tessera.folder / "in.tif", array, photometric="rgb" if channels == 3 else "minisblack")
    done = tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", f"out.{suffix}")
    close(read(tessera, f"out.{suffix}"), array * 255.0, f"out.{suffix}") if suffix != "jpg" else None
    assert read(tessera, f"out.{suffix}").max() > 240
    assert "times 255" in done.stderr
    for words in (["--unit"], ["--range", "0,1"], ["--stretch"]):
        done = tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", f"as.{suffix}", *words)
        assert numpy.array_equal(read(tessera, f"as.{suffix}"), read(tessera, f"out.{suffix}")) and done.stderr == ""
    done = tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", f"as.{suffix}", "--range", "0,255")
    assert read(tessera, f"as.{suffix}").max() <= 2


def test_sharpened_floats_of_0_to_1(tessera, numbers):
    array = numpy.clip(numbers.normal(0.5, 0.2, (20, 30)), 0, 1).astype(numpy.float32)
    tifffile.imwrite(tessera.folder / "in.tif", array)
    tessera("filter", "unsharp", "in.tif", "--sigma", 1, "-q", "-o", "out.tif")
    done = tessera("filter", "unsharp", "in.tif", "--sigma", 1, "-q", "-o", "out.png")
    sharp = tifffile.imread(tessera.folder / "out.tif")
    assert -0.5 < sharp.min() < 0 and 1 < sharp.max() < 1.5
    assert numpy.abs(read(tessera, "out.png") - numpy.clip(sharp * 255.0, 0, 255)).max() <= 0.51
    assert "times 255" in done.stderr and "did not fit uint8" in done.stderr


def test_measures_of_0_to_1(tessera, numbers):
    Image.fromarray(numbers.integers(0, 256, (20, 30), dtype=numpy.uint8)).save(tessera.folder / "in.png")
    done = tessera("run", program(tessera, "X / 255"), "in.png", "-q", "-o", "out.png")
    assert numpy.array_equal(read(tessera, "out.png"), read(tessera, "in.png")) and "times 255" in done.stderr
    # A picture that is as dark as that itself keeps its scale, and says what it loses.
    Image.fromarray(numbers.integers(0, 2, (20, 30), dtype=numpy.uint8)).save(tessera.folder / "dark.png")
    done = tessera("filter", "gaussian", "dark.png", "--sigma", 1.7, "--type", "float", "-q", "-o", "out.png")
    assert read(tessera, "out.png").max() <= 1
    assert "different values of 'out.png' became 2" in done.stderr and "--stretch" in done.stderr


def test_labels_and_masks(tessera, numbers):
    mask = numbers.random((9, 13)) > 0.5
    numpy.save(tessera.folder / "mask.npy", mask)
    done = tessera("filter", "median", "mask.npy", "--radius", 0, "-q", "-o", "out.png")
    assert numpy.array_equal(read(tessera, "out.png"), mask * 255)
    # bytes of 0 and 1 are labels
    numpy.save(tessera.folder / "labels.npy", mask.astype(numpy.uint8))
    done = tessera("filter", "median", "labels.npy", "--radius", 0, "-q", "-o", "out.png")
    assert numpy.array_equal(read(tessera, "out.png"), mask) and done.stderr == ""
    for taken in ("int", "float"):
        done = tessera("run", program(tessera, "X > 0", "uint8", taken), "labels.npy", "-q", "-o", "out.png")
        assert numpy.array_equal(read(tessera, "out.png"), mask)
        assert "nothing but 0 and 1" in done.stderr and "--range 0,1" in done.stderr
        done = tessera("run", tessera.folder / "p.forma", "labels.npy", "-q", "-o", "out.png", "--range", "0,1")
        assert numpy.array_equal(read(tessera, "out.png"), mask * 255) and done.stderr == ""


@pytest.mark.parametrize("depth,suffix,white", [(numpy.uint8, "png", 255), (numpy.uint16, "png", 65535), (numpy.uint16, "jpg", 255)])
def test_ranges(tessera, numbers, depth, suffix, white):
    array = numbers.integers(0, 200, (20, 30)).astype(depth)
    tifffile.imwrite(tessera.folder / "in.tif", array)
    f = program(tessera, "X / 7 - 3")
    values = array / 7.0 - 3
    for words, low, high in ((["--range=-3,11"], -3, 11), (["--range", "20,5"], 20, 5), (["--stretch"], values.min(), values.max())):
        done = tessera("run", f, "in.tif", "-q", "-o", f"out.{suffix}", *words)
        expected = numpy.clip((values - low) * white / (high - low), 0, white)
        assert numpy.abs(read(tessera, f"out.{suffix}") - expected).max() <= (80 if suffix == "jpg" else 0.51 + white * 1e-6)
        assert "clamped" not in done.stderr
    # floats in files of floats: 0..1; integers in files of any type: their own
    tessera("run", f, "in.tif", "-q", "-o", "out.tif", "--stretch")
    found = tifffile.imread(tessera.folder / "out.tif")
    assert found.dtype == numpy.float32 and (found.min(), found.max()) == pytest.approx((0, 1), abs=1e-6)
    tessera("filter", "median", "in.tif", "--radius", 0, "-q", "-o", "out.tif", "--stretch")
    found = tifffile.imread(tessera.folder / "out.tif")
    assert found.dtype == depth and (found.min(), found.max()) == (0, numpy.iinfo(depth).max)


def test_transparency_is_not_stretched(tessera, numbers):
    array = numbers.integers(100, 150, (6, 8, 4), dtype=numpy.uint8)
    array[..., 3] = numbers.integers(0, 256, (6, 8))
    Image.fromarray(array).save(tessera.folder / "in.png")
    tessera("filter", "median", "in.png", "--radius", 0, "-q", "-o", "out.png", "--stretch")
    found = read(tessera, "out.png")
    assert numpy.array_equal(found[..., 3], array[..., 3]) and found[..., :3].max() == 255 and found[..., :3].min() == 0


def test_values_of_16_bits_stay_16_bits(tessera, numbers):
    array = numbers.integers(0, 65536, (20, 30)).astype(numpy.uint16)
    Image.fromarray(array).save(tessera.folder / "in.png")
    done = tessera("run", program(tessera, "X / 2 + 10"), "in.png", "-q", "-o", "out.png")
    assert numpy.array_equal(read(tessera, "out.png"), numpy.rint(array / 2.0 + 10)) and done.stderr == ""
    done = tessera("run", program(tessera, "X / 2 + 10"), "in.png", "-q", "--unit", "-o", "out.png")
    done = tessera("run", tessera.folder / "p.forma", "in.png", "-q", "-o", "out.jpg")
    assert "did not fit uint8 and were clamped" in done.stderr and "above 255" in done.stderr and "--stretch" in done.stderr


@pytest.mark.parametrize("depth", [numpy.int16, numpy.int32, numpy.float64])
@pytest.mark.parametrize("suffix", ["png", "jpg", "pgm"])
def test_what_is_clamped_is_told(tessera, numbers, depth, suffix):
    array = numbers.integers(-300, 700, (40, 50)).astype(depth)
    numpy.save(tessera.folder / "in.npy", array)
    done = tessera("filter", "median", "in.npy", "--radius", 0, "-q", "-o", f"out.{suffix}")
    assert "did not fit" in done.stderr and "below 0" in done.stderr
    if suffix == "png":
        white = 65535 if depth == numpy.int16 else 255
        assert numpy.array_equal(read(tessera, "out.png"), numpy.clip(array, 0, white))


def test_values_that_are_no_numbers_are_told(tessera, numbers):
    array = numbers.random((40, 50)).astype(numpy.float32) * 200
    array[3, 4] = numpy.nan
    numpy.save(tessera.folder / "in.npy", array)
    done = tessera("run", program(tessera, "X"), "in.npy", "-q", "-o", "out.png")
    assert "1 of the 2000 values of 'out.png' is NaN, written as 0" in done.stderr
    done = tessera("run", tessera.folder / "p.forma", "in.npy", "-q", "-o", "out.png", "--stretch")
    assert "NaN" in done.stderr
    finite = array[numpy.isfinite(array)]
    expected = numpy.nan_to_num((array - finite.min()) * 255 / (finite.max() - finite.min()))
    assert numpy.abs(read(tessera, "out.png") - expected).max() <= 0.51


def test_unit_of_filters_and_transforms(tessera, numbers):
    array = numbers.integers(0, 256, (20, 30), dtype=numpy.uint8)
    Image.fromarray(array).save(tessera.folder / "in.png")
    tessera("filter", "gaussian", "in.png", "--sigma", 1, "-q", "--unit", "-o", "out.tif")
    tessera("filter", "gaussian", "in.png", "--sigma", 1, "-q", "--type", "float", "-o", "plain.tif")
    assert numpy.allclose(tifffile.imread(tessera.folder / "out.tif") * 255, tifffile.imread(tessera.folder / "plain.tif"), atol=1e-3)
    tessera("filter", "gaussian", "in.png", "--sigma", 1, "-q", "--unit", "-o", "out.png")
    tessera("filter", "gaussian", "in.png", "--sigma", 1, "-q", "-o", "plain.png")
    assert numpy.abs(read(tessera, "out.png") - read(tessera, "plain.png")).max() <= 1
    tessera("fft", "in.png", "-o", "F.npy", "-q", "--unit")
    assert numpy.allclose(numpy.load(tessera.folder / "F.npy"), numpy.fft.fft2(array / 255.0), atol=1e-3)
    tessera("fft", "F.npy", "--inverse", "-o", "back.png", "-q", "--unit")
    assert numpy.abs(read(tessera, "back.png") - array).max() <= 1
    tessera("fft", "in.png", "--spectrum", "s.png", "-q", "--range", "0,128")
    tessera("fft", "in.png", "--spectrum", "t.png", "-q")
    assert numpy.array_equal(read(tessera, "s.png"), numpy.minimum(numpy.rint(read(tessera, "t.png") * (255 / 128)), 255))


def test_bilateral_has_a_range_of_its_own(tessera, numbers):
    array = numbers.integers(0, 100, (20, 30), dtype=numpy.uint8)
    Image.fromarray(array).save(tessera.folder / "in.png")
    tessera("filter", "bilateral", "in.png", "--range", 5, "-q", "--type", "float", "-o", "five.tif")
    five = tifffile.imread(tessera.folder / "five.tif")
    tessera("filter", "bilateral", "in.png", "--range", 5, "--range", "0,100", "-q", "--type", "float", "-o", "both.png")
    assert numpy.abs(read(tessera, "both.png") - five * 2.55).max() <= 0.51
    tessera("filter", "bilateral", "in.png", "-q", "--type", "float", "-o", "habit.tif")
    assert not numpy.allclose(five, tifffile.imread(tessera.folder / "habit.tif"))


def test_options_that_make_no_sense(tessera, numbers):
    Image.fromarray(numbers.integers(0, 100, (6, 8), dtype=numpy.uint8)).save(tessera.folder / "in.png")
    for words, part in ((["--range", "3"], "LO,HI"), (["--range", "3,3"], "different"), (["--range", "a,b"], "LO,HI"),
                        (["--range", "0,nan"], "LO,HI"), (["--range", "0,1", "--stretch"], "one of them"),
                        (["--range", "0,1", "--range", "0,2"], "2 times")):
        assert part in tessera("filter", "median", "in.png", "-o", "out.png", *words, status=2).stderr
        assert not (tessera.folder / "out.png").exists()


def test_pasting_brings_values_to_the_picture_below(tessera, numbers):
    Image.fromarray(numpy.full((10, 12), 40, numpy.uint8)).save(tessera.folder / "below.png")
    array = numbers.random((4, 5)).astype(numpy.float32)
    tifffile.imwrite(tessera.folder / "in.tif", array)
    done = tessera("filter", "median", "in.tif", "--radius", 0, "-q", "--onto", "below.png", "--at", "2,3", "-o", "out.png")
    expected = numpy.full((10, 12), 40.0)
    expected[2:6, 3:8] = numpy.rint(array * 255.0)
    assert numpy.array_equal(read(tessera, "out.png"), expected) and "times 255" in done.stderr
