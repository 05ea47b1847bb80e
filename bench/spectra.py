"""Fourier transforms in emitted C beside a run: a file for any extents, one made for these, and `tessera run`.

Usage: spectra.py TESSERA [--threads N] [--out FILE]

Files are compiled by GCC with -O3 and OpenMP, and time themselves, as a run does, on arrays on huge pages, as
a run has them; in turns, medians.
Prints a line an extent; ratios are over the run.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

PROGRAMS = {
    "complex": "parameter M, N; vector#2 complex a[M,N]; return fft(a);",
    "there and back": """stencil gain(vector#2 complex F) { g = exp(-0.001f * (coord(0) + coord(1))); return struct complex(g * F.re, g * F.im); }
parameter M, N; vector#2 float a[M,N];
b = ifft(gain(fft(a)));
return b.re;""",
}
EXTENTS = [(512, 512), (1000, 1000), (1009, 1009), (1080, 1920), (2048, 2048), (4096, 4096)]
TURNS = 5

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static int before(const void* a, const void* b) { return *(const double*)a < *(const double*)b ? -1 : 1; }
int main(void) {
  const size_t bytes = (size_t)%d * %d * 8;
  void *a = aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21), *b = aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21);
  double all[%d];
  madvise(a, bytes, MADV_HUGEPAGE), madvise(b, bytes, MADV_HUGEPAGE);
  memset(a, 0, bytes), memset(b, 0, bytes);
  for (int k = -3; k < %d; ++k) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    spectra(a, %d, %d, b);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (k >= 0) all[k] = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
  }
  qsort(all, %d, sizeof *all, before);
  printf("%%f\\n", all[%d]);
  return 0;
}
"""


def said(command, folder, **environment):
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, TESSERA_PRICES="", **environment))
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {(done.stdout + done.stderr).strip()[:400]}")
    return done.stdout + done.stderr


def compiled(tessera, folder, shape, sized, repeat):
    m, n = shape
    name = "sized" if sized else "any"
    said([tessera, "emit", "p.forma", "--target", "c", "--name", "spectra", "-o", "p.c", "--force"] +
         (["--size", f"{m}x{n}"] if sized else []), folder)
    (folder / f"{name}.c").write_text((folder / "p.c").read_text() + MAIN % (m, n, repeat, repeat, m, n, repeat, repeat // 2))
    compiler = next(c for c in ("gcc", "clang-19") if shutil.which(c))
    said([compiler, "-O3", "-fopenmp", "-w", f"{name}.c", "-o", name, "-lm"], folder)


def run(tessera, folder, threads, repeat):
    text = said([tessera, "run", "p.forma", "a.npy", "-o", "b.npy", "--time", "--repeat", str(repeat), "--threads", str(threads)], folder)
    return float(re.search(r"time: median ([0-9.e+-]+) ms", text).group(1))


def array(folder, shape, complex_numbers):
    kind = [("re", "<f4"), ("im", "<f4")] if complex_numbers else "<f4"
    head = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': ({shape[0]}, {shape[1]}), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    data = bytes(shape[0] * shape[1] * (8 if complex_numbers else 4))
    (folder / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def told(program, shape, ran, made, open_):
    """Prints the line of an extent, milliseconds; the same for a file of results."""
    print(f"{program} {shape[0]} x {shape[1]}: a run {ran:.4f} ms, made for it {made:.4f} ({made / ran:.2f}), any extents {open_:.4f} ({open_ / ran:.2f})", flush=True)
    return {"program": program, "extents": shape, "run_ms": ran, "sized_ms": made, "any_ms": open_}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--out")
    arguments = parser.parse_args()
    tessera = pathlib.Path(arguments.tessera).resolve()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for program, text in PROGRAMS.items():
            (folder / "p.forma").write_text(text)
            for shape in EXTENTS:
                repeat = max(15, min(301, 2 * int(2e7 / shape[0] / shape[1]) + 1))
                array(folder, shape, program == "complex")
                for sized in (False, True):
                    compiled(tessera, folder, shape, sized, repeat)
                times = {"run": [], "sized": [], "any": []}
                for _ in range(TURNS):
                    for which in ("sized", "any"):
                        times[which].append(float(said([f"./{which}"], folder, OMP_NUM_THREADS=str(arguments.threads))))
                    times["run"].append(run(tessera, folder, arguments.threads, repeat))
                ran, made, open_ = (statistics.median(times[k]) for k in ("run", "sized", "any"))
                rows.append(told(program, shape, ran, made, open_))
    if arguments.out:
        cpu = next((line.split(": ", 1)[1] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                    if line.startswith("model name")), platform.processor())
        pathlib.Path(arguments.out).write_text(json.dumps({"cpu": cpu, "threads": arguments.threads, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
