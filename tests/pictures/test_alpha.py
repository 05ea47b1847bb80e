"""Colours count by their alpha: premultiplied, filtered, divided by the filtered alpha, which is filtered with them, as
libvips (premultiply, gaussblur, unpremultiply) and GEGL do. Beside NumPy and SciPy in doubles."""

import numpy
import pytest
import tifffile
from PIL import Image
from scipy import ndimage

from conftest import FAULTS

MODES = {"mirror": "mirror", "clamped": "nearest", "wrap": "wrap", "symmetric": "reflect", "constant(0)": "constant"}


def gaussian(x, mode, cval=0.0):
    for axis in range(x.ndim):
        x = ndimage.gaussian_filter1d(x, 1.5, axis, mode=mode, cval=cval, radius=5)
    return x


BINOMIAL = numpy.outer([1, 2, 1], [1, 2, 1]) / 16
SHARPEN = numpy.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0.0]])
FILTERS = {
    "gaussian": (["--sigma", "1.5"], gaussian),
    "box": (["--radius", "2"], lambda x, mode, cval=0.0: ndimage.uniform_filter(x, 5, mode=mode, cval=cval)),
    "convolve": (["--kernel", "1/16,2/16,1/16;2/16,4/16,2/16;1/16,2/16,1/16"],
                 lambda x, mode, cval=0.0: ndimage.convolve(x, BINOMIAL, mode=mode, cval=cval)),
    "unsharp": (["--sigma", "1.5", "--amount", "0.4"],
                lambda x, mode, cval=0.0: x + 0.4 * (x - gaussian(x, mode, cval))),
}


def over(filtered, colours, alpha, *more):
    """The reference: colours of any number, and alpha, as doubles."""
    below = filtered(alpha, *more)
    shares = [numpy.divide(filtered(c * alpha, *more), below, out=numpy.zeros_like(below), where=below > 1e-3 * alpha.max())
              for c in colours]
    return shares, below


def picture(numbers, kind, shape, names):
    """Colours under transparent points are noise that must not be seen."""
    most = {"u1": 255, "u2": 65535, "f4": 1.0, "f8": 1.0}[kind]
    planes = [numbers.random(shape) * most for _ in names]
    steps = ndimage.gaussian_filter(numbers.random(shape), 2)
    planes[-1] = numpy.clip((steps - steps.mean()) / steps.std() + 0.5, 0, 1) * most
    array = numpy.zeros(shape, [(n, kind) for n in names])
    for n, p in zip(names, planes):
        array[n] = p if kind[0] == "f" else numpy.rint(p)
    return array


def check(result, array, filtered, *more, tolerance=1.0):
    names = array.dtype.names
    kind = array.dtype[0]
    shares, below = over(filtered, [array[n].astype("f8") for n in names[:-1]], array[names[-1]].astype("f8"), *more)
    whole = kind.kind != "f"
    level = tolerance if whole else 3e-5
    most = numpy.iinfo(kind).max if whole else numpy.inf
    alpha = numpy.clip(below, 0, most) if whole else below
    assert result.dtype == array.dtype
    assert numpy.abs(result[names[-1]].astype("f8") - alpha).max() <= level
    seen = below > 0.02 * array[names[-1]].max()
    for n, share in zip(names, shares):
        wanted = numpy.clip(share, 0, most) if whole else share
        assert numpy.abs(result[n].astype("f8") - wanted)[seen].max() <= level * (1 if whole else 50), n


@pytest.mark.parametrize("name", FILTERS)
def test_premultiplied(tessera, numbers, name):
    words, filtered = FILTERS[name]
    for kind in ("u1", "u2", "f4", "f8"):
        fields = ("g", "a") if numbers.random() < 0.3 else ("r", "g", "b", "a")
        array = picture(numbers, kind, tuple(numbers.integers(9, 30, 2)), fields)
        numpy.save(tessera.folder / "x.npy", array)
        border = str(numbers.choice(list(MODES)))
        result = tessera.array("filter", name, "x.npy", "--border", border, *words)
        check(result, array, filtered, MODES[border])


def test_constants_continue_colour_and_alpha(tessera, numbers):
    """Outside of the image every channel is k: the product is k k."""
    for k in (255.0, 40.0, 300.0):
        array = picture(numbers, "u1", (14, 17), ("r", "g", "b", "a"))
        numpy.save(tessera.folder / "x.npy", array)
        result = tessera.array("filter", "gaussian", "x.npy", "--border", f"constant({k})")
        alpha = array["a"].astype("f8")
        below = gaussian(alpha, "constant", k)
        share = gaussian(array["r"] * alpha, "constant", k * k) / below
        assert numpy.abs(result["r"] - numpy.clip(share, 0, 255))[below > 5].max() <= 1
        assert numpy.abs(result["a"] - numpy.clip(below, 0, 255)).max() <= 1


def test_nothing_of_a_transparent_point_is_seen(tessera, numbers):
    """Another colour where alpha is 0 changes nothing, whatever the filter is."""
    array = picture(numbers, "u1", (20, 23), ("r", "g", "b", "a"))
    array["a"][4:12, 3:15] = 0
    other = array.copy()
    for n in "rgb":
        other[n][array["a"] == 0] = 255 - other[n][array["a"] == 0]
    numpy.save(tessera.folder / "x.npy", array)
    numpy.save(tessera.folder / "y.npy", other)
    kernel = ["--kernel", "0,-1,0;-1,5,-1;0,-1,0"]
    for words in (["gaussian"], ["box"], ["unsharp"], ["bilateral"], ["median"], ["erode"], ["dilate"], ["convolve", *kernel],
                  ["correlate", *kernel], ["lowpass"], ["gaussian", "--extent", "full"], ["box", "--radius", "9"]):
        x, y = (tessera.array("filter", words[0], file, *words[1:]) for file in ("x.npy", "y.npy"))
        visible = x["a"] > 0
        for n in "rgb":
            assert numpy.array_equal(x[n][visible], y[n][visible]), words
        assert numpy.array_equal(x["a"], y["a"])


def test_one_colour_stays_that_colour(tessera, numbers):
    """Whatever alpha does: also beside edges, in every filter that mixes."""
    array = picture(numbers, "f4", (24, 31), ("r", "g", "b", "a"))
    array["a"][:, :9] = 0
    for n, v in zip("rgb", (0.25, 0.5, 1)):
        array[n] = numpy.where(array["a"] > 0, v, numbers.random(array.shape))
    numpy.save(tessera.folder / "x.npy", array)
    for words in (["gaussian", "--sigma", "3"], ["box", "--radius", "4"], ["bilateral", "--range", "0.2"], ["lowpass"],
                  ["convolve", "--kernel", "1,2,1;2,4,2;1,2,1", "--border", "clamped"]):
        result = tessera.array("filter", words[0], "x.npy", *words[1:])
        weight = 16 if words[0] == "convolve" else 1
        seen = result["a"] > 0.01
        for n, v in zip("rgb", (0.25, 0.5, 1)):
            assert numpy.abs(result[n][seen] - v * weight).max() <= 2e-4 * weight, words


def test_opaque_is_as_without_alpha(tessera, numbers):
    colour = numbers.integers(0, 256, (21, 18, 3)).astype("u1")
    x = numpy.dstack([colour, numpy.full(colour.shape[:2], 255, "u1")])
    Image.fromarray(x).save(tessera.folder / "x.png")
    Image.fromarray(colour).save(tessera.folder / "rgb.png")
    for words in (["gaussian"], ["box", "--radius", "3"], ["median"], ["erode"], ["bilateral"], ["unsharp"], ["lowpass"],
                  ["convolve", "--kernel", "1,2,1"], ["convolve", "--kernel", "-1,0,1"], ["sobel"], ["laplacian"]):
        outputs = []
        for file in ("x.png", "rgb.png"):
            tessera("filter", words[0], file, *words[1:], "-q", "-o", "o.npy")
            outputs.append(numpy.load(tessera.folder / "o.npy"))
        for n in "rgb":
            assert numpy.abs(outputs[0][n].astype("f8") - outputs[1][n]).max() <= (1 if words[0] not in ("sobel", "laplacian") else 1e-3), words
        assert (outputs[0]["a"] == 255).all(), words


def test_keep_and_associated(tessera, numbers):
    x = numbers.integers(0, 256, (15, 16, 4)).astype("u1")
    Image.fromarray(x).save(tessera.folder / "x.png")
    plain = [numpy.rint(gaussian(x[..., c].astype("f8"), "mirror")) for c in range(4)]
    kept = tessera.array("filter", "gaussian", "x.png", "--alpha", "keep")
    for c in range(3):
        assert numpy.abs(kept["rgb"[c]] - plain[c]).max() <= 1
    assert numpy.array_equal(kept["a"], x[..., 3])
    result = tessera.array("filter", "gaussian", "x.png", "--alpha", "associated")
    for c in range(4):
        assert numpy.abs(result["rgba"[c]] - plain[c]).max() <= 1
    assert "weigh" in tessera("filter", "gaussian", "x.png", "--alpha", "drop", status=2).stderr


def test_masks_count_with_alpha(tessera, numbers):
    """Certainties times alpha for colours, certainties for alpha."""
    array = picture(numbers, "f4", (19, 22), ("r", "g", "b", "a"))
    mask = numbers.integers(0, 3, array.shape).astype("f4")
    mask[:, :2] = 0
    numpy.save(tessera.folder / "x.npy", array)
    numpy.save(tessera.folder / "m.npy", mask)
    result = tessera.array("filter", "gaussian", "x.npy", "--mask", "m.npy")
    c, a = mask.astype("f8"), array["a"].astype("f8")
    weight = gaussian(c * a, "mirror")
    seen = weight > 0.02
    assert numpy.abs(result["a"] - weight / gaussian(c, "mirror")).max() <= 1e-4
    assert numpy.abs(result["g"] - gaussian(c * a * array["g"], "mirror") / numpy.where(weight > 0, weight, 1))[seen].max() <= 1e-4


def test_the_given_case(tessera):
    folder = FAULTS / "alpha_fringe"
    result = tessera.array("filter", "gaussian", folder / "in.png", "--sigma", "2")
    wanted = numpy.load(folder / "expected.npy")
    for c in range(4):
        assert numpy.abs(result["rgba"[c]] - wanted[..., c]).max() <= 1


def associated(numbers, shape, dtype):
    """Colours, of which some are brighter than their alpha lets them be, times alpha."""
    most = 1 if numpy.dtype(dtype).kind == "f" else numpy.iinfo(dtype).max
    array = (numbers.random(shape + (4,)) * (most if most == 1 else most + 0.99)).astype(dtype)
    opaque = array[..., 3:].astype("f8") / most
    array[..., :3] = numpy.where(numbers.random(shape + (3,)) < 0.1, array[..., :3], array[..., :3] * opaque)
    array[: shape[0] // 3, : shape[1] // 2, 3] = 0
    array[shape[0] // 2, :, 3] = most
    return array


def straight(array, most):
    values = array.astype("f8")
    alpha = values[..., 3:]
    colours = numpy.divide(values[..., :3] * most, alpha, out=numpy.zeros_like(values[..., :3]), where=alpha > 0)
    return numpy.clip(numpy.rint(numpy.concatenate([colours, alpha], -1)), 0, most)


def test_associated_colours_are_divided_for_formats_that_have_none(tessera, numbers):
    (tessera.folder / "same.forma").write_text(
        "parameter M, N;\nvector#2 uint8 image[M,N];\nstencil same(vector#2 uint8 X) { return X; }\nreturn same(image);\n")
    for dtype in "uint8", "uint16":
        array = associated(numbers, (24, 19), dtype)
        most = numpy.iinfo(dtype).max
        tifffile.imwrite(tessera.folder / "in.tif", array, photometric="rgb", extrasamples=["assocalpha"], metadata=None)
        wanted = straight(array, most)
        for more in [], ["--alpha", "keep"]:
            tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", "out.png", *more)
            got = png16(tessera.folder / "out.png") if dtype == "uint16" else numpy.asarray(Image.open(tessera.folder / "out.png"))
            assert numpy.array_equal(got, wanted)
        if dtype == "uint8":
            tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", "out.bmp")
            assert numpy.array_equal(numpy.asarray(Image.open(tessera.folder / "out.bmp").convert("RGBA")), wanted)
            tessera("run", "same.forma", "in.tif", "-q", "-o", "run.png")
            assert numpy.array_equal(numpy.asarray(Image.open(tessera.folder / "run.png")), wanted)
        # TIFF has a word for it, and arrays hold the numbers as they are.
        tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", "out.tif")
        with tifffile.TiffFile(tessera.folder / "out.tif") as file:
            assert int(file.pages[0].extrasamples[0]) == 1 and numpy.array_equal(file.asarray(), array)
        kept = tessera.array("filter", "gaussian", "in.tif", "--sigma", 0)
        assert numpy.array_equal(numpy.stack([kept[n] for n in "rgba"], -1), array)


def png16(path):
    """Samples of a PNG of RGBA, after its specification: Pillow has no colours of 16 bits."""
    import struct
    import zlib

    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (16, 6)
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    raw = numpy.frombuffer(zlib.decompress(packed), "u1").reshape(height, 1 + 8 * width)
    rows, above = [], numpy.zeros(8 * width, int)
    for line in raw.astype(int):
        row = numpy.zeros(8 * width, int)
        for i, value in enumerate(line[1:]):
            left, up, corner = (row[i - 8], above[i], above[i - 8]) if i >= 8 else (0, above[i], 0)
            p = left + up - corner
            paeth = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
            row[i] = (value + (0, left, up, (left + up) // 2, paeth)[line[0]]) & 255
        rows.append(row)
        above = row
    return numpy.array(rows, "u1").view(">u2").reshape(height, width, 4).astype("u2")


def test_associated_floats_are_divided_before_they_are_rounded(tessera, numbers):
    array = associated(numbers, (20, 21), "float32")
    array[..., :3] = numpy.minimum(array[..., :3], array[..., 3:])
    tifffile.imwrite(tessera.folder / "in.tif", array, photometric="rgb", extrasamples=["assocalpha"], metadata=None)
    tessera("filter", "gaussian", "in.tif", "--sigma", 0, "-q", "-o", "out.png")
    got = numpy.asarray(Image.open(tessera.folder / "out.png")).astype(int)
    assert numpy.abs(got - straight(array * 255.0, 255)).max() <= 1
