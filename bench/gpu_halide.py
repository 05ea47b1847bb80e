#!/usr/bin/env python3
"""Compiles Halide's side of bench/gpu.py ahead of time, on a machine without a GPU: every job with every schedule.

Usage: gpu_halide.py FILE.xz [--target cuda|opencl] [--jobs a,b]

Writes bench/gpu_halide.cpp with all functions in it, a program that needs the C library, the C++ library and the driver alone;
compressed, since most of it is the text of kernels. gpu_peers.py unpacks it.
--target opencl makes the one that `gpu.py --check` runs on any OpenCL device. Halide comes from PyPI into build/peers, like that
of `./dev bench`. Every job is compiled in processes of its own with a time limit: a schedule that crashes or hangs the
compiler is left out and named, the next ones follow; what was compiled from the same sources is kept.
Exits with 3 where there is no Halide to compile with.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import lzma
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import run

HERE = Path(__file__).resolve().parent
# PTX of the newest kind that Halide 21 knows; the driver compiles it for the card.
TARGETS = {"cuda": "x86-64-linux-cuda-cuda_capability_86", "opencl": "x86-64-linux-opencl"}
SCHEDULE_SECONDS, AUTOMATIC_SECONDS = 240, 1500  # without a word of the compiler, on a busy machine
SOURCES = tuple(f"peers/{name}" for name in ("halide", "halide_filters", "halide_apps", "halide_expert", "halide_photo"))  # the algorithms and their schedules
COMPILE = [*(["ccache"] if shutil.which("ccache") else []), "g++", "-std=c++20", "-Wall", "-Wextra"]


def generator(halide, folder):
    """The program that writes object files."""
    program, objects = folder / "generate", []
    for name in ("gpu_halide_generate", *SOURCES):
        objects.append(folder / f"{Path(name).name}.o")
        subprocess.run([*COMPILE, "-O1", f"-I{HERE}", "-isystem", halide / "include", "-c", HERE / f"{name}.cpp", "-o", objects[-1]], check=True)
    library = halide / "lib64"
    subprocess.run(["g++", *objects, "-o", program, f"-L{library}", f"-Wl,-rpath,{library}", "-lHalide", "-rdynamic"], check=True)
    return program


class Generator:
    """One job's schedules; {number: text} of those that were written, and what failed."""

    def __init__(self, program, halide, folder, target, job):
        self.program, self.halide, self.folder, self.target, self.job = program, halide, folder, target, job
        self.written, self.failed = {}, []

    def all(self):
        """Compiles what is not there from the same sources."""
        record = self.folder / f"{self.job}.json"
        if record.exists() and (kept := json.loads(record.read_text()))["state"] == generated_from(self.target):
            self.written, self.failed = {int(number): text for number, text in kept["written"].items()}, kept["failed"]
            return self
        self.compile()
        record.write_text(json.dumps({"state": generated_from(self.target), "written": self.written, "failed": self.failed}))
        return self

    def compile(self):
        first, ends = 0, 0
        while ends < 5:
            last = self.follow(first, [str(first)], SCHEDULE_SECONDS)
            if last is None:
                break
            first, ends = last + 2, ends + 1  # behind the one that ended it
        if self.target == "cuda":
            plugin = self.halide / "lib64" / "libautoschedule_anderson2021.so"
            self.follow(1000, ["0", str(plugin)], AUTOMATIC_SECONDS)

    def follow(self, first, more, seconds):
        """None where all were tried, else the number of the last that was told."""
        command = [self.program, TARGETS[self.target], self.folder, self.job, *more]
        log = self.folder / f"{self.job}.log"
        with open(log, "w") as errors:
            child = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True)
        lines, last = queue.Queue(), first - 1

        def read():
            for line in child.stdout:
                lines.put(line)
            lines.put(None)
        threading.Thread(target=read, daemon=True).start()
        reason = None
        try:
            while (line := lines.get(timeout=seconds)) is not None:
                number, text = line.rstrip("\n").split("\t", 1)
                last = int(number)
                if text.startswith("!"):
                    self.failed.append(text[1:])
                else:
                    self.written[last] = text
            if child.wait():
                said = [text for text in log.read_text(errors="replace").splitlines() if text.strip()]
                reason = f"status {child.returncode}" + (f": {said[-1][:200]}" if said else "")
        except queue.Empty:
            reason = f"nothing in {seconds} s"
            child.kill()
            child.wait()
        if reason is None:
            return None
        self.failed.append(("Anderson2021" if first == 1000 else f"schedule {last + 1}") + f": the compiler ended, {reason}")
        return last


def table(folder, done):
    """The C++ text that lists the functions; what Anderson2021 found comes first, should time run out on the card."""
    names = [(g.job, f"halide_{g.job}_{number}_argv", text) for g in done for number, text in sorted(g.written.items(), reverse=True)]
    lines = [f'constexpr const char* kVersion = "{version()}";', 'extern "C" {']
    lines += [f"int {name}(void** buffers);" for _, name, _ in names]
    lines += ["}", "const Entry entries[] = {"]
    lines += [f'    {{"{job}", "{text}", {name}}},' for job, name, text in names]
    (folder / "gpu_halide_table.inc").write_text("\n".join([*lines, "};", ""]))
    return len(names)


def version():
    return next(w.split("==")[1] for w in run.WHEELS if w.startswith("halide=="))


def digest(names, *more):
    text = "".join((HERE / name).read_text() for name in names)
    return hashlib.sha256("\n".join([version(), *more, text]).encode()).hexdigest()


def generated_from(target):
    """What the functions depend on: the same are compiled once, it takes minutes."""
    return digest(["gpu_halide_generate.cpp", "peers/halide.hpp", "random.hpp", *(f"{name}.cpp" for name in SOURCES)], target)


def state(args):
    """What the whole program depends on."""
    return digest(["gpu_halide.py", "gpu_halide.cpp", "gpu_image.hpp"], args.target, args.jobs, generated_from(args.target))


def main():
    parser = argparse.ArgumentParser(prog="gpu_halide.py", description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="where the compressed program goes")
    parser.add_argument("--target", default="cuda", choices=list(TARGETS))
    parser.add_argument("--jobs", default="", help="only these, with commas between them")
    args = parser.parse_args()
    start = time.monotonic()
    halide = run.halide_root(run.install_peers())
    if halide is None:
        run.say("there is no Halide from PyPI here: going on without this peer")
        sys.exit(3)
    folder = run.ROOT / "build" / f"halide-{args.target}"
    kept, stamp, args.file = folder / "packed.xz", folder / "stamp", args.file.resolve()
    args.file.parent.mkdir(parents=True, exist_ok=True)
    if stamp.exists() and stamp.read_text() == state(args):
        shutil.copy(kept, args.file)
        return
    folder.mkdir(parents=True, exist_ok=True)
    program = generator(halide, folder)
    subprocess.run([program, TARGETS[args.target], folder, "runtime"], check=True)
    known = subprocess.run([program, "jobs"], check=True, capture_output=True, text=True).stdout.split()
    jobs = [job for job in args.jobs.split(",") if job] or known
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(lambda job: Generator(program, halide, folder, args.target, job).all(), jobs))
    for g in done:
        for reason, count in collections.Counter(g.failed).items():
            print(f"halide, {g.job}: {reason}" + (f" ({count} times)" if count > 1 else ""), file=sys.stderr)
    count = table(folder, done)
    objects = [folder / f"{g.job}_{number}.o" for g in done for number in g.written]
    check = ["-DTESSERA_HALIDE_CHECK"] if args.target == "opencl" else []
    subprocess.run([*COMPILE, "-Wconversion", "-Wno-sign-conversion", "-O2", *check, "-isystem", halide / "include", f"-I{folder}",
                    "-c", HERE / "gpu_halide.cpp", "-o", folder / "gpu_halide.o"], check=True)
    response = folder / "objects.txt"
    response.write_text("\n".join(map(str, [folder / "gpu_halide.o", *objects, folder / "runtime.o"])))
    linked = folder / "gpu_halide"
    subprocess.run(["g++", "-s", f"@{response}", "-o", linked, "-ldl", "-lpthread"], check=True)
    kept.write_bytes(lzma.compress(linked.read_bytes(), preset=2))
    shutil.copy(kept, args.file)
    run.say(f"Halide {version()}, {args.target}: {count} schedules of {sum(bool(g.written) for g in done)} jobs in {time.monotonic() - start:.0f} s, "
            f"{args.file.stat().st_size / 2**20:.1f} MiB of {linked.stat().st_size >> 20}")
    if not all(g.written for g in done):
        sys.exit(1)
    stamp.write_text(state(args))


if __name__ == "__main__":
    main()
