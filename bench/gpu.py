"""Times our jobs on a GPU beside a copy on the same device and beside peers, in one run, on the same data.

Usage: gpu.py TESSERA [--target cuda|opencl] [--beside opencl|none] [--out FILE] [--size N] [--jobs a,b] [--schedules auto,untiled]
              [--peers all|none|a,b]

Every job runs with its arrays on the device, its input of 8192 x 8192 points of random data; C is the time of PyTorch's copy
of as many bytes as the job reads and writes at least. --beside: our own other target runs the job as well and is compared like a
peer. The peers (gpu_peers.py) then get the same files. Prints a line a job, the table last, and writes JSON. --check needs no
GPU: small images, everything on the processor, results compared, nothing timed.
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

import gpu_library
import gpu_peers
import gpu_programs
import report

HERE = pathlib.Path(__file__).resolve().parent
# name, type in, bytes out a point, goal in C
JOBS = [
    ("blur3_f32", "f32", 4, 1.12), ("conv3_f32", "f32", 4, 1.12), ("conv5_f32", "f32", 4, 1.15), ("conv7_f32", "f32", 4, 1.25),
    ("gauss3_u8", "u8", 1, 1.15), ("gauss5_u8", "u8", 1, 1.3), ("box3_u8", "u8", 1, None), ("sobel_u8", "u8", 2, 1.2),
    ("sobel_f32", "f32", 4, None), ("unsharp5_f32", "f32", 4, 1.2), ("harris_f32", "f32", 4, 1.25), ("canny_f32", "f32", 4, 1.4),
    ("median3_f32", "f32", 4, 1.3), ("median3_u8", "u8", 1, None), ("dilate3_u8", "u8", 1, None), ("chain_f32", "f32", 4, None),
    ("bilateral5_f32", "f32", 4, None), ("pyrdown_f32", "f32", 1, None),
]
TYPES = {"f32": numpy.float32, "u8": numpy.uint8}


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


def tessera_run(tessera, program, image, target, schedule, *more):
    command = [tessera, "run", str(program), str(image), "--target", target, "--schedule", schedule, "-q", *map(str, more)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=gpu_programs.environment(tessera))


def run(tessera, job, image, target, schedule, repeat, result=None):
    """`result`: where the image goes that peers compare with."""
    more = ["-o", result] if result else []
    if target != "cpu":
        more += ["--time", "--repeat", repeat]
    done = tessera_run(tessera, HERE / "jobs" / f"{job}.forma", image, target, schedule, *more)
    found = re.search(r"median ([\d.e+-]+) ms, minimum ([\d.e+-]+) ms .*; ([\d.e+-]+) ms from the host", done.stdout)
    if done.returncode or not (found or target == "cpu"):
        return {"error": (done.stderr or done.stdout).strip()[:600]}
    return {"median_ms": float(found[1]), "min_ms": float(found[2]), "host_ms": float(found[3])} if found else {}


def compared(result, ours, job):
    """Whether another result of ours is the same, by the rules for peers."""
    a, b = (numpy.load(path, mmap_mode="r")[gpu_library.MARGIN:-gpu_library.MARGIN, gpu_library.MARGIN:-gpu_library.MARGIN] for path in (result, ours))
    if a.shape != b.shape or a.dtype != b.dtype:
        return {"verdict": "DIFFERENT", "difference": f"{a.dtype} {a.shape}, {b.dtype} {b.shape}", "share": 1.0}
    limit, far, largest = gpu_peers.tolerance(job, ours), 0, 0.0
    for k in range(0, len(a), 512):  # rows at a time: no third image in memory
        distance = numpy.abs(a[k:k + 512].astype(numpy.float32) - b[k:k + 512].astype(numpy.float32))
        far, largest = far + int((~(distance <= limit)).sum()), max(largest, float(distance.max()))
    share = far / a.size
    return {"verdict": "same" if share <= gpu_peers.SHARES.get(job, 0.0) else "DIFFERENT", "difference": largest, "share": share}


def run_beside(args, job, image, ours, folder):
    """Our other target: its time, and its result beside the first one's."""
    result = f"{folder}/beside.npy"
    got = run(args.tessera, job, image, args.beside, args.schedules.split(",")[0], 1 if args.check else min(args.repeat, 20), result)
    if "error" in got:
        return got
    return {**({} if args.check else got), **compared(result, ours, job)}


def arguments():
    parser = argparse.ArgumentParser(prog="gpu.py", description=__doc__.splitlines()[0])
    parser.add_argument("tessera")
    parser.add_argument("--target", default="", help="cuda or opencl (cuda; with --check cpu)")
    parser.add_argument("--beside", default="opencl", choices=["opencl", "none"], help="our other target, measured beside it (opencl)")
    parser.add_argument("--out", help="JSON with every figure")
    parser.add_argument("--size", type=int, default=0, help="rows and columns (8192; with --check 1024)")
    parser.add_argument("--jobs", default="", help="only these, with commas between them")
    parser.add_argument("--schedules", default="auto,untiled", help="the first is compared with the peers")
    parser.add_argument("--repeat", type=int, default=60)
    parser.add_argument("--peers", default="all", help=f"all, none or some of {','.join(gpu_peers.PEERS)}")
    parser.add_argument("--limit", type=float, default=440, metavar="SECONDS", help="what peers have not done after so long is left out (440)")
    parser.add_argument("--check", action="store_true", help="no GPU: compare results on the processor, time nothing")
    args = parser.parse_args()
    args.target = args.target or ("cpu" if args.check else "cuda")
    args.size = args.size or (1024 if args.check else 8192)
    names = {"all": list(gpu_peers.PEERS), "none": []}.get(args.peers, [p for p in args.peers.split(",") if p])
    known = [job[0] for job in JOBS]
    args.jobs = [j for j in args.jobs.split(",") if j]
    for given, expected in ((names, list(gpu_peers.PEERS)), (args.jobs, known)):
        for name in given:
            if name not in expected:
                parser.error(f"there is no '{name}', expected some of {','.join(expected)}")
    args.peers = names
    if args.beside in ("none", args.target):
        args.beside = None
    return args


def measure_ours(args, folder):
    """Rows without peers, and {job: (input, our result)}."""
    rows, copies, images, files = [], {}, {}, {}
    for name, kind, out_bytes, goal in JOBS:
        if args.jobs and name not in args.jobs:
            continue
        total = args.size * args.size * (numpy.dtype(TYPES[kind]).itemsize + out_bytes)
        if kind not in images:
            random = numpy.random.default_rng(1)
            data = random.random((args.size, args.size), dtype=numpy.float32)
            images[kind] = f"{folder}/{kind}.npy"
            numpy.save(images[kind], data if kind == "f32" else (data * 255).astype(numpy.uint8))
        if total not in copies:
            copies[total] = None if args.check else copy_or_none(total)
        copy = copies[total]
        row = {"job": name, "goal": goal, "copy_ms": copy}
        line = f"{name:16s}" + (f" C {copy:.4f} ms" if copy else "")
        for schedule in args.schedules.split(","):
            result = f"{folder}/{name}.npy" if (args.peers or args.beside) and name not in files else None
            got = row[schedule] = run(args.tessera, name, images[kind], args.target, schedule, args.repeat, result)
            if result and "error" not in got:
                files[name] = images[kind], result
            if "median_ms" in got:
                line += f"  {schedule} {got['median_ms']:.4f} ms" + (f" = {got['median_ms'] / copy:.2f} C" if copy else "")
            else:
                line += f"  {schedule} " + got.get("error", "ran").splitlines()[0][:100]
        if args.beside and name in files:
            got = row[args.beside] = run_beside(args, name, *files[name], folder)
            line += f"  {args.beside} " + (got["error"].splitlines()[0][:100] if "error" in got else other_cell(got))
        print(line + (f"  (goal {goal})" if goal else ""), flush=True)
        rows.append(row)
    return rows, files


def table(rows, schedule, beside, peers):
    """Lines: ours, the figure to reach, our other target, every peer, and how many times as long as ours the best of them takes."""
    head = ["job", "C ms", "ours ms", "of C", "reach", *([beside] if beside else []), *(gpu_peers.PEERS[peer] for peer in peers), "best peer / ours"]
    cells, gains = [], []
    for row in rows:
        ms, copy, best = row[schedule].get("median_ms"), row["copy_ms"], gpu_peers.best(row.get("peers", {}))
        if ms and best:
            gains.append(best[1] / ms)
        cells.append([row["job"], f"{copy:.4f}" if copy else "", f"{ms:.4f}" if ms else "", f"{ms / copy:.2f}" if ms and copy else "",
                      str(row["goal"] or ""), *([other_cell(row.get(beside))] if beside else []), *(gpu_peers.cell(row.get("peers", {}).get(peer)) for peer in peers),
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
        return figures["verdict"]
    return f"{figures['median_ms']:.4f}" + ("" if figures["verdict"] == "same" else "!")


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
    schedule = args.schedules.split(",")[0]
    if args.peers or args.beside:
        lines = ["", *gpu_peers.notes(rows), "", f"{facts['card']}, {args.size} x {args.size}, {facts['seconds']} s; " + "; ".join(facts["peers"].values()),
                 "ms; C: the copy; !: another result, *: a related job, neither counts", *table(rows, schedule, args.beside, args.peers)]
        print("\n".join(lines))
    wrong = args.check and any("error" in row[schedule] or any(f.get("verdict") == "DIFFERENT" or "error" in f for f in row.get("peers", {}).values()) for row in rows)
    differs = any(row.get(args.beside, {}).get("verdict") == "DIFFERENT" for row in rows)  # our two targets, on any machine
    return 1 if wrong or differs else 0


if __name__ == "__main__":
    sys.exit(main())
