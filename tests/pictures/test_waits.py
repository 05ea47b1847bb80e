"""What waits for the other side of a pipe ends by a signal at once; tiles count for the limit of memory."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
import tifffile

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
