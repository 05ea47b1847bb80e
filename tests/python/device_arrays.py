"""Arrays of a CUDA device as CuPy has them, by the driver alone: what the tests give where CuPy is not."""

import ctypes
import math
import os
import sys
import types

import numpy as np

driver = ctypes.CDLL(os.environ["TESSERA_CUDA_DRIVER"])
asked = []  # the streams that arrays were asked for by DLPack
current_stream = 0


def check(status):
    if status != 0:
        raise RuntimeError(f"the driver says {status}")


def start():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(driver.cuInit(0))
    check(driver.cuDeviceGet(ctypes.byref(device), 0))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(driver.cuCtxSetCurrent(context))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Memory:
    held = 0

    def __init__(self, size):
        pointer = ctypes.c_uint64()
        check(driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(1, size))))
        self.pointer = pointer.value
        Memory.held += 1

    def __del__(self):
        driver.cuMemFree_v2(ctypes.c_uint64(self.pointer))
        Memory.held -= 1


class Device:
    def __init__(self, number=0):
        self.id = number

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class ndarray:
    def __init__(self, shape, dtype, memory=None, offset=0, strides=None):
        self.shape, self.dtype, self.device = tuple(shape), np.dtype(dtype), Device()
        self.memory = memory or Memory(math.prod(self.shape) * self.dtype.itemsize)
        self.offset = offset
        dense = np.cumprod((1, *self.shape[:0:-1]))[::-1] * self.dtype.itemsize
        self.strides = tuple(int(s) for s in dense) if strides is None else strides

    @property
    def pointer(self):
        return self.memory.pointer + self.offset

    def set(self, array):
        array = np.ascontiguousarray(array)
        source, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
        check(driver.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(self.pointer), source, size, None))
        check(driver.cuStreamSynchronize(None))
        return self

    def get(self):
        out = np.empty(self.shape, self.dtype)
        check(driver.cuStreamSynchronize(None))
        where, size = ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(out.nbytes)
        check(driver.cuMemcpyDtoHAsync_v2(where, ctypes.c_uint64(self.pointer), size, None))
        check(driver.cuStreamSynchronize(None))
        return out

    def moveaxis(self, source, to):
        like = np.moveaxis(np.lib.stride_tricks.as_strided(np.zeros(()), self.shape, self.strides), source, to)
        return type(self)(like.shape, self.dtype, self.memory, self.offset, like.strides)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, max_version=None):
        asked.append(stream)
        rank, size = len(self.shape), self.dtype.itemsize
        managed = _Managed(1, 1, None, None, 0)
        shape = (ctypes.c_int64 * rank)(*self.shape)
        strides = (ctypes.c_int64 * rank)(*(s // size for s in self.strides))
        code = {"i": 0, "u": 1, "f": 2, "b": 6}[self.dtype.kind]
        managed.tensor = _Tensor(self.pointer, 2, 0, rank, code, size * 8, 1, shape, strides, 0)
        self.kept = (managed, shape, strides)  # for as long as the array: the capsule frees nothing
        return _new(ctypes.addressof(managed), b"dltensor_versioned", None)


ndarray.__module__ = "cupy"


class Plain:
    """An array with __cuda_array_interface__ alone, as Numba's."""

    def __init__(self, array, stream=None):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.pointer, False),
            "strides": None,
            "version": 3,
            "stream": stream,
        }


def cupy():
    """A module that stands for CuPy."""
    module = types.ModuleType("cupy")
    module.ndarray = ndarray
    module.empty = ndarray
    module.moveaxis = lambda array, source, to: array.moveaxis(source, to)
    module.cuda = types.SimpleNamespace(
        Device=Device, get_current_stream=lambda device=-1: types.SimpleNamespace(ptr=current_stream)
    )
    return module


def put(array):
    return ndarray(array.shape, array.dtype).set(array)


def install():
    start()
    sys.modules["cupy"] = cupy()
