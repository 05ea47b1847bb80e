"""Results of several ranks (`mpirun ... tessera ... --mpi`): the bytes of one run in memory, one message where one fails."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy
import pytest
import tifffile
import zarr

from conftest import SOURCE
from test_passes import HEAT, outputs_of, write_inputs
from test_pieces import PROGRAM, image, read

MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
OPEN_MPI = MPIRUN is not None and re.search("Open ?(MPI|RTE)", subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout)
ranked = pytest.mark.skipif(not OPEN_MPI, reason="no mpirun of Open MPI (package openmpi-bin)")

# Root may run it in a container, where processes may not look into each other's memory either.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def start(tessera, ranks, *words, before=None, **environment):
    """In a group of its own, so that a signal meets it alone."""
    launch = [MPIRUN, "-n", ranks, "--oversubscribe"] if ranks else []
    return subprocess.Popen(
        [str(word) for word in (*launch, os.environ["TESSERA"], *words, "--mpi")],
        cwd=tessera.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=before,
        env=dict(tessera.environment, **ENVIRONMENT, **environment))


def run(tessera, ranks, *words, status=0, **environment):
    """What tessera said; mpirun's own lines come behind."""
    process = start(tessera, ranks, *words, **environment)
    out, said = process.communicate(timeout=200)
    assert process.returncode == status, f"{words}: {process.returncode}\n{out}{said}"
    return said


def errors(said):
    return [line for line in said.splitlines() if line.startswith("tessera: error: ")]


def status_of(process):
    """Its state and its parent's number, as the system tells them."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return ["X", "0"]


def name_of(process):
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def runs(process):
    return status_of(process)[0] not in "XZ"


def children(process):
    """The ranks that mpirun has started."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [n for n in numbers if status_of(n)[1] == str(process.pid) and runs(n) and name_of(n) == "tessera"]


def begun(tessera, process, result):
    """Waits until all ranks are at work on it; their numbers."""
    journal = tessera.folder / f"{result}.journal"
    while not (journal.exists() and "piece" in journal.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return children(process)


@ranked
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("result", ["out.npy", "out.tif", "out.zarr"])
def test_ranks_have_the_bits_of_the_whole(tessera, numbers, ranks, result):
    image(tessera, numbers, "in.npy", (900, 1000))
    for words in (
        ["gaussian", "in.npy", "--sigma", 3],
        ["gaussian", "in.npy", "--sigma", 60, "--border", "wrap"],  # reaches beyond what a rank has
        ["sobel", "in.npy", "--extent", "valid"],
        ["median", "in.npy", "--radius", 2, "--roi", "100,50,700,910"],
    ):
        tessera("filter", *words, "-q", "-o", "whole.npy")
        said = run(tessera, ranks, "filter", *words, "-o", result)
        # (The second one in two passes, where a rank has few rows.)
        assert said.count(" of memory") == 1 + said.count(": pass ") <= 2
        assert said.count(f" on {ranks} ranks, reading") == (ranks > 1)
        assert numpy.array_equal(read(tessera.folder / result), numpy.load(tessera.folder / "whole.npy")), words
        assert sorted(p.name for p in tessera.folder.glob("out*")) == [result]


@ranked
def test_formats_of_ranks(tessera, numbers):
    volume = numbers.integers(0, 60000, (70, 200, 210)).astype("uint16")
    zarr.create_array(tessera.folder / "in.zarr", data=volume, chunks=(16, 64, 64))
    tessera("filter", "median", "in.zarr", "-q", "--levels", 2, "-o", "whole.ome.zarr")
    whole = read(tessera.folder / "whole.ome.zarr")
    tessera("filter", "median", "in.zarr", "-q", "-o", "whole.nrrd")
    for result in ("out.nrrd", "out.mha"):
        run(tessera, 3, "filter", "median", "in.zarr", "-q", "-o", result)
        tessera("filter", "median", "in.zarr", "-q", "-o", "whole" + Path(result).suffix)
        assert (tessera.folder / result).read_bytes() == (tessera.folder / ("whole" + Path(result).suffix)).read_bytes()
    for packing in ("none", "zstd", "deflate:9"):
        run(tessera, 3, "filter", "median", "in.zarr", "-q", "--compression", packing, "-o", "out.tif")
        assert numpy.array_equal(tifffile.imread(tessera.folder / "out.tif"), whole), packing
    run(tessera, 3, "filter", "median", "in.zarr", "-q", "--levels", 2, "-o", "out.ome.zarr")
    for level in "01":
        a, b = (zarr.open(tessera.folder / f"{n}.ome.zarr", mode="r")[level][:] for n in ("out", "whole"))
        assert numpy.array_equal(a, b)
    # What has no parts is held by every rank, and colours are fields.
    colours = numbers.integers(0, 255, (300, 290, 3)).astype("uint8")
    tifffile.imwrite(tessera.folder / "rgb.tif", colours, photometric="rgb")
    tessera("filter", "gaussian", "rgb.tif", "-q", "-o", "rgb.png")
    tessera("filter", "gaussian", "rgb.png", "-q", "-o", "whole.tif")
    run(tessera, 2, "filter", "gaussian", "rgb.png", "-q", "-o", "out.tif")
    assert numpy.array_equal(read(tessera.folder / "out.tif"), read(tessera.folder / "whole.tif"))


@ranked
def test_programs_with_several_files_and_few_pieces(tessera, numbers):
    (tessera.folder / "p.forma").write_text(PROGRAM)
    for shape in ((700, 600), (3, 40)):  # the second has fewer rows than there are ranks
        image(tessera, numbers, "a.npy", shape)
        image(tessera, numbers, "b.npy", shape)
        tessera("run", "p.forma", "a.npy", "b.npy", "-q", "-o", "s.npy", "-o", "e.npy")
        run(tessera, 4, "run", "p.forma", "a.npy", "b.npy", "-q", "-o", "s2.npy", "-o", "e2.zarr")
        assert numpy.array_equal(numpy.load(tessera.folder / "s2.npy"), numpy.load(tessera.folder / "s.npy"))
        assert numpy.array_equal(read(tessera.folder / "e2.zarr"), numpy.load(tessera.folder / "e.npy"))


@ranked
def test_warnings_are_told_once_and_counts_are_of_all(tessera, numbers):
    data = (numbers.random((400, 500)) * 300).astype("float32")
    numpy.save(tessera.folder / "in.npy", data)
    (tessera.folder / "t.forma").write_text(
        "stencil f(vector#2 float X) { return X * 1.5f; } parameter M, N; vector#2 float a[M,N]; return f(a:mirror);")
    words = ["run", "t.forma", "in.npy", "-q", "--range", "0,255", "-o", "out.nrrd"]
    alone = tessera(*words, "--resume").stderr
    assert run(tessera, 4, *words) == alone


@ranked
def test_one_process_without_mpirun(tessera, numbers):
    image(tessera, numbers, "in.npy", (300, 400))
    tessera("filter", "gaussian", "in.npy", "-q", "-o", "whole.npy")
    run(tessera, 0, "filter", "gaussian", "in.npy", "-q", "-o", "out.npy")
    assert (tessera.folder / "out.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()
    said = run(tessera, 0, "filter", "gaussian", "in.npy", "-o", "out.npy", status=2, PMI_RANK="0", PMI_SIZE="4")
    assert "4 processes were started, but by another MPI" in said


def test_mpi_that_is_not_there(tessera, numbers):
    image(tessera, numbers, "in.npy", (30, 40))
    words = ["filter", "gaussian", "in.npy", "-o", "out.npy"]
    said = run(tessera, 0, *words, status=2, TESSERA_MPI="/nowhere/libmpi.so.40")
    assert "needs the library of Open MPI, libmpi.so.40" in said and "/nowhere/libmpi.so.40" in said and "openmpi-bin" in said
    said = run(tessera, 0, *words, status=2, TESSERA_MPI="libm.so.6")
    assert "needs Open MPI, version 4 or 5, but 'libm.so.6' is another library" in said and "ompi_mpi_comm_world" in said
    assert not list(tessera.folder.glob("out*"))
    if OPEN_MPI:
        assert len(errors(run(tessera, 3, *words, status=2, TESSERA_MPI="/nowhere/libmpi.so.40"))) == 1


@ranked
def test_what_ranks_cannot_divide_says_why(tessera, numbers):
    image(tessera, numbers, "in.npy", (300, 400))
    shutil.copy(tessera.folder / "in.npy", tessera.folder / "b.npy")
    (tessera.folder / "m.forma").write_text("parameter M, N; vector#2 float a[M,N]; return ifft(fft(a)).re;")
    for words, reason in (
        (["filter", "gaussian", "in.npy", "b.npy", "-o", "{stem}_o.npy"], "--mpi divides one result among ranks, but 2 inputs are given"),
        (["filter", "gaussian", "in.npy", "-o", "x.png"], "'x.png' has a format without parts"),
        (["filter", "gaussian", "in.npy"], "every output needs a file"),
        (["filter", "gaussian", "in.npy", "-o", "x.npy", "--verify"], "--verify compares whole results"),
        (["filter", "gaussian", "none.npy", "-o", "x.npy"], "none.npy"),
        (["filter", "gaussian", "in.npy", "-o", "x.npy", "--mpy"], "unknown option '--mpy'"),
        (["run", "m.forma", "in.npy", "-o", "x.npy"], "so that ranks cannot divide the result"),
        (["filter", "gaussian", "in.npy", "-o", "x.npy", "--memory", "10MiB"], "the least piece of the result"),
        (["filter", "gaussian", "in.npy", "-o", "nowhere/x.npy"], "nowhere"),
    ):
        said = run(tessera, 2, *words, status=2)
        assert len(errors(said)) == 1 and reason in said, said
        assert "MPI_ABORT" not in said
    (tessera.folder / "bad.forma").write_text("return 1 +;")
    assert run(tessera, 2, "run", "bad.forma", "in.npy", "-o", "x.npy", status=1).count("bad.forma:1:") == 1
    assert not list(tessera.folder.glob("x.*"))


@ranked
def test_a_damaged_chunk_ends_all_ranks(tessera, numbers):
    data = image(tessera, numbers, "in.npy", (1500, 1600))
    zarr.create_array(tessera.folder / "in.zarr", data=data, chunks=(256, 256))
    chunk = tessera.folder / "in.zarr" / "c" / "5" / "2"
    good = chunk.read_bytes()
    chunk.write_bytes(good[: len(good) // 2])
    (tessera.folder / "out.npy").write_bytes(b"as before")
    words = ["filter", "gaussian", "in.zarr", "-q", "-o", "out.npy"]
    began = time.monotonic()
    said = run(tessera, 3, *words, status=2)
    assert time.monotonic() - began < 30
    assert len(errors(said)) == 1 and re.search(r"error: rank 2: .*c/5/2", said)
    assert (tessera.folder / "out.npy").read_bytes() == b"as before"
    assert (tessera.folder / "out.npy.partial").exists()
    chunk.write_bytes(good)
    run(tessera, 3, *words)
    tessera("filter", "gaussian", "in.npy", "-q", "-o", "whole.npy")
    assert (tessera.folder / "out.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()


@ranked
@pytest.mark.parametrize("result", ["out.npy", "out.tif", "out.zarr"])
def test_a_rank_that_is_killed_ends_all_and_what_is_there_is_kept(tessera, numbers, result):
    image(tessera, numbers, "in.npy", (4000, 3400))
    words = ["filter", "median", "in.npy", "--radius", 9]
    process = start(tessera, 3, *words, "-o", result)
    all_ranks = begun(tessera, process, result)
    assert len(all_ranks) == 3
    began = time.monotonic()
    os.kill(all_ranks[1], signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0 and time.monotonic() - began < 20
    assert len(errors(said)) <= 1 and not (tessera.folder / result).exists()
    assert (tessera.folder / (result + ".partial")).exists()
    said = run(tessera, 3, *words, "--resume", "-o", result)
    assert "pieces are done already" in said
    tessera("filter", "median", "in.npy", "--radius", 9, "-q", "-o", "whole.npy")
    assert numpy.array_equal(read(tessera.folder / result), numpy.load(tessera.folder / "whole.npy"))


@ranked
def test_memory_is_of_each_rank(tessera, numbers):
    image(tessera, numbers, "in.npy", (4096, 6000))
    process = start(tessera, 3, "filter", "gaussian", "in.npy", "--memory", "160MiB", "-q", "-o", "out.zarr")
    peaks = [0]
    while process.poll() is None:
        for rank in children(process):
            try:
                lines = Path(f"/proc/{rank}/status").read_text().splitlines()
            except (FileNotFoundError, ProcessLookupError):
                continue
            peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
        time.sleep(0.02)
    process.communicate()
    assert process.returncode == 0 and 0 < max(peaks) <= 160 * 1024


@ranked
def test_ctrl_c_ends_all_ranks(tessera, numbers):
    image(tessera, numbers, "in.npy", (7000, 6000))  # many pieces: some are named long before the last
    process = start(tessera, 3, "filter", "median", "in.npy", "--radius", 9, "-o", "out.zarr")
    all_ranks = begun(tessera, process, "out.zarr")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0 and time.monotonic() - began < 20
    assert len(errors(said)) <= 1 and not (tessera.folder / "out.zarr").exists()
    while any(map(runs, all_ranks)):
        assert time.monotonic() - began < 20
        time.sleep(0.05)


@ranked
def test_full_disks_are_told_once(tessera, numbers):
    import resource

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, 16 << 20))

    image(tessera, numbers, "in.npy", (3000, 2000))
    process = start(tessera, 3, "filter", "gaussian", "in.npy", "-o", "out.tif", before=limit)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert len(errors(said)) == 1 and "out.tif" in said and "--resume goes on" in said
    assert not (tessera.folder / "out.tif").exists()


@ranked
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", ["examples/perona_malik", "tests/zoo/loops/two_images_and_a_number_two_versions",
                                     "tests/zoo/loops/a_volume_that_fades_and_its_planes",
                                     "tests/zoo/reductions/a_reduction_of_what_a_reduction_gave",
                                     "tests/zoo/reductions/numbers_in_pieces_of_many_rows",
                                     "tests/zoo/reductions/an_upsampled_image_reduced"])
def test_totals_and_loops(tessera, numbers, ranks, program):
    """Of every pass a rank has its rows, is given those around them, and tells its part of totals."""
    path = SOURCE / f"{program}.forma"
    source = path.read_text()
    extents = {"K": 3, "M": 61, "N": 83} if ranks == 2 else {"K": 9, "M": 170, "N": 210}
    words, names = write_inputs(tessera, numbers, source, extents), outputs_of(source)
    results = {"whole": [], "ranks": []}
    for k, name in enumerate(names):
        for kind, options in results.items():
            options += ["-o", f"{name}={kind}{k}.npy" if name else f"{kind}{k}.npy"]
    tessera("run", path, *words, "-q", *results["whole"])
    run(tessera, ranks, "run", path, *words, "-q", *results["ranks"])
    for k in range(len(names)):
        assert (tessera.folder / f"whole{k}.npy").read_bytes() == (tessera.folder / f"ranks{k}.npy").read_bytes()
    assert {each.suffix for each in tessera.folder.iterdir()} == {".npy"}


@ranked
def test_steps_in_several_passes(tessera, numbers):
    (tessera.folder / "heat.forma").write_text(HEAT)
    numpy.save(tessera.folder / "a.npy", numbers.random((160, 300, 310), dtype="float32"))
    tessera("run", "heat.forma", "a.npy", "-q", "-o", "whole.npy")
    said = run(tessera, 2, "run", "heat.forma", "a.npy", "--memory", "240MiB", "-o", "out.npy")
    pieces = re.findall(r"pass \d+ of \d+: (\d+) pieces .* on each of 2 ranks", said)
    assert pieces and all(int(count) > 2 for count in pieces)  # those in the middle are computed while rows are on their way
    assert (tessera.folder / "whole.npy").read_bytes() == (tessera.folder / "out.npy").read_bytes()


@ranked
@pytest.mark.parametrize("words", [["box"], ["gaussian", "--sigma", 0.5], ["laplacian"]], ids=lambda words: words[0])
def test_colours_in_passes(tessera, words):
    """Of a row of stages the colours have one each."""
    photo = SOURCE / "tests" / "data" / "coffee.png"
    tessera("filter", *words, photo, "--border", "wrap", "-q", "-o", "whole.npy")
    said = run(tessera, 2, "filter", *words, photo, "--border", "wrap", "-o", "out.npy")
    assert said.count(" on 2 ranks, reading") == 1
    assert (tessera.folder / "whole.npy").read_bytes() == (tessera.folder / "out.npy").read_bytes()


@ranked
def test_a_rank_that_dies_in_a_pass_ends_all(tessera, numbers):
    (tessera.folder / "heat.forma").write_text(HEAT.replace("1..40", "1..200"))  # which take several seconds
    numpy.save(tessera.folder / "a.npy", numbers.random((160, 300, 310), dtype="float32"))
    process = start(tessera, 3, "run", "heat.forma", "a.npy", "--memory", "240MiB", "-o", "out.npy")
    while not (tessera.folder / "out.npy.journal").exists():
        assert process.poll() is None, process.communicate()
    time.sleep(0.5)
    ranks = children(process)
    os.kill(ranks[-1], signal.SIGKILL)
    began = time.monotonic()
    process.communicate(timeout=30)
    assert process.returncode != 0 and time.monotonic() - began < 10
    assert not (tessera.folder / "out.npy").exists()
    assert {path.name for path in tessera.folder.iterdir()} <= {"heat.forma", "a.npy", "out.npy.partial", "out.npy.journal"}
