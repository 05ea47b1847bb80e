"""What `run --time` and `devices` say of the machine: shares of a copy that are shares, measured within bounds and once."""

import os
import re
import subprocess
import time

import numpy
import pytest

COPY = "stencil same(vector#2 float X) { return X; }\nparameter M, N;\nvector#2 float image[M,N];\nreturn result = same(image);\n"
CORNER = "stencil one(vector#2 float X) { return X[0,0]; }\nparameter M, N;\nvector#2 float image[M,N];\nresult[0..M-1, 0..N-1] = one(image);\nreturn result;\n"


@pytest.fixture
def fresh(tessera, tmp_path):
    """The command with a cache of its own, where no rate is known."""
    tessera.environment["TESSERA_CACHE"] = str(tmp_path / "cache")
    return tessera


def rate_line(done):
    return next(line for line in done.stdout.splitlines() if line.startswith("rate: "))


@pytest.mark.parametrize("side", [64, 700, 3000])
@pytest.mark.parametrize("program", [COPY, CORNER])
def test_a_share_is_a_share(fresh, numbers, tmp_path, side, program):
    numpy.save(tmp_path / "a.npy", numbers.random((side, side), numpy.float32))
    (tmp_path / "f.forma").write_text(program)
    line = rate_line(fresh("run", "f.forma", "a.npy", "--time", "-q"))
    share = re.search(r"([\d.e+]+)% of the ([\d.e+]+) GB/s", line)
    assert share or "more than the" in line, line
    if share:
        rate = float(re.search(r"([\d.e+]+) GB/s,", line)[1])
        assert float(share[1]) <= 100.5, line
        assert abs(rate / float(share[2]) - float(share[1]) / 100) < 0.02, line


def test_data_in_the_cache_is_compared_with_data_in_the_cache(fresh, tmp_path):
    numpy.save(tmp_path / "a.npy", numpy.ones((64, 64), numpy.float32))
    (tmp_path / "f.forma").write_text(COPY)
    assert "of a copy of as many bytes, which fit the cache of" in rate_line(fresh("run", "f.forma", "a.npy", "--time", "-q"))


def test_devices_measures_when_it_is_asked_and_remembers(fresh, tmp_path):
    copy = lambda *words: next(line for line in fresh("devices", *words).stdout.splitlines() if line.startswith("  copy"))
    assert "not measured yet" in copy() and "--measure" in copy()
    measured = copy("--measure")
    assert re.search(r"GB/s on 1 thread", measured), measured
    assert copy() == measured
    for entry in (tmp_path / "cache").glob("*.blob"):  # a disk that forgot
        entry.write_bytes(b"99999 1\n" + entry.read_bytes()[8:])
    assert "not measured yet" in copy()


def test_nothing_is_kept_without_a_cache(tessera):
    said = tessera("devices", TESSERA_CACHE="").stdout
    assert "not measured yet" in said
    assert re.search("copy +.*GB/s on 1 thread", tessera("devices", "--measure", TESSERA_CACHE="").stdout)
    assert "not measured yet" in tessera("devices", TESSERA_CACHE="").stdout


def test_measuring_takes_little_memory_and_time(fresh, tmp_path):
    done = subprocess.Popen([os.environ["TESSERA"], "devices", "--measure"], cwd=tmp_path, stdout=subprocess.DEVNULL,
                            env=dict(os.environ, **fresh.environment))
    start = time.monotonic()
    _, status, used = os.wait4(done.pid, 0)
    done.returncode = status
    assert status == 0
    assert used.ru_maxrss < 600 * 1024, "KiB: the command, its libraries and at most 256 MiB of arrays"
    assert used.ru_utime + used.ru_stime < 6, "seconds of processors: two measurements of at most half a second each"
    assert time.monotonic() - start < 60
