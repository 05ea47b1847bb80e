"""Children of os.fork(): what other threads held when the process was forked, nobody holds in the child."""

import multiprocessing
import os
import signal
import threading
import time
import unittest

import numpy as np
import tessera as ts
from programs import BLUR, SLOW, blurred, photo
from tessera import ndimage


def long_program(name, stages=60):
    """A text whose code takes a second or so to make. The name keeps it out of every cache."""
    lines = [
        f"stencil {name}{k}(vector#2 float X) {{ return sum(i=-2..2, j=-2..2) (X@[i,j] * {k + 1} * i + j); }}"
        for k in range(stages)
    ]
    lines += ["parameter M, N;", "vector#2 float image[M,N];", f"a = {name}0(image:mirror);"]
    return "\n".join(lines + [f"a = {name}{k}(a:mirror);" for k in range(1, stages)] + ["return a;"])


@ts.pipeline
def smooth(image):
    b = image.mirror()
    return (b[-1, 0] + b[0, 0] + b[1, 0]) / 3


class Forks(unittest.TestCase):
    def child(self, do):
        """Ends as the function says, and by a signal where it hangs."""
        number = os.fork()
        if number == 0:
            signal.alarm(90)
            try:
                os._exit(0 if do() else 3)
            except BaseException as error:  # noqa: BLE001
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
                os._exit(4)
        return number

    def ends_well(self, number):
        self.assertEqual(os.waitpid(number, 0)[1], 0)

    def beside(self, work):
        thread = threading.Thread(target=work)
        thread.start()
        self.addCleanup(thread.join)
        return thread

    def test_while_a_program_is_compiled(self):
        image = photo((64, 64))
        program = ts.Program.from_text(long_program(f"s{os.getpid()}_"))
        thread = self.beside(lambda: program(image))
        time.sleep(0.1)
        self.assertTrue(thread.is_alive())
        number = self.child(lambda: program(image).shape == image.shape and program.explain(image).json is not None)
        self.ends_well(number)

    def test_at_any_moment(self):
        image = photo((64, 64))
        ended = threading.Event()
        programs = [ts.Program.from_text(long_program(f"t{os.getpid()}_{k}_", 3)) for k in range(40)]
        at = [0]

        def work():
            for at[0], p in enumerate(programs):
                if ended.is_set():
                    return
                p(image)
                ts.gaussian(image, sigma=1 + at[0] / 64)
                ndimage.correlate(image, np.full((3, 3), at[0] + 1.0))

        self.beside(work)
        try:
            for k in range(12):
                time.sleep(0.003 * k)
                p = programs[min(at[0], len(programs) - 1)]
                children = [
                    self.child(lambda p=p: p(image).shape == image.shape),
                    self.child(lambda: ts.gaussian(image, sigma=1 + at[0] / 64).shape == image.shape),
                    self.child(lambda: ndimage.correlate(image, np.full((3, 3), at[0] + 1.0)).shape == image.shape),
                ]
                for number in children:
                    self.ends_well(number)
        finally:
            ended.set()

    def test_while_a_pipeline_is_built(self):
        here, building = os.getpid(), threading.Event()

        @ts.pipeline
        def slow_to_build(image):
            building.set()
            if os.getpid() == here:
                time.sleep(1)
            return image + 1

        image = photo()
        self.beside(lambda: slow_to_build(image))
        building.wait(10)
        self.ends_well(self.child(lambda: np.array_equal(slow_to_build(image), image + 1)))

    def test_by_the_thread_that_builds(self):
        children, image = [], photo()

        @ts.pipeline
        def forks(image):
            children.append(os.fork())
            return image + 1

        result = forks(image)
        if children[0] == 0:
            os._exit(0 if np.array_equal(result, image + 1) and np.array_equal(forks(image), result) else 3)
        self.ends_well(children[0])

    def test_results_of_the_parent(self):
        program = ts.Program.from_text(SLOW)
        program(photo((64, 64)))
        runs = [program.submit(photo((3000, 3000))) for _ in range(6)]
        done = program.submit(photo((64, 64)))
        runs[0].running()

        def ask():
            for run in runs:
                try:
                    run.result(20)
                except ts.Cancelled as error:
                    if "os.fork" not in str(error):
                        return False
            return program.submit(photo((64, 64))).result(60).shape == (64, 64)

        self.ends_well(self.child(ask))
        for run in runs:
            self.assertEqual(run.result().shape, (3000, 3000))
        number = self.child(lambda: done.result(20).shape == (64, 64))
        self.ends_well(number)

    def test_ctrl_c_in_the_child_of_another_thread(self):
        program, small = ts.Program.from_text(SLOW), photo((64, 64))
        program(small)
        large, numbers, ready = photo((6000, 6000)), [], os.pipe()

        def interrupted():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.write(ready[1], b"x")
            try:
                program(large)
            except KeyboardInterrupt:
                return np.array_equal(program(small), program(small, threads=1))
            return False

        thread = threading.Thread(target=lambda: numbers.append(self.child(interrupted)))
        thread.start()
        program(photo((2000, 2000)))  # which Ctrl-C would end here
        thread.join()
        os.read(ready[0], 1)
        time.sleep(0.3)
        os.kill(numbers[0], signal.SIGINT)
        self.ends_well(numbers[0])

    def test_devices(self):
        program, image = ts.Program.from_text(BLUR), photo()
        try:
            program(image, target="opencl")
        except ts.DeviceError:
            self.skipTest("no device of OpenCL")

        def ask():
            for _ in range(2):
                try:
                    program(image, target="opencl")
                except ts.DeviceError as error:
                    if "was opened before this process was forked" not in str(error):
                        return False
                else:
                    return False
            return program(image).shape == image.shape

        self.ends_well(self.child(ask))
        program(image, target="opencl")

    def test_multiprocessing(self):
        ended, image = threading.Event(), photo((300, 300))

        def work():
            k = 0
            while not ended.is_set():
                k += 1
                ndimage.correlate1d(image, [1, 2, k % 50])
                smooth(image)

        self.beside(work)
        try:
            with multiprocessing.get_context("fork").Pool(3) as pool:
                results = pool.map_async(smooth, [image * k for k in range(12)]).get(120)
        finally:
            ended.set()
        for k, result in enumerate(results):
            np.testing.assert_allclose(result, blurred(image * k), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
