#!/usr/bin/env python3
"""Is the choice right? ./dev choice [--target NAME] [--full] [--limit SECONDS] [--only TEXT] [--again] [--publish].

A grid of weighted sums: sizes of weights and images, types, ranks of the weights. Of each point every method that applies is timed by
`tessera run --time --method`, in turns with the others and with the automatic choice, on one thread; figures are the least of all turns.
A method that is predicted to take SKIP times as long as the chosen one is left out where it would take long. The automatic choice runs
the same code as the method that it chose, so the lesser of both times is that of the choice; the ratio is against the best method.
Where that is more than a tenth above 1, all methods are timed again, three times at most: other processes only add to a time.

What was measured lies in build/choice/TARGET.json and is not measured again without --again, so that --limit can cut a run into pieces.
--prices FILE (or "" for those built in) takes other prices, as $TESSERA_PRICES does. --wrap COMMAND puts a command before each point's.
"""
import argparse
import array
import csv
import datetime
import json
import math
import os
import pathlib
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
TURNS, MOST_RUNS, SECONDS, SKIP, LONG = 2, 12, 0.15, 6, 0.5
NEAR, AGAIN = 1.1, 3  # a point where the choice looks wrong is measured so often
TYPES = {"f32": ("float", "<f4"), "f64": ("double", "<f8"), "u8": ("uint8", "|u1"), "int": ("uint8", "|u1")}  # int: whole weights of bytes, to bytes
METHODS = ["direct", "separable", "low-rank", "transform", "whole", "matrix"]

Point = namedtuple("Point", "rank weights image type")  # rank of the weights: 0 is dense


def grid(full, device):
    """The points, coarse or all."""
    def squares(rank, sizes, images, type="f32"):
        return [Point(rank, (k, k), image, type) for k in sizes for image in images]
    frame, tiny = (2160, 3840), (256, 256)
    if device:
        frame, tiny = (8192, 8192), (1024, 1024)
    images = [tiny, (1024, 1024), frame, (4096, 4096)] if full else [tiny, frame]
    points = squares(0, (3, 5, 7, 8, 9, 11, 15, 21, 31, 63, 127, 255) if full else (5, 7, 9, 11, 15, 31, 63, 255), images)
    points += squares(1, (5, 9, 15, 31, 63, 127, 255) if full else (9, 31, 63, 127), images)
    points += squares(2, (9, 15, 31, 63, 127) if full else (9, 31, 63), images if full else [frame])
    points += squares(4, (15, 31, 63, 127) if full else (15, 31), [frame])
    for type in ("u8", "f64"):
        points += squares(0, (5, 7, 9, 15, 31, 63) if full else (7, 9, 15), [(1024, 1024), frame] if full else [frame], type)
        points += squares(1, (9, 31, 63) if full else (31,), [frame], type)
    points += squares(0, (3, 5, 7, 9, 11, 13, 15) if full else (5, 7, 9, 15), images, "int")
    points += [Point(0, (1, k), frame, "f32") for k in ((9, 31, 63, 101, 255, 511) if full else (31, 101, 255))]
    points += [Point(0, (k, 1), frame, "f32") for k in ((9, 31, 63, 101, 255) if full else (31, 101))]
    cubes = [(64,) * 3, (128,) * 3, (256,) * 3] if full else [(64,) * 3, (256,) * 3]
    points += [Point(0, (k,) * 3, cube, "f32") for k in ((3, 5, 7, 9, 15) if full else (3, 5, 7)) for cube in cubes]
    points += [Point(1, (k,) * 3, (256,) * 3, "f32") for k in ((5, 9, 17, 31) if full else (9, 17))]
    points += [Point(0, (3,) * 4, (32, 32, 64, 64), "f32")] + ([Point(0, (5,) * 4, (32, 32, 64, 64), "f32")] if full else [])
    points += [Point(0, (k,), (1 << 22,), "f32") for k in ((15, 31, 63, 255, 1023) if full else (31, 63, 255))]
    return points


def times(shape):
    return "x".join(map(str, shape))


def name_of(point):
    return f"{times(point.weights)} rank {point.rank or 'full'}, {times(point.image)} {point.type}"


def weights_of(point, rng):
    """Their values: random, or sums of bells along each dimension."""
    count = math.prod(point.weights)
    if point.type == "int":
        return [rng.randrange(-127, 128) for _ in range(count)]
    if not point.rank:
        return [rng.random() / count for _ in range(count)]
    total = [0.0] * count
    for term in range(point.rank):
        factors = [[(1 + rng.random() * min(term, 1)) * math.exp(-((2 * i + 1) / k - 1) ** 2 * (3 + term)) for i in range(k)] for k in point.weights]
        for place in range(count):
            value, rest = 1.0, place
            for factor in reversed(factors):
                value *= factor[rest % len(factor)]
                rest //= len(factor)
            total[place] += value * (-0.5 if term % 2 else 1) / count
    return total


def write_npy(path, descr, shape, blocks):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for block in blocks:
            file.write(block)


def write_image(path, point):
    """Random values; repeated, but out of step with rows."""
    rng, count = random.Random(5), math.prod(point.image)
    code = {"f32": "f", "f64": "d"}.get(point.type, "B")
    values = array.array(code, (rng.randrange(256) if code == "B" else rng.random() for _ in range(100003)))
    whole, rest = divmod(count, len(values))
    write_npy(path, TYPES[point.type][1], point.image, [values.tobytes()] * whole + [values[:rest].tobytes()])


def write_program(folder, point):
    rank = len(point.weights)
    index = [f"i{d}" for d in range(rank)]
    real, pixel = {"f64": "double", "int": "int"}.get(point.type, "float"), TYPES[point.type][0]
    made = "saturate<uint8>(({}) / 4096)" if point.type == "int" else "{}"
    total = (f"sum({', '.join(f'{i} = 0..{k - 1}' for i, k in zip(index, point.weights))})"
             f" (K[{','.join(index)}] * X@[{','.join(f'{i}-{k // 2}' for i, k in zip(index, point.weights))}])")
    text = (f"table {real} K[{','.join(map(str, point.weights))}];\n"
            f"stencil f(vector#{rank} {pixel} X) {{ return {made.format(total)}; }}\n"
            f"parameter {', '.join(f'N{d}' for d in range(rank))};\n"
            f"vector#{rank} {pixel} x[{','.join(f'N{d}' for d in range(rank))}];\nreturn f(x:clamped);\n")
    (folder / "f.forma").write_text(text)
    write_npy(folder / "K.npy", "<f8", point.weights, [array.array("d", weights_of(point, random.Random(3))).tobytes()])


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.images = options, folder, {}
        self.environment = dict(os.environ)
        if options.prices is not None:
            self.environment["TESSERA_PRICES"] = options.prices

    def image_of(self, point):
        key = (point.image, point.type)
        if key not in self.images:
            path = self.folder / f"{times(point.image)}{point.type}.npy"
            write_image(path, point)
            self.images[key] = path
        return self.images[key]

    def command(self, verb, *more):
        return [self.options.tessera, verb, str(self.folder / "f.forma"), *map(str, more), "--table", f"K={self.folder / 'K.npy'}", "--target", self.options.target]

    def explained(self, point):
        """What was chosen and the predicted nanoseconds a point of each method, or the reason why there is none."""
        done = subprocess.run(self.command("explain", "--json", "--size", times(point.image)), capture_output=True, text=True, env=self.environment)
        if done.returncode:
            return None, done.stderr.strip().splitlines()[0]
        sums = json.loads(done.stdout)["sums"]
        if not sums:
            return "direct", {}
        return sums[0]["method"], sums[0]["nanoseconds_per_point"]

    def timed(self, point, methods):
        """Least milliseconds of each, in turns, in one shell: --wrap is around all of them."""
        threads = ["--threads", "1"] if self.options.target == "cpu" else []
        script = []
        for turn in range(TURNS):
            for method, runs in methods.items():
                command = self.command("run", self.image_of(point), "-o", self.folder / "out.npy", "--time", "--repeat", runs, "--method", method, *threads, "-q")
                script.append(f"echo method {method}; {shlex.join(command)} 2>&1")
        (self.folder / "run.sh").write_text("\n".join(script) + "\n")
        done = subprocess.run([*shlex.split(self.options.wrap), "sh", str(self.folder / "run.sh")], capture_output=True, text=True, env=self.environment)
        found, method = {}, None
        for line in done.stdout.splitlines():
            if line.startswith("method "):
                method = line.split()[1]
            least = re.search(r"minimum ([0-9.e+-]+) ms", line)
            if least:
                found[method] = min(found.get(method, math.inf), float(least[1]))
            elif "error" in line and method not in ("auto", *found):
                print(f"  {method}: {line}", file=sys.stderr)
        return found

    def measure(self, point):
        write_program(self.folder, point)
        chosen, predicted = self.explained(point)
        if chosen is None:
            return {"refused": predicted}
        count = math.prod(point.image)
        least = min(predicted.values(), default=0.5)
        methods, skipped = {}, {}
        for method in ["auto", *[m for m in METHODS if m in predicted or m == "direct"]]:
            ns = predicted.get(method, least)
            if ns > SKIP * least and ns * count * 1e-9 > LONG / 10:
                skipped[method] = ns / least
            else:
                methods[method] = max(3, min(MOST_RUNS, round(SECONDS / (ns * count * 1e-9))))
        milliseconds = {}
        for _ in range(AGAIN):
            for method, time_of_it in self.timed(point, methods).items():
                method = chosen if method == "auto" else method
                milliseconds[method] = min(time_of_it, milliseconds.get(method, math.inf))
            if chosen not in milliseconds:
                return {"refused": "it did not run"}
            best = min(milliseconds, key=milliseconds.get)
            if milliseconds[chosen] <= NEAR * milliseconds[best]:
                break
        return {"chosen": chosen, "best": best, "ratio": milliseconds[chosen] / milliseconds[best], "milliseconds": milliseconds,
                "predicted": {m: ns * count * 1e-6 for m, ns in predicted.items()}, "skipped": skipped}


def table(rows):
    lines = [f"{'point':<42} {'chosen':>10} {'best':>10} {'ratio':>6}  ms of each method (predicted)"]
    for name, r in rows.items():
        if "refused" in r:
            lines.append(f"{name:<42} {r['refused']}")
            continue
        each = ", ".join(f"{m} {t:.3g}" + (f" ({r['predicted'][m]:.3g})" if m in r["predicted"] else "") for m, t in sorted(r["milliseconds"].items(), key=lambda item: item[1]))
        lines.append(f"{name:<42} {r['chosen']:>10} {r['best']:>10} {r['ratio']:>6.2f}{'  ' if r['ratio'] <= NEAR else '! '}{each}")
    measured = [r for r in rows.values() if "ratio" in r]
    if measured:
        near = sum(r["ratio"] <= NEAR for r in measured)
        lines.append(f"{near} of {len(measured)} points within {NEAR - 1:.0%} of the best method, the worst {max(r['ratio'] for r in measured):.2f} times")
    return lines


def publish(rows, options):
    about = {"title": "the choice of methods against all of them", "date": datetime.date.today().isoformat(), "target": options.target,
             "machine": options.machine, "threads": 1, "points": rows}
    (RESULTS / f"choice-{options.target}.json").write_text(json.dumps(about, indent=1) + "\n")
    with open(RESULTS / f"choice-{options.target}.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["point", "chosen", "best", "ratio", *[f"{m}_ms" for m in METHODS]])
        for name, r in rows.items():
            if "ratio" in r:
                out.writerow([name, r["chosen"], r["best"], f"{r['ratio']:.3f}", *[f"{r['milliseconds'][m]:.4g}" if m in r["milliseconds"] else "" for m in METHODS]])


def machine_name(options):
    words = subprocess.run([options.tessera, "devices", "--no-measure"], capture_output=True, text=True).stdout.splitlines()
    return next((line.split(": ", 1)[1] for line in words if line.startswith(options.target)), "unknown")


def main():
    parser = argparse.ArgumentParser(prog="./dev choice", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tessera", default=str(ROOT / "build/release/src/cli/tessera"))
    parser.add_argument("--target", default="cpu", choices=["cpu", "cuda", "opencl"])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--limit", type=float, default=math.inf)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--prices")
    parser.add_argument("--wrap", default="")
    parser.add_argument("--state")
    options = parser.parse_args()
    options.machine = machine_name(options)
    state = pathlib.Path(options.state or ROOT / "build" / "choice" / f"{options.target}.json")
    state.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(state.read_text()) if state.exists() else {}
    start, rows, left = time.monotonic(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        for point in grid(options.full, options.target != "cpu"):
            name = name_of(point)
            if options.only not in name:
                continue
            if name not in known or options.again:
                if time.monotonic() - start > options.limit:
                    left += 1
                    continue
                known[name] = bench.measure(point)
                state.write_text(json.dumps(known))
                print("\n".join(table({name: known[name]})[1:2]), file=sys.stderr, flush=True)
            rows[name] = known[name]
    print("\n".join(table(rows)))
    if left:
        print(f"{left} points are left: run it again")
    if options.publish:
        publish(rows, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
