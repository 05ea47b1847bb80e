"""Emitted C as a library that somebody loads: NumPy's views through its strides, flags that change arithmetic, SciPy's values."""

import ctypes
import math
import shutil
import subprocess

import numpy
import pytest
from scipy import ndimage

from conftest import FAULTS

FLAGS = [("gcc", "-Ofast"), ("gcc", "-O2 -fassociative-math -fno-signed-zeros -fno-trapping-math"), ("clang", "-O2 -ffp-model=fast"),
         ("clang-19", "-O3 -ffast-math"), ("gcc", "-m32 -O1")]


def compiler(words, folder):
    """Skips where there is none that links programs with these flags."""
    if not shutil.which(words[0]):
        pytest.skip(f"no {words[0]}")
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    if subprocess.run([*words, "empty.c", "-o", "empty"], cwd=folder, capture_output=True).returncode != 0:
        pytest.skip(f"{' '.join(words)} makes no programs here")


@pytest.mark.parametrize("name, flags", FLAGS)
def test_fast_math_leaves_the_values(tessera, tmp_path, name, flags):
    words = [name, *flags.split()]
    compiler(words, tmp_path)
    tessera("emit", FAULTS / "emitted_c_fast_math" / "ex.forma", "--name", "ex", "-o", "ex.c", "--header", "ex.h")
    driver = FAULTS / "emitted_c_fast_math" / "exd.c"
    subprocess.run([*words, "-w", "-I.", str(driver), "ex.c", "-o", "ex"], cwd=tmp_path, check=True)  # (and no -lm)
    lines = subprocess.run(["./ex"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.splitlines()
    for line in lines[:15]:
        x, rest = float(line.split()[0]), line.split()[1:]
        got = {key: float(value) for key, value in zip(rest[::2], rest[1::2])}
        assert got["exp"] == pytest.approx(math.exp(x) if x < 88.7 else math.inf, rel=1e-5), line
        assert got["sin"] == pytest.approx(math.sin(x), abs=1e-4) and got["floor"] == math.floor(x), line
        assert got["atan2"] == pytest.approx(math.atan2(x, 2), abs=1e-4), line
        assert got["pow"] == pytest.approx(abs(x) ** 0.37, rel=1e-4) and got["log"] == pytest.approx(math.log(abs(x) + 1), abs=1e-4), line
        assert got["sat"] == min(max(math.floor(x + 0.5), 0), 255) or abs(x % 1 - 0.5) < 1e-6, line
        assert got["nan"] == 0, line
    assert "exp nan" in lines[15].replace("-nan", "nan") and "nan 1" in lines[15]


TYPES = {"uint8": numpy.uint8, "int16": numpy.int16, "float": numpy.float32, "double": numpy.float64}


def views(numbers, shape, dtype):
    """An array of this shape that lies somehow: rows apart, columns first, turned round, one channel of several."""
    extents = [n * int(numbers.integers(1, 4)) + int(numbers.integers(0, 5)) for n in shape]
    order = numbers.permutation(len(shape))
    base = numpy.zeros([extents[k] for k in order], dtype)
    view = base.transpose(numpy.argsort(order))
    index = []
    for n, whole in zip(shape, view.shape):
        step = int(numbers.integers(1, (whole - 1) // max(n - 1, 1) + 1)) if n > 1 else 1
        first = int(numbers.integers(0, whole - (n - 1) * step))
        last = first + (n - 1) * step
        index.append(slice(first, last + 1, step) if numbers.random() < 0.5 else slice(last, first - 1 if first > 0 else None, -step))
    return view[tuple(index)]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_strides_of_any_view(tessera, tmp_path, numbers, rank):
    kind = str(numbers.choice(list(TYPES)))
    dtype = TYPES[kind]
    weights = numbers.integers(-3, 4, [3] * rank)
    terms = " + ".join(f"{w} * x@[{', '.join(str(i - 1) for i in place)}]" for place, w in numpy.ndenumerate(weights))
    extents = ["A", "B", "C"][:rank]
    result = "double" if kind == "double" else "float" if kind == "float" else "int"
    (tmp_path / "f.forma").write_text(
        f"stencil f(vector#{rank} {kind} x) {{ return {terms.replace('+ -', '- ')}; }}\nparameter {', '.join(extents)};\n"
        f"vector#{rank} {kind} x[{', '.join(extents)}];\nreturn f(x:mirror);\n")
    tessera("emit", "f.forma", "-o", "f.c", *(["--vectors", "128"] if numbers.random() < 0.3 else []))
    words = ["gcc", "-Ofast", *(["-fopenmp"] if numbers.random() < 0.5 else [])]
    compiler(words, tmp_path)
    subprocess.run([*words, "-shared", "-fPIC", "f.c", "-o", "f.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    library.f_scratch_size.restype = ctypes.c_longlong

    def strides(a):
        return (ctypes.c_longlong * rank)(*a.strides)

    for _ in range(12):
        shape = [int(n) for n in numbers.integers(2, 30, rank)]
        x = views(numbers, shape, dtype)
        x[...] = numbers.integers(0, 200, shape) if kind != "double" else numbers.random(shape)
        y = views(numbers, shape, {"int": numpy.int32, "float": numpy.float32, "double": numpy.float64}[result])
        around = y.base if y.base is not None else y
        around[...] = 77
        size = library.f_scratch_size(*shape, 1)
        assert size > 0
        scratch = (ctypes.c_char * size)() if numbers.random() < 0.5 else None
        status = library.f_strided(ctypes.c_void_p(x.ctypes.data), strides(x), *shape, ctypes.c_void_p(y.ctypes.data), strides(y), scratch,
                                   ctypes.c_longlong(size if scratch else 0))
        assert status == 0, (shape, x.strides, y.strides)
        right = ndimage.correlate(x.astype(numpy.float64), weights.astype(numpy.float64), mode="mirror")
        assert numpy.abs(y - right).max() <= (0 if result == "int" else 1e-5 * 200 * 81), (shape, x.strides, y.strides)
        y[...] = 77
        assert (around == 77).all(), "written beside the result"
    x = numpy.zeros(shape, dtype)
    pointer = ctypes.c_void_p(x.ctypes.data)
    assert library.f_status(pointer, *shape, pointer) == 3
    assert library.f_status(pointer, *([0] * rank), ctypes.c_void_p(numpy.zeros(9).ctypes.data)) == 2
