"""Programs over arrays of Dask: bits of the whole run, how many tasks there are, what workers hold, what is refused."""

import array
import copy
import decimal
import importlib.util
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import tessera as ts
from chunks import (
    BORDERS,
    COORDINATES,
    LOWER,
    OF_STRUCTS,
    PLANES,
    SHAPES,
    STRUCTS,
    bits,
    cluster,
    composed,
    planes,
    random_chunks,
    sampled,
    several,
    stencil_program,
    volume,
)

if not importlib.util.find_spec("dask"):
    raise unittest.SkipTest("no dask")
import dask
import dask.array as da
from tessera import _lazy, _routes
from tessera._works import ProgramWork


class Weights:
    """An array of somebody else, that does not show what it has."""

    def __init__(self, array):
        self._array = array.copy()

    def __array__(self, dtype=None, copy=None):
        return self._array


def count(lazy):
    """Tasks of a graph as it runs."""
    return len(dask.optimize(lazy)[0].__dask_graph__())


class Bits(unittest.TestCase):
    def same(self, program, *given, chunks=None, **options):
        """Of the first array in these chunks, and of the whole."""
        whole = program(*given, **options)
        lazy = program(da.from_array(given[0], chunks=chunks), *given[1:], **options)
        pairs = [(lazy, whole)] if isinstance(lazy, da.Array) else list(zip(lazy, whole, strict=True))
        for found, wanted in pairs:
            self.assertIsInstance(found, da.Array)
            bits(self, found.compute(scheduler="sync"), wanted)
        return lazy

    def test_ranks_borders_and_chunks_at_random(self):
        random = np.random.default_rng(int(os.environ.get("TESSERA_SEED", "7")))
        for rank, shape in SHAPES.items():
            image = volume(shape)
            for k, border in enumerate(BORDERS):
                program = stencil_program(rank, border, 1 + k % 3, seed=k)
                for numbers in ("fast", "exact"):
                    chunks = random_chunks(random, shape, most=5 if rank < 4 else 3)
                    with self.subTest(rank=rank, border=border, numbers=numbers, chunks=chunks):
                        self.same(program, image, chunks=chunks, numbers=numbers)

    def test_chunks_smaller_than_the_halo(self):
        for rank, size in ((1, 2), (2, 3), (3, 4)):
            with self.subTest(rank=rank):
                self.same(stencil_program(rank, "mirror", 5), volume(SHAPES[rank]), chunks=size)

    def test_sampled_and_composed(self):
        random = np.random.default_rng(3)
        for shape in ((40, 64), (41, 53)):
            for _ in range(4):
                lazy = self.same(sampled, volume(shape), chunks=random_chunks(random, shape))
                self.assertEqual(len(lazy), 2)
                self.same(composed, volume(shape), chunks=random_chunks(random, shape))
        half = sampled(da.zeros((64, 64), dtype="float32", chunks=16)).half
        self.assertEqual(half.chunks, ((8,) * 4,) * 2)
        self.assertEqual(composed(da.zeros((64, 64), dtype="float32", chunks=16)).chunks, ((32,) * 4,) * 2)

    def test_several_outputs(self):
        lazy = self.same(several, volume((41, 53)), amount=0.3, chunks=(9, 20))
        self.assertEqual(lazy.sharp.chunks, lazy.smooth.chunks)
        self.assertEqual(lazy.valid.shape, several(volume((41, 53))).valid.shape)
        runs, plain = [], _lazy.compute

        def watched(*given):
            runs.append(given)
            return plain(*given)

        with mock.patch.object(_lazy, "compute", watched):
            lazy = several(da.from_array(volume((41, 53)), chunks=(9, 20)))
        dask.compute(*lazy, scheduler="sync")
        self.assertEqual(len(runs), lazy.sharp.npartitions)  # one makes all

    def test_programs_that_ask_where_they_are(self):
        self.same(ts.Program.from_text(COORDINATES), volume((41, 53)), chunks=(10, 17))

    def test_planes_and_structs(self):
        photo = np.random.default_rng(4).integers(0, 256, (30, 40, 3), np.uint8)
        for chunks in ((8, 9, 3), (30, 11, 1), ((1, 29), 40, (2, 1))):
            self.same(ts.Program.from_text(PLANES), photo, chunks=chunks)
        marked = self.same(ts.Program.from_text(STRUCTS), volume((20, 30)), chunks=(7, 30))
        self.same(ts.Program.from_text(OF_STRUCTS), marked.compute(), chunks=(6, 11))
        self.same(planes, np.ascontiguousarray(np.moveaxis(photo, -1, 0)), chunks=(1, 8, 9))

    def test_several_inputs(self):
        program = ts.Program.from_text(LOWER)
        image, weights = volume((12, 20, 24)), volume((20, 24), 2)
        whole = program(image, weights, 2.0)
        lazy = da.from_array(image, chunks=(5, 6, 24))
        for beside in (weights, da.from_array(weights, chunks=(3, 7)), da.from_array(weights, chunks=-1)):
            bits(self, program(lazy, beside, gain=2.0).compute(scheduler="sync"), whole)
        bits(self, program(image, da.from_array(weights, chunks=6), 2.0).compute(scheduler="sync"), whole)

    def test_numbers_may_be_lazy(self):
        program = ts.Program.from_text(LOWER)
        image, weights = volume((12, 20, 24)), volume((20, 24), 2)
        lazy = da.from_array(image, chunks=(5, 6, 24))
        bits(self, program(lazy, weights, lazy.max()).compute(), program(image, weights, image.max()))
        bits(self, several(lazy[0], amount=lazy.max()).sharp.compute(), several(image[0], amount=image.max()).sharp)
        for number in (lazy.max(), lazy[0, 0, :1]):
            with self.assertRaisesRegex(ts.ArgumentError, "but no array is"):
                program(image, weights, number)
        for number, shape in (
            (lazy[0, 0, :1], r"\(1,\)"),
            (lazy[0, 0, :2], r"\(2,\)"),
            (lazy[:1, :1, :1], r"\(1, 1, 1\)"),
        ):
            with self.assertRaisesRegex(
                ts.ArgumentError, f"'gain' is an array of Dask of shape {shape}, expected a number"
            ):
                program(lazy, weights, number)

    def test_named_filters(self):
        image = volume((30, 44, 9))
        mask = (image > 0.3).astype(np.uint8)
        photo = np.random.default_rng(5).integers(0, 256, (30, 44, 4), np.uint8)
        calls = {
            "gaussian": lambda x, **o: ts.gaussian(x, 2, **o),
            "valid": lambda x, **o: ts.box(x, 2, extent="valid", **o),
            "full": lambda x, **o: ts.median(x, 1, extent="full", border="wrap", **o),
            "constant": lambda x, **o: ts.gaussian((x * 200).astype(np.uint8), 2, border="constant(-3)", **o),
            "masked": lambda x, **o: ts.gaussian(x, (3, 2, 1), mask=mask, **o),
            "mask of the last dimensions": lambda x, **o: ts.gaussian(x, 1, mask=mask[0], extent="full", **o),
            "weights": lambda x, **o: ts.convolve(x, np.arange(27.0).reshape(3, 3, 3), **o),
            "by name": lambda x, **o: ts.filter("erode", x, radius=3, **o),
        }
        for name, call in calls.items():
            with self.subTest(filter=name):
                whole, lazy = call(image), call(da.from_array(image, chunks=(11, 20, 4)))
                bits(self, lazy.compute(scheduler="sync"), whole)
                part = call(da.from_array(image, chunks=(11, 20, 4)), region=np.s_[3:9, 7:8, 1:])
                bits(self, part.compute(scheduler="sync"), whole[3:9, 7:8, 1:])
        for axis, picture in ((-1, photo), (0, np.moveaxis(photo, -1, 0))):
            whole = ts.gaussian(picture, channel_axis=axis, alpha="weighted")
            lazy = ts.gaussian(da.from_array(picture, chunks=(9, 13, 3)), channel_axis=axis, alpha="weighted")
            bits(self, lazy.compute(scheduler="sync"), whole)
        holes = image.copy()
        holes[3:9, 4:30] = np.nan
        lazy = ts.gaussian(da.from_array(holes, chunks=7), 2, ignore_nan=True)
        bits(self, lazy.compute(scheduler="sync"), ts.gaussian(holes, 2, ignore_nan=True))

    def test_regions(self):
        image = volume((41, 53))
        lazy = several(da.from_array(image, chunks=(9, 20)), region={"sharp": np.s_[3:9, 7:8]})
        bits(self, lazy.sharp.compute(), several(image).sharp[3:9, 7:8])
        self.assertIsNone(lazy.smooth)

    def test_of_arrays_that_are_computed(self):
        image = volume((41, 53))
        lazy = da.from_array(image, chunks=(9, 20))
        program = stencil_program(2, "mirror", 2)
        bits(self, program(program(lazy + 1) * 2).compute(), program(program(image + 1) * 2))
        bits(self, program(lazy[::-1].T).compute(), program(image[::-1].T))
        bits(self, program(lazy)[3:5, ::2].compute(), program(image)[3:5, ::2])

    def test_labelled(self):
        if not importlib.util.find_spec("xarray"):
            self.skipTest("no xarray")
        import xarray

        image = volume((41, 53))
        coords = {"y": np.arange(41) * 0.5, "x": np.arange(53)}
        labelled = xarray.DataArray(da.from_array(image, chunks=(9, 20)), coords, ("y", "x"), "height", {"units": "m"})
        for made, wanted in (
            (several(labelled).smooth, several(image).smooth),
            (ts.gaussian(labelled, 1), ts.gaussian(image, 1)),
        ):
            self.assertIsInstance(made, xarray.DataArray)
            self.assertIsInstance(made.data, da.Array)
            self.assertEqual((made.dims, made.attrs, list(made.coords)), (("y", "x"), {"units": "m"}, ["y", "x"]))
            bits(self, made.compute().values, wanted)
        part = ts.gaussian(labelled, 1, region=np.s_[4:6, 50:])
        np.testing.assert_array_equal(part.y, coords["y"][4:6])
        bits(self, part.compute().values, ts.gaussian(image, 1)[4:6, 50:])


class Graphs(unittest.TestCase):
    def test_at_most_four_tasks_a_chunk(self):
        """The source's own is one of them."""
        for rank, shape, chunk in ((2, (256, 256), 32), (3, (96, 96, 96), 16), (4, (24, 24, 24, 24), 6)):
            for reach in (1, 2, 8):
                lazy = stencil_program(rank, "mirror", reach)(da.ones(shape, dtype=np.float32, chunks=chunk))
                with self.subTest(rank=rank, reach=reach):
                    self.assertLessEqual(count(lazy) / lazy.npartitions, 4)

    def test_one_task_a_chunk_where_nothing_is_exchanged(self):
        lazy = stencil_program(2, "mirror", 3)(da.ones((64, 64), dtype=np.float32, chunks=(64, 64)))
        self.assertEqual(count(lazy), 2)
        lazy = ts.gaussian(da.ones((64, 64), dtype=np.float32, chunks=16), 0)
        self.assertLessEqual(count(lazy) / lazy.npartitions, 2)

    def test_what_is_sent_is_slabs(self):
        """Of a chunk of 64^3 and a halo of 2, cuts and relays are a part of what whole neighbours would be."""
        edges = [list(range(0, 257, 64))] * 3
        needs = {
            o: (
                tuple(max(0, 64 * i - 2) for i in o),
                tuple(min(256, 64 * i + 66) for i in o),
            )
            for o in np.ndindex(4, 4, 4)
        }
        routes = _routes.routes(edges, needs)
        inner = routes.takes[1, 1, 1]
        cuts = sum(sum(map(_routes.volume, routes.cuts[s])) for s in inner.cuts)
        relays = sum(sum(map(_routes.volume, routes.relays[r].boxes)) for r in inner.relays)
        self.assertEqual((len(inner.cuts), len(inner.relays)), (8, 2))
        self.assertLess(cuts + relays, 1.25 * 64**3)
        self.assertFalse(routes.whole)

    def test_routes_bring_all_that_is_read(self):
        random = np.random.default_rng(11)
        for _ in range(60):
            shape = tuple(random.integers(3, 30, random.integers(1, 5)))
            whole = volume(shape)
            chunks = random_chunks(random, shape, 4)
            edges = _lazy.edges_of(chunks)
            begin = {o: [int(random.integers(0, n)) for n in shape] for o in np.ndindex(*map(len, chunks))}
            needs = {
                o: (tuple(b), tuple(int(random.integers(i, n)) + 1 for i, n in zip(b, shape))) for o, b in begin.items()
            }
            routes = _routes.routes(edges, needs)

            def chunk(index, edges=edges, whole=whole):
                box = _routes.chunk_box(edges, index)
                return box[0], whole[tuple(slice(b, e) for b, e in zip(*box))]

            def others(cuts, routes=routes, chunk=chunk):
                return [
                    p
                    for s in cuts
                    for p in ([chunk(s)] if s in routes.whole else _lazy.cut(*chunk(s)[::-1], routes.cuts[s]))
                ]

            relays = {
                r: [(b[0], _lazy.paste(b, [chunk(r), *others(of.cuts)])) for b in of.boxes]
                for r, of in routes.relays.items()
            }
            for take in routes.takes.values():
                patches = [chunk(take.home), *others(take.cuts), *(p for r in take.relays for p in relays[r])]
                found = _lazy.paste(take.box, [(at, np.where(part < 0, part, part)) for at, part in patches])
                wanted = whole[tuple(slice(b, e) for b, e in zip(*take.box))]
                np.testing.assert_array_equal(found, wanted)

    def test_nothing_is_computed_before_it_is_asked_for(self):
        def fail(block):
            raise AssertionError("computed")

        image = da.ones((40, 40), dtype=np.float32, chunks=10).map_blocks(
            fail, dtype=np.float32, meta=np.empty((0, 0), np.float32)
        )
        lazy = several(image)
        self.assertEqual(several.output_shapes(image)[0], (40, 40))
        self.assertIn("explain", dir(several))
        several.explain(image)
        with self.assertRaisesRegex(AssertionError, "computed"):
            lazy.sharp.compute(scheduler="sync")

    def test_names_are_those_of_what_is_computed(self):
        image = da.ones((40, 40), dtype=np.float32, chunks=10)
        self.assertEqual(ts.gaussian(image, 2).name, ts.gaussian(image, 2).name)
        self.assertNotEqual(ts.gaussian(image, 2).name, ts.gaussian(image, 3).name)
        self.assertNotEqual(several(image, amount=1.0).sharp.name, several(image, amount=2.0).sharp.name)
        self.assertNotEqual(ts.gaussian(image, 2).name, ts.gaussian(image, 2, numbers="exact").name)
        # However they are written.
        text = "stencil f(vector#2 float X) { return X@[0,1]; } parameter M, N; vector#2 float image[M,N]; return f(image:wrap);"
        moved = ts.Program.from_text("\n\n  " + text, name="elsewhere.forma")
        self.assertEqual(ts.Program.from_text(text)(image).name, moved(image).name)
        self.assertNotEqual(ts.Program.from_text(text.replace("0,1", "1,0"))(image).name, moved(image).name)

        def named(**options):
            return ts.filter("gaussian", image, sigma=2, **options).name

        self.assertEqual(named(border="constant(3)"), named(border=("constant", np.float32(3))))
        self.assertEqual(named(type="float64"), named(type=np.dtype("f8")))
        self.assertEqual(ts.gaussian(image, (1, 2.5)).name, ts.gaussian(image, [np.int64(1), np.float64(2.5)]).name)
        self.assertEqual(named(nodata=decimal.Decimal(3)), named(nodata=3.0))
        self.assertNotEqual(ts.gaussian(image, 0.1 + 0.2).name, ts.gaussian(image, 0.3).name)
        weights = np.arange(2000.0)

        def weighted(kernel):
            return ts.convolve(da.ones(5000, dtype=np.float32, chunks=2500), kernel).name

        names = {weighted(k) for k in (weights, array.array("d", weights), list(weights), Weights(weights))}
        self.assertEqual(len(names), 1)
        weights[1000] = 0
        self.assertNotIn(weighted(Weights(weights)), names)
        rows = [[weights, weights], [weights, weights + (weights == 999)]]
        image = da.ones((8, 8), dtype=np.float32, chunks=4)
        self.assertNotEqual(*(ts.convolve(image, k).name for k in rows))

    def test_dask_is_not_loaded(self):
        code = "import sys, tessera as ts, numpy as np; ts.gaussian(np.ones((9, 9), 'f4')); assert 'dask' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_what_a_task_takes(self):
        """Of chunks of 8 MB: the window and the result beside what lies there already, three chunks with the halo."""
        edge, halo = 128, 3
        taken, plain = [], _lazy.compute

        def watched(work, boxes, reads, *rest):
            tracemalloc.start()
            result = plain(work, boxes, reads, *rest)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            slabs = sum(a.nbytes for read in reads for other in read[3] if isinstance(other, list) for _, a in other)
            taken.append((peak, slabs))
            return result

        with mock.patch.object(_lazy, "compute", watched):
            lazy = ts.gaussian(da.from_array(volume((3 * edge,) * 3), chunks=edge), 1)
        lazy.compute(scheduler="sync")
        window, result = 4 * (edge + 2 * halo) ** 3, 4 * edge**3
        self.assertLess(max(peak for peak, _ in taken), 1.02 * (window + result))
        self.assertLess(max(slabs for _, slabs in taken), 0.9 * result)  # what came from elsewhere


class Schedulers(unittest.TestCase):
    def setUp(self):
        self.image = volume((80, 90))
        self.program = stencil_program(2, "mirror", 3)
        self.whole = self.program(self.image)

    def lazy(self, image=None):
        return self.program(da.from_array(self.image, chunks=20) if image is None else image)

    def test_threads_and_processes(self):
        for scheduler in ("threads", "processes"):
            with self.subTest(scheduler), dask.config.set(scheduler=scheduler, num_workers=2):
                bits(self, self.lazy().compute(), self.whole)
                outputs = dask.compute(*several(da.from_array(self.image, chunks=20)))
                for found, wanted in zip(outputs, several(self.image), strict=True):
                    bits(self, found, wanted)

    def test_a_cluster_of_which_a_worker_is_killed(self):
        with cluster(self) as client:
            bits(self, self.lazy().compute(), self.whole)
            bits(self, ts.gaussian(da.from_array(self.image, chunks=20), 2).compute(), ts.gaussian(self.image, 2))

            def slow(block):
                time.sleep(0.15)
                return block

            image = da.from_array(self.image, chunks=20).map_blocks(slow, dtype=np.float32)
            future = client.compute(self.lazy(image))
            victim = next(iter(client.run(os.getpid).values()))
            timer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
            timer.start()
            bits(self, future.result(timeout=120), self.whole)
            timer.join()

    def test_workers_have_a_program_once(self):
        data = pickle.dumps(self.program)
        first, second = pickle.loads(data), pickle.loads(data)
        self.assertIs(first, second)
        bits(self, first(self.image), self.whole)
        self.assertIs(copy.deepcopy(self.program), self.program)
        self.assertIs(copy.copy(self.program), self.program)


class Pickles(unittest.TestCase):
    def test_programs_of_every_kind(self):
        image = volume((20, 24))
        weights = ts.table(volume((3, 3)))

        @ts.pipeline
        def windowed(x):
            b = x.mirror()
            return ts.over((-1, 1), (-1, 1)).sum(lambda i, j: weights[i + 1, j + 1] * b[i, j])

        built = windowed.compile(image)
        adjoint = built.adjoint()
        with_table = ts.Program.from_text(
            "table float w[3]; stencil f(vector#2 float X) { return sum(i=-1..1) (w[i + 1] * X@[0,i]); }"
            "parameter M, N; vector#2 float image[M,N]; return f(image:mirror);",
            tables={"w": np.array([1.5, 0.1, -2], np.float32)},
        )
        for program, given in ((built, (image,)), (adjoint, (image, image)), (with_table, (image,))):
            again = pickle.loads(pickle.dumps(program))
            self.assertEqual(again.graph, program.graph)
            self.assertEqual((again.inputs, again.outputs), (program.inputs, program.outputs))
            bits(self, again(*given), program(*given))
        self.assertIs(pickle.loads(pickle.dumps(several)), several)

    def test_no_file_is_needed_elsewhere(self):
        with tempfile.TemporaryDirectory() as where:
            path = Path(where)
            (path / "part.forma").write_text("stencil f(vector#2 float X) { return X@[0,1] - X; }")
            (path / "all.forma").write_text(
                'import "part.forma"; parameter M, N; vector#2 float image[M,N]; return f(image:mirror);'
            )
            program = ts.Program(path / "all.forma")
            data = pickle.dumps(program)
        code = f"import pickle, numpy as np; p = pickle.loads({data!r}); assert not p(np.ones((3, 4), 'f4')).any(); print(p)"
        found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd="/")
        self.assertEqual(found.stdout.strip(), repr(program))

    def test_options_go_along(self):
        program, image = stencil_program(2, "mirror", 1), np.broadcast_to(np.float32(0), (9, 9))
        work = ProgramWork(program, [image], {"target": "cuda", "threads": None, "device": 1}, "tasks")
        again = pickle.loads(pickle.dumps(work))
        self.assertEqual((again.options, again.token()), ({"target": "cuda", "device": 1}, work.token()))


class Refusals(unittest.TestCase):
    def test_submit_is_done_at_once(self):
        image, program = volume((40, 60)), stencil_program(2, "mirror", 1)
        run = program.submit(da.from_array(image, chunks=20))
        self.assertTrue(run.done())
        bits(self, run.result().compute(), program(image))

    def test_what_cannot_be_chunked(self):
        image = da.ones((40, 60), dtype=np.float32, chunks=10)
        program = stencil_program(2, "mirror", 1)
        unknown = image[image[:, 0] > 0.5]
        for call, message in [
            (
                lambda: ts.lowpass(image),
                "'lowpass' cannot be computed chunk by chunk: .* Fourier transform of a whole image",
            ),
            (lambda: program(unknown), "'image' has chunks of unknown extents"),
            (lambda: several(unknown), "'image' has chunks of unknown extents"),
            (lambda: ts.gaussian(unknown), "'image' has chunks of unknown extents"),
            (lambda: program(image.astype("float64")), "is an array of float64, expected float32"),
            (lambda: program(image.astype("int64")), "is an array of int64"),
            (lambda: program(image[0]), "expected 2 dimensions"),
            (lambda: program(image, image), "2 inputs are given, expected 1|expected 1"),
            (
                lambda: program(image, out=np.empty((40, 60), np.float32)),
                "out is given, but results of arrays of Dask are lazy",
            ),
            (lambda: ts.gaussian(image, out=np.empty((40, 60), np.float32)), "out is given"),
            (lambda: program(np.ones((40, 60), "f4"), out=image), "is an array of Dask, expected an array to write to"),
            (
                lambda: program(np.ones((40, 60), "f4"), out=image[:4], region=np.s_[:4]),
                "is an array of Dask, expected an array to write to",
            ),
            (
                lambda: several(np.ones((40, 60), "f4"), out={"sharp": image}),
                "is an array of Dask, expected an array to write to",
            ),
            (
                lambda: ts.gaussian(np.ones((40, 60), "f4"), out=image),
                "is an array of Dask, expected an array to write to",
            ),
            (lambda: program(image, progress=True), "progress is given"),
            (lambda: program(image, cancel=ts.Cancel()), "cancel is given"),
            (lambda: program(image, region=np.s_[0:41]), r"expected a part of \[0, 40\)"),
            (lambda: program(image, threads="x"), "threads is 'x'"),
            (lambda: program(image, gain=2), "neither an input nor an option"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(ts.ArgumentError, message) as caught:
                call()
            if "chunk by chunk" in message:
                call = "ts.lowpass" if "lowpass" in message else "program"
                self.assertIn(f"compute all at once: {call}(image.compute())", caught.exception.help)


if __name__ == "__main__":
    unittest.main()
