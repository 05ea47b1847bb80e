"""What `explain` says of every program of examples/ and every filter: without a size, with the names that programs give
their results, and no sentence twice."""

import json
import re

import numpy
import pytest

from conftest import SOURCE

PROGRAMS = sorted(p for p in (SOURCE / "examples").glob("*.forma"))
FILTERS = ["gaussian", "box", "median", "bilateral", "unsharp", "sobel", "canny", "harris", "lowpass"]
SHAPES = {1: "1000000", 2: "1080 x 1920", 3: "256 x 256 x 256"}


def results(text):
    """The names that the return at the end of a program gives."""
    text = re.sub(r"//.*|/\*.*?\*/", "", text)
    last = text[text.rindex("return "):]
    return re.findall(r"(?:return|,)\s*(\w+)\s*=(?!=)", last)


def sentences(text):
    """Of the part that says what was rewritten and which prices were compared."""
    return [line for line in text[text.find("rewritten before"):].splitlines() if line.strip()] if "rewritten before" in text else []


def check(text):
    for section in re.split(r"^section ", text, flags=re.M):
        said = sentences(section)
        assert len(said) == len(set(said)), said
        priced = {name for name in re.findall(r"^  '([^']+)', [\dx ]+: ", section, re.M)}
        for line in said:
            if re.search(r"ns directly|is taken directly", line):
                assert not any(f"'{name}'" in line for name in priced), line


def test_files_say_extents(tessera, numbers):
    """A plan of files is that of their extents; what a run takes stands behind it, and beside JSON on standard error."""
    (tessera.folder / "p.forma").write_text("parameter M, N; vector#2 float a[M,N]; float s; stencil f(vector#2 float X, float s) "
                                            "{ return s * X@[1,0]; } return f(a:mirror, s);")
    numpy.save(tessera.folder / "a.npy", numbers.random((40, 70), dtype="float32"))
    numpy.save(tessera.folder / "stack.npy", numbers.random((3, 40, 70), dtype="float32"))
    sized = tessera("explain", "p.forma", "--size", "40x70").stdout
    for words in (["a.npy", 3], ["a.npy", "s=3"], ["a=a.npy", 3], ["stack.npy", 3, "--pages"]):
        told = tessera("run", "p.forma", *words, "-o", "x.npy", "--dry-run").stdout
        assert told.startswith("p: in memory, ")
        assert tessera("explain", "p.forma", *words, "-o", "x.npy").stdout == sized + "\n" + told
    parts = tessera("explain", "p.forma", "a.npy", 3, "--roi", "0,0,9,19").stdout
    assert parts.startswith(tessera("explain", "p.forma", "--size", "10x20").stdout)
    done = tessera("explain", "p.forma", "a.npy", 3, "--json")
    assert done.stdout == tessera("explain", "p.forma", "--size", "40x70", "--json").stdout and "in memory" in done.stderr
    for extent in ("valid", "full"):
        words = ["--filter", "gaussian", "--sigma", 2, "--extent", extent]
        done = tessera("explain", *words, "a.npy", "-o", "x.npy").stdout
        assert done.startswith(tessera("explain", *words, "--size", "40x70").stdout) and "gaussian: in memory" in done
    for words, expected in ((["p.forma", "a.npy", 3, "--size", "4x4"], "--size '4x4' is given beside files"),
                            (["p.forma", "--memory", "1GiB"], "--memory is of a run on files, but none is given"),
                            (["p.forma", "a.npy", "a.npy", 3], "2 files are given, expected one"),
                            (["p.forma", "a.npy", 3, "-o", "x.what"], "has no suffix of a known format"),
                            (["p.forma", "none.npy", 3], "cannot read 'none.npy'"),
                            (["p.forma", "a.npy", "--target", "verilog"], "takes frames of --size"),
                            (["--filter", "median", "p.forma"], "expected one of them")):
        assert expected in tessera("explain", *words, status=2).stderr, words


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.stem for p in PROGRAMS])
def test_examples(tessera, program):
    text = tessera("explain", program).stdout
    assert text.startswith("extents are assumed: ")
    check(text)
    for name in results(program.read_text()):
        assert re.search(rf"(^| |')({name})(\.\w+)?(,|'| |$)", text, re.M), f"{name} is not named:\n{text[:2000]}"
    done = tessera("explain", program, "--json")
    json.loads(done.stdout)
    assert "extents are assumed" in done.stderr


@pytest.mark.parametrize("name", FILTERS)
def test_filters(tessera, numbers, name):
    more = ["--sigma", f"{numbers.uniform(0.8, 60):.2f}"] if name in ("gaussian", "unsharp", "harris") else []
    text = tessera("explain", "--filter", name, *more).stdout
    assert text.startswith("extents are assumed: image 1080 x 1920; --size gives others\n")
    assert re.search(r"\bresult\b", text)
    check(text)


@pytest.mark.parametrize("rank", SHAPES)
def test_assumed_extents_follow_the_program(tessera, numbers, tmp_path, rank):
    """Extents that are so many times a parameter and some more: what is assumed is the largest below the usual one."""
    axes = "ABC"[:rank]
    usual = [int(n) for n in SHAPES[rank].split(" x ")]
    times, more = numbers.integers(1, 40, rank), numbers.integers(0, 9, rank)
    extents = ",".join(f"{t}*{a}+{m}" for a, t, m in zip(axes, times, more))
    kind = f"vector#{rank} float"
    (tmp_path / "f.forma").write_text(f"stencil f({kind} X) {{ return X + 1; }}\nparameter {','.join(axes)};\n{kind} v[{extents}];\nreturn f(v);\n")
    expected = " x ".join(str((n - m) // t * t + m) for n, t, m in zip(usual, times, more))
    assert f"assumed: v {expected};" in tessera("explain", "f.forma").stdout
