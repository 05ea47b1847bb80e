"""NaNs, medians, absolute reads and pieces beside NumPy, in every schedule and number, from one process and from emitted
files of two compilers: one rule each, the same bits where `exact` promises them."""

import ctypes
import itertools
import shutil
import subprocess

import numpy
import pytest

NAN = numpy.nan


def odd(numbers, shape, type=numpy.float32):
    """Small numbers with NaNs, infinities and both zeros among them."""
    image = numbers.integers(-9, 10, shape).astype(type)
    for value, share in ((NAN, 0.1), (numpy.inf, 0.04), (-numpy.inf, 0.04), (-0.0, 0.05)):
        image[numbers.random(shape) < share] = value
    return image


def windows(image, reach, mode):
    rows, columns = (2 * r + 1 for r in reach)
    padded = numpy.pad(image, [(r, r) for r in reach], mode=mode)
    return numpy.lib.stride_tricks.sliding_window_view(padded, (rows, columns)).reshape(*image.shape, -1)


def same(expected, got):
    numpy.testing.assert_array_equal(got, expected)


# Words of the language, of numpy.pad.
BORDERS = {"clamped": "edge", "mirror": "reflect", "symmetric": "symmetric", "wrap": "wrap"}
TILES = ((), ("--schedule", "untiled"), ("--schedule", "tiled", "--tile", "3x128"))
EXACT = [("--exact", *tiles) for tiles in TILES]
WAYS = [*TILES, *EXACT]


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_two_pass_over_nans(tessera, numbers, name):
    (tessera.folder / "p.forma").write_text(
        f"struct four {{ float a; float b; float c; float d; }} stencil f(vector#2 float X, vector#2 float Y) {{ return struct four("
        f"{name}(X, Y), {name}(Y, X), {name}(X, 0), {name}(0, X)); }} parameter M, N; vector#2 float x[M,N]; vector#2 float y[M,N];"
        "r = f(x, y); return a = r.a, b = r.b, c = r.c, d = r.d;")
    x, y = odd(numbers, (37, 150)), odd(numbers, (37, 150))
    numpy.save(tessera.folder / "x.npy", x)
    numpy.save(tessera.folder / "y.npy", y)
    extreme = {"max": numpy.fmax, "min": numpy.fmin}[name]
    for way in WAYS:
        tessera("run", "p.forma", "x.npy", "y.npy", "-q", *way, *sum((["-o", f"{k}={k}.npy"] for k in "abcd"), []))
        a, b, c, d = (numpy.load(tessera.folder / f"{k}.npy") for k in "abcd")
        same(extreme(x, y), a)
        same(extreme(x, y), b)
        same(extreme(x, numpy.float32(0)), c)
        same(c, d)
        if "--exact" in way:
            assert a.tobytes() == b.tobytes() and c.tobytes() == d.tobytes()


@pytest.mark.parametrize("reduction", ["max", "min", "median"])
def test_windows_with_nans(tessera, numbers, reduction):
    for _ in range(2):
        reach = tuple(int(r) for r in numbers.integers(0, 4, 2))
        border = str(numbers.choice(list(BORDERS)))
        type = numbers.choice(["float", "double"])
        (tessera.folder / "p.forma").write_text(
            f"stencil f(vector#2 {type} X) {{ return {reduction}(i = -{reach[0]}..{reach[0]}, j = -{reach[1]}..{reach[1]}) ( X@[i,j] ); }}"
            f"parameter M, N; vector#2 {type} x[M,N]; return f(x:{border});")
        x = odd(numbers, (int(numbers.integers(9, 40)), int(numbers.integers(9, 200))), {"float": "f4", "double": "f8"}[type])
        numpy.save(tessera.folder / "x.npy", x)
        every = windows(x, reach, BORDERS[border])
        with numpy.errstate(invalid="ignore"):
            if reduction == "median":
                expected = numpy.where(numpy.isnan(every).any(-1), NAN, numpy.sort(every, -1)[..., every.shape[-1] // 2])
            else:
                expected = {"max": numpy.fmax, "min": numpy.fmin}[reduction].reduce(every, -1)
        for way in WAYS:
            got = tessera.array("run", "p.forma", "x.npy", *way)
            same(expected, got)


def test_a_searched_median_with_nans(tessera, numbers):
    (tessera.folder / "p.forma").write_text(
        "stencil f(vector#2 float X) { return median(i = -7..8, j = -7..7) ( X@[i,j] ); } parameter M, N; vector#2 float x[M,N];"
        "return f(x:symmetric);")
    x = numbers.normal(size=(40, 60)).astype("f4")
    x[numbers.integers(0, 40), numbers.integers(0, 60)] = NAN
    x[3, 4] = numpy.inf
    numpy.save(tessera.folder / "x.npy", x)
    every = windows(x, (8, 7), "symmetric").reshape(40, 60, 17, 15)[:, :, 1:].reshape(40, 60, -1)
    expected = numpy.where(numpy.isnan(every).any(-1), NAN, numpy.sort(every, -1)[..., (every.shape[-1] - 1) // 2])
    same(expected, tessera.array("run", "p.forma", "x.npy"))


def test_median_filter_says_where_a_nan_is(tessera, numbers):
    x = numbers.normal(size=(30, 50)).astype("f4")
    x[11, 20] = NAN
    numpy.save(tessera.folder / "x.npy", x)
    got = tessera.array("filter", "median", "x.npy", "--radius", "2")
    expected = numpy.zeros_like(x, bool)
    expected[9:14, 18:23] = True
    numpy.testing.assert_array_equal(numpy.isnan(got), expected)


ARITHMETIC = """struct two { float a; float b; }
stencil f(vector#2 float X) { return struct two(sqrt(X) - X@[0,1], X / (X@[1,0] - X)); }
stencil g(vector#2 two F) { return struct two(min(F.a, F@[0,1].b) - F@[-1,0].a, -F.b); }
parameter M, N; vector#2 float x[M,N]; r = g(f(x:mirror):wrap); u@[(1,2),(0,1)] = r.a; return a = r.a, b = r.b, u = u;
"""


def test_exact_nans_have_one_pattern(tessera, numbers):
    (tessera.folder / "p.forma").write_text(ARITHMETIC)
    x = odd(numbers, (21, 77))
    x.view("u4")[numpy.isnan(x)] |= numpy.where(numbers.random(numpy.isnan(x).sum()) < 0.5, 0x80000123, 0).astype("u4")
    numpy.save(tessera.folder / "x.npy", x)
    seen = []
    for way in EXACT:
        tessera("run", "p.forma", "x.npy", "-q", *way, "-o", "a=a.npy", "-o", "b=b.npy", "-o", "u=u.npy")
        results = [numpy.load(tessera.folder / f"{k}.npy") for k in "abu"]
        for r in results:
            assert numpy.isnan(r).any()
            assert set(r.view("u4")[numpy.isnan(r)].tolist()) == {0x7FC00000}
        seen.append([r.tobytes() for r in results])
    assert all(s == seen[0] for s in seen)


def test_emitted_files_have_the_bits_of_a_run(tessera, numbers):
    compilers = [c for c in ("gcc", "clang-19", "clang") if shutil.which(c)]
    assert compilers
    program = ("stencil f(vector#2 float X, vector#2 float Y) { return max(min(X, Y), min(0, Y@[0,1])); }"
               "stencil g(vector#2 float X) { return median(i = -1..1, j = -1..1) ( X@[i,j] ) - max(j = -4..4) ( X@[0,j] ); }"
               "parameter M, N; vector#2 float x[M,N]; vector#2 float y[M,N]; return g(f(x:mirror, y:wrap):clamped);")
    (tessera.folder / "p.forma").write_text(program)
    x, y = odd(numbers, (23, 90)), odd(numbers, (23, 90))
    numpy.save(tessera.folder / "x.npy", x)
    numpy.save(tessera.folder / "y.npy", y)
    expected = tessera.array("run", "p.forma", "x.npy", "y.npy", "--exact")
    tessera("emit", "p.forma", "--exact", "--name", "chosen", "-o", "p.c")
    pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    for compiler, flags in itertools.product(compilers[:2], (["-O1"], ["-O1", "-march=native"], ["-O1", "-mavx2"])):
        library = f"p{compiler}{''.join(flags)}.so"
        subprocess.run([compiler, *flags, "-DTESSERA_NO_DISPATCH", "-shared", "-fPIC", "p.c", "-o", library, "-lm"],
                       cwd=tessera.folder, check=True)
        got = numpy.empty_like(x)
        ctypes.CDLL(str(tessera.folder / library)).chosen(pointer(x), pointer(y), 23, 90, pointer(got))
        assert got.tobytes() == expected.tobytes(), (compiler, flags)


@pytest.mark.parametrize("border", list(BORDERS))
def test_absolute_reads_obey_borders(tessera, numbers, border):
    rows, columns = (int(n) for n in numbers.integers(1, 30, 2))
    (tessera.folder / "p.forma").write_text(
        "stencil f(vector#2 float X, vector#2 int I, vector#2 int J) { return X[I, J]; } parameter M, N, P, Q;"
        f"vector#2 float x[M,N]; vector#2 int i[P,Q]; vector#2 int j[P,Q]; return f(x:{border}, i, j);")
    x = numbers.normal(size=(rows, columns)).astype("f4")
    i, j = (numbers.integers(-100, 100, (9, 41)).astype("i4") for _ in range(2))
    for name, array in (("x", x), ("i", i), ("j", j)):
        numpy.save(tessera.folder / f"{name}.npy", array)
    padded = numpy.pad(x, 100, mode=BORDERS[border])
    for way in ((), ("--exact",)):
        same(padded[i + 100, j + 100], tessera.array("run", "p.forma", "x.npy", "i.npy", "j.npy", *way))


def test_loops_keep_their_pieces(tessera, numbers):
    rows = int(numbers.integers(3, 7))
    (tessera.folder / "p.forma").write_text(
        f"stencil f(vector#1 float X, int k) {{ return X * k; }} parameter N; vector#1 float x[N];"
        f"for k = 0..{rows - 1} y[k..k,..] = f(x, k); endfor return y;")
    x = numbers.normal(size=33).astype("f4")
    numpy.save(tessera.folder / "x.npy", x)
    same(numpy.outer(numpy.arange(rows, dtype="f4"), x), tessera.array("run", "p.forma", "x.npy"))
