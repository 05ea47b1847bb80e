"""Fourier transforms in emitted CUDA beside a run: a file for any extents, one made for these, and `tessera run`.

Usage: gpu_spectra.py TESSERA [--out FILE]

Files are compiled by nvcc and timed by events, ten calls in a row, arrays on the device; the run by its own clock. All
in one go, medians. Prints a line an extent; ratios are over the run.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import gpu_programs
from spectra import EXTENTS, PROGRAMS, array, told

MAIN = """
#include <algorithm>
#include <cstdio>
#include <vector>
struct given { void* p; template <class T> operator T*() const { return (T*)p; } };
int main() {
  void *a, *b;
  const size_t bytes = (size_t)%d * %d * 8;
  int status = cudaMalloc(&a, bytes) | cudaMalloc(&b, bytes) | cudaMemset(a, 0, bytes);
  cudaStream_t s;
  cudaStreamCreate(&s);
  std::vector<float> all;
  for (int k = 0; k < 60; ++k) {
    cudaEvent_t from, to;
    float ms = 0;
    cudaEventCreate(&from), cudaEventCreate(&to);
    cudaEventRecord(from, s);
    for (int t = 0; t < 10; ++t) status |= spectra_on_stream(given{a}, %d, %d, given{b}, s);
    cudaEventRecord(to, s);
    cudaEventSynchronize(to);
    cudaEventElapsedTime(&ms, from, to);
    if (k >= 10) all.push_back(ms / 10);
  }
  std::sort(all.begin(), all.end());
  std::printf("%%d %%f\\n", status, all[all.size() / 2]);
}
"""


def said(command, folder, tessera):
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, timeout=300, env=gpu_programs.environment(tessera))
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {(done.stdout + done.stderr).strip()[:400]}")
    return done.stdout + done.stderr


def emitted(tessera, folder, shape, sized):
    m, n = shape
    said([tessera, "emit", "p.forma", "--target", "cuda", "--name", "spectra", "-o", "p.cu", "--force"] + (["--size", f"{m}x{n}"] if sized else []), folder, tessera)
    text = (folder / "p.cu").read_text() + MAIN % (m, n, m, n)
    (folder / "main.cu").write_text(text)
    said(["nvcc", "-O3", "-arch=native", "-prec-div=false", "-prec-sqrt=false", "-w", "main.cu", "-o", "timed"], folder, tessera)
    status, ms = said(["./timed"], folder, tessera).split()
    if status != "0":
        raise RuntimeError(f"the emitted function returned {status}")
    return float(ms)


def run(tessera, folder, shape, complex_numbers):
    array(folder, shape, complex_numbers)
    text = said([tessera, "run", "p.forma", "a.npy", "-o", "b.npy", "--target", "cuda", "--time", "--repeat", "50"], folder, tessera)
    return float(re.search(r"time: median ([0-9.e+-]+) ms", text).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    if shutil.which("nvcc") is None:
        sys.exit("there is no nvcc: emitted CUDA was not timed")
    tessera = pathlib.Path(arguments.tessera).resolve()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for program, text in PROGRAMS.items():
            (folder / "p.forma").write_text(text)
            for shape in EXTENTS:
                made = emitted(tessera, folder, shape, True)
                open_ = emitted(tessera, folder, shape, False)
                ran = run(tessera, folder, shape, program == "complex")
                rows.append(told(program, shape, ran, made, open_))
    if arguments.out:
        card = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
        pathlib.Path(arguments.out).write_text(json.dumps({"card": card.splitlines()[0] if card else "", "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
