import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import tessera as ts
from programs import BLUR, SLOW, photo


class Interrupts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = ts.Program.from_text(SLOW)
        cls.image = photo((4000, 4000))
        cls.program(cls.image[:64, :64])
        start = time.monotonic()
        cls.program(cls.image)
        cls.whole = time.monotonic() - start

    def after(self, share, do):
        timer = threading.Timer(self.whole * share, do)
        timer.start()
        self.addCleanup(timer.join)

    def interrupt(self):
        os.kill(os.getpid(), signal.SIGINT)

    def test_ctrl_c_ends_a_run(self):
        out = np.full_like(self.image, np.nan)
        self.after(0.2, self.interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.program(self.image, out=out)
        self.assertTrue(np.isnan(out).any(), "all of it was computed")
        self.program(self.image[:64, :64])

    def test_a_handler_that_goes_on(self):
        heard = []
        before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.after(0.2, self.interrupt)
        small = self.image[:2000]
        self.program(small)
        result = self.program(self.image)
        self.assertEqual(heard, [1])
        self.assertEqual(result.shape, self.image.shape)

    def test_ignored(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.after(0.2, self.interrupt)
        self.assertEqual(self.program(self.image).shape, self.image.shape)

    def test_children_of_a_process_that_runs(self):
        ended = threading.Event()
        for n in (100, 1000):  # compiles nothing later
            self.program(self.image[:n, :n])

        def work():
            while not ended.is_set():
                self.program(self.image[:1000, :1000])

        others = [threading.Thread(target=work) for _ in range(3)]
        for t in others:
            t.start()
        try:
            for _ in range(5):
                child = os.fork()
                if child == 0:
                    signal.alarm(30)
                    os._exit(self.program(self.image[:100, :100]).shape != (100, 100))
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            ended.set()
            for t in others:
                t.join()

    def test_the_process_ends_while_other_threads_run(self):
        text = (
            "import threading, time, numpy as np, tessera as ts\n"
            "x = np.ones((1500, 1500), np.float32)\n"
            "def work():\n"
            "    while True: ts.gaussian(x, sigma=2, progress=PROGRESS)\n"
            "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
            "time.sleep(1)\n"
        )
        for progress in ("None", "lambda done, count: None"):
            ended = subprocess.run([sys.executable, "-c", text.replace("PROGRESS", progress)], timeout=60, check=False)
            self.assertEqual(ended.returncode, 0)

    def test_ctrl_c_ends_the_interpreter(self):
        @ts.pipeline
        def one_long_sum(image):
            b = image.mirror()
            return ts.over((-2000, 2000), (-2000, 2000)).sum(lambda i, j: b[i, j])

        @ts.pipeline
        def transform(image):
            return image.fft((0, 1)).re

        @ts.pipeline
        def total(image):
            return image + image.sum()

        for of, shape in (
            (self.program, (4000, 4000)),
            (one_long_sum, (50, 50)),
            (transform, (4099, 1021)),
            (total, (5000, 5000)),
        ):
            image = photo(shape)
            timer = threading.Timer(0.3, self.interrupt)
            start = time.monotonic()
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                of.interpret(image)
            timer.join()
            self.assertLess(time.monotonic() - start, 3)
        np.testing.assert_array_equal(total.interpret(image[:3, :3]), total(image[:3, :3]))

    def test_cancel_ends_the_interpreter(self):
        cancel = ts.Cancel()
        timer = threading.Timer(0.3, cancel.now)
        timer.start()
        with self.assertRaises(ts.Cancelled):
            self.program.interpret(self.image, cancel=cancel)
        timer.join()
        with self.assertRaises(ts.ArgumentError):
            self.program.interpret(self.image, threads=1)

    def test_handlers_are_put_back(self):
        self.program(self.image[:64, :64])
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        with self.assertRaises(KeyboardInterrupt):
            self.interrupt()
            time.sleep(1)

    def test_runs_of_other_threads_go_on(self):
        run = self.program.submit(self.image)
        with self.assertRaises(KeyboardInterrupt):
            self.interrupt()
            time.sleep(1)
        self.assertEqual(run.result().shape, self.image.shape)

    def test_cancel(self):
        cancel = ts.Cancel()
        self.after(0.2, cancel.now)
        with self.assertRaises(ts.Cancelled):
            self.program(self.image, cancel=cancel)
        with self.assertRaises(ts.Cancelled):
            self.program(self.image, cancel=cancel)
        cancel.reset()
        self.program(self.image[:64, :64], cancel=cancel)

    def test_ctrl_c_leaves_a_cancel_as_it_was(self):
        cancel = ts.Cancel()
        self.after(0.2, self.interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.program(self.image, cancel=cancel)
        self.program(self.image[:64, :64], cancel=cancel)

    def test_progress(self):
        seen = []
        self.program(self.image, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1][0], seen[-1][1])
        self.assertEqual(seen, sorted(seen))

        def fails(done, total):
            raise LookupError("no")

        with self.assertRaisesRegex(LookupError, "no"):
            self.program(self.image, progress=fails)
        self.program(self.image[:64, :64])

    def test_progress_that_runs(self):
        inner, small = ts.Program.from_text(BLUR), photo()
        results = []
        self.program(self.image, progress=lambda *_: results.append(inner(small)))
        np.testing.assert_array_equal(results[0], inner(small))

    def test_others_run_meanwhile(self):
        counted = [0]
        stop = threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        self.program(self.image)
        met = counted[0] - before
        stop.set()
        thread.join()
        self.assertGreater(met, 10)

    def test_ctrl_c_ends_compilation(self):
        lines = [
            f"stencil s{k}(vector#2 float X) {{ return sum(i=-9..9, j=-9..9) (X@[i,j] * {k} * i + j); }}"
            for k in range(400)
        ]
        lines += ["parameter M, N;", "vector#2 float image[M,N];", "a = s0(image:mirror);"]
        lines += [f"a = s{k}(a:mirror);" for k in range(1, 400)] + ["return a;"]
        program = ts.Program.from_text("\n".join(lines))
        timer = threading.Timer(0.2, self.interrupt)
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            program(self.image[:64, :64])
            timer.join()
            time.sleep(1)
        self.assertLess(time.monotonic() - start, 5)


if __name__ == "__main__":
    unittest.main()
