"""Arrays of a CUDA device. $TESSERA_CUDA_DRIVER names the driver, that of tests/cuda_on_cpu where there is no GPU."""

import gc
import importlib.util
import os
import sys
import unittest

import numpy as np
import tessera as ts
from programs import BLUR, SCALED, TWO, photo

if "TESSERA_CUDA_DRIVER" in os.environ:
    os.environ["TESSERA_CUDA_ON_CPU_DEVICES"] = "2"  # read by the driver of tests/cuda_on_cpu
    import device_arrays
    from device_arrays import Plain, put


@unittest.skipUnless("TESSERA_CUDA_DRIVER" in os.environ, "no driver is named")
class DeviceArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        device_arrays.install()

    @classmethod
    def tearDownClass(cls):
        del sys.modules["cupy"]

    def setUp(self):
        device_arrays.asked.clear()
        self.program, self.image = ts.Program.from_text(BLUR), photo()
        self.wanted = self.program.interpret(self.image)

    def test_arrays_in_and_out(self):
        result = self.program(put(self.image))
        self.assertIs(type(result), device_arrays.ndarray)
        np.testing.assert_allclose(result.get(), self.wanted, rtol=1e-6)
        # The run goes into the stream in which CuPy works, so that the array waits for none: -1 in DLPack.
        self.assertEqual(set(device_arrays.asked), {-1})

    def test_out(self):
        image, out = put(self.image), put(np.zeros_like(self.image))
        self.assertIs(self.program(image, out=out), out)
        np.testing.assert_allclose(out.get(), self.wanted, rtol=1e-6)
        with self.assertRaisesRegex(ts.ArgumentError, "shares memory"):
            self.program(image, out=image)

    def test_several_and_numbers(self):
        image = photo(dtype=np.uint8)
        result = ts.Program.from_text(TWO)(put(image))
        np.testing.assert_array_equal(result.double_of.get(), image.astype(np.int32) * 2)
        result = ts.Program.from_text(SCALED)(put(self.image), 2, 3)
        np.testing.assert_allclose(result.get(), self.image * 2 + 3, rtol=1e-6)

    def test_filters(self):
        image = photo((20, 30, 3), np.uint8)
        result = ts.gaussian(put(image), channel_axis=-1)
        self.assertLessEqual(int(np.abs(result.get().astype(int) - ts.gaussian(image, channel_axis=-1)).max()), 1)
        planes = put(np.ascontiguousarray(np.moveaxis(image, -1, 0)))
        out = put(np.zeros((3, 20, 30), np.uint8))
        ts.gaussian(planes, channel_axis=0, out=out)
        np.testing.assert_array_equal(np.moveaxis(out.get(), 0, -1), result.get())

    def test_plain_arrays(self):
        for stream in (None, 1):
            result = self.program(Plain(put(self.image), stream))
            self.assertIs(type(result), device_arrays.ndarray)
            np.testing.assert_allclose(result.get(), self.wanted, rtol=1e-6)

    def test_foreign_arrays(self):
        class Foreign:
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        result = self.program(Foreign(put(self.image)))
        self.assertIs(type(result), device_arrays.ndarray)
        np.testing.assert_allclose(result.get(), self.wanted, rtol=1e-6)
        # Nobody knows in which stream it came to be: it is asked for in that of the run, the default one, which is 1 in
        # DLPack. The result is CuPy's.
        self.assertEqual(device_arrays.asked, [1, -1])

    def test_without_a_library_for_results(self):
        image = Plain(put(self.image))
        module = sys.modules.pop("cupy")
        try:
            with self.assertRaisesRegex(ts.ArgumentError, "needs an array library of that device"):
                self.program(image)
        finally:
            sys.modules["cupy"] = module

    def test_mixed_with_the_host(self):
        out = np.empty_like(self.image)
        self.assertIs(self.program(put(self.image), out=out), out)
        np.testing.assert_allclose(out, self.wanted, rtol=1e-6)
        into = put(out * 0)
        self.assertIs(self.program(self.image, out=into), into)
        np.testing.assert_allclose(into.get(), self.wanted, rtol=1e-6)

    def test_host_arrays_by_target(self):
        result = self.program(self.image, target="cuda")
        self.assertIs(type(result), np.ndarray)
        np.testing.assert_allclose(result, self.wanted, rtol=1e-6)

    def test_several_devices(self):
        alone = self.program(self.image, target="cuda")
        for devices in ("all", [0, 1], (1, 0), "0,1"):
            np.testing.assert_array_equal(self.program(self.image, devices=devices), alone)
        with self.assertRaisesRegex(ts.DeviceError, "there is no CUDA device 9, expected 0 to 1"):
            self.program(self.image, devices=[0, 9])
        with self.assertRaisesRegex(ts.ArgumentError, "lies on CUDA device 0"):
            self.program(put(self.image), devices="all")
        with self.assertRaisesRegex(ts.ArgumentError, "the target is the CPU"):
            self.program(self.image, devices="all", target="cpu")

    def test_streams_of_ones_own(self):
        stream = ts.Stream.new("cuda", 0)
        result = self.program(put(self.image), stream=stream)
        stream.wait()
        np.testing.assert_allclose(result.get(), self.wanted, rtol=1e-6)
        borrowed = ts.Stream.borrow(0, 0)
        self.program(put(self.image), stream=borrowed)
        borrowed.wait()

    def test_submit(self):
        run = self.program.submit(put(self.image))
        self.assertTrue(run.done())
        np.testing.assert_allclose(run.result().get(), self.wanted, rtol=1e-6)

    def test_memory_is_freed(self):
        image = put(self.image)
        self.program(image)
        gc.collect()
        held = device_arrays.Memory.held
        for _ in range(20):
            self.program(image)
        gc.collect()
        self.assertEqual(device_arrays.Memory.held, held)


def on_gpu(module):
    if importlib.util.find_spec(module) is None or "TESSERA_CUDA_DRIVER" in os.environ:
        return False
    try:
        if module == "torch":
            import torch

            return torch.cuda.is_available()
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # noqa: BLE001 - no driver
        return False


@unittest.skipUnless(on_gpu("torch"), "no torch with a GPU")
class Torch(unittest.TestCase):
    def test_in_a_stream(self):
        import torch

        program, image = ts.Program.from_text(BLUR), photo((400, 500))
        wanted = program(image)
        stream = torch.cuda.Stream()
        for where in (torch.cuda.current_stream(), stream):
            with torch.cuda.stream(where):
                x = torch.from_numpy(image).cuda(non_blocking=True)
                for _ in range(20):
                    y = program(x * 1)  # its input is freed while the run may still go on
                    torch.empty_like(x).fill_(7)
                self.assertEqual((y.device, y.dtype), (x.device, x.dtype))
                np.testing.assert_allclose(y.cpu().numpy(), wanted, rtol=1e-5)
                out = torch.empty_like(x)
                self.assertIs(program(x, out=out), out)
                np.testing.assert_allclose(out.cpu().numpy(), wanted, rtol=1e-5)
        smooth = ts.gaussian(torch.from_numpy(photo((3, 40, 50))).cuda(), channel_axis=0)
        np.testing.assert_allclose(smooth.cpu().numpy(), ts.gaussian(photo((3, 40, 50)), channel_axis=0), atol=1e-5)

    def test_in_a_graph(self):
        import torch

        program, image = ts.Program.from_text(BLUR), photo((400, 500))
        x, y = torch.from_numpy(image).cuda(), torch.zeros(400, 500, device="cuda")
        program(x, out=y)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            program(x, out=y)
        y.zero_()
        graph.replay()
        np.testing.assert_allclose(y.cpu().numpy(), program(image), rtol=1e-5)


@unittest.skipUnless(on_gpu("cupy"), "no CuPy with a GPU")
class CuPy(unittest.TestCase):
    def test_in_a_stream(self):
        import cupy

        program, image = ts.Program.from_text(BLUR), photo((400, 500))
        wanted = program(image)
        for where in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
            with where:
                result = program(cupy.asarray(image) * 1)
                self.assertIsInstance(result, cupy.ndarray)
                np.testing.assert_allclose(cupy.asnumpy(result), wanted, rtol=1e-5)
        planes = photo((3, 40, 50))
        smooth = ts.gaussian(cupy.asarray(planes), channel_axis=0)
        np.testing.assert_allclose(cupy.asnumpy(smooth), ts.gaussian(planes, channel_axis=0), atol=1e-5)


if __name__ == "__main__":
    unittest.main()
