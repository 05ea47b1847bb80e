"""What waits for the other side of a pipe ends by a signal at once; streams and files are read as far as they say; tiles count for the limit of memory."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tifffile
from PIL import Image

TESSERA = os.environ["TESSERA"]


def ended(process, number):
    """The status of a process that is sent a signal while it waits, and the seconds until it ended."""
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(number)
    start = time.monotonic()
    process.communicate(timeout=20)
    return process.returncode, time.monotonic() - start


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_pipe_that_nobody_writes(tmp_path, number):
    pipe = tmp_path / "in.pgm"
    os.mkfifo(pipe)
    process = subprocess.Popen([TESSERA, "filter", "box", pipe, "-o", tmp_path / "out.png"], stderr=subprocess.PIPE)
    status, seconds = ended(process, number)
    assert status == 128 + number or status == -number
    assert seconds < 5
    assert not (tmp_path / "out.png").exists()


@pytest.mark.parametrize("verify", ["--verify", "sampled"])
def test_the_interpreter(tmp_path, verify):
    """Whose points take a tenth of a second each."""
    (tmp_path / "long.forma").write_text(
        "parameter M, N;\nvector#2 float image[M,N];\n"
        "stencil long(vector#2 float X) { return sum(i=-400..400, j=-400..400) (X@[i,j]); }\n"
        "return long(image:mirror);\n"
    )
    np.save(tmp_path / "in.npy", np.ones((512, 512), np.float32))
    words = ["--verify"] if verify == "--verify" else ["--verify", verify]
    words = [TESSERA, "run", "long.forma", "in.npy", "-o", "out.npy", "--quiet", *words]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(3)  # the run itself is over
    status, seconds = ended(process, signal.SIGINT)
    assert status == 128 + signal.SIGINT
    assert seconds < 2


def test_a_writer_that_pauses(tmp_path):
    process = subprocess.Popen([TESSERA, "filter", "box", "-", "-o", tmp_path / "out.npy"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"P5 4 4 255\n01234567")
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    assert process.wait(timeout=20) in (143, -15)
    assert time.monotonic() - start < 5
    process.stdin.close()


def test_a_pipe_that_nobody_reads(tmp_path):
    image = tmp_path / "in.npy"
    np.save(image, np.zeros((300, 300), np.float32))
    pipe = tmp_path / "out.npy"
    os.mkfifo(pipe)
    process = subprocess.Popen([TESSERA, "filter", "box", image, "-o", pipe], stderr=subprocess.PIPE)
    status, seconds = ended(process, signal.SIGTERM)
    assert status in (143, -15) and seconds < 5
    # And one that is read only a little.
    process = subprocess.Popen([TESSERA, "filter", "box", image, "-o", pipe], stderr=subprocess.PIPE)
    with open(pipe, "rb") as reader:
        assert reader.read(6) == b"\x93NUMPY"
        status, seconds = ended(process, signal.SIGTERM)
        assert status in (143, -15) and seconds < 5


def test_pipes_still_carry_everything(tmp_path):
    image = (np.random.default_rng(1).random((700, 900)) * 255).astype(np.uint8)
    np.save(tmp_path / "in.npy", image)
    pipe = tmp_path / "in.pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen([TESSERA, "filter", "box", pipe, "--radius", "0", "-o", "-", "--format", "npy"], stdout=subprocess.PIPE)
    time.sleep(0.3)
    pipe.write_bytes((tmp_path / "in.npy").read_bytes())
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    (tmp_path / "out.npy").write_bytes(out)
    assert np.array_equal(np.load(tmp_path / "out.npy"), image)


def test_a_small_image_in_a_large_tile(tmp_path):
    path = tmp_path / "tile.tif"
    tifffile.imwrite(path, np.zeros((4, 4), np.uint8), tile=(8192, 8192), compression="zlib")
    command = [TESSERA, "filter", "box", path, "-o", tmp_path / "out.npy"]
    refused = subprocess.run([*command, "--memory", "16MiB"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and "the limit" in refused.stderr
    assert subprocess.run(command, check=False).returncode == 0


def stream_of(first, rest):
    """A process whose output begins with `first` and goes on with `rest` without end."""
    program = "import sys\nout = sys.stdout.buffer\nout.write(bytes.fromhex(sys.argv[1]))\nwhile True: out.write(bytes.fromhex(sys.argv[2]) * 65536)"
    return subprocess.Popen([sys.executable, "-c", program, first.hex(), rest.hex()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("name", ["npy", "fortran", "pgm", "pbm", "pfm", "nii", "nii.gz", "png", "jpg", "gif", "bmp"])
def test_a_stream_that_never_ends(tmp_path, name):
    numbers = np.arange(100, dtype=np.uint8).reshape(10, 10)
    path = tmp_path / "in"
    if name in ("npy", "fortran"):
        with open(path, "wb") as file:
            np.save(file, np.asfortranarray(numbers.astype(">f8")) if name == "fortran" else numbers)
    elif name == "pgm":
        path.write_bytes(b"P2 10 10 255\n" + b" ".join(b"%d" % v for v in numbers.ravel()) + b" ")
    elif name == "pbm":
        path.write_bytes(b"P1 10 10\n" + b"01" * 50)
    elif name in ("png", "jpg", "gif", "bmp"):
        Image.fromarray(numbers).save(path, format={"jpg": "jpeg"}.get(name, name))
    else:
        subprocess.run([TESSERA, "filter", "box", "-", "--radius", "0", "-o", tmp_path / f"out.{name}"], input=b"P5 10 10 255\n" + numbers.tobytes(), check=True)
        path = tmp_path / f"out.{name}"
    command = [TESSERA, "filter", "box", "--radius", "0", "-q", "-o", tmp_path / "out.npy"]
    subprocess.run([*command, path], check=True)
    expected = np.load(tmp_path / "out.npy")
    for rest in (b"\0", b"\xff"):
        writer = stream_of(path.read_bytes(), rest)
        start = time.monotonic()
        try:
            done = subprocess.run([*command, "-"], stdin=writer.stdout, capture_output=True, text=True, timeout=20, check=False)
        finally:
            writer.kill()
            writer.communicate()
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - start < 10
        assert np.array_equal(np.load(tmp_path / "out.npy"), expected)


def test_a_tail_of_gigabytes(tmp_path):
    image = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
    np.save(tmp_path / "in.npy", image)
    command = [TESSERA, "filter", "box", "--radius", "0", "-q"]
    subprocess.run([*command, tmp_path / "in.npy", "-o", tmp_path / "in.nii"], check=True)
    for name in ("in.npy", "in.nii"):
        os.truncate(tmp_path / name, 2 << 30)
        subprocess.run([*command, tmp_path / name, "-o", tmp_path / "out.npy", "--memory", "1MiB"], check=True)
        assert np.array_equal(np.load(tmp_path / "out.npy").ravel(), image.ravel())


def peak(*words):
    """Bytes that a process takes at most."""
    done = subprocess.run([sys.executable, "-c", "import resource, subprocess, sys\nstatus = subprocess.run(sys.argv[1:]).returncode\n"
                           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\nsys.exit(status)", *map(str, words)],
                          capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def test_a_file_takes_its_array(tmp_path):
    image = np.random.default_rng(2).random((2000, 8000))  # 122 MiB
    np.save(tmp_path / "c.npy", image)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(image))
    np.save(tmp_path / "big.npy", image.astype(">f8"))
    tifffile.imwrite(tmp_path / "big.tif", image, byteorder=">")
    (tmp_path / "grey.pgm").write_bytes(b"P5 8000 8000 65535\n" + np.zeros((8000, 8000), np.uint16).tobytes())
    command = [TESSERA, "filter", "box", "-q", "--radius", "0", "--roi", "0,0,9,9", "-o", tmp_path / "out.npy"]
    least = peak(*command, tmp_path / "c.npy")
    for name in ("fortran.npy", "big.npy", "big.tif", "grey.pgm"):
        assert peak(*command, tmp_path / name) < least + 64e6, name


def test_a_stream_that_always_has_more(tmp_path):
    writer = stream_of(b"P1 30000 30000\n", b"0 ")
    process = subprocess.Popen([TESSERA, "filter", "box", "-", "-o", tmp_path / "out.npy"], stdin=writer.stdout, stderr=subprocess.PIPE)
    try:
        status, seconds = ended(process, signal.SIGTERM)
    finally:
        writer.kill()
        writer.communicate()
    assert status in (143, -15) and seconds < 5
