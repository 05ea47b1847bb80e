"""Pictures that cameras held in eight ways: JPEG, PNG and TIFF beside Pillow's `exif_transpose`."""

import numpy
import pytest
import tifffile
from PIL import Image, ImageOps

from conftest import FAULTS

ORIENTATION = 0x112
WAYS = range(1, 9)


def picture(numbers, height, width, channels, depth=numpy.uint8):
    shape = (height, width) if channels == 1 else (height, width, channels)
    # Smooth, so that what JPEG changes stays small.
    grid = numpy.add.outer(numpy.linspace(0, 1, height), 2 * numpy.linspace(0, 1, width)) / 3
    grid = grid if channels == 1 else numpy.stack([grid ** (c + 1) for c in range(channels)], axis=-1)
    noise = numbers.integers(0, 20, shape)
    return (grid * 200 + noise).astype(depth)


def upright(path):
    with Image.open(path) as image:
        return numpy.asarray(ImageOps.exif_transpose(image))


def plain(array):
    """Struct elements as a last dimension."""
    if array.dtype.names is None:
        return array
    return numpy.stack([array[name] for name in array.dtype.names], axis=-1)


def read(tessera, name):
    return plain(tessera.array("filter", "gaussian", name, "--sigma", 0))


def exif_of(way, big=False):
    exif = Image.Exif()
    exif[ORIENTATION] = way
    exif[0x10F] = "Camera & Sons"
    data = exif.tobytes()
    if big:
        exif.endian = ">"
        data = exif.tobytes()
    return data


def test_the_photograph_of_the_report(tessera):
    folder = FAULTS / "exif_orientation"
    found = tessera.array("filter", "gaussian", folder / "in.jpg", "--sigma", 0)
    assert numpy.array_equal(plain(found), numpy.load(folder / "expected.npy"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg(tessera, numbers, way, channels):
    height, width = numbers.integers(3, 40, 2)
    name = tessera.folder / "in.jpg"
    Image.fromarray(picture(numbers, height, width, channels)).save(name, exif=exif_of(way, big=bool(way % 2)), quality=95)
    assert numpy.array_equal(read(tessera, "in.jpg"), upright(name))
    tessera("filter", "gaussian", "in.jpg", "--sigma", 0, "-o", "out.jpg", "-q")
    with Image.open(tessera.folder / "out.jpg") as image:
        assert image.getexif().get(ORIENTATION, 1) == 1
        assert image.getexif().get(0x10F) == "Camera & Sons"
        assert image.size == upright(name).shape[1::-1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_png(tessera, numbers, way, channels):
    height, width = numbers.integers(1, 40, 2)
    name = tessera.folder / "in.png"
    Image.fromarray(picture(numbers, height, width, channels)).save(name, exif=exif_of(way, big=bool(way % 2)))
    same = ("filter", "median", "in.png", "--radius", 0, "--alpha", "keep")  # colours of points that are not seen, too
    assert numpy.array_equal(plain(tessera.array(*same)), upright(name))
    tessera(*same, "-o", "out.png", "-q")
    with Image.open(tessera.folder / "out.png") as image:
        assert image.getexif().get(ORIENTATION, 1) == 1
        assert numpy.array_equal(numpy.asarray(ImageOps.exif_transpose(image)), upright(name))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("channels,depth", [(1, numpy.uint8), (3, numpy.uint8), (4, numpy.uint8), (1, numpy.uint16),
                                            (3, numpy.uint16), (1, numpy.float32), (3, numpy.float64), (5, numpy.int16)])
def test_tiff(tessera, numbers, way, channels, depth):
    height, width = numbers.integers(3, 40, 2)
    stored = picture(numbers, height, width, channels, depth)
    name = tessera.folder / "in.tif"
    colour = "rgb" if channels in (3, 4) else "minisblack"
    tifffile.imwrite(name, stored, photometric=colour, planarconfig="contig" if channels > 1 else None,
                     extrasamples=["unassalpha"] if channels == 4 else None,
                     extratags=[(274, 3, 1, int(way), True)])
    turn = {1: lambda a: a, 2: lambda a: a[:, ::-1], 3: lambda a: a[::-1, ::-1], 4: lambda a: a[::-1],
            5: lambda a: a.swapaxes(0, 1), 6: lambda a: numpy.rot90(a, -1), 7: lambda a: numpy.rot90(a, -1)[::-1],
            8: lambda a: numpy.rot90(a)}[way]
    if depth == numpy.uint8 and channels == 3:
        assert numpy.array_equal(turn(stored), upright(name))
    tessera("run", identity(tessera, depth), "in.tif", "-o", "out.npy", "-q")
    assert numpy.array_equal(plain(numpy.load(tessera.folder / "out.npy")), turn(stored))
    tessera("run", identity(tessera, depth), "in.tif", "-o", "out.tif", "-q")
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        tag = file.pages[0].tags.get(274)
        assert tag is None or tag.value == 1
        assert numpy.array_equal(file.pages[0].asarray(), turn(stored))


def identity(tessera, depth):
    name = {"uint8": "uint8", "uint16": "uint16", "int16": "int16", "float32": "float", "float64": "double"}
    program = tessera.folder / "same.forma"
    program.write_text(f"stencil same(vector#2 {name[numpy.dtype(depth).name]} X) {{ return X; }}\n"
                       f"parameter M, N;\nvector#2 {name[numpy.dtype(depth).name]} image[M,N];\nreturn result = same(image);\n")
    return program


def test_pages_turn_together(tessera, numbers):
    stack = numbers.integers(0, 255, (3, 5, 7), dtype=numpy.uint8)
    for once in (False, True):  # a page that does not say it is as the first
        tifffile.imwrite(tessera.folder / "in.tif", stack, photometric="minisblack", metadata=None, extratags=[(274, 3, 1, 6, once)])
        found = tessera.array("filter", "median", "in.tif", "--radius", 0)
        assert numpy.array_equal(found, numpy.rot90(stack, -1, axes=(1, 2)))
    with tifffile.TiffWriter(tessera.folder / "in.tif") as file:
        for way in (1, 3):
            file.write(stack[0], photometric="minisblack", metadata=None, extratags=[(274, 3, 1, way, True)])
    assert "page 1 has orientation 3" in tessera("filter", "median", "in.tif", status=2).stderr


def test_regions_are_of_the_upright_picture(tessera, numbers):
    stored = numbers.integers(0, 255, (9, 14), dtype=numpy.uint8)
    Image.fromarray(stored).save(tessera.folder / "in.png", exif=exif_of(8))
    found = tessera.array("filter", "median", "in.png", "--radius", 0, "--roi", "2,1,10,6")
    assert numpy.array_equal(found, numpy.rot90(stored)[2:11, 1:7])


@pytest.mark.parametrize("way", WAYS)
def test_xmp_says_it_where_exif_does_not(tessera, numbers, way):
    stored = picture(numbers, 12, 17, 3)
    xmp = f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="{way}"/></x:xmpmeta>'.encode()
    Image.fromarray(stored).save(tessera.folder / "in.jpg", xmp=xmp, quality=95)
    assert numpy.array_equal(read(tessera, "in.jpg"), upright(tessera.folder / "in.jpg"))


def test_damaged_exif_is_no_error(tessera, numbers):
    stored = picture(numbers, 12, 17, 3)
    good = exif_of(6)
    for _ in range(12):
        bad = bytearray(good)
        for at in numbers.integers(6, len(bad), 4):
            bad[at] = numbers.integers(0, 256)
        bad = bytes(bad[: numbers.integers(7, len(bad))])
        Image.fromarray(stored).save(tessera.folder / "in.jpg", exif=bad)
        shape = read(tessera, "in.jpg").shape
        assert shape in ((12, 17, 3), (17, 12, 3))
        tessera("filter", "median", "in.jpg", "--radius", 0, "-o", "out.png", "-q")
