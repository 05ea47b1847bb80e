"""What the tests of this folder share: the command, which reads and writes files by region, and numbers."""

import os
import subprocess

import numpy
import pytest


class Tool:
    """Files are names in `folder`; a command that fails is an error of the test."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *words, status=0):
        done = subprocess.run([os.environ["TESSERA"], *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr

    def read(self, kind, name, *more):
        self("read", kind, name, "read.npy", *more)
        return numpy.load(self.folder / "read.npy")

    def write(self, kind, array, name, letters="-", packing="none", chunk=()):
        numpy.save(self.folder / "written.npy", array)
        self("write", kind, "written.npy", name, letters, packing, *chunk)
        return self.folder / name


@pytest.fixture
def tool(tmp_path):
    return Tool(tmp_path)


def samples(shape, dtype, seed=1):
    generator = numpy.random.default_rng(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        return generator.normal(size=shape).astype(dtype)
    info = numpy.iinfo(dtype)
    return generator.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
