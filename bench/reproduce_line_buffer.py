"""What ./dev reproduce line-buffer shows: filters of windows that read every element from outside, and those that read each once.

Both versions of the article are texts for high-level synthesis (bench/published/line_buffer), and so is what `tessera emit --target hls`
writes of two programs; all run with the headers of share/hls, which count clocks and every use of a stream or port. Needs a C++ compiler.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import lines
import report

TITLE = "line buffers for filters of windows, in clocks"
SOURCE = "an article on two-dimensional filters with line buffers for FPGAs (high-level synthesis)"
TARGETS = ["hls"]
COLUMNS = ["filter", "version", "accesses", "reads", "writes", "clocks", "pixels", "reads_per_output", "writes_per_output", "clocks_per_pixel", "buffer_bits", "verdict"]
ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "bench" / "published" / "line_buffer"
FILTERS = {"3x3": ("edges.forma", ["-p", "radius=1"]), "5x5": ("edges.forma", ["-p", "radius=2"]), "7x7": ("edges.forma", ["-p", "radius=3"]),
           "bilateral": ("bilateral.forma", [])}
SIZES = {False: (480, 640), True: (24, 40)}
READS = {"3x3": 9, "5x5": 25, "7x7": 49, "bilateral": 25}


class Refused(Exception):
    """A sentence for the user."""


def call(command, folder, good=(0,)):
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        raise Refused(f"there is no {command[0]} here, which this experiment needs") from None
    if done.returncode not in good:
        raise Refused(f"{command[0]} says: {' '.join(done.stdout.strip().splitlines()[:3])}")
    return done.stdout


def compiled(sources, folder, program, quick, *flags):
    call(["g++", "-std=c++17", "-O0" if quick else "-O1", "-Wno-unknown-pragmas", "-Wno-unused-label", *flags, f"-I{ROOT / 'share' / 'hls'}", *sources, "-o", program], folder)


def ours(tessera, name, lanes, size, folder, quick):
    """A row of what tessera emits, run by the test bench that comes with it."""
    program, settings = FILTERS[name]
    stem = f"window_{name}_{lanes}"
    options = [TEXTS / program, *settings, "--target", "hls", "--size", f"{size[0]}x{size[1]}", "--lanes", lanes, "--name", stem]
    call([tessera, "emit", *options, "-o", f"{stem}.cpp"], folder)
    told = json.loads(call([tessera, "explain", *options, "--json"], folder))
    compiled([f"{stem}.cpp", f"{stem}_test.cpp"], folder, stem, quick)
    counts = call([f"./{stem}", "--in", "image=image.raw", "--out", f"result={stem}.raw"], folder, (0, 1))
    used = {stream: (int(reads), int(writes)) for stream, reads, writes in re.findall(r"^stream (\w+): (\d+) reads, (\d+) writes", counts, re.M)}
    same = (folder / f"{stem}.raw").read_bytes() == (folder / f"{name}.raw").read_bytes() and ": good" in counts
    return {"filter": name, "version": f"Tessera, {lanes} a clock", "accesses": 1, "reads": used["image_port"][0], "writes": used["result_port"][1],
            "clocks": int(re.search(r"^(\d+) clocks", counts, re.M)[1]), "buffer_bits": told["line_buffer_bits"] + told["shift_register_bits"], "verdict": "same" if same else "DIFFERENT"}


def measure(options):
    """(facts about the machine, rows, whether all results were right)."""
    tessera = Path(options.tessera or ROOT / "build" / "release" / "src" / "cli" / "tessera").resolve()
    if not tessera.exists():
        raise Refused(f"there is no program '{tessera}' to emit with; ./dev build makes build/release")
    folder = (Path(options.out).resolve() if options.out else ROOT / "build" / "bench") / "line-buffer"
    folder.mkdir(parents=True, exist_ok=True)
    size = SIZES[options.quick]
    compiled([TEXTS / "run.cpp"], folder, "run", options.quick, f"-DFRAME_HEIGHT={size[0]}", f"-DFRAME_WIDTH={size[1]}")
    rows = [json.loads(line) for line in call(["./run"], folder, (0, 1)).splitlines()]
    for name in FILTERS:
        for lanes in (1, 4) if name == "3x3" or not options.quick else (1,):
            print(f"== {name}, {lanes} a clock", file=sys.stderr, flush=True)
            rows.append(ours(tessera, name, lanes, size, folder, options.quick))
    rows.sort(key=lambda row: list(FILTERS).index(row["filter"]))
    for row in rows:
        row["pixels"] = size[0] * size[1]
        for what, each in (("reads", "reads_per_output"), ("writes", "writes_per_output"), ("clocks", "clocks_per_pixel")):
            row[each] = round(row[what] / row["pixels"], 4)
    machine = {"machine": f"frames of {size[0]} x {size[1]}", "driver": "counted by the headers of share/hls: no figure is a time"}
    return machine, rows, all(row["verdict"] == "same" for row in rows)


def named(row):
    return f"naive, {row['accesses']} a clock" if row["version"] == "naive" else row["version"]


def table(rows):
    head = ["", "version", "reads an output", "writes an output", "clocks a pixel", "kbit kept"]
    cells = [[row["filter"], named(row), f"{row['reads_per_output']:.3f}", f"{row['writes_per_output']:.3f}",
              f"{row['clocks_per_pixel']:.3f}" + ("" if row["verdict"] == "same" else " DIFFERENT"), f"{row['buffer_bits'] / 1024:.1f}"] for row in rows]
    return report.aligned([head, *cells])


def of(rows, name, version):
    return next(row for row in rows if row["filter"] == name and named(row) == version)


def claims(rows, target):
    twice, kept, own, four = (of(rows, "3x3", version) for version in ("naive, 2 a clock", "line buffer", "Tessera, 1 a clock", "Tessera, 4 a clock"))
    windows = ", ".join(f"{name} {of(rows, name, 'naive, 2 a clock')['clocks_per_pixel']:.1f}" for name in FILTERS)
    return [("of a 3 x 3 window 9 elements are read for every output", f"{twice['reads_per_output']:.2f}, since windows at the edge have fewer"),
            ("one output every 5 clocks, at best", f"one in {twice['clocks_per_pixel']:.2f} with two accesses a clock, {of(rows, '3x3', 'naive, 1 a clock')['clocks_per_pixel']:.2f} with one"),
            ("a bottleneck that becomes even worse for large windows", f"clocks an output with two accesses a clock: {windows}"),
            ("with a line buffer one read and one write an output", f"{kept['reads_per_output']:.3f} and {kept['writes_per_output']:.3f}"),
            ("and one output a clock", f"{kept['clocks_per_pixel']:.3f} clocks a pixel of one frame, what fills the buffer first included"),
            ("(not in it) what Tessera emits", f"{own['clocks_per_pixel']:.3f} clocks a pixel of one frame, {four['clocks_per_pixel']:.3f} at four a clock, "
             f"{own['buffer_bits']} bits in line buffers and shift registers (the article's: {kept['buffer_bits']})")]


def draw(rows, about):
    versions = list(dict.fromkeys(named(row) for row in rows))
    side = {"3x3": 3, "5x5": 5, "7x7": 7}
    panels = []
    for title, key in (("reads of the memory outside, for every output", "reads_per_output"), ("clocks a pixel", "clocks_per_pixel")):
        series = [lines.Series(version, lines.COLOURS[k], [(side[row["filter"]] ** 2, row[key]) for row in rows if named(row) == version and row["filter"] in side])
                  for k, version in enumerate(versions)]
        panels.append(lines.Panel(title, "elements of the window", key.replace("_", " "), series, "y"))
    return lines.draw("Filters of windows with and without a line buffer", [f"{about['machine']}; {about['date']}; {about['driver']}"], panels)
