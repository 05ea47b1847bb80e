"""Programs that reduce whole images, over arrays of Dask and from files to files: the bits of a run in memory."""

import concurrent.futures
import importlib.util
import itertools
import multiprocessing
import unittest

import numpy as np
import tessera as ts
from chunks import GLOBAL, bits, cluster, random_chunks, volume
from stores import Case, zarr

if not importlib.util.find_spec("dask"):
    raise unittest.SkipTest("no dask")
import dask.array as da
from tessera import _core

CHAINED = """
stencil f(vector#2 float X) { return X@[1,0] - 2 * X@[0,-1]; }
stencil g(vector#2 float X, float m, double s) { return X / m + cast<float>(s); }
stencil h(vector#2 float X, float a) { return a * X; }
parameter M, N; vector#2 float image[M,N]; float gain;
b = f(image:clamped); m = max(image); s = mean(b); c = h(b, gain); t = sum(c);
return shifted = b, scaled = g(image, m, s), third = g(c, gain, t), most = m;
"""
NAMES = ("shifted", "scaled", "third")


@ts.pipeline
def normal(image):
    b = image.mirror()
    soft = ts.stage((b[0, 0, -1] + 2 * b + b[0, 1, 0]) / 4)
    return (soft - soft.mean().astype("float32")) / (image.max() - image.min())


@ts.pipeline
def settled(image):
    def body(before):
        after = ts.stage((before.clamped()[-1, 0] + before) / 2)
        return after, ts.stage(abs(after - before)).max() > 0.1

    return ts.repeat(body, image, most=20)


def count(lazy):
    return len(dict(lazy.__dask_graph__()))


class Lazy(unittest.TestCase):
    def test_bits_in_any_chunks(self):
        program, image = ts.Program.from_text(CHAINED), volume((117, 153)) - np.float32(0.5)
        whole = program(image, 3)
        for chunks in [
            (117, 153),
            (50, 40),
            (30, 153),
            (117, 16),
            (1, 153),
            (33, 41),
            random_chunks(np.random.default_rng(2), image.shape),
        ]:
            with self.subTest(chunks=chunks):
                lazy = program(da.from_array(image, chunks=chunks), gain=3)
                for found, wanted in zip(lazy, whole, strict=True):
                    bits(self, found.compute(), wanted)
        image = volume((31, 40, 52))
        for chunks in (10, (31, 7, 52), (4, 40, 52)):
            bits(self, normal(da.from_array(image, chunks=chunks)).compute(), normal(image))

    def test_of_every_type(self):
        random = np.random.default_rng(5)
        for dtype in ("uint8", "int16", "uint16", "int32", "uint32", "float32", "float64", "bool"):
            image = (random.normal(size=(70, 90)) * 1e4).astype("int64").astype(dtype)
            if dtype.startswith("float"):
                image[random.random(image.shape) < 0.3] = -0.0
                image[3, 4] = np.nan

            @ts.pipeline
            def totals(picture):
                return {"sum": picture.sum(), "mean": picture.mean(), "least": picture.min(), "most": picture.max()}

            whole = totals(image)
            for chunks in ((70, 90), (16, 90), (20, 30)):
                with self.subTest(dtype=dtype, chunks=chunks):
                    for found, wanted in zip(totals(da.from_array(image, chunks=chunks)), whole, strict=True):
                        bits(self, found.compute(), wanted)

    def test_numbers_that_are_lazy_and_parts(self):
        program, image = ts.Program.from_text(CHAINED), volume((60, 70))
        lazy = da.from_array(image, chunks=(20, 30))
        whole = program(image, float(image.max()))
        bits(self, program(lazy, gain=lazy.max()).third.compute(), whole.third)
        part = program(lazy, gain=float(image.max()), region={"scaled": np.s_[10:31, 5:]})
        bits(self, part.scaled.compute(), whole.scaled[10:31, 5:])
        self.assertIsNone(part.third)

    def test_few_tasks(self):
        image = da.zeros((100, 100, 100), chunks=10, dtype=np.float32)
        own = 1000 + 10  # of the source, of rows of chunks that are summed
        self.assertLessEqual(count(normal(image)) - own, 6 * 1000)

        @ts.pipeline
        def scaled(picture):
            return picture / picture.max()

        # The source, parts of minima and maxima by chunk, the result; one that joins.
        self.assertEqual(count(scaled(image)), count(image) + 2 * 1000 + 1)

    def test_what_has_no_passes_is_refused(self):
        image = da.zeros((40, 60), chunks=10, dtype=np.float32)
        sized = ts.Program.from_text(
            "stencil h(vector#2 float X, double m) { return X * m; } parameter M, N; vector#2 float image[M,N];"
            "s = sum(image); t = s / M; return scaled = h(image, t), t = t;"
        )
        for call, message in [
            (lambda: sized(image), "'scaled' cannot be computed chunk by chunk: .* reduces a whole image"),
            (lambda: settled(image), r"stage 'image_before' is an image of a loop .*\n.*tessera run --memory"),
            (lambda: ts.lowpass(image), r"Fourier transform of a whole image.*\n.*ts.lowpass\(image.compute\(\)\)"),
        ]:
            with self.assertRaisesRegex(ts.ArgumentError, message):
                call()


class Parts(unittest.TestCase):
    def test_parts_of_totals(self):
        numbers = np.random.default_rng(3).normal(size=20000)
        edges = [0, 1, 7, 4096, 9000, 20000]
        whole = _core.total("sum", "float64", "float64", [_core.total_part("sum", numbers, 0)])
        parts = [_core.total_part("sum", numbers[a:b], a) for a, b in itertools.pairwise(edges)]
        self.assertEqual(_core.total("sum", "float64", "float64", parts), whole)
        for call, message in [
            (lambda: _core.total_part("median", numbers, 0), "'median' reduces no image"),
            (lambda: _core.total_part("sum", numbers, -1), "the first element is -1"),
            (lambda: _core.total_part("sum", numbers.astype(complex), 0), "complex"),
            (lambda: _core.total("sum", "float64", "float64", [b"12345678"]), "part 1 is none that"),
            (lambda: _core.total("sum", "float64", "float64", [np.float64([-1]).tobytes()]), "part 1 is none that"),
            (lambda: _core.total("sum", "float64", "float64", [np.zeros(4).tobytes()]), "part 1 has 4 numbers"),
            (lambda: _core.total("sum", "float64", "float64", [np.float64([np.nan] * 3).tobytes()]), "part 1 is none"),
        ]:
            with self.assertRaisesRegex(ts.Error, message):
                call()


class Stored(Case):
    def setUp(self):
        super().setUp()
        self.program, self.image = ts.Program.from_text(CHAINED), volume((117, 153))
        self.source = zarr.create_array(self.place("in.zarr"), data=self.image, chunks=(25, 40))

    def test_bits(self):
        whole = self.program(self.image, 3)
        self.program.store(self.source, {n: self.place(f"{n}.zarr") for n in NAMES}, gain=3)
        for name in NAMES:
            bits(self, self.found(f"{name}.zarr"), whole[name])
        self.program.store(self.source, {"most": self.place("most.zarr")}, gain=3)
        bits(self, self.found("most.zarr"), whole.most)
        image = volume((20, 30, 40))
        normal.store(
            zarr.create_array(self.place("v.zarr"), data=image, chunks=(10, 10, 10)),
            self.place("n.zarr"),
            memory="99kB",
        )
        bits(self, self.found("n.zarr"), normal(image))

    def test_on_executors_and_again(self):
        whole = self.program(self.image, 3)
        target = {"third": self.place("third.zarr")}
        spawn = multiprocessing.get_context("spawn")
        for pool in (
            concurrent.futures.ThreadPoolExecutor(2),
            concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn),
        ):
            with pool:
                self.program.store(self.source, target, gain=3, client=pool, memory="100kB", resume=True)
            bits(self, self.found("third.zarr"), whole.third)

    def test_on_workers_of_dask(self):
        whole = self.program(self.image, 3)
        with cluster(self) as client:
            self.program.store(self.source, {"scaled": self.place("scaled.zarr")}, gain=3, client=client)
            bits(self, self.found("scaled.zarr"), whole.scaled)
            lazy = self.program(da.from_array(self.image, chunks=40), gain=3)
            bits(self, client.compute(lazy.third).result(), whole.third)

    def test_refusals(self):
        loop = self.place("loop.zarr")
        for call, message in [
            (
                lambda: ts.Program.from_text(GLOBAL).tasks(self.source, {"scaled": self.place("s.zarr")}),
                r"'scaled' follows from totals of whole images, .*: stage .* reduces a whole image\n.*write store",
            ),
            (
                lambda: self.program.store(self.source, {n: self.place("s.zarr") for n in ("third", "most")}, gain=1),
                "'third' and 'most' have several extents",
            ),
            (
                lambda: self.program.store(self.source, {"third": self.place("t.zarr")}, gain=1, memory="100B"),
                "more than memory allows",
            ),
            (lambda: settled.store(self.source, loop), r"is an image of a loop .*\n.*tessera run --memory"),
        ]:
            with self.assertRaisesRegex(ts.ArgumentError, message):
                call()


if __name__ == "__main__":
    unittest.main()
