"""Runs in pieces (`--memory`, `--resume`): the same bytes as in memory, whatever stops them on the way."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time

import numpy
import pytest
import tifffile
import zarr

SMALL = "240MiB"  # of it 170 for pieces


def start(tessera, *words, before=None):
    return subprocess.Popen(
        [os.environ["TESSERA"], *map(str, words)],
        cwd=tessera.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def read(path):
    name = str(path)
    if name.endswith(".npy"):
        return numpy.load(path)
    if name.endswith(".ome.zarr"):
        return zarr.open(path, mode="r")["0"][:]
    if name.endswith(".zarr"):
        return zarr.open(path, mode="r")[:]
    return tifffile.imread(path)


def image(tessera, numbers, name, shape=(2400, 2600)):
    data = numbers.random(shape, dtype="float32")
    numpy.save(tessera.folder / name, data)
    return data


@pytest.mark.parametrize("result", ["out.npy", "out.tif", "out.zarr", "out.ome.zarr"])
def test_pieces_have_the_bits_of_the_whole(tessera, numbers, result):
    image(tessera, numbers, "in.npy")
    for words in (
        ["gaussian", "in.npy", "--sigma", 3],
        ["gaussian", "in.npy", "--sigma", 12, "--border", "wrap"],
        ["median", "in.npy", "--radius", 2],
        ["sobel", "in.npy", "--extent", "valid"],
        ["box", "in.npy", "--radius", 9, "--roi", "100,50,700,1100"],
        ["gaussian", "in.npy", "--window", "100,50,700,1100"],
    ):
        tessera("filter", *words, "-q", "-o", "whole.npy")
        said = tessera("filter", *words, "--resume", "--memory", SMALL, "-o", result).stderr
        assert " of memory" in said
        whole = numpy.load(tessera.folder / "whole.npy")
        assert numpy.array_equal(read(tessera.folder / result), whole), words
        for left in (".partial", ".journal"):
            assert not (tessera.folder / (result + left)).exists()


def test_formats_in_pieces(tessera, numbers):
    data = image(tessera, numbers, "in.npy")
    zarr.create_array(tessera.folder / "in.zarr", data=data, chunks=(128, 200))
    tifffile.imwrite(tessera.folder / "tiled.tif", data, tile=(64, 128), compression="zlib")
    tifffile.imwrite(tessera.folder / "rows.tif", data, rowsperstrip=7)
    tessera("filter", "gaussian", "in.npy", "-q", "-o", "whole.npy")
    whole = numpy.load(tessera.folder / "whole.npy")
    for name in ("in.zarr", "tiled.tif", "rows.tif"):
        tessera("filter", "gaussian", name, "--resume", "--memory", SMALL, "-q", "-o", "out.npy")
        assert numpy.array_equal(numpy.load(tessera.folder / "out.npy"), whole), name
        tessera("filter", "gaussian", name, "-q", "-o", "out.zarr")
        assert numpy.array_equal(read(tessera.folder / "out.zarr"), whole), name
    colours = numbers.integers(0, 255, (2000, 1900, 3)).astype("uint8")
    tifffile.imwrite(tessera.folder / "rgb.tif", colours, photometric="rgb", tile=(128, 128))
    for words in (["gaussian", "rgb.tif", "--sigma", 2], ["gaussian", "rgb.tif", "--gray"], ["gaussian", "rgb.tif", "--unit"]):
        tessera("filter", *words, "-q", "-o", "whole.tif")
        tessera("filter", *words, "--resume", "--memory", SMALL, "-q", "-o", "out.tif")
        assert numpy.array_equal(read(tessera.folder / "out.tif"), read(tessera.folder / "whole.tif")), words
    volume = numbers.integers(0, 60000, (50, 400, 410)).astype("uint16")
    tifffile.imwrite(tessera.folder / "stack.tif", volume, imagej=True, metadata={"axes": "ZYX"})
    tessera("filter", "median", "stack.tif", "-q", "-o", "whole.tif")
    tessera("filter", "median", "stack.tif", "--resume", "--memory", SMALL, "-q", "-o", "out.ome.zarr")
    assert numpy.array_equal(read(tessera.folder / "out.ome.zarr"), read(tessera.folder / "whole.tif"))


PROGRAM = """stencil low(vector#2 float X) { return 0.25f * (X@[-1,0] + X@[1,0] + X@[0,-1] + X@[0,1]); }
stencil edge(vector#2 float X, vector#2 float Y) { return X - Y@[0,3]; }
parameter M, N;
vector#2 float a[M,N];
vector#2 float b[M,N];
l = low(a:mirror);
return smooth = l, edges = edge(l:clamped, b:wrap);
"""


def test_levels(tessera, numbers):
    image(tessera, numbers, "in.npy", (1001, 900))
    tessera("filter", "median", "in.npy", "-q", "--levels", 3, "-o", "a.ome.zarr")
    tessera("filter", "median", "in.npy", "-q", "--resume", "--memory", SMALL, "--levels", 3, "-o", "b.ome.zarr")
    for level, shape in enumerate([(1001, 900), (501, 450), (251, 225)]):
        a, b = (zarr.open(tessera.folder / f"{n}.ome.zarr", mode="r")[str(level)][:] for n in "ab")
        assert a.shape == shape and numpy.array_equal(a, b)
    assert "is of OME-Zarr" in tessera("filter", "median", "in.npy", "--levels", 3, "-o", "a.tif", status=2).stderr


def test_programs_with_several_files(tessera, numbers):
    image(tessera, numbers, "a.npy")
    image(tessera, numbers, "b.npy")
    (tessera.folder / "p.forma").write_text(PROGRAM)
    tessera("run", "p.forma", "a.npy", "b.npy", "-q", "-o", "s.npy", "-o", "e.npy")
    tessera("run", "p.forma", "a.npy", "b.npy", "--resume", "--memory", SMALL, "-q", "-o", "s2.npy", "-o", "e2.zarr")
    assert numpy.array_equal(numpy.load(tessera.folder / "s2.npy"), numpy.load(tessera.folder / "s.npy"))
    assert numpy.array_equal(read(tessera.folder / "e2.zarr"), numpy.load(tessera.folder / "e.npy"))


def peak_kilobytes(process):
    """Of resident memory, as the system told it last."""
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as file:
                peak = max([peak, *(int(line.split()[1]) for line in file if line.startswith("VmHWM"))])
        except ProcessLookupError:
            pass
        time.sleep(0.002)
    process.communicate()
    assert peak > 0
    return peak


def test_programs_without_windows(tessera, numbers):
    data = image(tessera, numbers, "in.npy")
    (tessera.folder / "m.forma").write_text("parameter M, N; vector#2 float a[M,N]; return ifft(fft(a)).re;")
    tessera("run", "m.forma", "in.npy", "-q", "-o", "out.npy")
    assert numpy.allclose(numpy.load(tessera.folder / "out.npy"), data, atol=1e-4)
    for words in (["--resume"], ["--memory", "60MiB"]):
        error = tessera("run", "m.forma", "in.npy", *words, "-o", "x.npy", status=2).stderr
        assert "so that the result is not made in pieces" in error and "in memory" in error
    (tessera.folder / "t.forma").write_text(
        "stencil f(vector#2 float X) { return X@[0,1] - X; } parameter M, N; vector#2 float a[M,N]; e = f(a:mirror); "
        "h = ( [0..,0..] = e; [M..,0..] = e; ); return e = e, h = h;"
    )
    tessera("run", "t.forma", "in.npy", "-q", "-o", "e.npy", "-o", "h.npy")
    assert numpy.load(tessera.folder / "h.npy").shape == (4800, 2600)
    tessera("run", "t.forma", "in.npy", "--resume", "--memory", "700MiB", "-o", "e2.npy", "-o", "h2.npy")
    for name in ("e", "h"):
        assert (tessera.folder / f"{name}2.npy").read_bytes() == (tessera.folder / f"{name}.npy").read_bytes()


def test_memory_is_kept(tessera, numbers):
    data = numpy.lib.format.open_memmap(tessera.folder / "in.npy", mode="w+", dtype="float32", shape=(4096, 8192))
    data[:] = numbers.random((1, 8192), dtype="float32")
    data.flush()
    del data
    for memory in (100, 160):
        process = start(tessera, "filter", "gaussian", "in.npy", "--memory", f"{memory}MiB", "-q", "-o", "out.npy")
        assert peak_kilobytes(process) <= memory * 1024
        assert process.returncode == 0
    # Long sums take memory of their own, and pieces at the ends have other extents.
    words = ["filter", "gaussian", "in.npy", "--sigma", 25, "--memory", "600MiB", "-q", "-o", "long.npy"]
    process = start(tessera, *words)
    assert peak_kilobytes(process) <= 600 * 1024 and process.returncode == 0
    rows = numpy.load(tessera.folder / "out.npy", mmap_mode="r")
    assert numpy.array_equal(rows[2000], rows[100])
    error = tessera("filter", "gaussian", "in.npy", "--memory", "30MiB", "-o", "x.npy", status=2).stderr
    assert "the least piece of the result" in error and "--memory leaves" in error
    assert not list(tessera.folder.glob("x.npy*"))


def test_what_is_killed_goes_on(tessera, numbers):
    """TESSERA_KILLS=70 kills each of three results so often."""
    image(tessera, numbers, "in.npy", (3000, 2000))
    words = ["filter", "median", "in.npy", "--radius", 3, "--resume", "--memory", SMALL, "-q"]
    tessera("filter", "median", "in.npy", "--radius", 3, "-q", "-o", "whole.npy")
    whole = numpy.load(tessera.folder / "whole.npy")
    began = time.monotonic()
    tessera(*words, "-o", "out.npy")
    length = time.monotonic() - began
    numbers_of_kills = random.Random(5)
    for result in ("out.npy", "out.tif", "out.zarr"):
        for _ in range(int(os.environ.get("TESSERA_KILLS", "4"))):
            process = start(tessera, *words, "-o", result)
            time.sleep(numbers_of_kills.uniform(0, length))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        tessera(*words, "-o", result)
        assert numpy.array_equal(read(tessera.folder / result), whole)
        assert not (tessera.folder / (result + ".journal")).exists()


def interrupted(tessera, words):
    """Some pieces are there: the disk was full, as far as this process could see."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))

    process = start(tessera, *words, before=limit)
    _, said = process.communicate()
    assert process.returncode == 2
    return said


def test_other_work_is_noticed(tessera, numbers):
    image(tessera, numbers, "in.npy", (3000, 2000))
    words = ["filter", "median", "in.npy", "--radius", 9, "--resume", "--memory", SMALL, "-o", "out.zarr"]
    process = start(tessera, *words)
    journal = tessera.folder / "out.zarr.journal"
    while process.poll() is None and not (journal.exists() and "work" in journal.read_text()):
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode != 0
    assert journal.exists() and not (tessera.folder / "out.zarr").exists()
    error = tessera(*words, "--border", "wrap", status=2).stderr
    assert "was begun by other work" in error and "without --resume" in error
    os.utime(tessera.folder / "in.npy")
    assert "was begun by other work" in tessera(*words, status=2).stderr
    shutil.rmtree(tessera.folder / "out.zarr.partial")
    os.remove(tessera.folder / "out.zarr.journal")
    tessera(*words)
    tessera("filter", "median", "in.npy", "--radius", 9, "-q", "-o", "whole.npy")
    assert numpy.array_equal(read(tessera.folder / "out.zarr"), numpy.load(tessera.folder / "whole.npy"))


def test_full_disks_lose_nothing(tessera, numbers):
    image(tessera, numbers, "in.npy", (3000, 2000))
    (tessera.folder / "out.tif").write_bytes(b"as before")
    words = ["filter", "gaussian", "in.npy", "--resume", "--memory", SMALL, "-q", "-o", "out.tif"]
    said = interrupted(tessera, words)
    assert "out.tif" in said and "--resume goes on" in said
    assert (tessera.folder / "out.tif").read_bytes() == b"as before"
    tessera(*words)
    tessera("filter", "gaussian", "in.npy", "-q", "-o", "whole.npy")
    assert numpy.array_equal(read(tessera.folder / "out.tif"), numpy.load(tessera.folder / "whole.npy"))


def test_where_results_may_not_go(tessera, numbers):
    data = image(tessera, numbers, "in.npy", (300, 400))
    zarr.create_array(tessera.folder / "in.zarr", data=data, chunks=(128, 200))
    error = tessera("filter", "gaussian", "in.zarr", "-o", "in.zarr/out.npy", status=2).stderr
    assert "output 'in.zarr/out.npy' lies within the input 'in.zarr'" in error
    # In the place of what is read.
    tessera("filter", "gaussian", "in.npy", "-q", "-o", "whole.npy")
    tessera("filter", "gaussian", "in.zarr", "-q", "--resume", "-o", "in.zarr")
    assert numpy.array_equal(read(tessera.folder / "in.zarr"), numpy.load(tessera.folder / "whole.npy"))
    # A folder of something else.
    (tessera.folder / "mine.zarr").mkdir()
    (tessera.folder / "mine.zarr" / "letter.txt").write_text("keep")
    for how in ([], ["--resume"]):
        error = tessera("filter", "gaussian", "in.npy", *how, "-o", "mine.zarr", status=2).stderr
        assert "mine.zarr" in error
        assert not list(tessera.folder.glob("mine.zarr.*"))
    assert (tessera.folder / "mine.zarr" / "letter.txt").read_text() == "keep"


def test_damaged_files_lose_nothing(tessera, numbers):
    data = image(tessera, numbers, "in.npy", (1500, 1600))
    zarr.create_array(tessera.folder / "in.zarr", data=data, chunks=(256, 256))
    chunk = tessera.folder / "in.zarr" / "c" / "3" / "2"
    good = chunk.read_bytes()
    chunk.write_bytes(good[: len(good) // 2])
    words = ["filter", "gaussian", "in.zarr", "--resume", "--memory", SMALL, "-q", "-o", "out.npy"]
    error = tessera(*words, status=2).stderr
    assert "c/3/2" in error
    assert not (tessera.folder / "out.npy").exists()
    chunk.write_bytes(good)
    for name in (".partial", ".journal"):
        (tessera.folder / ("out.npy" + name)).unlink(missing_ok=True)
    tessera(*words)
    tessera("filter", "gaussian", "in.npy", "-q", "-o", "whole.npy")
    assert numpy.array_equal(read(tessera.folder / "out.npy"), numpy.load(tessera.folder / "whole.npy"))


def test_what_cannot_be_in_pieces_says_why(tessera, numbers):
    image(tessera, numbers, "in.npy")
    for words, reason in (
        (["--verify"], "--verify compares whole results"),
        (["--stretch"], "--stretch looks at a whole result"),
        (["--extent", "full"], "a full extent continues a whole image"),
    ):
        error = tessera("filter", "gaussian", "in.npy", "--resume", "-o", "x.npy", *words, status=2).stderr
        assert reason in error
    assert not list(tessera.folder.glob("x.*"))
    assert "every output needs a file" in tessera("filter", "gaussian", "in.npy", "--resume", status=2).stderr
    error = tessera("filter", "gaussian", "in.npy", "--resume", "-o", "x.png", status=2).stderr
    assert "has a format without parts" in error
