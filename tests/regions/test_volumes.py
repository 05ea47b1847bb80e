"""NRRD and MetaImage beside pynrrd and SimpleITK: what one writes the other reads, elements to the bit, places in space as they are."""

import nrrd
import numpy
import pytest
import SimpleITK

from conftest import samples

TYPES = ["uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"]
WIDER = {"int8": "int16", "int64": "int32", "uint64": "uint32"}
DIRECTION = (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0)


def fields(array):
    """Channels of a structured array as its last dimension."""
    return numpy.stack([array[name] for name in array.dtype.names], -1) if array.dtype.names else array


def placed(array, vector=False):
    image = SimpleITK.GetImageFromArray(array, isVector=vector)
    image.SetSpacing((0.5, 0.75, 2.5)[:image.GetDimension()])
    image.SetOrigin((10.5, -20.25, 30.0)[:image.GetDimension()])
    if image.GetDimension() == 3:
        image.SetDirection(DIRECTION)
    return image


def assert_same_place(image, other):
    assert numpy.allclose(image.GetSpacing(), other.GetSpacing())
    assert numpy.allclose(image.GetOrigin(), other.GetOrigin())
    assert numpy.allclose(image.GetDirection(), other.GetDirection())


@pytest.mark.parametrize("kind, suffixes", [("nrrd", (".nrrd", ".nhdr")), ("metaimage", (".mha", ".mhd"))])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", TYPES + list(WIDER))
def test_simpleitk_writes(tool, kind, suffixes, packed, dtype):
    image = samples((5, 6, 7), dtype)
    if dtype in ("int64", "uint64"):
        image = image % 1000
    for suffix in suffixes:
        SimpleITK.WriteImage(placed(image), tool.folder / f"x{suffix}", useCompression=packed)
        tool("whole", f"x{suffix}", "x.npy")
        assert numpy.array_equal(numpy.load(tool.folder / "x.npy"), image)
        assert numpy.load(tool.folder / "x.npy").dtype == WIDER.get(dtype, dtype)
        assert numpy.array_equal(tool.read(kind, f"x{suffix}"), image)


@pytest.mark.parametrize("suffix", [".nrrd", ".nhdr", ".mha", ".mhd"])
@pytest.mark.parametrize("packing", ["none", "deflate"])
def test_places_travel(tool, suffix, packing):
    image = placed(samples((5, 6, 7), "float32"))
    SimpleITK.WriteImage(image, tool.folder / f"x{suffix}")
    tool("whole", f"x{suffix}", f"y{suffix}", packing)
    back = SimpleITK.ReadImage(tool.folder / f"y{suffix}")
    assert numpy.array_equal(SimpleITK.GetArrayFromImage(back), SimpleITK.GetArrayFromImage(image))
    assert_same_place(back, image)
    other = "y.mha" if suffix in (".nrrd", ".nhdr") else "y.nrrd"
    tool("whole", f"x{suffix}", other)
    assert numpy.allclose(SimpleITK.ReadImage(tool.folder / other).GetSpacing(), image.GetSpacing())


@pytest.mark.parametrize("suffix, kind", [(".nrrd", "nrrd"), (".mha", "metaimage")])
def test_vectors_and_colours(tool, suffix, kind):
    for dtype, channels in (("uint8", 3), ("uint8", 4), ("float32", 3), ("float64", 2), ("uint16", 5)):
        points = samples((5, 6, 7, channels), dtype)
        SimpleITK.WriteImage(placed(points, vector=True), tool.folder / f"x{suffix}")
        assert numpy.array_equal(fields(tool.read(kind, f"x{suffix}")), points)
        tool("whole", f"x{suffix}", f"y{suffix}", "deflate")
        back = SimpleITK.ReadImage(tool.folder / f"y{suffix}")
        assert numpy.array_equal(SimpleITK.GetArrayFromImage(back), points)
        assert_same_place(back, placed(points, vector=True))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("suffix, kind", [(".nrrd", "nrrd"), (".mha", "metaimage")])
def test_written_by_region(tool, dtype, suffix, kind):
    for shape in ((9,), (6, 7), (5, 6, 7), (2, 3, 4, 5)):
        image = samples(shape, dtype)
        file = tool.write(kind, image, f"x{suffix}")
        if len(shape) > 1:
            assert numpy.array_equal(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(file)), image)
        if kind == "nrrd":
            assert numpy.array_equal(nrrd.read(str(file), index_order="C")[0], image)


@pytest.mark.parametrize("dtype", TYPES + list(WIDER))
@pytest.mark.parametrize("encoding", ["raw", "gzip"])
@pytest.mark.parametrize("endian", ["little", "big"])
def test_pynrrd_writes(tool, dtype, encoding, endian):
    image = samples((5, 6, 7), dtype)
    if dtype in ("int64", "uint64"):
        image = image % 1000
    header = {"encoding": encoding, "endian": endian, "space": "left-posterior-superior", "space origin": [1, 2, 3],
              "space directions": [[0, 0, 2.5], [0, 0.5, 0], [1.5, 0, 0]], "somebody": "said so"}
    stored = image.astype(image.dtype.newbyteorder(">")) if endian == "big" else image
    for detached in (False, True):
        name = f"x{'.nhdr' if detached else '.nrrd'}"
        nrrd.write(str(tool.folder / name), stored, header, detached_header=detached, index_order="C")
        assert numpy.array_equal(tool.read("nrrd", name), image)
        tool("whole", name, "y.nrrd")
        back, travelled = nrrd.read(str(tool.folder / "y.nrrd"), index_order="C")
        assert numpy.array_equal(back, image)
        for field in ("space", "space origin", "space directions", "somebody"):
            assert numpy.array_equal(travelled[field], nrrd.read_header(str(tool.folder / name))[field])


def test_pynrrd_reads_channels_and_spacings(tool):
    image = samples((5, 6, 7, 3), "uint8")
    nrrd.write(str(tool.folder / "x.nrrd"), image, {"kinds": ["domain", "domain", "domain", "RGB-color"][::-1], "spacings": [numpy.nan, 0.5, 2, 4]},
               index_order="C")
    assert numpy.array_equal(fields(tool.read("nrrd", "x.nrrd")), image)
    tool("whole", "x.nrrd", "y.nrrd", "deflate")
    back, header = nrrd.read(str(tool.folder / "y.nrrd"), index_order="C")
    assert numpy.array_equal(back, image)
    assert header["kinds"] == ["RGB-color", "domain", "domain", "domain"]
    assert numpy.array_equal(header["spacings"], [numpy.nan, 0.5, 2, 4], equal_nan=True)
