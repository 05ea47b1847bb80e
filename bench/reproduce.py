#!/usr/bin/env python3
"""Repeats published experiments with this tree: ./dev reproduce EXPERIMENT [--target NAME] [--quick].

tiled-convolution, register-blocking, fft and line-buffer bring kernels of their own: reproduce_kernels.py; docs/reproduce.md says more.

fusion: M. Ravishankar, P. Micikevicius, V. Grover, Fusing Convolution Kernels through Tiling, ARRAY 2015, section 3. Blur, Canny
and Harris, every stage on its own (--schedule untiled) against what the plan decides (auto), on one thread and on all, on images of
three sizes; the document names none. Both schedules must give the same image, borders included. The programs are bench/jobs/*.forma,
timed by tessera_bench as every other figure: docs/performance.md; on a GPU by `tessera run --time`: fusion_cuda.py. Speed-ups land in
bench/results/fusion-TARGET.csv, .json and .svg, those of a quick run in build/bench/.
"""

import argparse
import csv
import datetime
import json
import os
import subprocess
import sys

import chart
import fusion_cuda
import report
import reproduce_kernels
import run

TARGETS = {"fusion": ["cpu", "cuda"], **{name: module.TARGETS for name, module in reproduce_kernels.EXPERIMENTS.items()}}
# What figure 8 of the document shows: tiled over untiled on four cores of an Intel Core i7-4820K.
PUBLISHED = {"blur3_f32": ("blur", 1.79), "canny_f32": ("Canny", 1.25), "harris_f32": ("Harris", 1.71)}
# Section 3.1, on a Tesla K20c: of blur the document only says "a slight loss", of loads that they fell by these factors.
PUBLISHED_CUDA = {"blur3_f32": ("blur", None), "canny_f32": ("Canny", 1.58), "harris_f32": ("Harris", 1.44)}
PUBLISHED_LOADS = {"blur": 3.38, "Harris": 4.35}
SIZES = [(1080, 1920), (2160, 3840), (4320, 7680)]
COLUMNS = ["experiment", "rows", "columns", "threads", "untiled_ms", "fused_ms", "speed_up", "published", "largest_difference", "verdict",
           "other_cpu"]


def arguments():
    parser = argparse.ArgumentParser(prog="./dev reproduce", description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=list(TARGETS),
                        help="fusion: what fusing stages gains for blur, Canny and Harris; tiled-convolution: separable filters in tiles; "
                             "register-blocking: results an item of dense convolutions in 2-D to 4-D; fft: mixed-radix transforms step by step; "
                             "line-buffer: windows that are read from memory or kept, for FPGAs")
    targets = "; ".join(f"{name}: {', '.join(known)}" for name, known in TARGETS.items())
    parser.add_argument("--target", metavar="NAME", help=f"where to run, the first if not given ({targets})")
    parser.add_argument("--quick", action="store_true", help="small or short, a first look; not kept in bench/results/")
    parser.add_argument("--quiet-wait", type=float, default=20, metavar="SECONDS", help="fusion: how long to wait for other processes before a sample (20)")
    parser.add_argument("--tessera", metavar="FILE", help="fusion on cuda: the program to measure (build/gpu/bin/tessera, made by ./dev gpu pack where it is not there); "
                        "line-buffer: the one to emit with (build/release/src/cli/tessera)")
    parser.add_argument("--program", metavar="FILE", help="all but fusion: the program to measure with (tessera_reproduce of build/release, or of build/gpu on a machine with a GPU)")
    parser.add_argument("--device", type=int, default=0, metavar="NUMBER", help="all but fusion: which device, as tessera devices says (0)")
    parser.add_argument("--repeat", type=int, default=0, metavar="NUMBER", help="all but fusion: timed runs of a figure")
    parser.add_argument("--photograph", metavar="FILE", help="tiled-convolution, fft: what is filtered (tests/data/astronaut.png)")
    parser.add_argument("--offsets", metavar="T,L,T,L", help="tiled-convolution: top and left of the source's region, then of the target's (3,3,2,2)")
    parser.add_argument("--out", metavar="FOLDER", help="all but fusion: where results go (bench/results, with --quick build/bench)")
    options = parser.parse_args()
    known = TARGETS[options.experiment]
    options.target = options.target or known[0]
    if options.target not in known:
        parser.exit(2, f"./dev reproduce: error: {options.experiment} knows no target '{options.target}', expected {' or '.join(known)}\n")
    if options.repeat < 0:
        parser.exit(2, f"./dev reproduce: error: {options.repeat} timed runs were asked for, expected at least 1\n")
    return options


def worst(path, column):
    """{(threads, job): the largest value of a column in any start and schedule}; the first row of a job has no difference."""
    found = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = int(row["threads"]), row["job"]
            found[key] = max(found.get(key, 0.0), float(row[column] or 0))
    return found


def measure(program, options, threads):
    """Rows of COLUMNS, and whether every result was the same."""
    rows, good = [], True
    run.WORK.mkdir(parents=True, exist_ok=True)
    for height, width in SIZES:
        path = run.WORK / f"fusion-{height}x{width}.csv"
        path.unlink(missing_ok=True)
        for start in range(1, 2 if options.quick else 3):
            run.say(f"{height} x {width}, process start {start}")
            good &= subprocess.run(
                [program, "--peers", f"{report.OURS},{report.UNTILED}", "--filter", ",".join(PUBLISHED), "--size", str(height), str(width),
                 "--margin", "0", "--threads", ",".join(map(str, threads)), "--seconds", "0.1" if options.quick else "0.4",
                 "--quiet-wait", "0" if options.quick else str(options.quiet_wait), "--start", str(start), "--csv", path],
                stdout=subprocess.DEVNULL).returncode == 0
        differences, others = worst(path, "max_difference"), worst(path, "other_cpu")
        for (count, job), figures in report.read(path).items():
            name, published = PUBLISHED[job]
            fused, untiled = figures[report.OURS], figures[report.UNTILED]
            bad = "DIFFERENT" in (fused.verdict, untiled.verdict)
            rows.append([name, height, width, count, untiled.ms, fused.ms, round(untiled.ms / fused.ms, 3), published,
                         differences[count, job], "DIFFERENT" if bad else "same", others[count, job]])
    order = [name for name, _ in PUBLISHED.values()]
    rows.sort(key=lambda row: (order.index(row[0]), row[1], row[3]))
    return rows, good


def table(rows, about):
    lines = [f"{about['date']}, {about['machine']}", "milliseconds are medians; published: " + about["published"], ""]
    head = ["", "image", "threads", "untiled ms", "fused ms", "speed-up", "published", "largest difference", "CPU of others"]
    cells = [[name, f"{height} x {width}", str(threads), f"{untiled:.3g}", f"{fused:.3g}", f"{gain:.2f}", f"{published:.2f}",
              f"{difference:.2g}" + ("" if verdict == "same" else " DIFFERENT"), f"{others:.2f}"]
             for name, height, width, threads, untiled, fused, gain, published, difference, verdict, others in rows]
    return "\n".join(lines + report.aligned([head, *cells]))


def picture(rows, about):
    """Of the CPU: a bar per number of threads."""
    counts = sorted({row[3] for row in rows})
    colours = dict(zip(counts, ("#1b6ca8", "#7fb2d9")))
    bars = [(f"{row[0]}, {row[1]} x {row[2]}", row[6], colours[row[3]], row[7]) for row in rows]
    legend = [(f"{n} thread{'s' if n > 1 else ''}", colours[n]) for n in counts] + [("as published, four threads", "#a0a0a0")]
    return draw(bars, legend, about)


def draw(bars, legend, about):
    """`bars`: (label of the group, speed-up, colour, published speed-up or None)."""
    groups = []
    for label in dict.fromkeys(bar[0] for bar in bars):
        here = [bar for bar in bars if bar[0] == label]
        drawn = [chart.Bar(gain, colour, f"{gain:.2f}") for _, gain, colour, _ in here]
        published = here[0][3]
        groups.append(chart.Group(label, drawn + ([chart.Bar(published, "#a0a0a0", f"{published:.2f}")] if published else [])))
    limit = max(2.0, max(bar[1] for bar in bars) * 1.05)
    return chart.draw_bars("What fusing stages gains: time untiled over time fused (longer is better)",
                           [f"{about['machine']}; {about['date']}"], legend, groups, chart.Axis(limit, 1, "untiled"))


def write(options, columns, rows, about, drawn):
    folder = run.WORK if options.quick else run.RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"fusion-{options.target}"
    with open(folder / f"{stem}.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([columns, *rows])
    (folder / f"{stem}.json").write_text(json.dumps(about, indent=2) + "\n")
    (folder / f"{stem}.svg").write_text(drawn)
    run.say(f"written: {', '.join(f'{folder.relative_to(run.ROOT)}/{stem}.{suffix}' for suffix in ('csv', 'json', 'svg'))}")


def cuda_table(rows, about):
    lines = [f"{about['date']}, {about['machine']}", "milliseconds are medians with arrays on the device; published: " + about["published"], ""]
    head = ["", "image", "untiled ms", "fused ms", "speed-up", "published", "largest difference"]
    cells = [[row.experiment, f"{row.rows} x {row.columns}", f"{row.untiled_ms:.4g}", f"{row.fused_ms:.4g}", f"{row.speed_up:.2f}",
              f"{row.published:.2f}" if row.published else "slight loss",
              f"{row.largest_difference:.2g}" + ("" if row.verdict == "same" else " DIFFERENT")] for row in rows]
    lines += report.aligned([head, *cells]) + [""]
    counted = fusion_cuda.count_table(about["counters"])
    if counted:
        lines += [f"what one run counts, {fusion_cuda.COUNTED} x {fusion_cuda.COUNTED}; loads and stores are instructions of a warp, sectors have 32 bytes",
                  *report.aligned(counted)]
        lines.append("published ratios of global loads: " + ", ".join(f"{name} {ratio}" for name, ratio in PUBLISHED_LOADS.items()))
    return "\n".join(lines + ([about["note"]] if about["note"] else []))


def refuse(sentence):
    sys.stderr.write(f"./dev reproduce: error: {sentence}\n")
    sys.exit(2)


def main_cuda(options):
    missing = fusion_cuda.no_gpu()
    if missing:
        refuse(f"there is no GPU here to reproduce on: {missing}")
    try:
        import gpu  # takes numpy
    except ImportError as error:
        refuse(f"python3 has no {error.name}, which images are made and compared with")
    tessera = fusion_cuda.find_tessera(options.tessera)
    if not os.access(tessera, os.X_OK):
        refuse(f"there is no program '{tessera}' to measure")
    try:
        rows, counters, note = fusion_cuda.measure(tessera, PUBLISHED_CUDA, options.quick, run.say)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        refuse(str(error).strip().splitlines()[0])
    about = {"machine": gpu.card(), "date": datetime.date.today().isoformat(), "published": "Tesla K20c, image sizes not stated",
             "quick": options.quick, "counters": counters, "published_loads": PUBLISHED_LOADS, "note": note}
    print(cuda_table(rows, about))
    bars = [(f"{row.experiment}, {row.rows} x {row.columns}", row.speed_up, "#1b6ca8", row.published) for row in rows]
    legend = [("this machine", "#1b6ca8"), ("as published, Tesla K20c (blur: a slight loss)", "#a0a0a0")]
    write(options, fusion_cuda.Row._fields, rows, about, draw(bars, legend, about))
    sys.exit(0 if all(row.verdict == "same" for row in rows) else 1)


def main():
    options = arguments()
    if options.experiment != "fusion":
        try:
            sys.exit(reproduce_kernels.main(options))
        except (reproduce_kernels.Refused, OSError) as error:
            refuse(error)
    if options.target == "cuda":
        main_cuda(options)
    program = run.build()
    about = {"machine": run.versions(program)["machine"], "date": datetime.date.today().isoformat(),
             "published": "four cores of an Intel Core i7-4820K, image sizes not stated", "quick": options.quick}
    cores = len(os.sched_getaffinity(0))
    rows, good = measure(program, options, sorted({1, cores}))
    print(table(rows, about))
    write(options, COLUMNS, rows, about, picture(rows, about))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
