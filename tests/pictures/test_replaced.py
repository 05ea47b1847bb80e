"""What a result replaces, and what it leaves alone: folders of Zarr, files behind links, inputs, what earlier runs left."""

import fcntl
import hashlib
import os
import subprocess
import time

import numpy
import pytest
import zarr

PIECES = ["--resume", "--memory", "240MiB"]


def everything(folder):
    """Names and bytes of all that lies there."""
    files = {}
    for path in sorted(folder.rglob("*")):
        files[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else path.is_symlink()
    return files


def save(folder, name, shape=(40, 50)):
    data = numpy.arange(numpy.prod(shape), dtype="float32").reshape(shape) % 97
    numpy.save(folder / name, data)
    return data


def hierarchy(folder, version):
    group = zarr.open_group(folder, mode="w", zarr_format=version)
    group.create_array("a", shape=(40, 50), chunks=(20, 20), dtype="float32")[:] = 1
    group.create_group("labels").create_array("b", shape=(4, 5), chunks=(2, 2), dtype="float32")[:] = 2


def refused(tessera, *words, what="would be lost"):
    for more in ([], PIECES, ["--dry-run"]):
        before = everything(tessera.folder)
        error = tessera("filter", "box", *words, *more, "-q", status=2).stderr
        assert error.count("error:") == 1 and what in error, error
        assert everything(tessera.folder) == before


@pytest.mark.parametrize("version", [2, 3])
def test_a_group_is_not_replaced(tessera, version):
    hierarchy(tessera.folder / "exp.zarr", version)
    (tessera.folder / "exp.zarr" / "notes.txt").write_text("mine")
    save(tessera.folder, "in.npy")
    refused(tessera, "in.npy", "-o", "exp.zarr", what="is a Zarr group, all of which would be lost")
    refused(tessera, "exp.zarr/a", "-o", "exp.zarr", what="exp.zarr")
    os.symlink("exp.zarr", tessera.folder / "link.zarr")
    refused(tessera, "in.npy", "-o", "link.zarr", what="is a Zarr group")
    refused(tessera, "in.npy", "-o", "exp.zarr/", what="is a Zarr group")
    hierarchy(tessera.folder / "one.ome.zarr", version)
    refused(tessera, "in.npy", "-o", "one.ome.zarr", what="is a Zarr group")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("extra", ["notes.txt", "c/notes.txt", "c/0/x.png", "5/zarr.json", ".hidden", "0/0/more/7", "c/0/0.part"])
def test_an_array_with_other_files_is_not_replaced(tessera, version, extra):
    zarr.create_array(tessera.folder / "a.zarr", shape=(40, 50), chunks=(20, 20), dtype="float32", zarr_format=version)[:] = 1
    save(tessera.folder, "in.npy")
    path = tessera.folder / "a.zarr" / extra
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    refused(tessera, "in.npy", "-o", "a.zarr")


def test_an_image_with_other_things_is_not_replaced(tessera):
    save(tessera.folder, "in.npy")
    tessera("filter", "box", "in.npy", "--levels", 2, "-q", "-o", "o.ome.zarr")
    refused(tessera, "o.ome.zarr/0", "-o", "o.ome.zarr", what="would replace the folder of the input")
    refused(tessera, "o.ome.zarr/1", "-o", "o.ome.zarr", what="would replace the folder of the input")
    os.symlink("o.ome.zarr/1", tessera.folder / "level.zarr")
    refused(tessera, "level.zarr", "-o", "o.ome.zarr", what="would replace the folder of the input")
    numpy.save(tessera.folder / "part.npy", numpy.ones((40, 50), "float32"))
    before = everything(tessera.folder)
    error = tessera("filter", "box", "part.npy", "--onto", "o.ome.zarr/0", "-o", "o.ome.zarr", status=2).stderr
    assert "would replace the folder of the input" in error and everything(tessera.folder) == before
    for extra in ("labels/zarr.json", "7/zarr.json", "0/c/notes.txt", "notes.txt", "OME/METADATA.ome.xml"):
        path = tessera.folder / "o.ome.zarr" / extra
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"zarr_format": 3, "node_type": "group"}')
        refused(tessera, "in.npy", "-o", "o.ome.zarr")
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    tessera("filter", "box", "in.npy", "-q", "-o", "o.ome.zarr")
    assert not (tessera.folder / "o.ome.zarr" / "1").exists()


@pytest.mark.parametrize("words", [[], PIECES])
def test_results_alone_are_replaced(tessera, words):
    data = save(tessera.folder, "in.npy")
    whole = tessera.array("filter", "box", "in.npy")
    (tessera.folder / "o.zarr").mkdir()
    for before in (lambda: None, lambda: None, older_array, nested_array, sharded_array):
        before(tessera.folder / "o.zarr") if before.__code__.co_argcount else before()
        tessera("filter", "box", "in.npy", *words, "-q", "-o", "o.zarr")
        assert numpy.array_equal(zarr.open(tessera.folder / "o.zarr", mode="r")[:], whole)
    for _ in range(2):
        tessera("filter", "box", "in.npy", *words, "--levels", 2, "-q", "-o", "o.ome.zarr")
        assert numpy.array_equal(zarr.open(tessera.folder / "o.ome.zarr", mode="r")["0"][:], whole)
    tessera("filter", "box", "o.zarr", *words, "-q", "-o", "o.zarr")
    assert not numpy.array_equal(zarr.open(tessera.folder / "o.zarr", mode="r")[:], data)
    left = {path.name for path in tessera.folder.iterdir()}
    assert left == {"in.npy", "result.npy", "o.zarr", "o.ome.zarr"}


def clean(path):
    subprocess.run(["rm", "-r", path], check=True)


def older_array(path):
    clean(path)
    zarr.create_array(path, shape=(41, 50), chunks=(20, 20), dtype="int16", zarr_format=2)[:] = 3


def nested_array(path):
    clean(path)
    keys = {"name": "v2", "separator": "."}
    zarr.create_array(path, shape=(41, 50), chunks=(20, 20), dtype="int16", chunk_key_encoding=keys)[:] = 3


def sharded_array(path):
    clean(path)
    zarr.create_array(path, shape=(40, 60), chunks=(10, 10), shards=(20, 20), dtype="int16")[:] = 3


def test_what_stands_beside_a_result_is_left_alone(tessera):
    save(tessera.folder, "in.npy")
    (tessera.folder / "o.npy.journal").write_text("a diary")
    hierarchy(tessera.folder / "o.zarr.partial", 3)
    hierarchy(tessera.folder / "p.zarr.partial.old", 3)
    for words in (["-o", "o.npy", *PIECES], ["-o", "o.zarr"], ["-o", "o.zarr", *PIECES]):
        before = everything(tessera.folder)
        tessera("filter", "box", "in.npy", *words, "-q", status=2)
        assert everything(tessera.folder) == before
    hidden = everything(tessera.folder / "p.zarr.partial.old")
    tessera("filter", "box", "in.npy", "-q", "-o", "p.zarr", status=2)
    assert everything(tessera.folder / "p.zarr.partial.old") == hidden and not (tessera.folder / "p.zarr").exists()
    tessera("filter", "box", "in.npy", "-o", "o.npy")
    assert (tessera.folder / "o.npy.journal").read_text() == "a diary"


@pytest.mark.parametrize("missing", ["zarr.json", "0/zarr.json", "0/c/0/0", "zarr.json 0/zarr.json"])
def test_what_was_killed_while_it_was_removed_goes(tessera, missing):
    save(tessera.folder, "in.npy")
    for suffix in (".partial", ".partial.old"):
        tessera("filter", "box", "in.npy", "-q", "--levels", 2, "-o", "x.ome.zarr")
        (tessera.folder / "x.ome.zarr").rename(tessera.folder / ("o.ome.zarr" + suffix))
        for name in missing.split():
            (tessera.folder / ("o.ome.zarr" + suffix) / name).unlink()
    tessera("filter", "box", "in.npy", "-q", "-o", "o.ome.zarr")
    assert {path.name for path in tessera.folder.iterdir()} == {"in.npy", "o.ome.zarr"}


@pytest.mark.parametrize("suffix", ["npy", "tif", "zarr"])
@pytest.mark.parametrize("words", [[], PIECES])
def test_links_are_followed(tessera, suffix, words):
    save(tessera.folder, "in.npy")
    (tessera.folder / "s").mkdir()
    os.symlink(f"s/o.{suffix}", tessera.folder / f"l.{suffix}")
    os.symlink(f"l.{suffix}", tessera.folder / f"ll.{suffix}")
    for name in ("l", "l", "ll"):  # there is nothing yet, then an older result
        tessera("filter", "box", "in.npy", *words, "-q", "-o", f"{name}.{suffix}")
        assert (tessera.folder / f"l.{suffix}").is_symlink() and (tessera.folder / f"ll.{suffix}").is_symlink()
        assert {path.name for path in (tessera.folder / "s").iterdir()} == {f"o.{suffix}"}
    assert not list(tessera.folder.glob("*.partial")) + list(tessera.folder.glob("*.journal"))


@pytest.mark.parametrize("name", ["o.npy", "l.npy", "d/o.npy", "./o.npy", "o.zarr", "l.zarr", "l.zarr/"])
def test_one_place_has_one_lock(tessera, name):
    """A journal that is held is that of a run into the place, by whatever name."""
    save(tessera.folder, "in.npy")
    place = "o." + name.rstrip("/").rsplit(".", 1)[1]
    os.symlink(place, tessera.folder / ("l." + place[2:]))
    os.symlink(".", tessera.folder / "d")
    with open(tessera.folder / (place + ".journal"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        words = PIECES if "npy" in name else []  # a folder is written by one run at a time, in memory as well
        assert "is being written by another process" in tessera("filter", "box", "in.npy", *words, "-o", name, status=2).stderr
        assert not list(tessera.folder.glob("*.partial"))
    tessera("filter", "box", "in.npy", *PIECES, "-q", "-o", name)
    assert not list(tessera.folder.glob("*.journal"))


def test_two_runs_through_a_link(tessera):
    data = numpy.random.default_rng(1).random((3000, 2000), dtype="float32")
    numpy.save(tessera.folder / "a.npy", data)
    numpy.save(tessera.folder / "b.npy", data[::-1].copy())
    os.symlink("o.npy", tessera.folder / "l.npy")
    first = tessera.array("filter", "median", "a.npy")
    second = tessera.array("filter", "median", "b.npy")
    for _ in range(3):
        runs = [
            subprocess.Popen([os.environ["TESSERA"], "filter", "median", source, *PIECES, "-q", "-o", name], cwd=tessera.folder, stderr=subprocess.PIPE)
            for source, name in (("a.npy", "o.npy"), ("b.npy", "l.npy"))
        ]
        done = [(run.communicate()[1], run.returncode)[1] for run in runs]
        assert 0 in done and set(done) <= {0, 2}
        result = numpy.load(tessera.folder / "o.npy")
        assert numpy.array_equal(result, first) or numpy.array_equal(result, second)


def test_a_batch_of_one_does_not_replace_its_input(tessera):
    folder = tessera.folder / "d"
    folder.mkdir()
    save(folder, "i.npy")
    before = everything(tessera.folder)
    for words in (["d", "-o", "d"], ["d", "-o", "d/"], ["d/i.npy", "-o", "d"], ["d/i.npy", "-o", "{folder}/{name}"], ["d", "-o", "d/i.npy"]):
        error = tessera("filter", "gaussian", *words, status=2).stderr
        assert "is the input itself" in error or "the input itself" in error, error
        assert everything(tessera.folder) == before
    os.symlink("d", tessera.folder / "e")
    assert "the input itself" in tessera("filter", "gaussian", "d", "-o", "e", status=2).stderr
    tessera("filter", "gaussian", "d", "-q", "-o", "d/{stem}-smooth.npy")
    tessera("filter", "gaussian", "d/i.npy", "-q", "-o", "d/i.npy")  # by its name, it is meant


def test_a_batch_does_not_replace_the_folder_of_an_input(tessera):
    save(tessera.folder, "in.npy")
    tessera("filter", "box", "in.npy", "-q", "-o", "x.ome.zarr")
    tessera("filter", "box", "in.npy", "-q", "-o", "x.zarr")
    before = everything(tessera.folder)
    error = tessera("filter", "box", "x.zarr", "x.ome.zarr/0", "-o", "{stem}.ome.zarr", status=2).stderr
    assert "the folder of the input" in error and everything(tessera.folder) == before


LOOP = """stencil s(vector#3 float X) { return 0.25f * (X@[-1,0,0] + X@[1,0,0] + X@[0,-1,0] + X@[0,1,0]); }
stencil d(vector#3 float X, vector#3 float Y) { return abs(X - Y); }
parameter L, M, N;
vector#3 float a[L,M,N];
u<0> = a;
do t = 1..20 u<t> = s(u<t-1>:mirror); while (max(d(u<t>,u<t-1>)) > 30);
return u<20>;
"""


def test_passes_that_do_not_fit_leave_nothing(tessera):
    (tessera.folder / "loop.forma").write_text(LOOP)
    numpy.save(tessera.folder / "a.npy", (numpy.arange(2 * 7 * 140231) % 1000).astype("int32").reshape(2, 7, 140231))
    before = everything(tessera.folder)
    for more in ([], ["--resume"]):
        error = tessera("run", "loop.forma", "a.npy", "--memory", "50MiB", "-o", "o.npy", *more, status=2).stderr
        assert "least piece" in error
        assert everything(tessera.folder) == before
    tessera("run", "loop.forma", "a.npy", "--memory", "400MiB", "--resume", "-q", "-o", "o.npy")


def test_a_journal_without_pieces_is_gone_on_with_by_any_work(tessera):
    save(tessera.folder, "in.npy", (600, 700))
    whole = tessera.array("filter", "box", "in.npy")
    (tessera.folder / "o.npy.journal").write_text("tessera journal 1\nwork 00\n")
    (tessera.folder / "o.npy.partial").write_bytes((tessera.folder / "result.npy").read_bytes()[:5000])
    tessera("filter", "box", "in.npy", *PIECES, "-q", "-o", "o.npy")
    assert numpy.array_equal(numpy.load(tessera.folder / "o.npy"), whole)


@pytest.mark.parametrize("name", ["o.npy", "o.tif", "o.zarr", "l.npy"])
def test_a_whole_result_takes_what_was_begun_away(tessera, name):
    save(tessera.folder, "in.npy")
    if name == "l.npy":
        os.symlink("o.npy", tessera.folder / name)
    place = tessera.folder / name.replace("l.", "o.")
    journal, partial = (place.with_name(place.name + suffix) for suffix in (".journal", ".partial"))

    def begun():
        journal.write_text("tessera journal 1\nwork 00\npiece 0 00\n")
        if name == "o.zarr":
            (partial / ".writing").mkdir(parents=True, exist_ok=True)
        else:
            partial.write_bytes(b"half")

    begun()
    tessera("filter", "box", "in.npy", "-q", "-o", name)
    assert not journal.exists() and not partial.exists()
    if name != "o.zarr":
        begun()
        with open(journal, "r+") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            tessera("filter", "box", "in.npy", "-q", "-o", name)
            assert journal.exists() and partial.exists()
