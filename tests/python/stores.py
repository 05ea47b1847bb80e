"""What the tests of tasks share: a program, arrays of zarr in a folder."""

import importlib.util
import os
import unittest

from chunks import folder

if not importlib.util.find_spec("zarr"):
    raise unittest.SkipTest("no zarr")
import zarr

TEXT = """
stencil f(vector#2 float X) { return X@[-3,0] + 2 * X@[1,2] - X@[0,-1]; }
parameter M, N; vector#2 float image[M,N]; return f(f(image:mirror):clamped);
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.path = folder(self)

    def place(self, name):
        return os.path.join(self.path, name)

    def zarr(self, name, array, chunks):
        return zarr.create_array(self.place(name), data=array, chunks=chunks)

    def target(self, name, like, chunks, **more):
        return zarr.create_array(self.place(name), shape=like.shape, dtype=like.dtype, chunks=chunks, **more)

    def found(self, name):
        return zarr.open(self.place(name), mode="r")[:]
