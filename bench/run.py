#!/usr/bin/env python3
"""Measures Tessera beside its peers: installs the peers, builds, runs, makes the tables.

The peers from PyPI (Halide, OpenCV's wheel) go into build/peers. One run is one or more process starts of tessera_bench (timings
on virtual machines are bimodal), each followed by the wheel of OpenCV on the very same arrays. All rows land in
build/bench/results.csv; `--publish` puts them into bench/results/ with the machine and the versions, and redraws the charts.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import chart
import overview
import report

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "build" / "peers"
WORK = ROOT / "build" / "bench"
RESULTS = ROOT / "bench" / "results"
PINS = ROOT / "scripts" / "requirements" / "bench.txt"  # versions and hashes


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def install_peers():
    """The Python of build/peers, or None where it cannot be had. Says what is missing and goes on."""
    python = PEERS / "bin" / "python"
    done = PEERS / "requirements"
    if not done.exists() or done.read_text() != PINS.read_text():
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", PEERS], check=True)
        except subprocess.CalledProcessError:
            say("no virtual environment could be made (Debian: python3-venv): no Halide, no wheel of OpenCV")
            return None
        say(f"installing the packages of {PINS.relative_to(ROOT)} into {PEERS.relative_to(ROOT)}")
        if subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes",
                           "--only-binary", ":all:", "-r", PINS]).returncode:
            say("PyPI did not give them: going on without")
            return python
        shutil.copyfile(PINS, done)
    return python


def halide_root(python):
    found = sorted(PEERS.glob("lib/python3*/site-packages/halide/include/Halide.h")) if python else []
    return found[0].parent.parent if found else None


def build(halide=None):
    """Builds tessera_bench; `halide` None leaves that peer as it is configured."""
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    if not list(Path("/usr/lib/llvm-19/lib").glob("libclang-cpp.so*")):
        launcher.append("-DTESSERA_INPROCESS_CLANG=OFF")
    if halide:
        launcher.append(f"-DHALIDE_ROOT={halide}")
    subprocess.run(["cmake", "--preset", "bench", "-DTESSERA_WERROR=OFF", *launcher],
                   cwd=ROOT, check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", "build/bench-build", "--target", "tessera_bench"], cwd=ROOT, check=True,
                   stdout=sys.stderr)
    return ROOT / "build" / "bench-build" / "bench" / "tessera_bench"


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short samples, no long jobs, few Halide schedules; not for publishing")
    parser.add_argument("--filter", default="", metavar="NAME", help="only jobs whose name contains NAME, or one of several with commas between them")
    parser.add_argument("--starts", type=int, default=1, help="process starts (1)")
    parser.add_argument("--threads", default="", help="thread counts, as in 1,2 (1 and 2, or what the machine has)")
    parser.add_argument("--seconds", type=float, help="sampling time of one figure (0.4; quick: 0.05)")
    parser.add_argument("--peers", default="", help="only these: tessera, tessera-untiled, plain, opencv, halide, opencv-wheel")
    parser.add_argument("--shrink", type=int, default=1, help="divide every extent, to try the harness")
    parser.add_argument("--publish", action="store_true", help="write bench/results/ and the chart")
    options = parser.parse_args()
    if options.publish and (options.quick or options.filter or options.shrink != 1 or options.peers):
        parser.error("--publish takes whole measurements: without --quick, --filter, --peers and --shrink")
    return options


def versions(program):
    """What `tessera_bench --list` says about the machine and the peers."""
    text = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stderr
    return {"machine": re.search(r"^machine (.*)$", text, re.M)[1],
            "peers": dict(re.findall(r"^peer (\S+) +(.*)$", text, re.M))}


def measure(program, python, options, csv):
    """All process starts. False when a result was wrong or a peer failed."""
    good = True
    seconds = options.seconds or (0.05 if options.quick else 0.4)
    threads = options.threads or ",".join(str(n) for n in (1, 2) if n <= (os.cpu_count() or 1))
    wheel = python and (not options.peers or "opencv-wheel" in options.peers.split(","))
    others = ",".join(p for p in options.peers.split(",") if p != "opencv-wheel")
    exchange = WORK / "exchange"
    for start in range(1, options.starts + 1):
        command = [program, "--csv", csv, "--start", str(start), "--threads", threads, "--seconds", str(seconds),
                   "--shrink", str(options.shrink), "--quiet-wait", "0" if options.quick else "20"]
        command += ["--filter", options.filter] if options.filter else []
        command += ["--peers", others] if others else []
        command += ["--quick"] if options.quick else []
        command += ["--exchange", exchange] if wheel else []
        if others or not options.peers:
            good &= subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0
        if wheel:
            good &= subprocess.run([python, ROOT / "bench" / "opencv_wheel.py", exchange, csv, str(start), threads,
                                    str(seconds)]).returncode == 0
    shutil.rmtree(exchange, ignore_errors=True)
    return good


def main():
    options = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    python = install_peers()
    program = build(halide_root(python))
    about = versions(program)
    about["date"] = datetime.date.today().isoformat()
    csv = WORK / "results.csv"
    csv.unlink(missing_ok=True)
    good = measure(program, python, options, csv)
    if not csv.exists():
        sys.exit("no job was measured")
    titles = dict(line.split(None, 1) for line in
                  subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines())
    rows = report.read(csv)
    print(report.text(rows, titles, about))
    if options.publish:
        RESULTS.mkdir(exist_ok=True)
        shutil.copy(csv, RESULTS / "cpu.csv")
        (RESULTS / "cpu.json").write_text(json.dumps({**about, "titles": titles}, indent=2) + "\n")
        (RESULTS / "cpu.svg").write_text(chart.draw(rows, titles, about))
        (RESULTS / "overview.svg").write_text(overview.draw())
        say("written: bench/results/cpu.csv, cpu.json, cpu.svg, overview.svg")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
