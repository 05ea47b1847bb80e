"""Windows that sum functions of images, squares, products, masks, differences, beside NumPy's and SciPy's sums of the
same functions: every border, types, ranks, windows that are written out and not, odd places, in both kinds of numbers."""

import itertools

import numpy
import pytest
from scipy import ndimage

# The mode of the language, and NumPy's name for it.
BORDERS = {"clamped": "edge", "mirror": "reflect", "symmetric": "symmetric", "wrap": "wrap", "constant(3)": "constant"}
TERMS = {
    "X@[{}] * X@[{}]": lambda x, y: x * x,
    "X@[{}] * Y@[{}]": lambda x, y: x * y,
    "abs(X@[{}] - Y@[{}])": lambda x, y: abs(x - y),
    "(X@[{}] - Y@[{}]) * (X@[{}] - Y@[{}])": lambda x, y: (x - y) * (x - y),
    "Y@[{}] > 2 ? X@[{}] : 0": lambda x, y: numpy.where(y > 2, x, 0),
    "X@[{}] + 2 * Y@[{}]": lambda x, y: x + 2 * y,
}


def windows(image, lo, hi, mode):
    """All windows lo..hi around every point, lo <= 0 <= hi, as further dimensions."""
    more = {"constant_values": 3} if mode == "constant" else {}
    padded = numpy.pad(image, [(-l, h) for l, h in zip(lo, hi)], mode, **more)
    return numpy.lib.stride_tricks.sliding_window_view(padded, [h - l + 1 for l, h in zip(lo, hi)])


def program(rank, kind, term, lo, hi, border_x, border_y, weights=""):
    names = "ijk"[:rank]
    place = ",".join(names)
    ranges = ", ".join(f"{n} = {l}..{h}" for n, l, h in zip(names, lo, hi))
    extents = ",".join("KMN"[3 - rank:])
    return f"""
{weights}
stencil f(vector#{rank} {kind} X, vector#{rank} {kind} Y) {{
  return sum({ranges}) ({"w[" + ",".join(f"{n}-({l})" for n, l in zip(names, lo)) + "] * (" if weights else ""}{term.replace("{}", place)}{")" if weights else ""});
}}
parameter {", ".join("KMN"[3 - rank:])};
vector#{rank} {kind} a[{extents}];
vector#{rank} {kind} b[{extents}];
return f(a:{border_x}, b:{border_y});
"""


def run(tessera, text, a, b, *words):
    (tessera.folder / "f.forma").write_text(text)
    numpy.save(tessera.folder / "a.npy", a)
    numpy.save(tessera.folder / "b.npy", b)
    return tessera.array("run", "f.forma", "a.npy", "b.npy", *words)


def image(numbers, shape, kind):
    if kind == "float":
        return numbers.uniform(-4, 4, shape).astype(numpy.float32)
    limits = numpy.iinfo(kind)
    return numbers.integers(limits.min, limits.max, shape, kind, endpoint=True)


def expected(term, a, b, lo, hi, border_x, border_y, weights=None):
    """The sums, and what a float may be off."""
    wide = numpy.float64 if a.dtype.kind == "f" else numpy.int64
    values = TERMS[term](windows(a.astype(wide), lo, hi, BORDERS[border_x]), windows(b.astype(wide), lo, hi, BORDERS[border_y]))
    if weights is not None:
        values = values * weights
    axes = tuple(range(a.ndim, 2 * a.ndim))
    total = values.sum(axes)
    if wide is numpy.int64:
        return total.astype(numpy.int32), 0
    return total, 1e-5 * abs(values).sum(axes).max() + 1e-6


@pytest.mark.parametrize("number", range(12))
def test_random_windows(tessera, numbers, number):
    rank = int(numbers.choice([2, 2, 2, 3]))
    kind = str(numbers.choice(["float", "float", "uint8", "int16"]))
    reach = 9 if rank == 2 else 3
    lo = [-int(numbers.integers(0, reach)) for _ in range(rank)]
    hi = [int(numbers.integers(0, reach)) for _ in range(rank)]
    shape = [int(numbers.integers(12, 70)) for _ in range(rank - 1)] + [int(numbers.integers(20, 200))]
    term = str(numbers.choice(list(TERMS)))
    border_x = str(numbers.choice(list(BORDERS)))
    border_y = border_x if numbers.random() < 0.7 else str(numbers.choice(list(BORDERS)))
    a, b = image(numbers, shape, kind), image(numbers, shape, kind)
    table, weights = "", None
    if numbers.random() < 0.5:
        extents = [h - l + 1 for l, h in zip(lo, hi)]
        weights = numbers.integers(-3, 9, extents)
        if numbers.random() < 0.5:  # an outer product
            weights = numpy.ones(extents, int)
            for d, n in enumerate(extents):
                weights = weights * numbers.integers(1, 4, n).reshape([-1 if e == d else 1 for e in range(rank)])
        table = f"table {'float' if kind == 'float' else 'int'} w[{','.join(map(str, extents))}] = {{{','.join(map(str, weights.ravel()))}}};"
    right, most = expected(term, a, b, lo, hi, border_x, border_y, weights)
    text = program(rank, kind, term, lo, hi, border_x, border_y, table)
    print(text, shape)
    for words in [[], ["--exact"], ["--method", "direct"]]:
        assert abs(run(tessera, text, a, b, *words) - right).max() <= most, words


def test_variance_of_a_box(tessera, numbers):
    """15 x 15, as uniform_filter takes it of the square."""
    text = """
stencil v(vector#2 float X) {
  m = sum(i = -7..7, j = -7..7) (X@[i,j]) / 225;
  return sum(i = -7..7, j = -7..7) (X@[i,j] * X@[i,j]) / 225 - m * m;
}
parameter M, N; vector#2 float a[M,N]; return v(a:mirror);
"""
    (tessera.folder / "f.forma").write_text(text)
    a = numbers.uniform(0, 1, (90, 150)).astype(numpy.float32)
    numpy.save(tessera.folder / "a.npy", a)
    box = lambda x: ndimage.uniform_filter(x.astype(float), 15, mode="mirror")
    right = box(a.astype(float) ** 2) - box(a) ** 2
    assert abs(tessera.array("run", "f.forma", "a.npy") - right).max() < 2e-5
    assert "is a stage of its own" in tessera("explain", "f.forma", "--size", "2160x3840").stdout


def test_exact_numbers_keep_their_bits(tessera, numbers):
    """The order of a window in exact floats is the order in which it is written, whatever is a stage of its own."""
    text = program(2, "float", "sqrt(abs(X@[{}] * Y@[{}]))", [-4, -5], [4, 5], "clamped", "clamped")
    a, b = image(numbers, (40, 77), "float"), image(numbers, (40, 77), "float")
    x = windows(a, [-4, -5], [4, 5], "edge")
    y = windows(b, [-4, -5], [4, 5], "edge")
    terms = numpy.sqrt(abs(x * y))
    total = terms[..., 0, 0]
    for i, j in itertools.product(range(9), range(11)):
        if (i, j) != (0, 0):
            total = total + terms[..., i, j]
    assert total.dtype == numpy.float32
    assert numpy.array_equal(run(tessera, text, a, b, "--exact"), total)
