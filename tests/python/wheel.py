"""The wheel as a user meets it: wheel.py FOLDER [--out FILE]

It is installed into an empty environment of every CPython from 3.10 to 3.13 that is there, and used with a PATH in which there is no
compiler: a named filter, a pipeline, a program, tessera.ndimage, errors. Prints sizes and times; --out writes them as JSON. Fails
where something does not work, never for a time.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
MOST_BYTES = 45_000_000

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
box = pipeline.compile(image)
out = np.empty_like(image)
best = 1.0
for _ in range(7):
    start = time.perf_counter()
    for _ in range(2000):
        box(image, out=out)
    best = min(best, (time.perf_counter() - start) / 2000)
print(json.dumps({"import_ms": 1e3 * imported, "first_filter_ms": 1e3 * first, "call_us": 1e6 * best}))
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    (wheel,) = options.folder.glob("*.whl")
    report = {"wheel": wheel.name, "bytes": wheel.stat().st_size, "python": {}}
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
                ROOT / "scripts/requirements-installed.txt",
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
            }
            report["python"][version] = row
            print(
                f"Python {version}: import {row['import_ms']:.0f} ms, first filter {row['first_filter_ms']:.0f} ms, in a second process "
                f"{row['second_process_ms']:.0f} ms, a call of a 64 x 64 pipeline {row['call_us']:.1f} us"
            )
    if options.out:
        options.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
