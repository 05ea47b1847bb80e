"""What a file says of its picture, from input to output: profiles, gamma, resolution, the place on the earth, packing."""

import struct
import zlib

import numpy
import pytest
import tifffile
from PIL import Image, ImageCms, PngImagePlugin

KEYS = (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633)
SCALE, TIE = 33550, 33922
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def grey_profile(size=4000):
    """A profile of grey whose tail is nothing but bytes; readers look at the first 128 bytes."""
    head = bytearray(128)
    head[0:4] = struct.pack(">I", size)
    head[8:12] = b"\x04\x20\x00\x00"
    head[12:16], head[16:20], head[20:24], head[36:40] = b"mntr", b"GRAY", b"XYZ ", b"acsp"
    return bytes(head) + struct.pack(">I", 0) + bytes(i * 7 % 251 for i in range(size - 132))


def grey(numbers, height=20, width=31, depth=numpy.uint8):
    return numbers.integers(0, 200, (height, width)).astype(depth)


def colour(numbers, height=20, width=31, depth=numpy.uint8):
    return numbers.integers(0, 200, (height, width, 3)).astype(depth)


def smooth(tessera, source, target, *more):
    return tessera("filter", "gaussian", source, "--sigma", 0.8, "-q", "-o", target, *more)


def told(done):
    """What was said, but that numbers of 16 bits are rounded."""
    return "".join(line for line in done.stderr.splitlines(True) if "is rounded to uint16" not in line)


def profile_of(path):
    if str(path).endswith(".tif"):
        with tifffile.TiffFile(path) as file:
            tag = file.pages[0].tags.get(34675)
            return None if tag is None else bytes(tag.value)
    with Image.open(path) as image:
        return image.info.get("icc_profile")


def save(path, array, profile=None, dpi=None):
    if path.name.endswith(".tif"):
        tifffile.imwrite(path, array, iccprofile=profile, photometric="rgb" if array.ndim == 3 else "minisblack",
                         resolution=dpi, resolutionunit=2 if dpi else None)
    else:
        Image.fromarray(array).save(path, icc_profile=profile, **({"dpi": dpi} if dpi else {}))


@pytest.mark.parametrize("source", ["in.png", "in.jpg", "in.tif"])
@pytest.mark.parametrize("target", ["out.png", "out.jpg", "out.tif"])
def test_profiles_travel(tessera, numbers, source, target):
    for array, profile in ((colour(numbers), PROFILE), (grey(numbers), grey_profile()), (grey(numbers), grey_profile(150_000))):
        save(tessera.folder / source, array, profile)
        done = smooth(tessera, source, target)
        assert profile_of(tessera.folder / target) == profile
        assert "ICC" not in done.stderr


def test_profiles_that_do_not_fit_are_told(tessera, numbers):
    save(tessera.folder / "in.jpg", colour(numbers), PROFILE)
    done = smooth(tessera, "in.jpg", "out.png", "--gray")
    assert profile_of(tessera.folder / "out.png") is None
    assert "'out.png' does not keep the ICC profile (of RGB, the result is grey)" in done.stderr
    assert "the ICC profile" in smooth(tessera, "in.jpg", "out.npy").stderr
    assert "the ICC profile" in smooth(tessera, "in.jpg", "out.ppm").stderr


@pytest.mark.parametrize("source", ["in.png", "in.jpg", "in.tif"])
@pytest.mark.parametrize("target", ["out.png", "out.jpg", "out.tif", "out.bmp"])
@pytest.mark.parametrize("dpi", [(300, 300), (72, 72), (600, 150)])
def test_resolution_travels(tessera, numbers, source, target, dpi):
    save(tessera.folder / source, colour(numbers), dpi=dpi)
    done = smooth(tessera, source, target)
    if target == "out.bmp" and dpi[0] != dpi[1]:
        with open(tessera.folder / target, "rb") as file:
            found = [n * 0.0254 for n in struct.unpack("<ii", file.read()[38:46])]
    else:
        with Image.open(tessera.folder / target) as image:
            found = [float(d) for d in image.info["dpi"]]
    assert found == pytest.approx(dpi, abs=0.02)
    assert "resolution" not in done.stderr
    smooth(tessera, target, "back.tif")
    with tifffile.TiffFile(tessera.folder / "back.tif") as file:
        tags = file.pages[0].tags
        if target == "out.bmp" and dpi == (72, 72):
            return  # what every BMP says that knows of none
        x, y = (tags[name].value[0] / tags[name].value[1] for name in ("XResolution", "YResolution"))
        assert (x, y) == pytest.approx(dpi, abs=0.02) and tags["ResolutionUnit"].value == 2


def test_resolution_of_another_picture(tessera, numbers):
    save(tessera.folder / "in.png", grey(numbers), dpi=(300, 300))
    (tessera.folder / "half.forma").write_text(
        "stencil half(vector#2 uint8 X) { return X; }\nparameter M, N;\nvector#2 uint8 image[M,N];\n"
        "result[0..M/2-1, 0..N/2-1] = half(image);\nreturn result;\n")
    done = tessera("run", "half.forma", "in.png", "-q", "-o", "half.png")
    with Image.open(tessera.folder / "half.png") as image:
        assert image.size == (15, 10) and "dpi" not in image.info
    assert "'half.png' does not keep the resolution (its extents are others)" in done.stderr
    done = tessera("filter", "gaussian", "in.png", "--sigma", 1, "--roi", "2,3,11,17", "--extent", "valid", "-q", "-o", "part.png")
    with Image.open(tessera.folder / "part.png") as image:
        assert [float(d) for d in image.info["dpi"]] == pytest.approx([300, 300], abs=0.02)
    assert "resolution" not in done.stderr


def chunks_of(path):
    data, at, found = path.read_bytes(), 8, {}
    while at < len(data):
        length = struct.unpack(">I", data[at : at + 4])[0]
        name, content = data[at + 4 : at + 8].decode(), data[at + 8 : at + 8 + length]
        assert zlib.crc32(data[at + 4 : at + 8 + length]) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        found[name] = content
        at += 12 + length
    return found


def test_chunks_of_png(tessera, numbers):
    info = PngImagePlugin.PngInfo()
    added = {"gAMA": struct.pack(">I", 100000), "cHRM": struct.pack(">8I", 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000),
             "sBIT": bytes([5, 6, 5]), "cICP": bytes([9, 16, 0, 1])}
    for name, content in added.items():
        info.add(name.encode(), content)
    info.add_text("Description", "a view of the bridge")
    info.add_text("Author", "N. N.")
    info.add_itxt("Title", "Brücke")
    Image.fromarray(colour(numbers)).save(tessera.folder / "in.png", pnginfo=info, dpi=(300, 150))
    added["pHYs"] = struct.pack(">IIB", 11811, 5906, 1)
    assert chunks_of(tessera.folder / "in.png")["pHYs"] == added["pHYs"]
    done = smooth(tessera, "in.png", "out.png")
    found = chunks_of(tessera.folder / "out.png")
    for name, content in added.items():
        assert found[name] == content, name
    assert found["tEXt"].startswith((b"Description", b"Author")) and "Brücke".encode() in found["iTXt"]
    assert told(done) == ""
    with Image.open(tessera.folder / "out.png") as image:
        image.load()
        assert image.text["Description"] == "a view of the bridge" and image.text["Title"] == "Brücke"
    done = smooth(tessera, "in.png", "out.jpg")
    for word in ("the gamma", "the primary colours", "the colour space (cICP)", "significant bits", "description"):
        assert word in done.stderr
    smooth(tessera, "in.png", "out.tif")
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert file.pages[0].tags["ImageDescription"].value == "a view of the bridge"
        assert file.pages[0].tags["Artist"].value == "N. N."


def geotiff(path, array, nodata="-9999", point=False, tie=(0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0), **more):
    keys = list(KEYS)
    if point:
        keys[11] = 2
    tags = [(SCALE, 12, 3, (10.0, 20.0, 0.0), True), (TIE, 12, 6, tie, True), (34735, 3, len(keys), tuple(keys), True),
            (34737, 2, 0, "WGS 84 / UTM zone 33N|", True)]
    if nodata:
        tags.append((42113, 2, 0, nodata, True))
    tifffile.imwrite(path, array, photometric="minisblack", metadata=None, extratags=tags + more.pop("extra", []), **more)


def test_place_on_the_earth(tessera, numbers):
    geotiff(tessera.folder / "in.tif", grey(numbers, depth=numpy.float32))
    done = smooth(tessera, "in.tif", "out.tif")
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        tags = file.pages[0].tags
        assert tags[SCALE].value == (10.0, 20.0, 0.0) and tags[TIE].value == (0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0)
        assert tags[34735].value == KEYS and tags[34737].value == "WGS 84 / UTM zone 33N|" and float(tags[42113].value) == -9999
    assert told(done).count("note:") == 1 and "points of -9999" in done.stderr
    smooth(tessera, "in.tif", "part.tif", "--roi", "3,5,12,20")
    with tifffile.TiffFile(tessera.folder / "part.tif") as file:
        assert file.pages[0].tags[TIE].value == (0.0, 0.0, 0.0, 500050.0, 4599940.0, 0.0)
    done = smooth(tessera, "in.tif", "out.png", "--range", "0,200")
    assert "the place on the earth" in done.stderr and "no data" in done.stderr


@pytest.mark.parametrize("nodata", ["nan", "-3.4028234663852886e+38", "1e20", "0", "255"])
def test_values_of_no_data(tessera, numbers, nodata):
    geotiff(tessera.folder / "in.tif", grey(numbers, depth=numpy.float32), nodata)
    smooth(tessera, "in.tif", "out.tif")
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert numpy.float64(file.pages[0].tags[42113].value) == pytest.approx(float(nodata), rel=0, nan_ok=True)


@pytest.mark.parametrize("way", range(1, 9))
@pytest.mark.parametrize("point", [False, True])
def test_the_place_of_turned_pictures(tessera, numbers, way, point):
    """Every pixel keeps its coordinates: each has a value of its own."""
    height, width = 6, 9
    stored = numpy.arange(height * width, dtype=numpy.uint8).reshape(height, width)
    geotiff(tessera.folder / "in.tif", stored, None, point, extra=[(274, 3, 1, way, True)], tie=(1.0, 2.0, 0.0, 500.0, 900.0, 0.0))
    tessera("filter", "median", "in.tif", "--radius", 0, "-q", "-o", "out.tif", "--roi",
            "1,2,4,5" if way < 5 else "2,1,5,4")
    half = 0.0 if point else 0.5
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        result, tags = file.pages[0].asarray(), file.pages[0].tags
        if 34264 in tags:
            matrix = numpy.array(tags[34264].value).reshape(4, 4)
        else:
            i, j, _, x, y, _ = tags[TIE].value
            sx, sy, _ = tags[SCALE].value
            matrix = numpy.array([[sx, 0, 0, x - i * sx], [0, -sy, 0, y + j * sy], [0, 0, 0, 0], [0, 0, 0, 1]])
    assert result.shape == (4, 4)
    for (row, column), value in numpy.ndenumerate(result):
        r, c = divmod(int(value), width)
        found = matrix @ [column + half, row + half, 0, 1]
        assert tuple(found[:2]) == pytest.approx((500 + (c + half - 1) * 10, 900 - (r + half - 2) * 20))


@pytest.mark.parametrize("compression,predictor", [(None, False), ("lzw", False), ("lzw", True), ("zlib", True), ("zlib", False),
                                                   ("packbits", False), ("zstd", True), ("zstd", False)])
@pytest.mark.parametrize("tile", [None, (16, 32), (64, 48)])
def test_packing_of_tiff(tessera, numbers, compression, predictor, tile):
    depth = [numpy.uint8, numpy.uint16, numpy.float32][numbers.integers(3)]
    array = colour(numbers, 50, 71, depth)
    tifffile.imwrite(tessera.folder / "in.tif", array, photometric="rgb", compression=compression, predictor=predictor or None,
                     tile=tile, metadata=None)
    done = smooth(tessera, "in.tif", "out.tif")
    smooth(tessera, "in.tif", "out.npy")
    with tifffile.TiffFile(tessera.folder / "in.tif") as before, tifffile.TiffFile(tessera.folder / "out.tif") as after:
        old, new = before.pages[0], after.pages[0]
        assert new.compression == old.compression and new.predictor == old.predictor
        assert new.is_tiled == old.is_tiled and (tile is None or (new.tilelength, new.tilewidth) == tile)
        found = numpy.load(tessera.folder / "out.npy")
        assert numpy.array_equal(new.asarray(), numpy.stack([found[n] for n in found.dtype.names], axis=-1))
    assert told(done) == ""


def test_packing_that_is_asked_for(tessera, numbers):
    array = grey(numbers, 60, 80, numpy.uint16)
    tifffile.imwrite(tessera.folder / "in.tif", array, compression="lzw")
    for words, number in ((["none"], 1), (["lzw"], 5), (["deflate"], 8), (["deflate:9"], 8), (["packbits"], 32773), (["zstd:19"], 50000)):
        smooth(tessera, "in.tif", "out.tif", "--compression", *words)
        with tifffile.TiffFile(tessera.folder / "out.tif") as file:
            assert file.pages[0].compression == number
        with Image.open(tessera.folder / "out.tif") as image:
            assert numpy.array_equal(numpy.asarray(image), tifffile.imread(tessera.folder / "out.tif"))
    sizes = []
    for level in ("none", "deflate:1", "deflate:9"):
        smooth(tessera, "in.tif", "out.png", "--compression", level)
        sizes.append((tessera.folder / "out.png").stat().st_size)
    assert sizes[0] > sizes[1] >= sizes[2]
    for name, word in (("out.png", "lzw"), ("out.jpg", "deflate"), ("out.nii", "deflate"), ("out.npy", "zstd"), ("out.tif", "lzw:3"),
                       ("out.tif", "deflate:10"), ("out.tif", "zip"), ("out.tif", "zstd:0")):
        (tessera.folder / name).unlink(missing_ok=True)
        done = tessera("filter", "gaussian", "in.tif", "--sigma", 1, "-o", name, "--compression", word, status=2)
        assert "compression" in done.stderr and not (tessera.folder / name).exists()


def test_lossy_packing_is_not_repeated(tessera, numbers):
    tifffile.imwrite(tessera.folder / "in.tif", colour(numbers), photometric="ycbcr", compression="jpeg", tile=(16, 16))
    done = smooth(tessera, "in.tif", "out.tif")
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert file.pages[0].compression == 8 and file.pages[0].is_tiled
    assert "JPEG" in done.stderr


def test_quality_of_jpeg(tessera, numbers):
    save(tessera.folder / "in.png", colour(numbers, 64, 64))
    sizes = []
    for quality in (10, 50, 95, 100):
        smooth(tessera, "in.png", "out.jpg", "--quality", quality)
        sizes.append((tessera.folder / "out.jpg").stat().st_size)
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1] / 2
    for words, part in ((["out.jpg", "--quality", 0], "1 to 100"), (["out.jpg", "--quality", 101], "1 to 100"),
                        (["out.png", "--quality", 50], "of JPEG")):
        assert part in tessera("filter", "gaussian", "in.png", "--sigma", 1, "-o", *words, status=2).stderr


@pytest.mark.parametrize("largest", [1, 15, 100, 255, 256, 1023, 4095, 65535])
@pytest.mark.parametrize("channels", [1, 3])
def test_the_largest_value_of_a_pgm(tessera, numbers, largest, channels):
    array = numbers.integers(0, largest + 1, (7, 9) if channels == 1 else (7, 9, 3))
    head, suffix = (b"P5", "pgm") if channels == 1 else (b"P6", "ppm")
    body = array.astype(">u2" if largest > 255 else "u1").tobytes()
    source = head + b"\n9 7\n%d\n" % largest + body
    (tessera.folder / f"in.{suffix}").write_bytes(source)
    done = tessera("filter", "median", f"in.{suffix}", "--radius", 0, "-q", "-o", f"out.{suffix}")
    assert (tessera.folder / f"out.{suffix}").read_bytes() == source
    assert told(done) == ""
    done = tessera("filter", "median", f"in.{suffix}", "--radius", 0, "-q", "-o", "out.tif")
    assert numpy.array_equal(tifffile.imread(tessera.folder / "out.tif"), array)
    assert (f"{largest} as the largest value" in done.stderr) == (largest not in (255, 65535))


def test_values_above_the_largest_are_clamped_and_told(tessera):
    (tessera.folder / "in.pgm").write_bytes(b"P5\n4 1\n1023\n" + numpy.array([0, 300, 600, 1023], ">u2").tobytes())
    (tessera.folder / "gain.forma").write_text(
        "stencil gain(vector#2 float X) { return X * 2; }\nparameter M, N;\nvector#2 float image[M,N];\nreturn result = gain(image);\n")
    done = tessera("run", "gain.forma", "in.pgm", "-q", "-o", "out.pgm")
    assert (tessera.folder / "out.pgm").read_bytes() == b"P5\n4 1\n1023\n" + numpy.array([0, 600, 1023, 1023], ">u2").tobytes()
    assert "did not fit" in done.stderr and "above 1023" in done.stderr
    tessera("run", "gain.forma", "in.pgm", "-q", "--unit", "-o", "out.tif")
    assert numpy.allclose(tifffile.imread(tessera.folder / "out.tif"), numpy.array([[0, 600, 1200, 2046]]) / 1023)


def test_texts_and_software_of_tiff(tessera, numbers):
    tifffile.imwrite(tessera.folder / "in.tif", grey(numbers), description="of the left bank", software="scanner 3", metadata=None,
                     datetime="2024:05:06 07:08:09", extratags=[(315, 2, 0, "N. N.", True), (33432, 2, 0, "(c) N. N.", True)])
    smooth(tessera, "in.tif", "out.tif")
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        tags = file.pages[0].tags
        assert [tags[n].value for n in ("ImageDescription", "Software", "DateTime", "Artist", "Copyright")] == [
            "of the left bank", "scanner 3", "2024:05:06 07:08:09", "N. N.", "(c) N. N."]
    smooth(tessera, "in.tif", "out.png")
    with Image.open(tessera.folder / "out.png") as image:
        image.load()
        assert image.text["Description"] == "of the left bank" and image.text["Copyright"] == "(c) N. N."
    assert "description" in smooth(tessera, "in.tif", "out.jpg").stderr


def test_photographs_keep_their_exif(tessera, numbers):
    exif = Image.Exif()
    exif[0x10F] = "Camera & Sons"
    exif[0x112] = 6
    inner = exif.get_ifd(0x8769)
    inner[0xA002], inner[0xA003], inner[0x829A] = 31, 20, 0.005
    Image.fromarray(colour(numbers)).save(tessera.folder / "in.jpg", exif=exif, comment=b"from the bridge")
    for target in ("out.jpg", "out.png"):
        done = smooth(tessera, "in.jpg", target)
        with Image.open(tessera.folder / target) as image:
            image.load()
            found = image.getexif()
            assert found[0x10F] == "Camera & Sons" and found.get(0x112, 1) == 1
            inner = found.get_ifd(0x8769)
            assert (inner[0xA002], inner[0xA003]) == (20, 31) == image.size and float(inner[0x829A]) == pytest.approx(0.005)
        assert "EXIF" not in done.stderr
    with Image.open(tessera.folder / "out.png") as image:
        image.load()
        assert image.text["Comment"] == "from the bridge"
    assert "EXIF" in smooth(tessera, "in.jpg", "out.tif").stderr


def test_several_inputs_and_pasting(tessera, numbers):
    save(tessera.folder / "a.png", grey(numbers), dpi=(300, 300))
    save(tessera.folder / "b.tif", grey(numbers), grey_profile())
    (tessera.folder / "sum.forma").write_text(
        "stencil half(vector#2 uint8 X, vector#2 uint8 Y) { return cast<uint8>((X + Y) / 2); }\nparameter M, N;\n"
        "vector#2 uint8 a[M,N];\nvector#2 uint8 b[M,N];\nreturn result = half(a, b);\n")
    tessera("run", "sum.forma", "a.png", "b.tif", "-q", "-o", "out.png")
    with Image.open(tessera.folder / "out.png") as image:
        assert float(image.info["dpi"][0]) == pytest.approx(300, abs=0.02)
    smooth(tessera, "a.png", "pasted.tif", "--roi", "2,2,9,9", "--onto", "b.tif", "--at", "1,3")
    assert profile_of(tessera.folder / "pasted.tif") == grey_profile()
    with tifffile.TiffFile(tessera.folder / "pasted.tif") as file:
        below = tifffile.imread(tessera.folder / "b.tif")
        changed = file.pages[0].asarray() != below
        assert changed[1:9, 3:11].any() and not changed[9:].any() and not changed[:, :3].any()


def imagej(path, numbers, **more):
    data = numbers.integers(0, 200, (2, 7, 9)).astype("uint16")
    tifffile.imwrite(path, data, imagej=True, metadata={"axes": "CYX", **more})


@pytest.mark.parametrize("target", ["out.tif", "out.ome.tif", "out.npy"])
def test_fields_of_imagej_are_told(tessera, numbers, target):
    fields = {"Labels": ["a", "b"], "LUTs": [numpy.zeros((3, 256), "uint8")] * 2, "Ranges": (0.0, 1.0, 0.0, 5.0), "Info": "hi",
              "min": 0.0, "max": 10.0, "mode": "composite"}
    imagej(tessera.folder / "in.tif", numbers, **fields)
    said = smooth(tessera, "in.tif", target).stderr
    assert f"'{target}' does not keep ImageJ's fields (" in said
    for name in fields:
        assert name in said.split("(")[1].split(")")[0], (name, said)
    imagej(tessera.folder / "in.tif", numbers, Info="hi")
    assert "ImageJ's fields (Info)" in smooth(tessera, "in.tif", target).stderr
    imagej(tessera.folder / "in.tif", numbers, mode="color")
    assert "ImageJ's fields (mode)" in smooth(tessera, "in.tif", target).stderr
    imagej(tessera.folder / "in.tif", numbers)
    assert "fields" not in smooth(tessera, "in.tif", target).stderr


@pytest.mark.parametrize("target", ["out.tif", "out.ome.tif", "out.npy"])
def test_fields_of_ome_are_told(tessera, numbers, target):
    data = numbers.integers(0, 200, (2, 7, 9)).astype("uint16")
    tifffile.imwrite(tessera.folder / "in.ome.tif", data,
                     metadata={"axes": "CYX", "Name": "cells", "Channel": {"Name": ["DAPI", "GFP"], "Color": [1, 2]}})
    said = smooth(tessera, "in.ome.tif", target).stderr
    assert "OME's fields (Image Name, Channel Name and Channel Color)" in said, said
    tifffile.imwrite(tessera.folder / "in.ome.tif", data, metadata={"axes": "CYX"})
    assert "fields" not in smooth(tessera, "in.ome.tif", target).stderr


def test_advice_names_formats_that_hold_it(tessera, numbers):
    rgba = numbers.integers(0, 200, (7, 9, 4)).astype("uint8")
    Image.fromarray(rgba).save(tessera.folder / "in.png")
    refused = lambda source, target: tessera("filter", "gaussian", source, "--sigma", 0, "-q", "-o", target, status=2).stderr
    assert "write .png, .tif or .npy" in refused("in.png", "out.jpg")
    numpy.save(tessera.folder / "in.npy", numbers.integers(0, 200, (6, 7, 9)).astype("uint8"))
    assert "write .tif, .nii or .npy" in refused("in.npy", "out.png")
    numpy.save(tessera.folder / "line.npy", numbers.integers(0, 200, 9).astype("uint8"))
    assert "write .npy" in refused("line.npy", "out.png")
