"""Several outputs, each a file of its own, and names of files that look like `NAME=FILE`."""

import os

import numpy
import pytest
from PIL import Image

from conftest import FAULTS

TWO = ("stencil copy(vector#2 float X) { return X; }\nstencil halve(vector#2 float X) { return X * 0.5f; }\n"
       "parameter M, N;\nvector#2 float image[M,N];\nreturn same = copy(image), halved = halve(image);\n")


@pytest.fixture
def two(tessera):
    (tessera.folder / "two.forma").write_text(TWO)
    Image.fromarray(numpy.arange(200, dtype=numpy.uint8).reshape(10, 20)).save(tessera.folder / "in.png")
    return tessera


def test_the_two_files_of_the_report(tessera):
    folder = FAULTS / "two_outputs_one_file"
    done = tessera("run", folder / "sob.forma", folder / "in.npy", "-q", "-o", "magnitude=out.npy", "-o", "direction=out.npy", status=2)
    assert "magnitude" in done.stderr and "direction" in done.stderr and "one file" in done.stderr
    assert not (tessera.folder / "out.npy").exists()


def test_one_file_by_two_names(two):
    folder = two.folder
    (folder / "sub").mkdir()
    (folder / "old.npy").write_bytes(b"old")
    os.symlink("old.npy", folder / "link.npy")
    os.link(folder / "old.npy", folder / "hard.npy")
    os.symlink("sub", folder / "other")
    os.symlink("new.npy", folder / "dangling.npy")
    for a, b in (("a.npy", "a.npy"), ("a.npy", "./a.npy"), ("a.npy", f"{folder}/a.npy"), ("a.npy", "sub/../a.npy"),
                 ("old.npy", "link.npy"), ("old.npy", "hard.npy"), ("sub/x.npy", "other/x.npy"), ("new.npy", "dangling.npy")):
        done = two("run", "two.forma", "in.png", "-q", "-o", f"same={a}", "-o", f"halved={b}", status=2)
        assert "one file" in done.stderr, (a, b)
        two("run", "two.forma", "in.png", "-q", "-o", a, "-o", b, status=2)
    assert (folder / "old.npy").read_bytes() == b"old"
    two("run", "two.forma", "in.png", "-q", "-o", "same=a.npy", "-o", "halved=b.npy")
    assert numpy.array_equal(numpy.load(folder / "a.npy") / 2, numpy.load(folder / "b.npy"))
    two("fft", "in.png", "-q", "-o", "f.npy", "--spectrum", "./f.npy", status=2)


def test_an_input_may_be_written_over(two):
    two("filter", "median", "in.png", "--radius", 0, "-q", "-o", "in.png")
    assert numpy.array_equal(numpy.asarray(Image.open(two.folder / "in.png")).ravel(), numpy.arange(200))


def test_files_with_an_equals_sign(two):
    done = two("run", "two.forma", "in.png", "-q", "-o", "a=b.png", status=2)
    assert "no output 'a'" in done.stderr and "'./a=b.png'" in done.stderr
    done = two("filter", "median", "in.png", "-q", "-o", "a=b.png", status=2)
    assert "'./a=b.png'" in done.stderr
    two("filter", "median", "in.png", "--radius", 0, "-q", "-o", "./a=b.png")
    assert (two.folder / "a=b.png").exists()
    # a file that is there is one
    two("filter", "median", "a=b.png", "--radius", 0, "-q", "-o", "c.png")
    os.rename(two.folder / "a=b.png", two.folder / "image=b.png")
    two("filter", "median", "image=b.png", "--radius", 0, "-q", "-o", "d.png")
    two("fft", "image=b.png", "-q", "--spectrum", "s.png")
    two("run", "two.forma", "./image=b.png", "-q", "-o", "same=e.png")
    for name in ("c.png", "d.png", "e.png"):
        assert numpy.array_equal(numpy.asarray(Image.open(two.folder / name)).ravel(), numpy.arange(200))
    done = two("run", "two.forma", "none=b.png", "-q", status=2)
    assert "no input 'none'" in done.stderr and "'./none=b.png'" in done.stderr


def test_outputs_without_names(tessera):
    numpy.save(tessera.folder / "a.npy", numpy.ones((20, 30), "float32"))
    (tessera.folder / "one.forma").write_text("parameter M, N; vector#2 float a[M,N]; return a;")
    error = tessera("run", "one.forma", "a.npy", "-o", "x=z.npy", status=2).stderr
    assert "the program has no output 'x', its only output has no name" in error and "'./x=z.npy'" in error
