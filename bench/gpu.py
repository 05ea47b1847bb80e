"""Times our jobs on a GPU beside a copy on the same device and beside peers, in one run, on the same data.

Usage: gpu.py TESSERA [--target cuda|opencl] [--beside opencl|none] [--out FILE] [--size N] [--shrink N]
              [--jobs short|long|all|a,b] [--schedules auto,untiled] [--peers all|none|a,b]

Every job of gpu_jobs.py runs with its arrays on the device, the short ones on 8192 x 8192 points of random data; C is the time of
PyTorch's copy of as many bytes as the job reads and writes at least. --beside: our own other target runs the job as well and is compared like a
peer. The peers (gpu_peers.py) then get the same files. Prints a line a job, the table last, and writes JSON. --check needs no
GPU: small images, everything on the processor, results compared, nothing timed. --shrink divides the extents of long jobs.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy

import gpu_jobs
import gpu_library
import gpu_peers
import gpu_programs
import report



def copy_ms(total_bytes):
    import torch
    n = total_bytes // 2
    sets = [(torch.empty(n, dtype=torch.uint8, device="cuda"), torch.empty(n, dtype=torch.uint8, device="cuda")) for _ in range(4)]
    times = []
    for k in range(60):
        a, b = sets[k % 4]
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        b.copy_(a)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    del sets
    torch.cuda.empty_cache()
    return sorted(times[10:])[25]


def copy_or_none(total_bytes):
    """None where PyTorch is not installed or sees no GPU: our times are then shown without C."""
    try:
        return copy_ms(total_bytes)
    except (ImportError, RuntimeError, AssertionError) as error:
        print(f"no copy to measure: {str(error).splitlines()[0]}", file=sys.stderr)
        return None


def tessera_run(tessera, program, images, target, schedule, *more):
    command = [tessera, "run", str(program), *map(str, images), "--target", target, "--schedule", schedule, "-q", *map(str, more)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=gpu_programs.environment(tessera))


def run(tessera, job, images, target, schedule, repeat, result=None):
    """`result`: where the image goes that peers compare with."""
    more = ["-o", result] if result else []
    if target != "cpu":
        more += ["--time", "--repeat", repeat]
    try:
        done = tessera_run(tessera, job.file, images, target, schedule, *more)
    except subprocess.TimeoutExpired as error:
        return {"error": f"took longer than {error.timeout:.0f} s"}
    found = re.search(r"median ([\d.e+-]+) ms, minimum ([\d.e+-]+) ms .*; ([\d.e+-]+) ms from the host", done.stdout)
    if done.returncode or not (found or target == "cpu"):
        return {"error": (done.stderr or done.stdout).strip()[:600]}
    return {"median_ms": float(found[1]), "min_ms": float(found[2]), "host_ms": float(found[3])} if found else {}


def compared(result, ours, job):
    """Whether another result of ours is the same, by the rules for peers."""
    a, b = (gpu_library.middle(array, gpu_library.margins(array.shape, job.margin)) for array in (numpy.load(path, mmap_mode="r") for path in (result, ours)))
    if a.shape != b.shape or a.dtype != b.dtype:
        return {"verdict": "DIFFERENT", "difference": f"{a.dtype} {a.shape}, {b.dtype} {b.shape}", "share": 1.0}
    if not a.size:
        return {"error": f"a margin of {job.margin} points leaves nothing to compare"}
    limit, far, largest = job.tolerance_of(ours), 0, 0.0
    step = -(-512 * len(a) // max(a.shape[-2:]))  # rows or planes at a time: no third image in memory
    for k in range(0, len(a), step):
        distance = numpy.abs(a[k:k + step].astype(numpy.float32) - b[k:k + step].astype(numpy.float32))
        far, largest = far + int((~(distance <= limit)).sum()), max(largest, float(distance.max()))
    share = far / a.size
    return {"verdict": "same" if share <= job.share else "DIFFERENT", "difference": largest, "share": share}


def run_beside(args, job, images, ours, folder):
    """Our other target: its time, and its result beside the first one's."""
    result = f"{folder}/beside.npy"
    got = run(args.tessera, job, images, args.beside, args.schedules.split(",")[0], 1 if args.check else min(args.repeat, 20), result)
    if "error" in got:
        return got
    return {**({} if args.check else got), **compared(result, ours, job)}


def arguments():
    parser = argparse.ArgumentParser(prog="gpu.py", description=__doc__.splitlines()[0])
    parser.add_argument("tessera")
    parser.add_argument("--target", default="", help="cuda or opencl (cuda; with --check cpu)")
    parser.add_argument("--beside", default="opencl", choices=["opencl", "none"], help="our other target, measured beside it (opencl)")
    parser.add_argument("--out", help="JSON with every figure")
    parser.add_argument("--size", type=int, default=0, help="rows and columns of short jobs (8192; with --check 1024)")
    parser.add_argument("--shrink", type=int, default=0, help="divide the extents of long jobs (1; with --check 2)")
    parser.add_argument("--jobs", default="short", help="short, long, all, or names with commas between them (short)")
    parser.add_argument("--schedules", default="auto,untiled", help="the first is compared with the peers")
    parser.add_argument("--repeat", type=int, default=60)
    parser.add_argument("--peers", default="all", help=f"all, none or some of {','.join(gpu_peers.PEERS)}")
    parser.add_argument("--limit", type=float, default=440, metavar="SECONDS", help="what peers have not done after so long is left out (440)")
    parser.add_argument("--check", action="store_true", help="no GPU: compare results on the processor, time nothing")
    args = parser.parse_args()
    args.target = args.target or ("cpu" if args.check else "cuda")
    args.size = args.size or (1024 if args.check else 8192)
    args.shrink = args.shrink or (2 if args.check else 1)
    names = {"all": list(gpu_peers.PEERS), "none": []}.get(args.peers, [p for p in args.peers.split(",") if p])
    for name in names:
        if name not in gpu_peers.PEERS:
            parser.error(f"there is no '{name}', expected some of {','.join(gpu_peers.PEERS)}")
    args.peers = names
    try:
        args.jobs = gpu_jobs.chosen([name for name in args.jobs.split(",") if name])
    except KeyError as error:
        parser.error(f"there is no {error}, expected short, long, all or some of {','.join(job.name for job in gpu_jobs.JOBS)}")
    if args.beside in ("none", args.target):
        args.beside = None
    return args


def measure_ours(args, folder):
    """Rows without peers, and [(job, inputs, our result)]."""
    rows, copies, files, data = [], {}, [], gpu_jobs.Data(folder)
    for job in args.jobs:
        shape = job.shape(args.size, args.shrink)
        images, total = data.inputs(job, shape), job.bytes(shape)
        if total not in copies:
            copies[total] = None if args.check else copy_or_none(total)
        row = {"job": job.name, "extents": shape, "goal": job.goal, "beside": job.beside, "copy_ms": copies[total]}
        result = measure_schedules(args, job, images, row, folder)
        if result:
            files.append((job, images, result))
            if args.beside:
                row[args.beside] = run_beside(args, job, images, result, folder)
        print(line_of(row, args), flush=True)
        rows.append(row)
    return rows, files


def measure_schedules(args, job, images, row, folder):
    """Puts every schedule's figures into the row; the file of the result, if it is wanted and there is one."""
    kept = None
    for schedule in args.schedules.split(","):
        result = f"{folder}/{job.name}.npy" if (args.peers or args.beside) and not kept else None
        row[schedule] = run(args.tessera, job, images, args.target, schedule, args.repeat, result)
        if result and "error" not in row[schedule]:
            kept = result
    return kept


def line_of(row, args):
    copy = row["copy_ms"]
    line = f"{row['job']:20s}" + (f" C {copy:.4f} ms" if copy else "")
    for schedule in args.schedules.split(","):
        got = row[schedule]
        if "median_ms" in got:
            line += f"  {schedule} {got['median_ms']:.4f} ms" + (f" = {got['median_ms'] / copy:.2f} C" if copy else "")
        else:
            line += f"  {schedule} " + got.get("error", "ran").splitlines()[0][:100]
    if got := row.get(args.beside):
        line += f"  {args.beside} " + (got["error"].splitlines()[0][:100] if "error" in got else other_cell(got))
    return line + (f"  (goal {goal_cell(row)})" if goal_cell(row) else "")


def goal_cell(row):
    return row["beside"] or str(row["goal"] or "")


def table(rows, schedules, beside, peers):
    """Lines: ours, the figure to reach, our other schedules and target, every peer, and how many times as long as ours the best of
    them takes."""
    schedule, *others = schedules
    others += [beside] if beside else []
    head = ["job", "C ms", "ours ms", "of C", "reach", *others, *(gpu_peers.PEERS[peer] for peer in peers), "best peer / ours"]
    cells, gains = [], []
    for row in rows:
        ms, copy, best = row[schedule].get("median_ms"), row["copy_ms"], gpu_peers.best(row.get("peers", {}))
        if ms and best:
            gains.append(best[1] / ms)
        cells.append([f"{row['job']} {'x'.join(map(str, row['extents']))}", f"{copy:.4f}" if copy else "", f"{ms:.4f}" if ms else "", f"{ms / copy:.2f}" if ms and copy else "",
                      goal_cell(row), *(other_cell(row.get(other)) for other in others), *(gpu_peers.cell(row.get("peers", {}).get(peer)) for peer in peers),
                      f"{best[1] / ms:.2f} ({gpu_peers.PEERS[best[0]]})" if ms and best else ""])
    lines = report.aligned([head, *cells])
    if gains:
        mean = math.exp(sum(map(math.log, gains)) / len(gains))
        lines.append(f"geometric mean over {len(gains)} jobs: the best peer takes {mean:.2f} times as long as ours; ours is ahead in {sum(g > 1 for g in gains)}")
    return lines


def other_cell(figures):
    if not figures or "error" in figures:
        return "failed" if figures else ""
    if "median_ms" not in figures:
        return figures.get("verdict", "ran")
    return f"{figures['median_ms']:.4f}" + ("!" if figures.get("verdict") == "DIFFERENT" else "")


def card():
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, timeout=30)
        return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else "unknown"
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


def main():
    args = arguments()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        peers = gpu_peers.Peers(args.peers, folder, "cpu" if args.check else "cuda", start + args.limit, pathlib.Path(args.tessera).resolve().parent)
        rows, files = measure_ours(args, folder)
        print(f"ours: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        found = peers.measure(files)
    for row in rows:
        if args.peers:
            row["peers"] = found.get(row["job"], {})
    facts = {"target": args.target, "size": args.size, "card": card(), "seconds": round(time.monotonic() - start), "peers": peers.versions}
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")
    schedules = args.schedules.split(",")
    if args.peers or args.beside:
        lines = ["", *gpu_peers.notes(rows), "", f"{facts['card']}, {facts['seconds']} s; " + "; ".join(facts["peers"].values()),
                 "ms; C: the copy; !: another result, *: a related job, neither counts", *table(rows, schedules, args.beside, args.peers)]
        print("\n".join(lines))
    wrong = args.check and any("error" in row[schedules[0]] or any(f.get("verdict") == "DIFFERENT" or "error" in f for f in row.get("peers", {}).values()) for row in rows)
    differs = any(row.get(args.beside, {}).get("verdict") == "DIFFERENT" for row in rows)  # our two targets, on any machine
    return 1 if wrong or differs else 0


if __name__ == "__main__":
    sys.exit(main())
