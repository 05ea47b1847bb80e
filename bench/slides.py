#!/usr/bin/env python3
"""A Gaussian of a slide, a tiled TIFF of floats, beside libvips: whole commands, one after the other in turns.

    python bench/slides.py [--edge 16000] [--sigma 3] [--memory 300MiB] [--rounds 3] [--threads 2] [--folder /tmp] [--tessera PATH]

It needs the command `vips` (the package libvips-tools) and `tessera`. It prints seconds by the clock, processor seconds and the
largest resident set of each round, and how far the results are from each other: the largest difference, of values from 0 to 255."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time


def measured(command, environment):
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {said.strip()[-400:]}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edge", type=int, default=16000)
    parser.add_argument("--sigma", type=float, default=3)
    parser.add_argument("--memory", default="300MiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder")
    parser.add_argument("--tessera", default="build/release/src/cli/tessera")
    options = parser.parse_args()
    if shutil.which("vips") is None:
        raise SystemExit("vips is not here: install the package libvips-tools")

    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source, ours, theirs = (f"{folder}/{name}.tif" for name in ("slide", "tessera", "vips"))
        tiles = "[tile,tile-width=256,tile-height=256,bigtiff]"
        edge = str(options.edge)
        subprocess.run(["vips", "gaussnoise", source + tiles, edge, edge, "--mean", "128", "--sigma", "30"], check=True)
        # Weights as far as three standard deviations in both: vips says so by the least of them.
        commands = {
            "tessera": [options.tessera, "filter", "gaussian", source, "-o", ours, "--sigma", str(options.sigma)]
            + ["--truncate", "3", "--border", "clamped", "--memory", options.memory, "--threads", str(options.threads), "-q"],
            "vips": ["vips", "gaussblur", source, theirs + tiles, str(options.sigma)]
            + ["--precision", "float", "--min-ampl", "0.0112"],
        }
        environment = dict(os.environ, VIPS_CONCURRENCY=str(options.threads))
        for name, command in commands.items():
            measured(command, environment)  # warm: the file is in the system's cache, our code in its own
        print(f"{'':10} {'seconds':>9} {'processor':>10} {'MiB':>8}")
        for _ in range(options.rounds):
            for name, command in commands.items():
                seconds, processor, resident = measured(command, environment)
                print(f"{name:10} {seconds:9.2f} {processor:10.2f} {resident:8.0f}", flush=True)
        apart = f"{folder}/apart.v"
        subprocess.run(["vips", "subtract", ours, theirs, apart], check=True)
        subprocess.run(["vips", "abs", apart, f"{folder}/distance.v"], check=True)
        largest = subprocess.run(["vips", "max", f"{folder}/distance.v"], check=True, capture_output=True, text=True)
        print("largest difference", largest.stdout.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
