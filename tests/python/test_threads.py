"""Many threads at once: each does whatever the package can do, with programs of its own and with those of all, and looks at every result."""

import random
import threading
import time
import traceback
import unittest

import numpy as np
import tessera as ts
from programs import BLUR, SCALED, SLOW, TWO, blurred, photo
from tessera import ndimage

SECONDS, THREADS = 8, 8


@ts.pipeline
def shared(image, gain=2.0):
    b = image.clamped()
    return {"sum": gain * (b[0, -1] + b[0, 1]), "least": ts.minimum(image, 0.5)}


class Worker:
    """What a thread does, each time something else."""

    def __init__(self, number, programs):
        self.random = random.Random(number)
        self.number = number
        self.blur, self.scaled, self.two, self.slow = programs
        self.count = 0

    def image(self, dtype=np.float32):
        shape = (self.random.randrange(3, 60), self.random.randrange(3, 60))
        return photo(shape, dtype, seed=self.random.randrange(1 << 30))

    def run_of_all(self):
        image = self.image()
        np.testing.assert_allclose(self.blur(image), blurred(image), rtol=1e-5)
        out = np.empty_like(image)
        assert self.scaled(image, 2, shift=3, out=out, threads=self.random.choice([1, 2])) is out
        np.testing.assert_allclose(out, image * 2 + 3, rtol=1e-6)

    def several_outputs(self):
        image = self.image(np.uint8)
        result = self.two(image)
        np.testing.assert_array_equal(result.double_of, image.astype(np.int32) * 2)
        np.testing.assert_array_equal(result["rest"], image / np.float32(2))

    def compile(self):
        number = self.random.randrange(12)  # most often one that another thread has compiled, or just compiles
        text = BLUR.replace("/ 3", f"/ 3 + {number}")
        image = self.image()
        np.testing.assert_allclose(ts.Program.from_text(text)(image), blurred(image) + number, rtol=1e-5)

    def submit(self):
        images = [self.image() for _ in range(4)]
        runs = [self.blur.submit(image) for image in images]
        for run, image in zip(runs, images, strict=True):
            np.testing.assert_allclose(run.result(60), blurred(image), rtol=1e-5)

    def explain(self):
        image = self.image()
        assert "blur" in self.blur.explain(image)
        assert self.blur.explain(image, format="json").json
        assert self.blur.explain(image.shape).svg.startswith("<svg")

    def emit(self):
        assert "blur" in self.blur.emit("c").source
        assert self.blur.output_shapes((7, 9)) == ((7, 9),)

    def interpret(self):
        image = photo((9, 8), seed=self.number)
        np.testing.assert_allclose(self.blur.interpret(image), blurred(image), rtol=1e-6)

    def adjoint(self):
        ones = np.ones((6, 5), np.float32)
        back = self.scaled.adjoint()(ones, np.float32(3), 1, ones)
        np.testing.assert_array_equal(back[0], ones * 3)

    def cancel_run(self):
        cancel = ts.Cancel()
        run = self.slow.submit(photo((2500, 2500)), cancel=cancel, threads=1)
        time.sleep(self.random.random() / 50)
        (run.cancel if self.random.random() < 0.5 else cancel.now)()
        if run.cancelled():
            return
        try:
            run.result(60)
        except ts.Cancelled:
            return
        raise AssertionError("it went on to its end")

    def faulty_text(self):
        """The message is that of this thread."""
        name = f"unknown{self.number}"
        try:
            ts.Program.from_text(BLUR.replace("X@[1,0]", name))
        except ts.CompileError as error:
            assert name in str(error), str(error)
            assert error.diagnostics[0].line == 4
        else:
            raise AssertionError("it was compiled")

    def faulty_argument(self):
        name = f"option{self.number}"
        for call, text in (
            (lambda: self.blur(self.image(), **{name: 1}), name),
            (lambda: self.blur(np.zeros((3, 3 + self.number), np.int32)), "int32"),
            (lambda: self.scaled(self.image(), 1, f"shift{self.number}"), f"shift{self.number}"),
            (lambda: self.blur(self.image(), out=np.zeros((2, 100 + self.number), np.float32)), f"{100 + self.number}"),
        ):
            try:
                call()
            except ts.ArgumentError as error:
                assert text in str(error), str(error)
            else:
                raise AssertionError("it ran")

    def faulty_progress(self):
        class Own(Exception):
            pass

        def progress(done, total):
            raise Own(self.number)

        try:
            self.slow(photo((300, 300)), progress=progress)
        except Own as error:
            assert error.args == (self.number,)
        else:
            raise AssertionError("it ran to its end")

    def pipeline(self):
        image, gain = self.image(), float(self.random.randrange(5))
        result = shared(image, gain=gain)
        wide = np.pad(image, ((0, 0), (1, 1)), mode="edge")
        np.testing.assert_allclose(result.sum, gain * (wide[:, :-2] + wide[:, 2:]), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(result.least, np.minimum(image, np.float32(0.5)))
        if self.random.random() < 0.1:
            shared.clear()

    def own_pipeline(self):
        number = self.random.randrange(100)
        image = self.image()
        np.testing.assert_allclose(ts.pipeline(lambda x: x + number)(image), image + np.float32(number), rtol=1e-6)

    def filters(self):
        image = self.image(np.uint8)
        sigma = self.random.choice([1, 1.5, 2])
        flat = np.full_like(image, 77)
        np.testing.assert_array_equal(ts.gaussian(flat, sigma=sigma), flat)
        np.testing.assert_array_equal(ts.median(image, radius=0), image)

    def ndimage(self):
        image = self.image(np.uint8)
        size = self.random.choice([3, (1, 3), (5, 1)])
        eroded, dilated = ndimage.minimum_filter(image, size), ndimage.maximum_filter(image, size)
        np.testing.assert_array_equal(255 - ndimage.maximum_filter(255 - image, size), eroded)
        np.testing.assert_array_equal(ndimage.morphological_gradient(image, size), dilated - eroded)

    def large(self):
        """Memory of results that is used again."""
        image = np.full((1100, 1100), self.number, np.float32)
        result = ndimage.uniform_filter(image, 3)
        time.sleep(0.01)
        np.testing.assert_allclose(result, image, rtol=1e-5)

    def work(self, until):
        names = [n for n in vars(Worker) if not n.startswith("_") and n not in ("image", "work")]
        while time.monotonic() < until or self.count < 2 * len(names):
            if self.count % len(names) == 0:
                self.random.shuffle(names)
            getattr(self, names[self.count % len(names)])()
            self.count += 1


class Threads(unittest.TestCase):
    def test_whatever_there_is_at_once(self):
        programs = [ts.Program.from_text(text) for text in (BLUR, SCALED, TWO, SLOW)]
        workers = [Worker(k, programs) for k in range(THREADS)]
        barrier, failures = threading.Barrier(THREADS), []

        def start(worker):
            barrier.wait()
            try:
                worker.work(time.monotonic() + SECONDS)
            except BaseException:  # noqa: BLE001
                failures.append(traceback.format_exc())

        threads = [threading.Thread(target=start, args=(w,), daemon=True) for w in workers]
        for t in threads:
            t.start()
        for t in threads:
            t.join(240)
        self.assertFalse([t for t in threads if t.is_alive()], "threads hang")
        self.assertEqual(failures, [])
        self.assertGreater(sum(w.count for w in workers), 100)


if __name__ == "__main__":
    unittest.main()
