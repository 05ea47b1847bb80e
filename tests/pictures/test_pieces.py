"""Runs in pieces (`--memory`, `--resume`): the same bytes as in memory, whatever stops them on the way."""

import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time

import numpy
import pytest
import tensorstore
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


def peak_kilobytes(process, reader=None):
    """Of resident memory, as the system told it last. `reader`: who takes what is said."""
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as file:
                peak = max([peak, *(int(line.split()[1]) for line in file if line.startswith("VmHWM"))])
        except ProcessLookupError:
            pass
        time.sleep(0.002)
    reader.join() if reader else process.communicate()
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
    assert "the least piece of the result" in error and "but --memory allows 30 MiB" in error
    assert not list(tessera.folder.glob("x.npy*"))


UNITS = {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}


def mebibytes(said):
    number, unit = said.split("at most ")[1].split()[:2]
    return float(number) * UNITS[unit]


def test_dry_runs_tell_what_runs_take(tessera, numbers):
    shape = (4096, 16384)
    data = numpy.lib.format.open_memmap(tessera.folder / "in.npy", mode="w+", dtype="float32", shape=shape)
    data[:] = numbers.random((1, shape[1]), dtype="float32")
    zarr.create_array(tessera.folder / "in.zarr", data=numpy.asarray(data), chunks=(512, 512))
    tifffile.imwrite(tessera.folder / "in.tif", data, tile=(256, 256), compression="zlib", compressionargs={"level": 1})
    tall = numpy.lib.format.open_memmap(tessera.folder / "tall.npy", mode="w+", dtype="float32", shape=(16384, 8192))
    tall[:] = data[0, :8192]
    tall.flush()
    del data, tall
    (tessera.folder / "p.forma").write_text(
        "stencil far(vector#2 float X) { return X@[40,0] + X@[-40,3]; } parameter M, N; vector#2 float a[M,N]; "
        "m = far(a:mirror); return far(m:clamped);"
    )
    for words, memory in (
        (["filter", "gaussian", "in.npy", "--sigma", 3, "-o", "out.npy"], 100),
        (["filter", "gaussian", "in.npy", "--sigma", 3, "-o", "out.npy"], 300),
        (["filter", "gaussian", "in.zarr", "--sigma", 3, "-o", "out.zarr"], 300),
        (["filter", "median", "in.tif", "-o", "out.tif"], 300),
        (["run", "p.forma", "tall.npy", "-o", "out.npy"], 600),
    ):
        words += ["--memory", f"{memory}MiB"]
        before = sorted(tessera.folder.iterdir())
        told = tessera(*words, "--dry-run").stdout
        assert sorted(tessera.folder.iterdir()) == before
        explained = ["explain", words[1], *words[2:]] if words[0] == "run" else ["explain", "--filter", *words[1:]]
        plan = tessera(*explained).stdout
        assert sorted(tessera.folder.iterdir()) == before
        assert plan.endswith("\n\n" + told) and "group 1 of" in plan, (told, plan)
        process = start(tessera, *words)
        said = process.stderr
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(said))
        reader.start()
        peak = peak_kilobytes(process, reader) / 1024
        assert process.returncode == 0, lines
        assert told in "".join(lines), (told, lines)
        predicted = mebibytes(told)
        print(words, f"predicted {predicted}, measured {peak:.0f} MiB: {told}")
        assert peak <= predicted <= memory, told
        large = predicted >= 400
        if large:
            assert predicted <= 1.5 * peak, (told, peak)
    assert large, told
    # Halos of 80 rows on either side are read twice; the stage between is computed with 40.
    pieces = int(told.split(": ")[1].split()[0])
    rows = int(told.split(" of ")[1].split("x")[0])
    counted = (16384 + (pieces - 1) * 160) / 16384
    assert f"{pieces} pieces" in told and -(-16384 // rows) == pieces
    assert abs(float(told.split("reading ")[1].split()[0]) - counted) <= 0.011, told
    # What a run began stays as it was, and in memory there are no pieces.
    told = tessera("filter", "median", "in.npy", "-o", "out.npy", "--dry-run", "--memory", "4GiB").stdout
    assert "median: in memory, at most " in told
    process = start(tessera, "filter", "median", "in.npy", "-q", "-o", "out.npy", "--memory", "4GiB")
    peak = peak_kilobytes(process) / 1024
    assert peak <= mebibytes(told) <= 1.5 * peak, (told, peak)
    assert tessera("explain", "--filter", "median", "in.npy", "-o", "out.npy", "--memory", "4GiB").stdout.endswith(told)
    error = tessera("filter", "median", "in.npy", "--dry-run", "--time", status=2).stderr
    assert "--dry-run runs nothing" in error


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
    words = ["filter", "median", "in.npy", "--radius", 9, "--threads", 1, "--resume", "--memory", SMALL, "-o", "out.zarr"]
    process = start(tessera, *words)
    journal = tessera.folder / "out.zarr.journal"
    while process.poll() is None and not (journal.exists() and "piece" in journal.read_text()):
        time.sleep(0.005)
    time.sleep(0.1)  # of what is interrupted before its first piece nothing stays
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
        (["--time"], "--time measures runs in memory"),
    ):
        error = tessera("filter", "gaussian", "in.npy", "--resume", "-o", "x.npy", *words, status=2).stderr
        assert reason in error
    assert not list(tessera.folder.glob("x.*"))
    assert "every output needs a file" in tessera("filter", "gaussian", "in.npy", "--resume", status=2).stderr
    error = tessera("filter", "gaussian", "in.npy", "--resume", "-o", "x.png", status=2).stderr
    assert "has a format without parts" in error


def test_levels_of_pyramids_are_read(tessera, numbers):
    data = image(tessera, numbers, "in.npy", (1001, 900))
    tessera("filter", "median", "in.npy", "-q", "--levels", 3, "-o", "p.ome.zarr")
    with tifffile.TiffWriter(tessera.folder / "p.tif") as file:
        levels = [data[::step, ::step].copy() for step in (1, 2, 4)]
        file.write(levels[0], subifds=2, tile=(64, 64))
        for level in levels[1:]:
            file.write(level, subfiletype=1, tile=(64, 64))
    for k in range(3):
        level = zarr.open(tessera.folder / "p.ome.zarr", mode="r")[str(k)][:]
        for name, values in (("p.ome.zarr", level), ("p.tif", levels[k])):
            numpy.save(tessera.folder / "level.npy", values)
            expected = tessera.array("filter", "gaussian", "level.npy")
            assert numpy.array_equal(tessera.array("filter", "gaussian", name, "--level", k), expected), (name, k)
            tessera("filter", "gaussian", name, "--level", k, "--resume", "--memory", SMALL, "-q", "-o", "out.npy")
            assert numpy.array_equal(read(tessera.folder / "out.npy"), expected), (name, k)
    numpy.save(tessera.folder / "level.npy", levels[2])
    refused = lambda name, k=1: tessera("filter", "gaussian", name, "--level", k, "-o", "x.npy", status=2).stderr
    assert "has 3 levels, asked for level 3 (from 0)" in refused("p.ome.zarr", 3)
    assert "has 3 levels of a pyramid, asked for level 7 (from 0)" in refused("p.tif", 7)
    assert "it is one array, but level 1 is asked for" in refused("p.ome.zarr/0")
    assert "it has one level, but level 1 is asked for" in refused("level.npy")
    assert "--level -1 cannot be used" in refused("p.tif", -1)


@pytest.mark.parametrize("how", ["memory", "pieces", "killed"])
def test_shards(tessera, numbers, how):
    data = image(tessera, numbers, "in.npy", (1500, 1300))
    data[200:700, 100:900] = 0
    numpy.save(tessera.folder / "in.npy", data)
    words = ["filter", "median", "in.npy", "-q", "--chunk", "64x128", "--shard", "512x512", "-o"]
    tessera("filter", "median", "in.npy", "-q", "-o", "whole.npy")
    whole = numpy.load(tessera.folder / "whole.npy")
    more = [] if how == "memory" else ["--resume", "--memory", SMALL]
    for name, levels in (("s.zarr", []), ("s.ome.zarr", ["--levels", 3])):
        for _ in range(5 if how == "killed" else 0):
            process = start(tessera, *words, name, *levels, *more)
            time.sleep(numbers.uniform(0, 0.3))
            process.kill()
            process.communicate()
        tessera(*words, name, *levels, *more)
        array = zarr.open(tessera.folder / name, mode="r")
        array = array if levels == [] else array["0"]
        assert array.chunks == (64, 128) and array.shards == (512, 512)
        assert numpy.array_equal(array[:], whole)
        folder = tessera.folder / name / ("0" if levels else "")
        assert sum(path.is_file() for path in (folder / "c").rglob("*")) == 9
        store = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(folder)}}).result()
        assert numpy.array_equal(store[:].read().result(), whole)
        # And read by us, a part and all.
        assert numpy.array_equal(tessera.array("filter", "dilate", name), tessera.array("filter", "dilate", "whole.npy"))
    tessera("filter", "median", "in.npy", "-q", "--levels", 3, "-o", "plain.ome.zarr")
    for k in "012":
        a, b = (zarr.open(tessera.folder / n, mode="r")[k][:] for n in ("s.ome.zarr", "plain.ome.zarr"))
        assert numpy.array_equal(a, b)


def test_what_shards_cannot_be(tessera, numbers):
    image(tessera, numbers, "in.npy", (300, 400))
    refused = lambda *words: tessera("filter", "median", "in.npy", *words, status=2).stderr
    assert "not made of whole chunks of 64x64" in refused("--chunk", "64x64", "--shard", "100x128", "-o", "x.zarr")
    assert "were asked for an array of 300x400" in refused("--chunk", "64", "-o", "x.zarr")
    assert "not made of whole chunks of 300x400" in refused("--chunk", "512x512", "--shard", "256x512", "-o", "x.zarr")
    assert "are of Zarr" in refused("--shard", "64x64", "-o", "x.tif")
    assert "cannot be used" in refused("--chunk", "64y64", "-o", "x.zarr")
    assert not list(tessera.folder.glob("x.*"))


def test_raw_files(tessera, numbers):
    data = numbers.integers(0, 60000, (30, 410, 400)).astype("uint16")
    numpy.save(tessera.folder / "in.npy", data)
    expected = tessera.array("filter", "median", "in.npy")
    for name, described, values in (
        ("a.raw", "uint16,30x410x400", data.tobytes()),
        ("b.bin", "uint16,30x410x400,100", b"h" * 100 + data.tobytes()),
        ("c.dat", "uint16,30x410x400,0,big", data.astype(">u2").tobytes()),
        ("d.raw", "int32,30x410x400,7,big", b"x" * 7 + data.astype(">i4").tobytes()),
        ("e.raw", "uint64,30x410x400", data.astype("u8").tobytes()),
    ):
        (tessera.folder / name).write_bytes(values)
        found = tessera.array("filter", "median", name, "--raw", described)
        assert numpy.array_equal(found, expected), name
        tessera("filter", "median", name, "--raw", described, "--resume", "--memory", SMALL, "-q", "-o", "out.raw")
        back = numpy.fromfile(tessera.folder / "out.raw", found.dtype).reshape(data.shape)
        assert numpy.array_equal(back, expected), name
    said = tessera("filter", "median", "a.raw", "--raw", "uint16,30x410x400", "-q", "-o", "out.raw").stderr
    assert "--raw uint16,30x410x400 says" in said
    assert (tessera.folder / "out.raw").read_bytes() == expected.astype("<u2").tobytes()
    # Channels by --axes, and one input of several.
    colours = numbers.integers(0, 255, (40, 50, 3)).astype("uint8")
    (tessera.folder / "rgb.raw").write_bytes(colours.tobytes())
    numpy.save(tessera.folder / "rgb.npy", colours)
    words = ["filter", "median", "--axes", "yxc", "-q", "-o"]
    tessera(*words, "r1.npy", "rgb.npy"), tessera(*words, "r2.npy", "rgb.raw", "--raw", "uint8,40x50x3")
    read_back = [numpy.load(tessera.folder / name) for name in ("r1.npy", "r2.npy")]
    assert numpy.array_equal(*[a.view("uint8").ravel() for a in read_back])
    (tessera.folder / "p.forma").write_text(PROGRAM)
    a, b = numbers.random((2, 60, 70), dtype="float32")
    numpy.save(tessera.folder / "pa.npy", a), numpy.save(tessera.folder / "pb.npy", b), b.tofile(tessera.folder / "pb.raw")
    tessera("run", "p.forma", "pa.npy", "pb.npy", "-q", "-o", "edges=e1.npy")
    tessera("run", "p.forma", "pa.npy", "pb.raw", "--raw", "b=float,60x70", "-q", "-o", "edges=e2.npy")
    assert numpy.array_equal(*[numpy.load(tessera.folder / f"e{k}.npy") for k in (1, 2)])
    refused = lambda *words: tessera("filter", "median", *words, "-o", "x.npy", status=2).stderr
    size = data.nbytes
    assert f"it has {size + 2} bytes, but it has {size}" in refused("a.raw", "--raw", "uint16,30x410x400,2").replace("says that ", "")
    assert f"but it has {size}" in refused("a.raw", "--raw", "uint16,30x410x399")
    assert "its type is 'uint17'" in refused("a.raw", "--raw", "uint17,30x410x400")
    for wrong in ("uint16", "uint16,30y4", "uint16,4x4,-3", "uint16,4x4,3,middle", "uint16,4x4,big,3", "uint16,0x4"):
        assert f"--raw '{wrong}' cannot be used" in refused("a.raw", "--raw", wrong)
    assert not (tessera.folder / "x.npy").exists()


def enough(error):
    """The --memory that a refusal names."""
    return error.split("help: --memory ")[1].split()[0]


def test_the_memory_that_a_refusal_names_is_enough(tessera, numbers):
    numpy.save(tessera.folder / "wide.npy", numbers.integers(0, 60000, (3000, 4000)).astype("uint16"))
    numpy.save(tessera.folder / "series.npy", numbers.random((3, 5, 100, 136), dtype="float32"))
    rows = numpy.lib.format.open_memmap(tessera.folder / "rows.npy", mode="w+", dtype="uint8", shape=(3, 9_000_000))
    rows[:] = 7
    with open(tessera.folder / "sparse.raw", "wb") as file:
        file.truncate(2 * 60000 * 60000)
    (tessera.folder / "steps.forma").write_text(
        "stencil s(vector#2 float X) { return 0.5f * (X@[0,-1] + X@[3,1]); } parameter M, N; vector#2 float a[M,N]; "
        "u<0> = a; for t = 1..40 u<t> = s(u<t-1>:mirror); endfor return u<40>;"
    )
    (tessera.folder / "total.forma").write_text(
        "stencil d(vector#2 float X, float m) { return X - m; } parameter M, N; vector#2 float a[M,N]; return d(a, mean(a));"
    )
    numpy.save(tessera.folder / "float.npy", numbers.random((2000, 5000), dtype="float32"))
    raw = ["sparse.raw", "--raw", "uint16,60000x60000"]
    for words in (
        ["filter", "gaussian", "wide.npy", "--sigma", 7, "-o", "x.npy", "--dry-run"],
        ["filter", "gaussian", "wide.npy", "--sigma", 2, "-o", "x.npy", "--resume"],
        ["filter", "gaussian", "wide.npy", "--sigma", 7, "-o", "x.zarr", "--chunk", "3000x4000", "--resume"],
        ["filter", "gaussian", "series.npy", "--sigma", 9, "-o", "x.npy", "--resume"],
        ["filter", "median", "rows.npy", "-o", "x.npy"],
        ["filter", "gaussian", *raw, "--sigma", 9, "-o", "x.tif", "--dry-run"],
        ["run", "steps.forma", "float.npy", "-o", "x.npy", "--resume"],
        ["run", "total.forma", "float.npy", "-o", "x.npy", "--resume"],
    ):
        error = tessera(*words, "--memory", "40MiB", status=2).stderr
        assert not list(tessera.folder.glob("x.*"))
        assert ("--chunk" in error.split("help:")[1]) == ("x.zarr" in words)
        size = enough(error)
        assert int(size[:-3]) > 40
        dry = [] if "--dry-run" in words else ["--dry-run"]
        told = tessera(*words, *dry, "--memory", size).stdout
        assert all(mebibytes(line) <= int(size[:-3]) for line in told.splitlines()), (told, size)
        if dry:
            process = start(tessera, *words, "-q", "--memory", size)
            assert peak_kilobytes(process) <= 1024 * int(size[:-3]) and process.returncode == 0, (words, size)
        # It is not far from the least that does.
        tessera(*words, *dry, "--memory", f"{int(int(size[:-3]) * 0.7) - 32}MiB", status=2)
        for left in tessera.folder.glob("x.*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
