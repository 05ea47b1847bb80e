"""Times our jobs on a GPU beside a copy on the same device, in one run.

Usage: gpu.py TESSERA [--target cuda|opencl] [--out FILE] [--size N] [--jobs a,b] [--schedules auto,untiled]

Every job runs with its arrays on the device, its input of 8192 x 8192 points of random data; C is the time of PyTorch's copy
of as many bytes as the job reads and writes at least. Prints a line a job and writes JSON.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

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


def run(tessera, job, image, target, schedule, repeat):
    program = HERE / "jobs" / f"{job}.forma"
    command = [tessera, "run", str(program), image, "--target", target, "--schedule", schedule, "--time", "--repeat", str(repeat), "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    found = re.search(r"median ([\d.e+-]+) ms, minimum ([\d.e+-]+) ms .*; ([\d.e+-]+) ms from the host", done.stdout)
    if done.returncode or not found:
        return {"error": (done.stderr or done.stdout).strip()[:600]}
    return {"median_ms": float(found[1]), "min_ms": float(found[2]), "host_ms": float(found[3])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tessera")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--out")
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--jobs", default="")
    parser.add_argument("--schedules", default="auto,untiled")
    parser.add_argument("--repeat", type=int, default=60)
    args = parser.parse_args()
    wanted = [j for j in args.jobs.split(",") if j]
    rows, copies = [], {}
    with tempfile.TemporaryDirectory() as folder:
        images = {}
        for name, kind, out_bytes, goal in JOBS:
            if wanted and name not in wanted:
                continue
            points = args.size * args.size
            size = numpy.dtype(TYPES[kind]).itemsize
            total = points * (size + out_bytes)
            if kind not in images:
                random = numpy.random.default_rng(1)
                data = random.random((args.size, args.size), dtype=numpy.float32)
                images[kind] = f"{folder}/{kind}.npy"
                numpy.save(images[kind], data if kind == "f32" else (data * 255).astype(numpy.uint8))
            if total not in copies:
                copies[total] = copy_ms(total)
            row = {"job": name, "goal": goal, "copy_ms": copies[total]}
            line = f"{name:16s} C {copies[total]:.4f} ms"
            for schedule in args.schedules.split(","):
                row[schedule] = run(args.tessera, name, images[kind], args.target, schedule, args.repeat)
                got = row[schedule]
                line += f"  {schedule} " + (f"{got['median_ms']:.4f} ms = {got['median_ms'] / copies[total]:.2f} C" if "median_ms" in got else got["error"].splitlines()[0][:100])
            print(line + (f"  (goal {goal})" if goal else ""), flush=True)
            rows.append(row)
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps({"target": args.target, "size": args.size, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
