"""Full extents and masks in pieces: the bytes of a run in memory, for every border, format and rank."""

import time

import numpy
import pytest
import tifffile
import zarr

from test_pieces import peak_kilobytes, read, start

BORDERS = ["mirror", "wrap", "clamped", "constant(0)", "constant(7)", "clamped,wrap"]
FORCED = ["--resume", "--memory", "110MiB"]


def in_pieces(tessera, words, result="parts.npy", most=None):
    """In how many pieces it ran; compares with the run in memory."""
    tessera("filter", *words, "-q", "-o", "whole.npy", "--memory", "4GiB")
    said = tessera("filter", *words, *(most or FORCED), "-o", result).stderr
    assert " of memory" in said, said
    whole = tessera.folder / "whole.npy"
    if result.endswith(".npy"):
        assert (tessera.folder / result).read_bytes() == whole.read_bytes(), words
    else:
        assert numpy.array_equal(read(tessera.folder / result), numpy.load(whole)), words
    return int(next(line for line in said.splitlines() if " of memory" in line).split(": ")[1].split(" piece")[0])


@pytest.mark.parametrize("border", BORDERS)
def test_full_extents(tessera, numbers, border):
    numpy.save(tessera.folder / "f.npy", numbers.random((2400, 2500), dtype="float32"))
    numpy.save(tessera.folder / "u.npy", numbers.integers(0, 255, (3600, 3500)).astype("uint8"))
    full = ["--extent", "full", "--border", border]
    assert in_pieces(tessera, ["gaussian", "f.npy", "--sigma", 3, *full]) > 2
    assert in_pieces(tessera, ["median", "u.npy", "--radius", "2,5", *full]) > 1
    in_pieces(tessera, ["box", "f.npy", "--radius", 40, "--roi", "100,50,900,2400", *full])
    in_pieces(tessera, ["gaussian", "f.npy", "--sigma", 2, "--window", "0,100,1500,2510", *full])
    if border.startswith("constant"):  # a value that the image's type does not hold
        wide = ["--extent", "full", "--border", border.replace(")", ".5)"), "--type", "float"]
        assert in_pieces(tessera, ["gaussian", "u.npy", *wide]) > 2


def test_full_extents_of_formats_and_ranks(tessera, numbers):
    image = numbers.integers(0, 65535, (1500, 1700, 3)).astype("uint16")
    tifffile.imwrite(tessera.folder / "rgb.tif", image, tile=(64, 128), compression="zlib")
    volume = numbers.integers(0, 255, (40, 460, 370)).astype("uint16")
    zarr.create_array(tessera.folder / "v.zarr", data=volume, chunks=(8, 64, 64))
    numpy.save(tessera.folder / "series.npy", numbers.random((3, 20, 240, 170), dtype="float32"))
    numpy.save(tessera.folder / "row.npy", numbers.random(200_000, dtype="float32"))
    full = ["--extent", "full", "--border", "mirror"]
    for words, result in ((["gaussian", "rgb.tif", "--sigma", 2, *full], "parts.tif"),
                          (["gaussian", "rgb.tif", "--gray", "--unit", *full], "parts.tif"),
                          (["gaussian", "v.zarr", "--sigma", "1,2,3", *full], "parts.zarr"),
                          (["erode", "series.npy", *full], "parts.npy"),
                          (["gaussian", "row.npy", "--sigma", 20, *full], "parts.npy")):
        if result == "parts.tif":
            tessera("filter", *words, "-q", "-o", "whole.tif", "--memory", "4GiB")
            said = tessera("filter", *words, *FORCED, "-o", result).stderr
            assert " of memory" in said
            assert numpy.array_equal(read(tessera.folder / result), read(tessera.folder / "whole.tif"))
        else:
            in_pieces(tessera, words, result)


def test_full_extents_have_the_place_of_the_result(tessera, numbers):
    """Distances and the place on the earth are those of a run in memory."""
    (tessera.folder / "in.nrrd").write_bytes(
        b"NRRD0004\ntype: float\ndimension: 2\nsizes: 900 800\nencoding: raw\nendian: little\nspace dimension: 2\n"
        b"space directions: (2,0) (0,3)\nspace origin: (10,20)\n\n" + numbers.random((800, 900), dtype="float32").tobytes())
    words = ["filter", "gaussian", "in.nrrd", "--extent", "full", "-q", "-o"]
    tessera(*words, "whole.nrrd")
    tessera(*words, "parts.nrrd", *FORCED)
    whole, parts = (dict(line.split(b": ", 1) for line in (tessera.folder / name).read_bytes().split(b"\n\n")[0].split(b"\n") if b": " in line)
                    for name in ("whole.nrrd", "parts.nrrd"))
    assert whole[b"space origin"] == parts[b"space origin"] != b"(10,20)" and whole[b"space directions"] == parts[b"space directions"]


def test_another_border_is_other_work(tessera, numbers):
    numpy.save(tessera.folder / "in.npy", numbers.random((5000, 5200), dtype="float32"))
    words = ["filter", "median", "in.npy", "--radius", 9, "--extent", "full", *FORCED, "-q", "-o", "out.npy"]
    journal = tessera.folder / "out.npy.journal"
    process = start(tessera, *words, "--border", "mirror")
    while process.poll() is None and (not journal.exists() or b"piece" not in journal.read_bytes()):
        time.sleep(0.002)
    process.kill()
    process.communicate()
    if process.returncode == 0:
        pytest.skip("it was done before it was killed")
    error = tessera(*words, "--border", "clamped", status=2).stderr
    assert "--resume" in error and journal.exists(), error
    tessera(*words, "--border", "mirror")
    tessera("filter", "median", "in.npy", "--radius", 9, "--extent", "full", "--border", "mirror", "-q", "-o", "whole.npy")
    assert (tessera.folder / "out.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()


@pytest.mark.parametrize("extent", ["same", "valid", "full"])
def test_masks(tessera, numbers, extent):
    numpy.save(tessera.folder / "in.npy", numbers.random((2400, 2500), dtype="float32"))
    mask = (numbers.random((2400, 2500)) > 0.3).astype("uint8")
    mask[:1300] = 0
    tifffile.imwrite(tessera.folder / "mask.tif", mask, tile=(128, 128), resolution=(10, 20))
    words = ["gaussian", "in.npy", "--sigma", 2, "--extent", extent, "--border", "constant(0)"]
    assert in_pieces(tessera, [*words, "--mask", "mask.tif"]) > 2
    zarr.create_array(tessera.folder / "certain.zarr", data=numbers.random((2400, 2500), dtype="float32"), chunks=(300, 300))
    assert in_pieces(tessera, [*words, "--mask", "certain.zarr", "--ignore-nan"]) > 2
    in_pieces(tessera, [*words, "--mask", "mask.tif", "--roi", "100,50,1900,2400"])
    assert in_pieces(tessera, [*words, "--ignore-nan"]) > 2


def test_masks_of_slices_and_options_of_the_image(tessera, numbers):
    """A mask of fewer dimensions holds for every slice; --axes is of the image, and the header of a mask goes nowhere."""
    numpy.save(tessera.folder / "v.npy", numbers.random((30, 260, 240), dtype="float32"))
    tifffile.imwrite(tessera.folder / "slice.tif", numbers.integers(0, 2, (260, 240)).astype("uint8"), resolution=(10, 20))
    in_pieces(tessera, ["box", "v.npy", "--mask", "slice.tif"])
    numpy.save(tessera.folder / "yxc.npy", numbers.random((260, 240, 3), dtype="float32"))
    words = ["filter", "box", "yxc.npy", "--axes", "yxc", "--mask", "slice.tif", "-q", "-o"]
    tessera(*words, "whole.tif")
    tessera(*words, "parts.tif", *FORCED)
    assert numpy.array_equal(read(tessera.folder / "whole.tif"), read(tessera.folder / "parts.tif"), equal_nan=True)
    with tifffile.TiffFile(tessera.folder / "whole.tif") as file:
        assert "XResolution" not in file.pages[0].tags or file.pages[0].tags["XResolution"].value != (10, 1)
    assert "mask has shape" in tessera("filter", "box", "yxc.npy", "--mask", "slice.tif", "--roi", "0,0,0,9,9,1", "-o", "x.npy", status=2).stderr


def test_masks_are_not_held(tessera, numbers):
    """Image, mask and result of 96 MB each in less than two of them, which is what was said before."""
    for name in ("in.npy", "mask.npy"):
        data = numpy.lib.format.open_memmap(tessera.folder / name, mode="w+", dtype="float32", shape=(6000, 4000))
        data[:] = numbers.random((1, 4000), dtype="float32")
    words = ["filter", "gaussian", "in.npy", "--mask", "mask.npy", "--extent", "full", "--memory", "170MiB", "-o", "out.npy"]
    told = tessera(*words, "--dry-run").stdout
    process = start(tessera, *words)
    peak = peak_kilobytes(process)
    assert process.returncode == 0
    predicted = float(told.split("at most ")[1].split()[0]) * 1024
    assert peak <= predicted <= 170 * 1024, (told, peak)
