"""Tasks from files to files: bits of the whole run, lists that are pickled and run anywhere, what is refused."""

import concurrent.futures
import importlib.util
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import unittest
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import tessera as ts
from chunks import (
    BORDERS,
    GLOBAL,
    LOWER,
    OF_STRUCTS,
    PLANES,
    SHAPES,
    STRUCTS,
    bits,
    cluster,
    composed,
    planes,
    sampled,
    several,
    stencil_program,
    volume,
)
from stores import TEXT, Case, zarr


class Dataset:
    """A dataset of a file as h5py has it, where nothing reaches the file before it is flushed."""

    __module__ = "h5py._hl.dataset"

    def __init__(self, array, path):
        self.file = mock.Mock(filename=path, flushed=[])
        self.file.flush = lambda: self.file.flushed.append(array.copy())
        self.name, self.shape, self.dtype, self.chunks, self._array = "/x", array.shape, array.dtype, (16, 16), array

    def __setitem__(self, place, part):
        self._array[place] = part


class Bits(Case):
    def test_ranks_and_borders(self):
        for rank, shape in SHAPES.items():
            image = volume(shape)
            for k, border in enumerate(BORDERS):
                program = stencil_program(rank, border, 1 + k % 3, seed=k)
                source = self.zarr(f"in{rank}{k}.zarr", image, (5,) * rank)
                with self.subTest(rank=rank, border=border):
                    program.store(source, self.place(f"out{rank}{k}.zarr"), chunks=(10,) * rank, numbers="exact")
                    bits(self, self.found(f"out{rank}{k}.zarr"), program(image, numbers="exact"))

    def test_targets_are_made_as_sources_are(self):
        image = volume((64, 96))
        source = self.zarr("in.zarr", image, (16, 32))
        sampled.store(source, self.place("sampled.zarr"))
        self.assertEqual(zarr.open(self.place("sampled.zarr"))["half"].chunks, (8, 16))
        for name, wanted in sampled(image).items():
            bits(self, self.found(f"sampled.zarr/{name}"), wanted)
        composed.store(self.place("in.zarr"), self.place("composed.zarr"))
        self.assertEqual(zarr.open(self.place("composed.zarr")).chunks, (32, 64))
        bits(self, self.found("composed.zarr"), composed(image))
        self.assertEqual(sorted(os.listdir(self.path)), ["composed.zarr", "in.zarr", "sampled.zarr"])

    def test_of_several_outputs_those_that_are_named(self):
        image = volume((41, 53))
        source, whole = self.zarr("in.zarr", image, (16, 32)), several(image, amount=0.5)
        smooth = self.target("smooth.zarr", image, (8, 8))
        several.store(source, {"smooth": smooth}, amount=0.5)
        bits(self, smooth[:], whole.smooth)
        targets = [self.target(f"{k}.zarr", image, c) for k, c in enumerate(((8, 8), (16, 4), (41, 53)))]
        several.store(source, tuple(targets), amount=0.5)
        for target, wanted in zip(targets, whole, strict=True):
            bits(self, target[:], wanted)
        program, total = ts.Program.from_text(GLOBAL), self.place("shifted.zarr")
        program.store(source, {"shifted": total})
        bits(self, self.found("shifted.zarr"), program(image).shifted)

    def test_several_inputs_by_name_and_in_order(self):
        program = ts.Program.from_text(LOWER)
        image, weights = volume((12, 20, 24)), volume((20, 24), 2)
        np.save(self.place("weights.npy"), weights)
        whole = program(image, weights, 2.0)
        source = self.zarr("in.zarr", image, (5, 6, 24))
        program.store((source, self.place("weights.npy"), 2.0), self.place("a.zarr"))
        program.store({"image": source, "gain": 2.0}, self.place("b.zarr"), weights=weights)
        for name in ("a.zarr", "b.zarr"):
            bits(self, self.found(name), whole)

    def test_memory_maps_and_arrays(self):
        image, program = volume((41, 53)), ts.Program.from_text(TEXT)
        np.save(self.place("in.npy"), image)
        source = np.load(self.place("in.npy"), mmap_mode="r")
        target = np.lib.format.open_memmap(self.place("out.npy"), "w+", np.float32, image.shape)
        tasks = program.tasks(source, target, chunks=(7, 20))
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            list(pool.map(ts.Task.run, tasks))
        self.assertEqual(tasks.left(), [])
        bits(self, np.load(self.place("out.npy")), program(image))
        in_memory = np.empty_like(image)
        program.store(np.asfortranarray(image), in_memory)
        bits(self, in_memory, program(image))
        big = image.astype(">f4")
        program.store(big, in_memory)
        bits(self, in_memory, program(image))

    def test_files_of_others(self):
        image, program = volume((41, 53)), ts.Program.from_text(TEXT)
        if importlib.util.find_spec("h5py"):
            import h5py

            with h5py.File(self.place("a.h5"), "w") as file:
                file.create_dataset("x", data=image, chunks=(8, 8))
                program.store(file["x"], self.place("h5.zarr"))
            bits(self, self.found("h5.zarr"), program(image))
        shards = zarr.create_array(
            self.place("shards.zarr"), shape=image.shape, dtype="float32", chunks=(4, 4), shards=(16, 16)
        )
        tasks = program.tasks(self.zarr("in.zarr", image, (9, 9)), shards, chunks=16)
        self.assertEqual(len(tasks), 12)
        for task in tasks:
            task.run()
        bits(self, shards[:], program(image))
        old = zarr.create_array(
            self.place("old.zarr"), shape=image.shape, dtype="float32", chunks=(8, 8), zarr_format=2
        )
        program.store(image, old)
        bits(self, old[:], program(image))

    def test_structs(self):
        """Where there is an array for them, whatever lies between their fields."""
        image, program = volume((20, 30)), ts.Program.from_text(STRUCTS)
        wanted = program(image)
        packed = np.dtype([("value", "f4"), ("high", "u1")])
        for dtype in (wanted.dtype, packed):
            target = np.lib.format.open_memmap(self.place("marks.npy"), "w+", dtype, wanted.shape)
            program.store(image, target, chunks=8)
            bits(self, np.load(self.place("marks.npy")).astype(wanted.dtype), wanted)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target = self.target("marks.zarr", np.empty(wanted.shape, packed), (8, 8), zarr_format=2)
            program.store(image, target)
            bits(self, target[:].astype(wanted.dtype), wanted)
            again = np.empty(image.shape, np.float32)
            ts.Program.from_text(OF_STRUCTS).store(target, again)
            bits(self, again, ts.Program.from_text(OF_STRUCTS)(wanted))
        other = np.empty(wanted.shape, [("value", "f4"), ("low", "u1")])
        for given, message in (
            (other, "is an array of .*low.*, expected"),
            (
                self.place("other.zarr"),
                "'out' has structs of value float32, high uint8, but an array of zarr .* numbers",
            ),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                program.store(image, given)
        self.assertFalse(os.path.exists(self.place("other.zarr")))

    def test_hdf5_has_what_markers_say(self):
        """A dataset of h5py is written to its file before there is a marker."""
        image, program = volume((32, 32)), ts.Program.from_text(TEXT)
        target = Dataset(np.zeros_like(image), self.place("out.h5"))
        tasks = program.tasks(image, target, chunks=16)
        for t in tasks:
            t.run()
        bits(self, target.file.flushed[-1], program(image))
        self.assertEqual(len(target.file.flushed), 4)
        tasks.finish()
        if importlib.util.find_spec("h5py"):
            import h5py

            file = h5py.File(self.place("real.h5"), "w")
            real = file.create_dataset("x", shape=image.shape, dtype="float32", chunks=(16, 16))
            for t in program.tasks(image, real, chunks=16):
                t.run()
            shutil.copy(self.place("real.h5"), self.place("copy.h5"))
            with h5py.File(self.place("copy.h5"), "r") as copy:
                bits(self, copy["x"][:], program(image))
            file.close()

    def test_named_filters_and_channels(self):
        photo = np.random.default_rng(5).integers(0, 256, (3, 30, 44), np.uint8)
        source = self.zarr("in.zarr", photo, (1, 8, 44))
        ts.store(ts.gaussian, source, self.place("soft.zarr"), sigma=2, channel_axis=0)
        bits(self, self.found("soft.zarr"), ts.gaussian(photo, 2, channel_axis=0))
        ts.store(ts.box, source, self.place("box.zarr"), radius=(0, 1, 2), extent="valid")
        bits(self, self.found("box.zarr"), ts.box(photo, (0, 1, 2), extent="valid"))
        mask = (photo[0] > 100).astype(np.uint8)
        ts.store(ts.gaussian, photo[0], self.place("masked.zarr"), sigma=1, mask=mask)
        bits(self, self.found("masked.zarr"), ts.gaussian(photo[0], 1, mask=mask))
        planes.store(source, self.place("planes.zarr"))
        bits(self, self.found("planes.zarr"), planes(photo))
        last = np.ascontiguousarray(np.moveaxis(photo, 0, -1))
        program = ts.Program.from_text(PLANES)
        program.store(last, self.place("swapped.zarr"))
        bits(self, self.found("swapped.zarr"), program(last))

    def test_a_region_is_written_alone(self):
        image, program = volume((64, 64)), ts.Program.from_text(TEXT)
        target = self.target("out.zarr", image, (16, 16))
        program.store(image, target, region=np.s_[16:48, 32:])
        wanted = np.zeros_like(image)
        wanted[16:48, 32:] = program(image)[16:48, 32:]
        bits(self, target[:], wanted)


class Lists(Case):
    def setUp(self):
        super().setUp()
        self.image, self.program = volume((64, 96)), ts.Program.from_text(TEXT)
        self.whole = self.program(self.image)
        self.source = self.zarr("in.zarr", self.image, (16, 16))

    def test_tasks_are_records(self):
        tasks = self.program.tasks(self.source, self.place("out.zarr"), chunks=(32, 16))
        self.assertEqual((len(tasks), len(tasks[1:3]), tasks[-1].id), (12, 2, "1-5"))
        self.assertEqual([t.id for t in tasks], [tasks[k].id for k in range(12)])
        self.assertEqual(tasks[7].region, np.s_[32:64, 16:32])
        seen = np.zeros(self.image.shape, int)
        for t in tasks:
            seen[t.region] += 1
        self.assertTrue((seen == 1).all())
        random = np.random.default_rng(2)
        for k in random.permutation(12):
            again = pickle.loads(pickle.dumps(tasks[int(k)]))
            self.assertEqual((again.id, again.region, again.done()), (tasks[k].id, tasks[k].region, False))
            self.assertEqual(again.run(), tasks[k].id)
            self.assertTrue(tasks[k].done())
        bits(self, self.found("out.zarr"), self.whole)
        before = {p: p.read_bytes() for p in Path(self.place("out.zarr")).rglob("c/*/*")}
        for t in tasks:
            t()
        self.assertEqual(before, {p: p.read_bytes() for p in before})
        self.assertEqual(len(before), 24)
        self.assertTrue(os.path.isdir(self.place("out.zarr.tessera")))
        tasks.finish()
        self.assertFalse(os.path.exists(self.place("out.zarr.tessera")))

    def test_processes_run_the_list(self):
        tasks = self.program.tasks(self.source, self.place("out.zarr"), chunks=16, threads=1)
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            self.assertEqual(sorted(pool.map(ts.Task.run, tasks)), sorted(t.id for t in tasks))
        bits(self, self.found("out.zarr"), self.whole)
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            self.program.store(self.source, self.place("pool.zarr"), client=pool, chunks=16)
        bits(self, self.found("pool.zarr"), self.whole)

    def test_a_cluster_runs_one_task_a_part(self):
        with cluster(self) as client:
            asked, plain, shown = [], client.map, []
            client.map = lambda f, given, **o: asked.append(len(given)) or plain(f, given, **o)
            self.program.store(
                self.source, self.place("out.zarr"), client=client, chunks=16, progress=lambda *n: shown.append(n)
            )
            self.assertEqual((asked, shown[-1]), ([24], (24, 24)))
            bits(self, self.found("out.zarr"), self.whole)
            np.save(self.place("gone.npy"), self.image)
            gone = np.load(self.place("gone.npy"), mmap_mode="r")
            os.remove(self.place("gone.npy"))
            with self.assertRaises(FileNotFoundError):
                self.program.store(gone, self.place("bad.zarr"), client=client)

    def test_chunks_are_chosen(self):
        """Multiples of those of the target, by the halo and by memory."""
        image = np.broadcast_to(np.float32(0), (512, 512, 512))
        target = zarr.create_array(self.place("v.zarr"), shape=image.shape, dtype="float32", chunks=(32, 32, 32))

        def sizes(**options):
            task = ts.tasks(ts.gaussian, image, target, **options)[0]
            return [s.stop - s.start for s in task.region]

        small, large = sizes(sigma=0.5), sizes(sigma=6)
        self.assertTrue(all(n % 32 == 0 for n in small + large))
        self.assertLess(np.prod(small), np.prod(large))
        bound = sizes(sigma=6, memory="64MiB")
        self.assertLess(np.prod([n + 36 for n in bound]) * 4 + np.prod(bound) * 4, 64 << 20)
        self.assertEqual(sizes(sigma=6, chunks=(64, 32, 512)), [64, 32, 512])
        self.assertGreaterEqual(len(ts.tasks(ts.gaussian, image, target, sigma=6, least_tasks=100)), 100)
        with self.assertRaisesRegex(ts.ArgumentError, "more than memory allows"):
            sizes(sigma=6, memory=100_000)

    def test_paths_of_ome_zarr(self):
        """A target is an image of one level, a source gives its finest one."""
        image = np.random.default_rng(1).random((40, 50), np.float32)
        plain = self.zarr("plain.zarr", image, (16, 16))
        ts.store(ts.gaussian, plain, self.place("soft.ome.zarr"), sigma=1)
        group = zarr.open_group(self.place("soft.ome.zarr"), mode="r")
        (scales,) = group.attrs["ome"]["multiscales"]
        self.assertEqual([a["name"] for a in scales["axes"]], ["y", "x"])
        self.assertEqual([d["path"] for d in scales["datasets"]], ["0"])
        bits(self, group["0"][:], ts.gaussian(image, 1))
        ts.store(ts.gaussian, self.place("soft.ome.zarr"), self.place("softer.zarr"), sigma=1)
        bits(self, zarr.open_array(self.place("softer.zarr"))[:], ts.gaussian(ts.gaussian(image, 1), 1))
        # Into the one that is there.
        ts.store(ts.gaussian, plain, self.place("soft.ome.zarr"), sigma=2)
        bits(self, group["0"][:], ts.gaussian(image, 2))
        with self.assertRaisesRegex(ts.ArgumentError, "is a file, expected one that ends in .npy"):
            np.zeros(9).tofile(self.place("x.tif"))
            ts.store(ts.gaussian, self.place("x.tif"), self.place("y.zarr"))

    def test_progress_is_shown(self):
        shown = []
        self.program.store(self.source, self.place("out.zarr"), chunks=32, progress=lambda *n: shown.append(n))
        self.assertEqual(shown, [(k, 6) for k in range(1, 7)])

    def test_what_a_run_takes(self):
        """A volume of 256 MB through tasks of 24 MiB: of these three are there at once."""
        code = f"""
import resource, numpy as np, tessera as ts, zarr
x = zarr.create_array({self.place("big.zarr")!r}, shape=(256, 512, 512), chunks=(32, 64, 64), dtype="float32")
y = zarr.create_array({self.place("soft.zarr")!r}, shape=(256, 512, 512), chunks=(32, 64, 64), dtype="float32")
x[:32] = np.ones((32, 512, 512), "f4")
ts.store(ts.gaussian, x, {self.place("small.zarr")!r}, sigma=1, region=np.s_[:32, :64, :64])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ts.store(ts.gaussian, x, y, sigma=1, memory="24MiB")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
        found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertLess(float(found.stdout), 4 * 24)


class Refusals(Case):
    def test_what_does_not_fit(self):
        image, program = volume((40, 64)), ts.Program.from_text(TEXT)
        source = self.zarr("in.zarr", image, (16, 16))
        target = self.target("out.zarr", image, (16, 16))
        other = zarr.open(self.place("in.zarr"), mode="r+")
        os.symlink(self.place("in.zarr"), self.place("link.zarr"))
        group = zarr.open_group(self.place("group.zarr"), mode="w")
        group.create_array("x", data=image, chunks=(16, 16))
        wrong = self.target("wrong.zarr", np.empty((40, 65), np.float32), (16, 16))
        double = self.target("double.zarr", image.astype(np.float64), (16, 16))
        for call, message in [
            (lambda: program.store(source, source), "the target of 'out' is the source 'image'"),
            (lambda: program.store(source, other), "the target of 'out' is the source 'image'"),
            (lambda: program.store(image, image[:]), "the target of 'out' is the source 'image'"),
            (
                lambda: program.store(group["x"], self.place("group.zarr/x")),
                "the target of 'out' is the source 'image'",
            ),
            (lambda: program.store(source, self.place("link.zarr")), "the target of 'out' is the source 'image'"),
            (lambda: program.store(source, wrong), r"has the shape \(40, 65\), expected \(40, 64\)"),
            (lambda: program.store(source, double), "is an array of float64, expected float32"),
            (lambda: program.store(double, target), "'image' is an array of float64, expected float32"),
            (lambda: program.store(source[0], target), "expected 2 dimensions"),
            (
                lambda: program.store(source, target, chunks=24),
                "24 points along dimension 0, but 'out' is written in chunks of 16",
            ),
            (lambda: program.store(source, target, chunks=(16, 16, 16)), "chunks have 3 extents, expected 2"),
            (lambda: program.store(source, target, chunks="all"), 'expected "auto"'),
            (
                lambda: program.store(source, target, region=np.s_[8:40]),
                r"is \[8, 40\) along dimension 0, but it is written",
            ),
            (lambda: program.store(source, target, region=np.s_[0:20]), "it is written in chunks of 16"),
            (lambda: program.store(source, target, region=np.s_[0:41]), r"expected a part of \[0, 40\)"),
            (lambda: program.store(source, target, memory="much"), "memory is 'much'"),
            (lambda: program.store(source, target, client=3), "client is 3, expected a distributed.Client"),
            (lambda: program.store(source, target, cancel=ts.Cancel()), "cancel is given, but tasks run elsewhere"),
            (lambda: program.store(source, target, out=image), "neither an input nor an option"),
            (
                lambda: ts.store(ts.gaussian, source, target, out=image),
                "out is given, but results of tasks go to their target",
            ),
            (lambda: program.store(source, target, gain=2), "neither an input nor an option"),
            (lambda: program.store(source, self.place("out.tif")), "expected a path that ends in .zarr"),
            (lambda: program.store(self.place("none.zarr"), target), "there is no file"),
            (lambda: program.store(7, target), "expected an array with a shape"),
            (lambda: program.store(source, {"other": target}), "the target has 'other', expected some of out"),
            (lambda: program.store(source, (target, target)), "2 targets are given, expected 1"),
            (lambda: several.store(source, target), "one target is given, expected 3: sharp, smooth, valid"),
            (lambda: several.store(source, {}), "no target is given"),
            (lambda: ts.store(ts.lowpass, source, target), "'lowpass' cannot be computed chunk by chunk"),
            (
                lambda: ts.store(np.sin, source, target),
                "has no tasks, expected a program, a pipeline or a named filter",
            ),
        ]:
            with self.subTest(message), self.assertRaisesRegex(ts.Error, message) as caught:
                call()
            if "chunk by chunk" in message:
                self.assertRegex(caught.exception.help, r"target\[...\] = (program|ts.lowpass)\(source\[...\]\)")

    def test_arrays_of_this_process_are_not_sent(self):
        image, program = volume((40, 64)), ts.Program.from_text(TEXT)
        tasks = program.tasks(image, np.empty_like(image))
        with self.assertRaisesRegex(ts.Error, "is a numpy.ndarray of this process"):
            pickle.dumps(tasks[0])
        memory = zarr.create_array({}, shape=image.shape, dtype="float32", chunks=(8, 8))
        with self.assertRaisesRegex(ts.Error, "of this process, which tasks in others cannot write to"):
            pickle.dumps(program.tasks(image, memory)[0])

    def test_arrays_of_dask(self):
        if not importlib.util.find_spec("dask"):
            self.skipTest("no dask")
        import dask.array

        with self.assertRaisesRegex(ts.ArgumentError, "is an array of Dask, expected one that lies in a file"):
            ts.Program.from_text(TEXT).store(dask.array.ones((40, 64), dtype="float32"), self.place("out.zarr"))
        with self.assertRaisesRegex(
            ts.ArgumentError, "the target is an array of Dask, expected one that lies in a file"
        ):
            ts.Program.from_text(TEXT).store(volume((40, 64)), dask.array.ones((40, 64), dtype="float32"))


if __name__ == "__main__":
    unittest.main()
