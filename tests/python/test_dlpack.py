"""Arrays of others that say of themselves what cannot be: one sentence each, in an ArgumentError, and nothing is read."""

import ctypes
import enum
import unittest

import numpy as np
import tessera as ts
from programs import BLUR, blurred, photo

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
CPU, CUDA, METAL = 1, 2, 8


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Given:
    """An array by DLPack of before 1.0, as it is said."""

    def __init__(self, array, shape=None, strides=None, name=b"dltensor", device=(CPU, 0), **fields):
        self.array, self.name, self.device = array, name, device
        shape = array.shape if shape is None else shape
        self.shape = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        given = {"data": array.ctypes.data, "device_type": CPU, "ndim": len(shape), "code": 2, "bits": 32, "lanes": 1}
        given |= {"shape": ctypes.addressof(self.shape), "strides": self.strides and ctypes.addressof(self.strides)}
        self.tensor = Tensor(**(given | fields))

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        return new_capsule(ctypes.addressof(self.tensor), self.name, None)


class Device(enum.IntEnum):
    CPU = CPU


class Plain(enum.Enum):
    CPU = CPU


class Own:
    """What is as it has to be."""

    def __init__(self):
        self.array = photo((6, 7))

    def __dlpack_device__(self):
        return (CPU, 0)

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)


def of_device(says):
    class Says(Own):
        def __dlpack_device__(self):
            if isinstance(says, BaseException):
                raise says
            return says

    return Says()


def of_dlpack(gives):
    class Gives(Own):
        def __dlpack__(self, **named):
            if isinstance(gives, Exception):
                raise gives
            return gives(self.array) if callable(gives) else gives

    return Gives()


def of_cuda(says):
    class Says:
        @property
        def __cuda_array_interface__(self):
            if isinstance(says, BaseException):
                raise says
            return says

    return Says()


class Malformed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = ts.Program.from_text(BLUR)
        cls.pipeline = staticmethod(ts.pipeline(lambda image: image + 1))

    def refused(self, given, text):
        for call in (self.program, lambda x: self.program.submit(x).result(), self.pipeline):
            with self.assertRaisesRegex(ts.ArgumentError, text) as caught:
                call(given)
            self.assertNotIn("\n", caught.exception.message)
        with self.assertRaisesRegex(ts.ArgumentError, text):
            self.program(photo((6, 7)), out=given)

    def test_what_is_well_formed(self):
        image = photo((6, 7))
        for given in (Own(), of_device((Device.CPU, 0)), of_device((CPU, np.int64(0))), Given(image)):
            np.testing.assert_allclose(self.program(given), blurred(image), rtol=1e-6)
        np.testing.assert_allclose(self.program(Given(image.T.copy(), (6, 7), (1, 6))), blurred(image), rtol=1e-6)
        np.testing.assert_allclose(
            self.program(Given(image, data=image.ctypes.data + 1, byte_offset=2**64 - 1)), blurred(image), rtol=1e-6
        )

    def test_devices(self):
        for says in (
            None,
            1,
            "cpu",
            (),
            (1,),
            (1, 0, 0),
            ("cpu", 0),
            (1, None),
            (2**40, 0),
            (1, -1),
            [1, 0],
            Plain.CPU,
        ):
            self.refused(of_device(says), "of its device, expected a tuple of its type and its number")
        self.refused(of_device(LookupError("no device here")), "does not let its memory be seen: no device here")
        self.refused(of_device((METAL, 0)), "device of DLPack's type 8")
        self.refused(Given(photo((6, 7)), device_type=CUDA), "on a device of DLPack's type 2 and says 1")
        with self.assertRaises(KeyboardInterrupt):
            self.program(of_device(KeyboardInterrupt()))

    def test_capsules(self):
        for gives in (None, 1, "dltensor", object()):
            self.refused(of_dlpack(gives), "expected a capsule of DLPack that nobody has taken yet")
        for name in (b"used_dltensor", b"used_dltensor_versioned", b"other", None):
            self.refused(Given(photo((6, 7)), name=name), "expected a capsule of DLPack that nobody has taken yet")
        self.refused(of_dlpack(ValueError("mine")), "does not let its memory be seen: mine")
        self.refused(of_dlpack(TypeError("mine")), "does not let its memory be seen: mine")

    def test_shapes(self):
        image = photo((6, 7))
        for shape, strides, text in (
            ((6, -7), None, "dimension 1 has the extent -7"),
            ((-(2**63), 7), None, "dimension 0 has the extent"),
            ((2**40, 2**40), None, "spans more than memory holds"),
            ((2**62, 7), (0, 1), "spans more than memory holds"),
            ((6, 7), (2**62, 1), "spans more than memory holds"),
            ((6, 7), (-(2**61), 1), "spans more than memory holds"),
            ((2**46, 2), (1, 1), "spans more than memory holds"),
            ((1, 1, 1, 1, 1, 1, 1), None, "7 dimensions, expected at most 5"),
        ):
            self.refused(Given(image, shape, strides), text)
        self.refused(Given(image, ndim=-1), "it has -1 dimensions")
        self.refused(Given(image, ndim=2**31 - 1), "dimensions, expected at most 5")
        self.refused(Given(image, shape=(6, 7), ndim=2, bits=64, code=0), "int64")
        self.refused(Given(image, lanes=4), "expected")
        self.refused(Given(image, bits=0), "expected")
        self.refused(Given(image, code=77), "expected")

    def test_memory(self):
        image = photo((6, 7))
        self.refused(Given(image, data=None), "has elements, and points nowhere")
        self.refused(Given(image, data=image.ctypes.data + 2), "not aligned, expected a multiple of 4 bytes")
        self.refused(Given(image, byte_offset=1), "not aligned, expected a multiple of 4 bytes")
        broken = Given(image)
        broken.tensor.shape = None
        self.refused(broken, "it has no shape")
        with self.assertRaisesRegex(ts.ArgumentError, "every extent must be at least 1"):
            self.program(Given(image, (0, 7), data=None))

    def test_cuda_array_interfaces(self):
        good = {"shape": (6, 7), "typestr": "<f4", "data": (1 << 40, False), "version": 3}
        for change in (
            {"shape": None},
            {"shape": 6},
            {"shape": ("six", 7)},
            {"shape": (2**70, 7)},
            {"data": None},
            {"data": (0x1000,)},
            {"data": ("here", False)},
            {"data": (2**80, False)},
            {"data": (4096, None)},
            {"strides": 4},
            {"strides": (28,)},
            {"strides": ("a", "b")},
            {"typestr": 4},
            {"stream": "one"},
        ):
            with self.assertRaisesRegex(ts.ArgumentError, "__cuda_array_interface__ that is none", msg=str(change)):
                self.program(of_cuda(good | change))
        for missing in ("shape", "typestr", "data"):
            with self.assertRaisesRegex(ts.ArgumentError, f"__cuda_array_interface__ that is none.*{missing}"):
                self.program(of_cuda({k: v for k, v in good.items() if k != missing}))
        for says in (None, 1, [("shape", (6, 7))]):
            with self.assertRaisesRegex(ts.ArgumentError, "__cuda_array_interface__ that is none"):
                self.program(of_cuda(says))
        for change, text in (
            ({"typestr": "<f3"}, "type <f3"),
            ({"typestr": ""}, "type "),
            ({"shape": (6, -7)}, "extent -7"),
            ({"data": (0, False)}, "points nowhere"),
            ({"data": (4097, False)}, "not aligned"),
            ({"strides": (27, 4)}, "strides that are no multiples"),
            ({"shape": (2**40, 2**40)}, "more than memory holds"),
        ):
            with self.assertRaisesRegex(ts.ArgumentError, text, msg=str(change)):
                self.program(of_cuda(good | change))


if __name__ == "__main__":
    unittest.main()
