"""Kernels under tools that watch memory: NVIDIA's compute-sanitizer on a GPU, or Oclgrind, a machine of OpenCL in software.

Usage: gpu_sanitize.py FOLDER [--tool compute-sanitizer|oclgrind] [--quick] [--processes N] [--limit SECONDS] [--only TEXT]

FOLDER holds `tessera` and `test_differential`. Runs the programs of examples/ and filters/, automatic and untiled, whole and in
slabs, and the zoo of hand-written programs, several at once, and prints a short table last. Status 1 on a finding, a failed run
or when nothing ran; what did not fit the time is named.

compute-sanitizer: memcheck, initcheck and racecheck, the last of the zoo's at the end.
Oclgrind: invalid accesses, data races and the use of values that nobody wrote, in one run, on small images.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_programs
import report

OCLGRIND = ("/usr/lib/oclgrind/liboclgrind-rt.so", "/usr/local/lib/oclgrind/liboclgrind-rt.so")
TOO_SMALL = "out of memory"  # what a run says that got too little of the device's memory for one row


@dataclasses.dataclass
class Check:
    tool: str  # memcheck, initcheck, racecheck or oclgrind
    kind: str  # programs or zoo
    name: str
    command: list
    more: dict = dataclasses.field(default_factory=dict)  # of the environment
    slabs: bool = False
    runs: int = 1


@dataclasses.dataclass
class Outcome:
    check: Check
    state: str = "clean"  # or FOUND, FAILED, not run
    text: str = ""
    runs: int = 0
    seconds: float = 0


class Tools:
    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        self.until = time.monotonic() + args.limit
        self.environment = gpu_programs.environment(args.folder / "tessera") | {"TESSERA_CACHE": str(self.folder / "cache")}
        if args.tool == "oclgrind":
            self.library = self.oclgrind()
        else:
            beside = "/usr/local/cuda/bin/compute-sanitizer"
            self.program = shutil.which("compute-sanitizer") or (beside if Path(beside).exists() else None)
            if self.program is None:
                sys.exit("there is no compute-sanitizer here (a part of the CUDA toolkit)")

    def oclgrind(self):
        """Its library, behind one that goes round a fault of it."""
        library = next((path for path in OCLGRIND if Path(path).exists()), None)
        if library is None:
            sys.exit("Oclgrind is not installed (Debian: oclgrind)")
        rows = self.folder / "liboclgrind-rows.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", Path(__file__).with_name("oclgrind_rows.c"), "-o", rows, library,
                        f"-Wl,-rpath,{Path(library).parent}"], check=True)
        return str(rows)

    def watched(self, check, log):
        """(command, environment) of the check under its tool."""
        environment = self.environment | check.more
        if check.tool == "oclgrind":
            return check.command, environment | {
                "TESSERA_OPENCL": self.library, "OCLGRIND_LOG": str(log), "OCLGRIND_DATA_RACES": "1", "OCLGRIND_UNINITIALIZED": "1",
                "OCLGRIND_MAX_ERRORS": "20", "OCLGRIND_NUM_THREADS": "1"}
        return [self.program, "--tool", check.tool, "--error-exitcode", "99", "--print-limit", "20", "--target-processes", "all",
                "--log-file", str(log), *check.command], environment

    def run(self, check):
        found, start = Outcome(check), time.monotonic()
        left = self.until - start
        if left < 5:
            found.state = "not run"
            return found
        log = self.folder / f"{check.tool}-{re.sub(r'[^a-z0-9]+', '-', check.name.lower())}.log"
        memory = 4096
        while True:
            command, environment = self.watched(check, log)
            if check.slabs:
                command = [*command, "--device-memory", str(memory)]
            log.write_text("")
            try:
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", env=environment,
                                      timeout=max(self.until - time.monotonic(), 1))
            except subprocess.TimeoutExpired:
                found.state = "not run"
                found.text = "took longer than the time that was left"
                break
            said = done.stdout + done.stderr
            if check.slabs and done.returncode not in (0, 99) and TOO_SMALL in said and memory < 1 << 30:
                memory *= 4
                continue
            self.judge(found, done, said, log.read_text(errors="replace"))
            break
        found.seconds = time.monotonic() - start
        print(f"{check.tool} {check.name}: {found.state}, {found.seconds:.0f} s", file=sys.stderr, flush=True)
        return found

    def judge(self, found, done, said, log):
        runs = [int(n) for n in re.findall(r"cases, (\d+) runs compared", said)]
        found.runs = sum(runs) if found.check.kind == "zoo" else 1
        if found.check.tool == "oclgrind":
            bad = bool(log.strip())
        else:
            totals = re.findall(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", log)
            bad = done.returncode == 99 or any(int(n) for n in totals)
            if not totals and done.returncode == 0:
                found.state, found.text = "FAILED", "the tool gave no summary: " + (log or said).strip()[-300:]
                return
        if bad:
            found.state, found.text = "FOUND", log.strip()[:1500]
        elif done.returncode or (found.check.kind == "zoo" and not found.runs):
            found.state, found.text = "FAILED", f"status {done.returncode}: {said.strip()[-600:]}"


def checks(args, folder):
    """Long ones first, but for racecheck, which sees only what threads of a block share."""
    if args.tool == "oclgrind":
        target, tools, parts, extents, rough, points = "opencl", ["oclgrind"], 24, (37, 75), (48, 80), 700
    else:
        target, tools, parts, extents, rough, points = "cuda", ["memcheck", "initcheck", "racecheck"], 12, (301, 587), (304, 592), 9000
    step = 4 if args.quick else 1

    def zoo(tool):
        slow = tool == "racecheck"  # smaller parts of smaller images, so that most come to an end
        count, most = (4 * parts, points // 3) if slow else (parts, points)
        for part in range(0, count, step):
            yield Check(tool, "zoo", f"zoo, part {part} of {count}", [args.folder / "test_differential", "--gtest_filter=Zoo*"],
                        {"TESSERA_TARGET": target, "TESSERA_ONE_PROCESS": "1", "TESSERA_PART": f"{part}/{count}",
                         "TESSERA_POINTS": str(most), "TESSERA_SHRINK_SECONDS": "0"})
    for tool in tools[:2]:
        yield from zoo(tool)
    for tool in tools:
        for name, words in list(gpu_programs.runs(folder, extents, rough))[::step]:
            for schedule in ("auto", "untiled"):
                for slabs in (False, True):
                    yield Check(tool, "programs", f"{name} {schedule}" + (" in slabs" if slabs else ""),
                                [args.folder / "tessera", "run", *words, "--target", target, "--schedule", schedule, "-q"], slabs=slabs)
    for tool in tools[2:]:
        yield from zoo(tool)


def table(outcomes):
    rows = [["tool", "over", "clean", "found", "failed", "not run", "runs", "seconds"]]
    groups = collections.defaultdict(list)
    for o in outcomes:
        groups[o.check.tool, o.check.kind].append(o)
    for (tool, kind), some in groups.items():
        counts = collections.Counter(o.state for o in some)
        rows.append([tool, kind, *(str(counts[state]) for state in ("clean", "FOUND", "FAILED", "not run")), str(sum(o.runs for o in some)),
                     f"{sum(o.seconds for o in some):.0f}"])
    return report.aligned(rows)


def main():
    parser = argparse.ArgumentParser(prog="gpu_sanitize.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--tool", default="compute-sanitizer", choices=["compute-sanitizer", "oclgrind"])
    parser.add_argument("--quick", action="store_true", help="every fourth program")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="at once (all cores but two)")
    parser.add_argument("--limit", type=float, default=270, help="seconds in all (270)")
    parser.add_argument("--only", default="", help="checks whose name contains it")
    args = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tools = Tools(args, folder)
        chosen = [check for check in checks(args, folder) if args.only in f"{check.tool} {check.name}"]
        with concurrent.futures.ThreadPoolExecutor(args.processes) as pool:
            outcomes = list(pool.map(tools.run, chosen))
    for o in outcomes:
        if o.state != "clean":
            print(f"{o.state}: {o.check.tool}, {o.check.name}" + (f"\n{o.text}" if o.text else ""))
    print("\n".join(["", *table(outcomes), f"{time.monotonic() - start:.0f} s with {args.processes} at once"]))
    bad = any(o.state in ("FOUND", "FAILED") for o in outcomes) or not any(o.state == "clean" for o in outcomes)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
