"""Totals and loops with a test in pieces: programs of the zoo that have some, and the example, as files by region. Whatever
takes all of an image goes over it once more; the bits are those of a run in memory."""

import os
import re
import resource
import shutil
import signal
import time

import numpy
import pytest

from conftest import SOURCE
from test_pieces import peak_kilobytes, start

SMALL = "240MiB"  # of it 170 for pieces
TYPES = {
    "bool": "?", "uint8": "u1", "int8": "u1", "int16": "i2", "uint16": "u2", "int": "i4", "uint32": "u4", "half": "f2",
    "float": "f4", "double": "f8",
}
ZOO = SOURCE / "tests" / "zoo"
PROGRAMS = sorted([*(ZOO / "loops").glob("*.forma"), *(ZOO / "reductions").glob("*.forma")])
HEAT = """
stencil step(vector#3 float U) {
  return U + 0.1f * (U@[-1,0,0] + U@[1,0,0] + U@[0,-1,0] + U@[0,1,0] + U@[0,0,-1] + U@[0,0,1] - 6*U);
}
parameter K, M, N;
vector#3 float a[K,M,N];
u<0> = a;
for t = 1..40
  u<t> = step(u<t-1>:clamped);
endfor
return u<40>;
"""
DECLARED = re.compile(r"^vector#\d (\w+) (\w+)\[([^\]]*)\];", re.MULTILINE)


def fields_of(source, name):
    found = re.search(r"struct " + name + r" \{([^}]*)\}", source)
    return [(field, TYPES[kind]) for kind, field in re.findall(r"(\w+) (\w+);", found.group(1))] if found else None


def random_image(numbers, kind, shape):
    if kind == "?":
        return numbers.random(shape) < 0.3
    if kind[0] == "f":
        return (numbers.standard_normal(shape) * 20).astype(kind)
    limits = numpy.iinfo(kind)
    return numbers.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


def write_inputs(tessera, numbers, source, extents):
    """A file for every image that the program declares, extents by their names."""
    words = []
    for kind, name, declared in DECLARED.findall(source):
        shape = [eval(extent, {}, extents) for extent in declared.split(",")]
        fields = fields_of(source, kind)
        if fields:
            image = numpy.zeros(shape, fields)
            for field, of in fields:
                image[field] = random_image(numbers, of, shape)
        else:
            image = random_image(numbers, TYPES[kind], shape)
        numpy.save(tessera.folder / f"{name}.npy", image)
        words.append(f"{name}={name}.npy")
    return words


def outputs_of(source):
    """Their names, of the only `return` that begins a line."""
    results = re.findall(r"^return (.*);", source, re.MULTILINE)[-1]
    names = re.findall(r"(?:^|, )(\w+) = ", results)
    return names or [""]


def run_both(tessera, program, words, names, *options):
    wholes, parts = [], []
    for k, name in enumerate(names):
        wholes += ["-o", f"whole{k}.npy" if not name else f"{name}=whole{k}.npy"]
        parts += ["-o", f"parts{k}.npy" if not name else f"{name}=parts{k}.npy"]
    tessera("run", program, *words, "-q", *options, *wholes)
    said = tessera("run", program, *words, "--resume", "--memory", SMALL, *options, *parts).stderr
    for k in range(len(names)):
        assert (tessera.folder / f"whole{k}.npy").read_bytes() == (tessera.folder / f"parts{k}.npy").read_bytes(), names[k]
    assert {path.suffix for path in tessera.folder.iterdir()} <= {".npy", ".forma"}
    return said


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("numbers_are", ["fast", "exact"])
def test_programs_of_the_zoo(tessera, numbers, program, numbers_are):
    source = program.read_text()
    for extents in ({"J": 2, "K": 3, "M": 61, "N": 83}, {"J": 3, "K": 20, "M": 170, "N": 210}):
        words = write_inputs(tessera, numbers, source, extents)
        run_both(tessera, program, words, outputs_of(source), *(["--exact"] if numbers_are == "exact" else []))


@pytest.mark.parametrize("kind", ["float", "double", "uint8"])
def test_many_pieces(tessera, numbers, kind):
    """Of several levels: a mean, a deviation from it, the largest of what is normalised by both."""
    (tessera.folder / "p.forma").write_text(
        "stencil off(vector#2 float X, float m) { return (X - m) * (X - m); } "
        "stencil by(vector#2 float X, float m, float s) { return (X@[-1,0] + X@[1,1] - m) / s; } "
        "stencil of(vector#2 float X) { return cast<float>(X); } "
        "stencil over(vector#2 float X, float m) { return X / m; } "
        f"parameter M, N; vector#2 {kind} a[M,N]; b = of(a); m = mean(b); v = mean(off(b, m)); "
        "n = by(b:mirror, m, v); return r = over(n, max(n)), low = min(n), n = n;".replace("vector#2 float X) { return cast", f"vector#2 {kind} X) {{ return cast")
    )
    image = (numbers.standard_normal((5200, 3100)) * 40 + 90).clip(0, 255).astype(TYPES[kind])
    numpy.save(tessera.folder / "a.npy", image)
    said = run_both(tessera, "p.forma", ["a.npy"], ["r", "low", "n"])
    pieces = [int(count) for count in re.findall(r"(\d+) pieces? of", said)]
    assert len(pieces) >= 4 and max(pieces) > 2, said
    # Memory is kept, whatever passes take.
    assert all(float(most) <= 240 for most in re.findall(r"at most ([\d.]+) MiB", said))


def test_colours_have_totals_and_loops_of_their_own(tessera, numbers):
    colours = numbers.random((310, 290, 3), dtype="float32") * numpy.array([20, 90, 200], dtype="float32")
    numpy.save(tessera.folder / "rgb.npy", colours)
    run_both(tessera, SOURCE / "examples" / "perona_malik.forma", ["rgb.npy"], [""], "--axes", "yxc")
    (tessera.folder / "p.forma").write_text(
        "stencil f(vector#2 float X, float m) { return X / m; } parameter M, N; vector#2 float a[M,N]; "
        "return f(a, max(a));"
    )
    run_both(tessera, "p.forma", ["rgb.npy"], [""], "--axes", "yxc")


def test_what_is_computed_with_what_was_read(tessera, numbers):
    """An image that does not depend on inputs, and one that nothing but its mean is read of."""
    numpy.save(tessera.folder / "a.npy", numbers.random((90, 70), dtype="float32"))
    numpy.save(tessera.folder / "b.npy", numbers.random((200, 300), dtype="float32"))
    (tessera.folder / "p.forma").write_text(
        "stencil f(vector#2 float X, float m, float n) { return X * m + n; } "
        "stencil s(vector#2 float Y) { return Y * 2; } "
        "parameter M, N, P, Q; vector#2 float a[M,N]; vector#2 float b[P,Q]; return f(a, mean(s(b)), max(b));"
    )
    run_both(tessera, "p.forma", ["a.npy", "b.npy"], [""])


def test_long_rows_of_steps_are_made_in_several_passes(tessera, numbers):
    """Each piece of 40 steps at once would read 40 planes on either side, which do not fit."""
    (tessera.folder / "heat.forma").write_text(HEAT)
    numpy.save(tessera.folder / "a.npy", numbers.random((160, 300, 310), dtype="float32"))
    said = run_both(tessera, "heat.forma", ["a.npy"], [""])
    assert "pass 1 of" in said
    words = ["run", "heat.forma", "a.npy", "--resume", "--memory", SMALL, "-q", "-o", "x.npy"]
    process = start(tessera, *words)
    assert peak_kilobytes(process) <= 240 * 1024 and process.returncode == 0


def test_memory_is_kept_by_loops(tessera, numbers):
    image = numbers.random((3000, 4100), dtype="float32") * 60
    numpy.save(tessera.folder / "a.npy", image)
    words = ["run", SOURCE / "examples" / "perona_malik.forma", "a.npy", "--memory", "200MiB", "-q", "-o", "x.npy"]
    process = start(tessera, *words)
    assert peak_kilobytes(process) <= 200 * 1024 and process.returncode == 0
    assert list(tessera.folder.glob("x.npy*")) == [tessera.folder / "x.npy"]


def perona_malik(tessera, numbers, steps):
    """An image, and the words that run so many steps of it."""
    numpy.save(tessera.folder / "a.npy", numbers.random((2000, 2100), dtype="float32") * 60)
    steps = ["-p", "noise=1000", "-p", f"most={steps}"]  # all of them
    return ["run", SOURCE / "examples" / "perona_malik.forma", "a.npy", *steps, "--memory", "120MiB", "-o", "x.npy"]


def test_what_stops_passes_leaves_what_resume_goes_on_with(tessera, numbers):
    words = perona_malik(tessera, numbers, 300)  # which takes several seconds
    for how in (signal.SIGINT, signal.SIGKILL):
        process = start(tessera, *words, "-q")
        while process.poll() is None and not (tessera.folder / "x.npy.journal").exists():
            time.sleep(0.005)
        time.sleep(0.3)
        process.send_signal(how)
        process.communicate()
        assert process.returncode in (130, -signal.SIGKILL)
        left = {path.name for path in tessera.folder.iterdir()} - {"a.npy"}
        assert left <= {"x.npy.partial", "x.npy.journal", "x.npy.passes"}, left
    tessera(*words, "--resume")
    assert {path.name for path in tessera.folder.iterdir()} == {"a.npy", "x.npy"}


def passes_done(tessera, name="x.npy"):
    record = tessera.folder / f"{name}.passes" / "record"
    return record.read_text().count("\npass ") if record.exists() else 0


def killed(tessera, words, least, name="x.npy"):
    """Killed as soon as so many passes are done."""
    if "--resume" not in words:
        shutil.rmtree(tessera.folder / f"{name}.passes", ignore_errors=True)
    process = start(tessera, *words)
    while process.poll() is None and passes_done(tessera, name) < least:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    return passes_done(tessera, name)


def test_a_loop_goes_on_where_it_was_killed(tessera, numbers):
    words = perona_malik(tessera, numbers, 80)
    tessera(*words, "-q")
    (tessera.folder / "x.npy").rename(tessera.folder / "whole.npy")
    done = 0
    for least in (3, 7, 20, 41):
        before = done
        done = killed(tessera, [*words, "--resume"], least)
        assert done >= max(before, least)
    said = tessera(*words, "--resume").stderr
    assert f"passes that are done already: {done}\n" in said and "80 of 80 iterations" in said
    assert (tessera.folder / "x.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()
    assert not (tessera.folder / "x.npy.passes").exists()


def test_passes_are_done_when_the_result_is_under_way(tessera, numbers):
    words = perona_malik(tessera, numbers, 9)
    tessera(*words, "-q")
    (tessera.folder / "x.npy").rename(tessera.folder / "whole.npy")
    # There is no room for the result.
    size = (tessera.folder / "whole.npy").stat().st_size

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 4096, size - 4096))

    process = start(tessera, *words, before=limit)
    process.communicate()
    assert process.returncode == 2
    assert not (tessera.folder / "x.npy").exists() and not (tessera.folder / "x.npy.partial").exists()
    process = start(tessera, *words)
    journal = tessera.folder / "x.npy.journal"
    while process.poll() is None and not (passes_done(tessera) == 9 and journal.exists()):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    if process.returncode == 0:
        pytest.skip("it was done before it was killed")
    assert "passes that are done already: 9\n" in tessera(*words, "--resume").stderr
    assert (tessera.folder / "x.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()


@pytest.mark.parametrize("change", ["lines are lost", "a line is cut short", "an image is another one", "an image is gone"])
def test_what_was_changed_begins_again(tessera, numbers, change):
    words = perona_malik(tessera, numbers, 40)
    tessera(*words, "-q")
    (tessera.folder / "x.npy").rename(tessera.folder / "whole.npy")
    assert killed(tessera, words, 5) >= 5
    record = tessera.folder / "x.npy.passes" / "record"
    image = next((tessera.folder / "x.npy.passes").glob("*-*"))
    if change == "lines are lost":  # a later pass has written where theirs did
        record.write_text("".join(record.read_text().splitlines(keepends=True)[:-2]))
    elif change == "a line is cut short":
        record.write_text(record.read_text()[:-5])
    elif change == "an image is another one":
        content = image.read_bytes()
        image.rename(tessera.folder / "old")
        image.write_bytes(content[::-1])
    else:
        image.unlink()
    said = tessera(*words, "--resume").stderr
    assert "all passes begin again" in said or "done already" not in said
    assert (tessera.folder / "x.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()


def test_what_stands_in_the_way_of_a_record_stays(tessera, numbers):
    words = perona_malik(tessera, numbers, 9)
    folder = tessera.folder / "x.npy.passes"
    folder.mkdir()
    (folder / "notes.txt").write_text("important")
    for more in ([], ["--resume"]):
        error = tessera(*words, *more, status=2).stderr
        assert "'x.npy.passes' stands where the record of its passes goes, and is none\nhelp: take it away" in error
        assert (folder / "notes.txt").read_text() == "important"
        assert {path.name for path in tessera.folder.iterdir()} == {"a.npy", "x.npy.passes"}
    # A program that has none passes by.
    tessera("filter", "gaussian", "a.npy", "--memory", "120MiB", "-q", "-o", "x.npy")
    assert (folder / "notes.txt").read_text() == "important"


def test_rows_of_steps_keep_what_is_read_again_alone(tessera, numbers):
    (tessera.folder / "heat.forma").write_text(HEAT)
    numpy.save(tessera.folder / "a.npy", numbers.random((160, 300, 310), dtype="float32"))
    process = start(tessera, "run", "heat.forma", "a.npy", "--memory", "150MiB", "-q", "-o", "x.npy")
    most = 0
    while process.poll() is None:
        most = max(most, len(list(tessera.folder.glob("x.npy.passes/*-*"))))
        time.sleep(0.002)
    process.communicate()
    assert process.returncode == 0 and 1 <= most <= 3


def test_other_work_is_noticed_between_passes(tessera, numbers):
    words = perona_malik(tessera, numbers, 80)
    tessera(*words, "-q")
    (tessera.folder / "x.npy").rename(tessera.folder / "whole.npy")
    killed(tessera, words, 3)
    error = tessera(*words, "-p", "contrast=11", "--resume", status=2).stderr
    assert "was begun by other work" in error and "without --resume" in error
    (tessera.folder / "a.npy").touch()
    assert "was begun by other work" in tessera(*words, "--resume", status=2).stderr
    # The same work by other names of its files.
    done = killed(tessera, words, 3)
    (tessera.folder / "y.npy").symlink_to("x.npy")
    assert f"done already: {done}\n" in tessera(*words[:-1], tessera.folder / "y.npy", "--resume").stderr
    assert (tessera.folder / "x.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()
    # What runs in memory leaves nothing of it.
    killed(tessera, words, 3)
    tessera(*words[:-4], "-q", "-o", "x.npy")
    assert not (tessera.folder / "x.npy.passes").exists()


@pytest.mark.parametrize("program", ["totals", "colours", "steps"])
def test_kills_at_any_moment(tessera, numbers, program):
    """TESSERA_KILLS=70 kills each so often."""
    if program == "colours":
        numpy.save(tessera.folder / "a.npy", numbers.random((1500, 1700, 3), dtype="float32") * 60)
        words = ["run", SOURCE / "examples" / "perona_malik.forma", "a.npy", "-p", "noise=1000", "-p", "most=9", "--axes", "yxc"]
    elif program == "steps":
        (tessera.folder / "p.forma").write_text(HEAT)
        numpy.save(tessera.folder / "a.npy", numbers.random((160, 300, 310), dtype="float32"))
        words = ["run", "p.forma", "a.npy"]
    else:
        (tessera.folder / "p.forma").write_text(
            "stencil off(vector#2 float X, float m) { return (X - m) * (X - m); } "
            "stencil by(vector#2 float X, float m, float s) { return (X@[-1,0] + X@[1,1] - m) / s; } "
            "stencil over(vector#2 float X, float m) { return X / m; } parameter M, N; vector#2 float a[M,N]; "
            "m = mean(a); v = mean(off(a, m)); n = by(a:mirror, m, v); return r = over(n, max(n)), low = min(n);"
        )
        numpy.save(tessera.folder / "a.npy", (numbers.standard_normal((5200, 3100)) * 40).astype("f4"))
        words = ["run", "p.forma", "a.npy", "-o", "low=low.npy"]
    result = "r=" if program == "totals" else ""
    tessera(*words, "-q", "-o", f"{result}whole.npy")
    words += ["--resume", "--memory", SMALL, "-q", "-o", f"{result}x.npy"]
    began = time.monotonic()
    tessera(*words)
    length = time.monotonic() - began
    for _ in range(int(os.environ.get("TESSERA_KILLS", "4"))):
        process = start(tessera, *words)
        time.sleep(numbers.uniform(0, length))
        process.kill()
        process.communicate()
    tessera(*words)
    assert (tessera.folder / "x.npy").read_bytes() == (tessera.folder / "whole.npy").read_bytes()
    assert not list(tessera.folder.glob("*.passes"))
