"""The wheel as a user meets it: wheel.py FOLDER [--out FILE]

It is installed into an empty environment of every CPython from 3.10 to 3.13 that is there, and used with a PATH in which there is no
compiler: a named filter, a pipeline, a program, tessera.ndimage, errors. Prints sizes and times beside their goals; --out writes them as
JSON. Fails where something does not work, never for a time.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
MOST_BYTES = 45_000_000
GOALS = {"import_ms": 150, "first_filter_ms": 100, "second_process_ms": 20, "overhead_us": 3}

USE = """
import time
start = time.perf_counter()
import tessera as ts
imported = time.perf_counter() - start
import json, sys
import numpy as np
from tessera import ndimage
image = np.linspace(0, 1, 4096, dtype=np.float32).reshape(64, 64)
start = time.perf_counter()
smooth = ts.gaussian(image, sigma=2)
first = time.perf_counter() - start
assert abs(float(smooth[32, 32]) - float(image[32, 32])) < 1e-3
pipeline = ts.pipeline(lambda a: (a.mirror()[0, -1] + a + a.mirror()[0, 1]) / 3)
result = pipeline(image)
assert abs(float(result[5, 5]) - float(image[5, 5])) < 1e-6
program = ts.Program.from_text("stencil f(vector#2 float X) { return 2 * X; } parameter M, N; vector#2 float a[M,N]; return f(a);")
assert (program(image) == 2 * image).all()
assert abs(float(ndimage.gaussian_filter(image, 2)[32, 32]) - float(image[32, 32])) < 1e-3
try:
    ts.Program.from_text("return nothing;")
    sys.exit("a text that is no program was compiled")
except ts.CompileError as error:
    assert error.diagnostics[0].line == 1

# What a call costs in Python beside tsr_run_into of the same program and arrays. ctypes calls both that and tsr_abi, which
# does nothing, with the same arguments: the difference is the library's own time.
import ctypes, pathlib
class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64)]
shape, strides = (ctypes.c_int64 * 2)(64, 64), (ctypes.c_int64 * 2)(64, 1)
def tensor(array):
    return Tensor(array.ctypes.data, (1, 0), 2, 2, 32, 1, ctypes.addressof(shape), ctypes.addressof(strides), 0)
library = ctypes.CDLL(str(pathlib.Path(ts.__file__).with_name("libtessera.so.0")))
handle, out = ctypes.c_void_p(), np.empty_like(image)
text = b"stencil f(vector#2 float X) { return 2 * X; } parameter M, N; vector#2 float a[M,N]; return f(a);"
assert library.tsr_compile_text(text, None, None, ctypes.byref(handle)) == 0
inputs, outputs = (ctypes.POINTER(Tensor) * 1)(ctypes.pointer(tensor(image))), (ctypes.POINTER(Tensor) * 1)(ctypes.pointer(tensor(out)))
words = (handle, inputs, ctypes.c_size_t(1), outputs, ctypes.c_size_t(1), None)
assert library.tsr_run_into(*words) == 0 and (out == 2 * image).all()
run_into, nothing = library.tsr_run_into, library.tsr_abi
def seconds(call, count=2000):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
def rounds():
    return seconds(lambda: program(image, out=out)), seconds(lambda: run_into(*words)), seconds(lambda: nothing(*words))
python, c, empty = (min(column) for column in zip(*(rounds() for _ in range(15))))
print(json.dumps({"import_ms": 1e3 * imported, "first_filter_ms": 1e3 * first, "call_us": 1e6 * python, "c_us": 1e6 * (c - empty)}))
"""


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], check=False, text=True, capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def interpreters():
    """One of each version, in PATH or among the pyenv's."""
    found = {}
    folders = [pathlib.Path(p) for p in os.environ["PATH"].split(os.pathsep)]
    folders += sorted(pathlib.Path.home().glob(".pyenv/versions/*/bin"))
    for folder in folders:
        for version in VERSIONS:
            for name in (f"python{version}", "python3"):
                path = folder / name
                if version in found or not os.access(path, os.X_OK):
                    continue
                said = subprocess.run(
                    [path, "-c", "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"],
                    check=False,
                    capture_output=True,
                    text=True,
                )
                if said.stdout.strip() == version:
                    found[version] = path
    return found


def parts(wheel):
    """Of the files that make up most of it: their bytes, and what they take in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {i.filename: [i.file_size, i.compress_size] for i in archive.infolist() if i.compress_size > 50_000}


def processor():
    with open("/proc/cpuinfo") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(os.sched_getaffinity(0))} processors" if names else platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    (wheel,) = options.folder.glob("*.whl")
    report = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": processor(),
        "load": os.getloadavg()[0],
        "wheel": wheel.name,
        "bytes": wheel.stat().st_size,
        "parts": parts(wheel),
        "goals": GOALS,
        "python": {},
    }
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"the wheel is larger than {MOST_BYTES} bytes")
    found = interpreters()
    if not found:
        sys.exit(f"there is no Python of {', '.join(VERSIONS)}")
    for version, python in found.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            run(python, "-m", "venv", folder / "env")
            own = folder / "env/bin/python"
            run(
                own,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--require-hashes",
                "--only-binary",
                ":all:",
                "-r",
                ROOT / "scripts/requirements/installed.txt",
            )
            run(own, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
            bare = {
                "PATH": "/nonexistent",
                "HOME": str(folder),
                "TESSERA_CACHE": str(folder / "cache"),
                "LANG": "C.UTF-8",
            }
            times = [json.loads(run(own, "-c", USE, env=bare, cwd=folder)) for _ in range(3)]
            row = {
                "import_ms": min(t["import_ms"] for t in times),
                "first_filter_ms": times[0]["first_filter_ms"],
                "second_process_ms": min(t["first_filter_ms"] for t in times[1:]),
                "call_us": min(t["call_us"] for t in times),
                "c_us": min(t["c_us"] for t in times),
            }
            # Of the best of either: the least difference would be that of the process whose calls from C were disturbed most.
            row["overhead_us"] = row["call_us"] - row["c_us"]
            report["python"][version] = row
            print(
                f"Python {version}: import {row['import_ms']:.0f} ms, first filter {row['first_filter_ms']:.0f} ms, in a second process "
                f"{row['second_process_ms']:.0f} ms, a call of a 64 x 64 program {row['call_us']:.1f} us, {row['overhead_us']:.1f} over C"
            )
    for name, goal in GOALS.items():
        worst = max(row[name] for row in report["python"].values())
        print(f"{name}: {worst:.1f}, goal below {goal}{'' if worst < goal else ': MISSED'}")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
