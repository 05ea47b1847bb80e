"""What tasks leave where they are done: runs that are killed go on, for what is given now, and nothing of others is touched."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import numpy as np
import tessera as ts
from chunks import bits, volume
from stores import TEXT, Case, zarr


class Resumed(Case):
    def setUp(self):
        super().setUp()
        self.image, self.program = volume((64, 96)), ts.Program.from_text(TEXT)
        self.source = self.zarr("in.zarr", self.image, (16, 16))

    def markers(self, name="out.zarr.tessera"):
        return sorted(p.name for p in Path(self.place(name)).glob("*/*-*"))

    def test_a_run_that_is_killed_is_gone_on_with(self):
        Path(self.place("run.py")).write_text(f"""
import time, sys, tessera as ts
program = ts.Program.from_text('''{TEXT}''')
program.store({self.place("in.zarr")!r}, {self.place("out.zarr")!r}, chunks=16, resume=True, progress=lambda *n: time.sleep(0.05))
""")
        journal = Path(self.place("out.zarr.tessera"))
        for least in (3, 9):
            child = subprocess.Popen([sys.executable, self.place("run.py")])
            ended = time.monotonic() + 60
            while time.monotonic() < ended and len(self.markers()) < least:
                time.sleep(0.01)
            child.send_signal(signal.SIGKILL)
            self.assertEqual(child.wait(), -signal.SIGKILL)
        done = len(self.markers())
        self.assertGreaterEqual(done, 9)
        shown = []
        self.program.store(
            self.source, self.place("out.zarr"), chunks=16, resume=True, progress=lambda *n: shown.append(n)
        )
        self.assertEqual(len(shown), 24 - done)
        bits(self, self.found("out.zarr"), self.program(self.image))
        self.assertFalse(journal.exists())

    def test_tasks_with_a_marker_do_nothing(self):
        tasks = self.program.tasks(self.source, self.place("out.zarr"), chunks=16)
        for t in tasks[:5]:
            t.run()
        again = self.program.tasks(self.source, self.place("out.zarr"), chunks=16, resume=True)
        self.assertEqual([t.id for t in again.left()], [t.id for t in tasks[5:]])
        target = zarr.open(self.place("out.zarr"))
        target[:16, :16] = 7
        again[0].run()
        self.assertTrue((target[:16, :16] == 7).all())
        anew = self.program.tasks(self.source, self.place("out.zarr"), chunks=16)
        self.assertEqual(len(anew.left()), 24)
        with self.assertRaisesRegex(ts.Error, "24 of 24 tasks have no marker"):
            anew.finish()

    def test_a_journal_of_something_else_is_refused(self):
        target = self.place("out.zarr")
        self.program.tasks(self.source, target, chunks=16)[0].run()
        other = ts.Program.from_text(TEXT.replace("2 * X", "3 * X"))
        wide = self.zarr("wide.zarr", self.image, (64, 96))
        for program, source, options, message in (
            (other, self.source, {}, "the program of .*, whose tasks are to be resumed, is other than now"),
            (self.program, self.source, {"numbers": "exact"}, "the options of"),
            (self.program, wide, {}, "the inputs of"),
            (self.program, self.source, {"chunks": 32}, "the tasks of"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ts.ArgumentError, message) as caught:
                program.tasks(source, target, **{"chunks": 16, "resume": True, **options})
            self.assertIn("resume=False", caught.exception.help)
        moved = ts.Program.from_text("\n" + TEXT, name="elsewhere.forma")
        self.assertEqual(len(moved.tasks(self.source, target, chunks=16, resume=True).left()), 23)
        # What changes no bit may change, and where nobody asks for chunks, they are those of before.
        self.assertEqual(len(self.program.tasks(self.source, target, resume=True, least_tasks=2)), 24)
        self.assertEqual(len(self.program.tasks(self.source, target, chunks=16, resume=True, threads=1).left()), 23)
        Path(self.place("mine")).mkdir()
        Path(self.place("mine/thesis.tex")).touch()
        with self.assertRaisesRegex(ts.ArgumentError, "is no journal of tasks"):
            self.program.tasks(self.source, target, journal=self.place("mine"))
        self.assertTrue(os.path.exists(self.place("mine/thesis.tex")))

    def test_a_journal_stands_where_it_is_told(self):
        in_memory = np.empty_like(self.image)
        with self.assertRaisesRegex(ts.ArgumentError, "resume is True, but the result lies where no markers"):
            self.program.store(self.source, in_memory, resume=True)
        tasks = self.program.tasks(self.source, in_memory, journal=self.place("markers"), chunks=32)
        tasks[0].run()
        head = json.loads(Path(self.place("markers/job.json")).read_text())
        self.assertEqual(sorted(head), ["after", "inputs", "key", "numbers", "options", "outputs", "program", "tasks"])
        self.assertEqual(sorted(os.listdir(self.place("markers"))), sorted([head["key"], "job.json"]))
        self.assertEqual(self.markers("markers"), ["0-0"])

    def test_what_is_not_ours_stays(self):
        source, target, work = self.source, self.place("out.zarr"), Path(self.place("work"))
        work.mkdir()
        (work / "thesis.tex").touch()
        for other in ("{}", "[1]", "no JSON", '{"program": 1, "tasks": [], "key": ".."}', '{"key": 3}'):
            (work / "job.json").write_text(other)
            for resume in (False, True):
                with self.assertRaisesRegex(ts.ArgumentError, "is no journal of tasks"):
                    self.program.tasks(source, target, journal=work, resume=resume)
            self.assertEqual((work / "job.json").read_text(), other)
        (work / "job.json").unlink()
        (work / "thesis.tex").unlink()
        tasks = self.program.tasks(source, target, journal=work, chunks=16)
        tasks[0].run()
        for name in ("thesis.tex", "0" * 32):
            (work / name).touch()
        tasks = self.program.tasks(source, target, journal=work, chunks=16)
        self.assertEqual(len(tasks.left()), 24)
        for t in tasks:
            t.run()
        tasks.finish()
        self.assertEqual(sorted(os.listdir(work)), ["0" * 32, "thesis.tex"])
        os.makedirs(self.place("thesis.zarr/chapters"))
        with self.assertRaisesRegex(ts.ArgumentError, "is there and no array of zarr"):
            self.program.store(source, self.place("thesis.zarr"))
        self.assertEqual(os.listdir(self.place("thesis.zarr")), ["chapters"])
        self.assertEqual(len(os.listdir(self.path)), 4)

    def test_a_journal_stands_where_its_list_was_made(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.path)
        tasks = self.program.tasks(self.source, "out.zarr", journal="markers", chunks=16)
        os.chdir(before)
        for t in tasks:
            t.run()
        self.assertEqual(len(self.markers("markers")), 24)
        bits(self, self.found("out.zarr"), self.program(self.image))

    def test_results_are_of_what_is_given_now(self):
        """Other sources, targets that are others or were taken away."""
        image = volume(self.image.shape, 7)
        other, target = self.zarr("other.zarr", image, (16, 16)), self.place("out.zarr")

        def begun(*given, **options):
            for t in self.program.tasks(*given, chunks=16, **options)[:5]:
                t.run()

        def refused(message, *given, **options):
            with self.assertRaisesRegex(ts.ArgumentError, message):
                self.program.store(*given, chunks=16, resume=True, **options)

        begun(self.source, target)
        refused("the inputs of", other, target)
        shared = self.place("markers")
        begun(self.source, target, journal=shared)
        refused("the outputs of", self.source, self.place("second.zarr"), journal=shared)
        for again in (shutil.rmtree, lambda path: self.target(path, self.image, (16, 16), overwrite=True)):
            begun(self.source, target)
            again(target)
            self.program.store(self.source, target, chunks=16, resume=True)
            bits(self, self.found("out.zarr"), self.program(self.image))
        name = self.place("in.npy")
        for given in (name, lambda: np.load(name, mmap_mode="r")[:, ::-1], lambda: np.load(name)):
            np.save(name, self.image)
            given_now = given if isinstance(given, str) else given()
            begun(given_now, target)
            self.assertEqual(len(self.program.tasks(given_now, target, chunks=16, resume=True).left()), 19)
            np.save(name, image)
            refused("the inputs of", given if isinstance(given, str) else given(), target)
        begun(self.image, self.zarr("whole.zarr", self.image, (16, 16)), journal=shared)
        begun(self.image, np.zeros_like(self.image), journal=shared)
        refused("the outputs of", self.image, np.zeros_like(self.image), journal=shared)

    def test_tasks_mark_for_their_own_job(self):
        """A task of an earlier job, and one that is run once more."""
        target = self.place("out.zarr")
        early = self.program.tasks(self.source, target, chunks=16)
        other = ts.Program.from_text(TEXT.replace("2 * X", "3 * X"))
        late = other.tasks(self.source, target, chunks=16)
        pickle.loads(pickle.dumps(early[3])).run()
        self.assertEqual(len(late.left()), 24)
        with self.assertRaisesRegex(ts.Error, "24 of 24"):
            early.finish()
        other.store(self.source, target, chunks=16, resume=True)
        bits(self, self.found("out.zarr"), other(self.image))
        late[3].run()
        self.assertEqual(sorted(os.listdir(self.path)), ["in.zarr", "out.zarr"])
        self.program.store(self.source, target, chunks=16, resume=True)
        bits(self, self.found("out.zarr"), self.program(self.image))

    def test_processes_begin_one_job_together(self):
        """As the tasks of an array of Slurm: each makes the list, and runs some of it."""
        code = f"""
import sys, tessera as ts
program = ts.Program.from_text('''{TEXT}''')
k, first, count = map(int, sys.argv[1:])
for n in range(first, first + count):
    print(flush=True)
    sys.stdin.readline()
    tasks = program.tasks({self.place("in.zarr")!r}, {self.place("t")!r} + f"{{n}}.zarr", chunks=32, resume=True)
    tasks[k].run()
"""
        rounds = 8
        for n in range(0, rounds, 2):  # something was left there
            self.program.tasks(self.source, self.place(f"t{n}.zarr"), chunks=32)[3].run()
            shutil.rmtree(self.place(f"t{n}.zarr"))
        started = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(k), "0", str(rounds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for k in range(6)
        ]
        for _ in range(rounds):
            for child in started:
                child.stdout.readline()
            for child in started:
                child.stdin.write("\n")
                child.stdin.flush()
        for child in started:
            child.communicate()
            self.assertEqual(child.returncode, 0)
        for n in range(rounds):
            tasks = self.program.tasks(self.source, self.place(f"t{n}.zarr"), chunks=32, resume=True)
            self.assertEqual(tasks.left(), [])
            bits(self, self.found(f"t{n}.zarr"), self.program(self.image))
            tasks.finish()
            self.assertFalse(os.path.exists(self.place(f"t{n}.zarr.tessera")))


if __name__ == "__main__":
    unittest.main()
