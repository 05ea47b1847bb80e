"""Outputs that are streams (standard output, /dev/stdout, /dev/fd/N, pipes) and several outputs of one command, which
appear together or not at all; standard files that are closed, few descriptors, TMPDIR and TESSERA_CLANG that cannot be
used."""

import os
import resource
import shutil
import subprocess

import numpy
import pytest

TESSERA = os.environ["TESSERA"]
BLUR = "stencil same(vector#2 float X) { return X; }\nparameter M, N;\nvector#2 float image[M,N];\nreturn result = same(image);\n"
TWO = ("stencil copy(vector#2 float X) { return X; }\nstencil halve(vector#2 float X) { return X * 0.5f; }\n"
       "parameter M, N;\nvector#2 float image[M,N];\nreturn same = copy(image), halved = halve(image);\n")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.forma").write_text(BLUR)
    (tmp_path / "two.forma").write_text(TWO)
    numpy.save(tmp_path / "in.npy", numpy.arange(200 * 300, dtype=numpy.float32).reshape(200, 300))
    (tmp_path / "old.npy").write_bytes(b"old")
    return tmp_path


def shell(folder, line, **environment):
    return subprocess.run(["bash", "-c", line.replace("tessera ", f"'{TESSERA}' ")], cwd=folder, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, **environment), timeout=120)


def refused(done, *parts, status=2):
    said = done.stderr.decode()
    assert done.returncode == status, (done.returncode, said)
    for part in parts:
        assert part in said, said
    return said


def listed(folder):
    return sorted(p.name for p in folder.iterdir())


RUN = "tessera run p.forma in.npy -q --format npy -o"


def test_closed_standard_files(folder):
    for closed in ("<&-", "<&- 2>&-", "<&- >&- 2>&-", ">&-", "2>&-"):
        # a program of its own, so that it is compiled
        (folder / "p.forma").write_text(BLUR.replace("return X;", f"return X + {os.getpid()}.{len(closed)}5f;"))
        done = shell(folder, f"tessera run p.forma in.npy -q --compiler built-in -o a.npy {closed}", TESSERA_CACHE="")
        assert done.returncode == 0, (closed, done.stderr)
        assert numpy.load(folder / "a.npy")[0, 0] > os.getpid()
        (folder / "a.npy").unlink()
    for word in ("-", "/dev/stdout"):
        refused(shell(folder, f"{RUN} {word} >&-"), "cannot write", "closed")
    refused(shell(folder, "tessera emit p.forma >&-"), "cannot write standard output", "closed")
    refused(shell(folder, "tessera filter box - -o a.npy <&-"), "cannot read standard input", "closed")
    refused(shell(folder, "tessera check - <&-"), "cannot read standard input", "closed")
    assert listed(folder) == ["in.npy", "old.npy", "p.forma", "two.forma"]


BOTH = "tessera run two.forma in.npy -q --format npy -o same=old.npy -o halved="
