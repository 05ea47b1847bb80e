"""Runs over several devices (`--devices`): the bytes of one device, and what the command says. On the driver of
tests/cuda_on_cpu, which is two devices."""

import os
from pathlib import Path

import numpy
import pytest

DRIVER = Path(os.environ["TESSERA"]).resolve().parents[2] / "tests" / "libtessera_cuda_on_cpu.so"
pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="the driver for tests is not built")
TWO = {"TESSERA_CUDA_DRIVER": str(DRIVER), "TESSERA_NVRTC": str(DRIVER), "TESSERA_CUDA_ON_CPU_DEVICES": "2"}
BLUR = """
stencil f(vector#2 float X) { return (X@[-1,0] + X + X@[2,0] + X@[0,-1] + X@[0,1]) * 0.2f; }
parameter M, N;
vector#2 float image[M,N];
return f(f(image:mirror):wrap);
"""
CENTRED = """
stencil f(vector#2 float X, float m) { return X - m; }
parameter M, N;
vector#2 float image[M,N];
return f(image, mean(image));
"""


@pytest.fixture
def image(tessera, numbers):
    data = numbers.random((150, 170), dtype="float32")
    numpy.save(tessera.folder / "in.npy", data)
    (tessera.folder / "blur.forma").write_text(BLUR)
    (tessera.folder / "centred.forma").write_text(CENTRED)
    return data


def test_the_bytes_are_those_of_one(tessera, image):
    one = tessera.array("run", "blur.forma", "in.npy", "--target", "cuda", **TWO)
    for devices in ("all", "0,1", "1,0", "1"):
        got = tessera.array("run", "blur.forma", "in.npy", "--devices", devices, **TWO)
        assert got.tobytes() == one.tobytes(), devices


def test_filters_too(tessera, image):
    one = tessera.array("filter", "gaussian", "in.npy", "--target", "cuda", **TWO)
    assert tessera.array("filter", "gaussian", "in.npy", "--devices", "all", **TWO).tobytes() == one.tobytes()


def test_the_command_says_what_each_did(tessera, image):
    said = tessera("run", "blur.forma", "in.npy", "-o", "out.npy", "--devices", "all", **TWO).stderr
    assert "device 0 (CUDA on the processor): 1 of 2 parts in " in said, said
    assert "device 1 (CUDA on the processor): 1 of 2 parts in " in said, said
    said = tessera("run", "centred.forma", "in.npy", "-o", "out.npy", "--devices", "all", **TWO).stderr
    assert "note: device 0 alone has run: stage " in said, said
    said = tessera("run", "blur.forma", "in.npy", "-o", "out.npy", "--devices", "all", "-q", **TWO).stderr
    assert "device 0" not in said, said


def test_explain_says_how_it_is_shared(tessera, image):
    said = tessera("explain", "blur.forma", "--size", "400x300", "--devices", "all", **TWO).stdout
    assert "over devices 0 and 1: 2 slabs of rows, 1 on each, of which 1 at once" in said, said
    said = tessera("explain", "centred.forma", "--size", "400x300", "--devices", "0,1", **TWO).stdout
    assert "over devices 0 and 1: device 0 runs alone" in said, said


def test_time_and_verify(tessera, image):
    said = tessera("run", "blur.forma", "in.npy", "--devices", "all", "--time", "--repeat", "2", "--verify", "-q", **TWO).stdout
    assert "of 2 runs over 2 devices, from the host and back" in said, said


def test_pieces_go_over_all(tessera, numbers):
    data = numbers.random((2400, 2600), dtype="float32")
    numpy.save(tessera.folder / "in.npy", data)
    (tessera.folder / "row.forma").write_text(
        "stencil f(vector#2 float X) { return X@[-1,0] + X@[1,0]; } parameter M, N; vector#2 float a[M,N]; return f(a:clamped);"
    )
    said = tessera("run", "row.forma", "in.npy", "-o", "out.npy", "--devices", "all", "--memory", "260MiB", **TWO).stderr
    padded = numpy.pad(data, ((1, 1), (0, 0)), mode="edge")
    assert (numpy.load(tessera.folder / "out.npy") == padded[:-2] + padded[2:]).all()
    assert "device 0 (" in said and "device 1 (" in said, said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--devices", "0,7"], "error: there is no CUDA device 7, expected 0 to 1"),
        (["--devices", "1,1"], "error: device 1 is named twice"),
        (["--devices", "some"], "--devices"),
        (["--devices", "all", "--target", "cpu"], "--target cuda or opencl beside it"),
        (["--devices", "all", "--device", "1"], "it or --devices, not both"),
        (["--devices", "all", "--threads", "2"], "--threads is of --target cpu alone"),
    ],
)
def test_what_cannot_be(tessera, image, words, expected):
    said = tessera("run", "blur.forma", "in.npy", "-o", "out.npy", *words, status=2, **TWO).stderr
    assert expected in said, said


def test_devices_of_different_kinds(tessera, image):
    more = dict(TWO, TESSERA_CUDA_ON_CPU_OTHER=", another one")
    said = tessera("run", "blur.forma", "in.npy", "-o", "out.npy", "--devices", "all", status=2, **more).stderr
    assert "CUDA device 0 (CUDA on the processor) and CUDA device 1 (CUDA on the processor, another one)" in said, said


def test_where_there_is_none(tessera, image):
    said = tessera("run", "blur.forma", "in.npy", "-o", "out.npy", "--devices", "all", status=2, TESSERA_CUDA_DRIVER="/nowhere").stderr
    assert "error: " in said and "CUDA driver" in said, said
