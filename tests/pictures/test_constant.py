"""A border constant(k) is one number for every filter, whatever the type of the image can hold: the image is continued in the
type of the arithmetic. Beside SciPy (mode='constant', cval=k) in doubles."""

import numpy
import pytest
from scipy import ndimage

from conftest import FAULTS

TYPES = ["u1", "i2", "u2", "i4", "u4", "f4", "f8"]
BELOW = {"u1": 0, "u2": 0, "u4": 0, "i2": -32768, "i4": -(2**31)}
ABOVE = {"u1": 255, "i2": 32767, "u2": 65535, "i4": 2**31 - 1, "u4": 2**32 - 1}


def kept(result, kind):
    """As integers keep it: rounded half to even, clamped."""
    return result if kind[0] == "f" else numpy.clip(numpy.rint(result), BELOW[kind], ABOVE[kind])


def gaussian(x, k):
    for axis in range(x.ndim):
        x = ndimage.gaussian_filter1d(x, 1.5, axis, mode="constant", cval=k, radius=5)
    return x


SHARP = numpy.array([-0.5, 2, 0.25])
FILTERS = {
    "gaussian": (["--sigma", "1.5"], gaussian),
    "box": ([], lambda x, k: ndimage.uniform_filter(x, 3, mode="constant", cval=k)),
    "erode": ([], lambda x, k: ndimage.minimum_filter(x, 3, mode="constant", cval=k)),
    "dilate": ([], lambda x, k: ndimage.maximum_filter(x, 3, mode="constant", cval=k)),
    "median": ([], lambda x, k: ndimage.median_filter(x, 3, mode="constant", cval=k)),
    "correlate": (["--kernel", "-0.5,2,0.25"],
                  lambda x, k: ndimage.correlate(x, SHARP.reshape((1,) * (x.ndim - 1) + (3,)), mode="constant", cval=k)),
    "convolve": (["--kernel", "-0.5,2,0.25"],
                 lambda x, k: ndimage.convolve(x, SHARP.reshape((1,) * (x.ndim - 1) + (3,)), mode="constant", cval=k)),
    "unsharp": (["--amount", "0.5", "--sigma", "1.5"], lambda x, k: x + 0.5 * (x - gaussian(x, k))),
    "laplacian": ([], lambda x, k: ndimage.laplace(x, mode="constant", cval=k)),
}


def image(numbers, kind, shape):
    if kind[0] == "f":
        return numbers.normal(0, 50, shape).astype(kind)
    most = min(ABOVE[kind], 70000)
    return numbers.integers(max(BELOW[kind], -70000), most + 1, shape).astype(kind)


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter(tessera, numbers, name):
    words, expected = FILTERS[name]
    for kind in numbers.permutation(TYPES)[:4]:
        shape = tuple(numbers.integers(4, 12, numbers.integers(1, 4)))
        x = image(numbers, kind, shape)
        numpy.save(tessera.folder / "x.npy", x)
        k = float(numbers.choice([-1, 0.5, 300, -70000.25, 70000, 127, 65536, 1e6]))
        result = tessera.array("filter", name, "x.npy", "--border", f"constant({k})", *words)
        wanted = expected(x.astype("f8"), k)
        if name != "laplacian":
            wanted = kept(wanted, kind)
        difference = numpy.abs(result.astype("f8") - wanted).max()
        bound = max(numpy.abs(x.astype("f8")).max(), abs(k)) * 4e-6
        assert difference <= bound + (kind[0] != "f" and name not in ("erode", "dilate", "median")), (kind, shape, k)


@pytest.mark.parametrize("name", ["gaussian", "box", "dilate", "correlate"])
def test_full_extents(tessera, numbers, name):
    """Every point that a window touches, on the image continued far enough."""
    words, expected = FILTERS[name]
    reach = {"gaussian": (5, 5), "correlate": (1, 1)}.get(name, (1, 1))
    for kind in ("u1", "i2"):
        x = image(numbers, kind, (6, 7))
        numpy.save(tessera.folder / "x.npy", x)
        k = float(numbers.choice([-1, 0.5, 300, 70000.5]))
        result = tessera.array("filter", name, "x.npy", "--extent", "full", "--border", f"constant({k})", *words)
        margins = [(0, 0), reach] if name == "correlate" else [reach, reach]
        wanted = kept(expected(numpy.pad(x.astype("f8"), margins, constant_values=k), k), kind)
        assert result.shape == wanted.shape
        assert numpy.abs(result - wanted).max() <= 1 + max(abs(k), 70000) * 4e-6, (kind, k)


def test_colours(tessera, numbers):
    x = numbers.integers(0, 256, (9, 8, 3)).astype("u1")
    numpy.save(tessera.folder / "x.npy", x.view([("r", "u1"), ("g", "u1"), ("b", "u1")])[..., 0])
    result = tessera.array("filter", "dilate", "x.npy", "--border", "constant(-3)")
    for c in range(3):
        assert numpy.array_equal(result["rgb"[c]], ndimage.maximum_filter(x[..., c], 3, mode="nearest"))


def test_each_axis_has_its_own(tessera, numbers):
    x = numbers.integers(0, 256, (7, 9)).astype("u1")
    numpy.save(tessera.folder / "x.npy", x)
    result = tessera.array("filter", "dilate", "x.npy", "--border", "constant(1000),constant(-1)", "--type", "float")
    wanted = ndimage.maximum_filter(numpy.pad(x.astype("f8"), [(1, 1), (0, 0)], constant_values=1000), 3, mode="constant", cval=-1)[1:-1]
    assert numpy.array_equal(result, wanted)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_no_number_is_refused(tessera, value):
    numpy.save(tessera.folder / "x.npy", numpy.zeros((5, 5), "f4"))
    done = tessera("filter", "box", "x.npy", "--border", f"constant({value})", "-o", "o.npy", status=2)
    assert f"constant({value})" in done.stderr and "expected a" in done.stderr
    assert not (tessera.folder / "o.npy").exists()


def test_beyond_floats(tessera):
    """Refused by name where the arithmetic is in float, right where it is in double."""
    for kind in ("u1", "f4", "i4"):
        x = numpy.ones((5, 5), kind)
        numpy.save(tessera.folder / "x.npy", x)
        words = ["filter", "erode", "x.npy", "--border", "constant(1e39)"]
        if kind != "i4":
            done = tessera(*words, "-o", "o.npy", status=2)
            assert "constant(1e+39)" in done.stderr and "float" in done.stderr and "double" in done.stderr
        assert numpy.array_equal(tessera.array(*words, "--arithmetic", "double"), x)


def test_the_given_cases(tessera):
    for name, words in (("constant_u8_300_gaussian", ["gaussian", "--border", "constant(300)"]),
                        ("constant_u8_minus1_dilate", ["dilate", "--border", "constant(-1)"])):
        folder = FAULTS / name
        result = tessera.array("filter", words[0], folder / "in.npy", *words[1:])
        assert numpy.abs(result.astype("f8") - numpy.load(folder / "expected.npy")).max() <= (name != "constant_u8_minus1_dilate")


@pytest.mark.parametrize("kind, value", [("uint8", "300"), ("uint8", "-1"), ("uint8", "0.5"), ("int16", "40000"), ("uint16", "-1"),
                                         ("int", "3e9"), ("int", "0.5"), ("bool", "2"), ("float", "1e39"), ("half", "70000")])
def test_the_language_names_it(tessera, kind, value):
    """A read has the type of the image, and no other number can be one."""
    (tessera.folder / "p.forma").write_text(
        f"stencil left(vector#1 {kind} X) {{ return X@[-1]; }}\nvector#1 {kind} x[4];\nreturn left(x:constant({value}));\n")
    done = tessera("check", "p.forma", status=1)
    given = done.stderr.split("the boundary mode constant(")[1].split(")")[0]
    assert float(given) == float(value) and "the type of 'X'" in done.stderr


def test_the_language_continues_what_was_converted(tessera):
    (tessera.folder / "p.forma").write_text(
        "stencil wide(vector#1 uint8 X) { return cast<float>(X); }\nstencil left(vector#1 float X) { return X@[-1]; }\n"
        "vector#1 uint8 x[4];\nreturn left(wide(x):constant(300));\n")
    numpy.save(tessera.folder / "x.npy", numpy.array([1, 2, 3, 4], "u1"))
    assert tessera.array("run", "p.forma", "x.npy", "--verify").tolist() == [300, 1, 2, 3]
