"""What files by region keep to: the types of a run in memory, their own pages, what lies where they are written."""

import nrrd
import numpy
import pytest
import tifffile
import zarr

SMALL = "240MiB"  # of it 170 for pieces
PROGRAMS = {
    "mask": "stencil f(vector#2 float X) { return X > 0.5; }",
    "half": "stencil f(vector#2 float X) { return cast<half>(X / 2); }",
    "wide": "stencil f(vector#2 float X) { return cast<double>(X) / 10; }",
}
WHOLE = " parameter M, N; vector#2 float a[M,N]; return f(a);"


def values(path):
    if str(path).endswith(".zarr"):
        return zarr.open(path, mode="r")[:]
    if str(path).endswith(".tif"):
        return tifffile.imread(path)
    return path.read_bytes()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("suffix", ["npy", "tif", "nrrd", "mha", "zarr"])
def test_types_are_those_of_a_run_in_memory(tessera, numbers, program, suffix):
    numpy.save(tessera.folder / "in.npy", numbers.random((70, 90), dtype="float32"))
    (tessera.folder / "p.forma").write_text(PROGRAMS[program] + WHOLE)
    tessera("run", "p.forma", "in.npy", "-q", "-o", "whole." + suffix)
    tessera("run", "p.forma", "in.npy", "-q", "--resume", "--memory", SMALL, "-o", "parts." + suffix)
    whole, parts = values(tessera.folder / ("whole." + suffix)), values(tessera.folder / ("parts." + suffix))
    if isinstance(whole, bytes):
        assert whole == parts
    else:
        assert whole.dtype == parts.dtype and numpy.array_equal(whole, parts)


def test_pages_are_of_files_that_have_them(tessera, numbers):
    data = numbers.random((40, 50), dtype="float32")
    numpy.save(tessera.folder / "in.npy", data)
    zarr.create_array(tessera.folder / "in.zarr", data=data, chunks=(16, 16))
    for name in ("in.npy", "in.zarr"):
        for how in ([], ["--resume", "--memory", SMALL]):
            error = tessera("filter", "gaussian", name, "--page", 2, *how, "-q", "-o", "out.npy", status=2).stderr
            assert "page" in error and name in error
            assert not list(tessera.folder.glob("out.*"))


def test_another_page_is_other_work(tessera, numbers):
    pages = numbers.integers(0, 255, (3, 60, 70)).astype("uint8")
    tifffile.imwrite(tessera.folder / "in.tif", pages, photometric="minisblack", metadata=None)
    words = ["filter", "median", "in.tif", "--resume", "--memory", SMALL, "-q", "-o", "out.npy"]
    for page in (0, 2, 1):
        tessera(*words, "--page", page)
        tessera("filter", "median", "in.tif", "--page", page, "-q", "-o", "whole.npy")
        assert (tessera.folder / "out.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()


def test_packed_volumes_are_read_whole(tessera, numbers):
    data = numbers.random((20, 30, 40), dtype="float32")
    numpy.save(tessera.folder / "in.npy", data)
    nrrd.write(str(tessera.folder / "packed.nrrd"), data.T, {"encoding": "gzip"})
    tessera("filter", "median", "in.npy", "-q", "-o", "whole.npy")
    tessera("filter", "median", "packed.nrrd", "--memory", "400MiB", "-q", "-o", "out.npy")
    assert numpy.array_equal(numpy.load(tessera.folder / "out.npy"), numpy.load(tessera.folder / "whole.npy"))


def test_what_lies_under_the_partial_name_stays(tessera, numbers):
    numpy.save(tessera.folder / "in.npy", numbers.random((40, 50), dtype="float32"))
    mine = tessera.folder / "out.zarr.partial"
    mine.mkdir()
    (mine / "letter.txt").write_text("keep")
    for how in ([], ["--resume"]):
        error = tessera("filter", "gaussian", "in.npy", *how, "-q", "-o", "out.zarr", status=2).stderr
        assert "out.zarr.partial" in error
        assert (mine / "letter.txt").read_text() == "keep"


def test_links_lead_to_what_is_written(tessera, numbers):
    numpy.save(tessera.folder / "in.npy", numbers.random((40, 50), dtype="float32"))
    tessera("filter", "gaussian", "in.npy", "-q", "-o", "whole.npy")
    whole = numpy.load(tessera.folder / "whole.npy")
    (tessera.folder / "there").mkdir()
    for name in ("out.npy", "out.tif", "out.zarr"):
        tessera("filter", "box", "in.npy", "-q", "-o", "there/" + name)
        (tessera.folder / name).symlink_to("there/" + name)
        tessera("filter", "gaussian", "in.npy", "--resume", "-q", "-o", name)
        assert (tessera.folder / name).is_symlink()
        target = tessera.folder / "there" / name
        assert numpy.array_equal(numpy.load(target) if name.endswith("npy") else values(target), whole), name
        assert sorted(path.name for path in tessera.folder.glob("**/*.partial")) == []


@pytest.mark.parametrize("suffix", ["ome.tif", "tif"])
def test_bands_lie_as_in_memory(tessera, numbers, suffix):
    """Pages of bands, or samples of a point: the format and the input say it, not how much memory there is."""
    planes = numbers.integers(0, 255, (5, 60, 70)).astype("uint8")
    tifffile.imwrite(tessera.folder / "c.ome.tif", planes, metadata={"axes": "CYX"})
    points = numpy.ascontiguousarray(planes.transpose(1, 2, 0))
    tifffile.imwrite(tessera.folder / "s.ome.tif", points, metadata={"axes": "YXS"}, photometric="minisblack", planarconfig="contig")
    series = numbers.random((2, 4, 5, 60, 70), dtype="float32")
    tifffile.imwrite(tessera.folder / "tzc.ome.tif", series, metadata={"axes": "TZCYX"}, photometric="minisblack")
    tifffile.imwrite(tessera.folder / "ij.tif", series[0, 0], imagej=True, metadata={"axes": "CYX"})
    tifffile.imwrite(tessera.folder / "colours.tif", planes[:3].transpose(1, 2, 0).copy(), photometric="rgb")
    numpy.save(tessera.folder / "c.npy", points)

    def structure(name):
        with tifffile.TiffFile(tessera.folder / name) as file:
            page = file.pages[0]
            return file.series[0].shape, file.series[0].axes, len(file.pages), page.shape, page.photometric, file.is_ome, file.asarray().tobytes()

    for words in (["c.ome.tif"], ["s.ome.tif"], ["tzc.ome.tif"], ["ij.tif"], ["colours.tif"], ["c.npy", "--axes", "yxc"], ["c.npy", "--axes", "yxs"]):
        tessera("filter", "box", *words, "-q", "-o", f"memory.{suffix}")
        tessera("filter", "box", *words, "--resume", "--memory", "240MiB", "-q", "-o", f"pieces.{suffix}")
        assert structure(f"pieces.{suffix}") == structure(f"memory.{suffix}"), words


def test_notes_are_those_of_a_run_in_memory(tessera, numbers):
    numpy.save(tessera.folder / "in.npy", numbers.integers(0, 60000, (60, 70)).astype("uint16"))
    pieces = ["--resume", "--memory", "240MiB"]
    for name in ("o.raw", "o.npy", "o.tif", "o.nrrd", "o.zarr", "o.ome.zarr"):
        said = [[line for line in tessera("filter", "gaussian", "in.npy", *more, "-o", name).stderr.splitlines() if line.startswith("note:")] for more in ([], pieces)]
        assert said[0] == said[1] and "the result is rounded to uint16" in said[0][0], (name, said)
        assert (f"note: '{name}' does not keep its type" in said[0][-1]) == (name == "o.raw")


def test_raw_files_hold_halves(tessera, numbers):
    data = numbers.random((60, 70)).astype("float16")
    numpy.save(tessera.folder / "in.npy", data)
    for more in ([], ["--resume", "--memory", "240MiB"]):
        said = tessera("filter", "median", "in.npy", *more, "-o", "o.raw").stderr
        assert "--raw half,60x70" in said
        assert (tessera.folder / "o.raw").stat().st_size == data.nbytes
        tessera("filter", "median", "o.raw", "--raw", "half,60x70", "-q", "-o", "twice.npy")
        tessera("filter", "median", "in.npy", "-q", "-o", "once.npy")
        assert numpy.array_equal(numpy.fromfile(tessera.folder / "o.raw", "float16").reshape(60, 70), numpy.load(tessera.folder / "once.npy"))
