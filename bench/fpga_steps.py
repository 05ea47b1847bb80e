"""What is done with one circuit: emitted, explained, simulated, checked, synthesised, placed and routed.

Every step is a tool that is called once and told by its own message where it fails. Counts are those of the module alone; what is placed
and routed is the module between registers that are shifted in and out, since streams of several pixels have more bits than a chip has pins.
"""

import hashlib
import json
import math
import re
import subprocess
import time

TIME_LIMIT = 7200  # seconds of one call of a tool


class Failed(Exception):
    """A tool's own message."""


def call(command, folder, log):
    """Standard output and errors of a command, which also go to a file."""
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=TIME_LIMIT)
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not here; ./dev fpga installs it") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} took more than {TIME_LIMIT} s") from None
    (folder / log).write_text(done.stdout)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if re.search(r"error|ERROR|fail", line)] or done.stdout.splitlines()[-3:] or ["nothing"]
        raise Failed(f"{command[0]} says: {' '.join(lines[:2]).strip()[:300]} ({folder / log})")
    return done.stdout


def width_of(port):
    """Bits of a word."""
    return 8 * port["bytes"] * port["points_a_word"]


# ---- text and simulation ------------------------------------------------------------------------------------------------------

def options_of(design):
    return ["--size", f"{design.height}x{design.width}", "--lanes", str(design.lanes), *design.options]


def emit(tessera, design, folder):
    """The circuit's text in NAME.sv."""
    call([tessera, "emit", str(design.program), "--target", "verilog", *options_of(design), "-o", folder / f"{design.stem}.sv"], folder, "emit.log")


FOR_ICE40 = ["--chip", "ice40", "--frequency", "150"]


def emit_for_ice40(tessera, design, folder):
    """Another text of the circuit, with registers where an iCE40 wants them, in NAME_ice40.sv; its digest and the memories of its plan."""
    text = folder / f"{design.stem}_ice40.sv"
    call([tessera, "emit", str(design.program), "--target", "verilog", *options_of(design), *FOR_ICE40, "--name", design.stem, "-o", text], folder, "emit_ice40.log")
    return hashlib.sha256(text.read_bytes()).hexdigest()[:32], explain(tessera, design, folder, "_ice40", FOR_ICE40)["memories"]


def explain(tessera, design, folder, suffix="", more=()):
    """What `explain --json` says of that text."""
    return json.loads(call([tessera, "explain", str(design.program), "--target", "verilog", *options_of(design), *more, "--json"], folder, f"explain{suffix}.json"))


def possible(program, design, words, points):
    """{result: {points, unexplained, sample, open}} of points of one frame: bench/fpga/possible.cpp."""
    command = [program, design.program, *options_of(design), *words]
    done = subprocess.run([str(word) for word in command], input=points, capture_output=True, text=True, timeout=TIME_LIMIT)
    (design.folder / "possible.log").write_text(done.stderr)
    if done.returncode != 0:
        raise Failed(done.stderr.strip()[:300])
    found = {}
    for line in done.stdout.splitlines():
        name, *rest = line.split()
        found[name] = {rest[k]: int(rest[k + 1]) for k in range(0, len(rest), 2)}
    return found


def build_model(circuit, stem, folder, bench):
    stream = lambda p: f"X({p['name']}, {p['bytes']}, {p['points_a_word']}, {p['height']}, {p['width']})"
    lists = {"INPUTS": [stream(p) for p in circuit["inputs"]], "RESULTS": [stream(p) for p in circuit["results"]],
             "SCALARS": [f"X({p['name']}, {1 << max(0, p['fraction'])})" for p in circuit["scalars"]]}
    text = f'#include "V{stem}.h"\n#define TOP V{stem}\n'
    text += "".join(f"#define {name}(X) {' '.join(uses)}\n" for name, uses in lists.items())
    (folder / "circuit.hpp").write_text(text)
    call(["verilator", "--cc", "--exe", "--build", "-O3", "--x-assign", "unique", "--x-initial", "unique", "-Wno-lint", "--top-module", stem,
          "-CFLAGS", f"-O2 -std=c++17 -I{folder}", "--Mdir", "model", "-o", "clocked", f"{stem}.sv", bench], folder, "verilator.log")


def run_model(folder, frames, stalls, seed, words):
    """({result: {words, latency, clocks}}, seconds); whatever must not be is an error."""
    start = time.time()
    text = call([folder / "model" / "clocked", frames, stalls, seed, *([words] if words else [])], folder, f"run{stalls}.log")
    found = {}
    for line in text.splitlines():
        name, *rest = line.split()
        if rest and rest[0] == "words":
            found[name] = {rest[k]: int(rest[k + 1]) for k in range(0, len(rest), 2)}
    return found, time.time() - start


# ---- synthesis ----------------------------------------------------------------------------------------------------------------

def yosys(script, folder, log):
    return call(["yosys", "-q", "-p", script], folder, log)


def cells(script, text, top, folder, log):
    """{cell: how many} after a script of Yosys."""
    yosys(f"read_verilog -sv {text}; {script}; tee -q -o {log}.json stat -json -top {top}", folder, f"{log}.log")
    text = (folder / f"{log}.json").read_text()
    found = json.loads(text[text.index("{"):])
    return found["design"]["num_cells_by_type"] if "design" in found else found["modules"][f"\\{top}"]["num_cells_by_type"]


def check(stem, folder):
    """No signal driven twice or not at all, no latch."""
    yosys(f"read_verilog -sv {stem}.sv; hierarchy -check -top {stem}; proc; check -assert; select -assert-none t:$dlatch t:$sr", folder, "check.log")


def some(found, pattern):
    return sum(n for cell, n in found.items() if re.fullmatch(pattern, cell))


def xilinx(stem, folder):
    found = cells(f"synth_xilinx -family xc7 -top {stem} -flatten", f"{stem}.sv", stem, folder, "xilinx")
    return {"LUT": some(found, r"LUT[1-6]|INV"), "LUT as memory": some(found, r"SRL.*") + 4 * some(found, r"RAM(32|64)M") + some(found, r"RAM(32|64)X1.*"),
            "FF": some(found, r"FD[RSCP]E.*"), "RAMB36": some(found, r"RAMB36E1"), "RAMB18": some(found, r"RAMB18E1"), "DSP48": some(found, r"DSP48E1")}


# The text for an ECP5 leaves a register to the memories, which the parameter puts into them: docs/fpga.md.
FOR_ECP5 = "-DTESSERA_ECP5"
LINE_BUFFERS = "select -set lines c:*.line_buffer.* c:*_block_t.* %u t:DP16KD %i"
REGISTERED = f'{LINE_BUFFERS}; setparam -set REGMODE_A "OUTREG" @lines; setparam -set REGMODE_B "OUTREG" @lines'


def ecp5(stem, folder):
    found = cells(f"synth_ecp5 -top {stem}", f"{FOR_ECP5} {stem}.sv", stem, folder, "ecp5")
    return {"LUT4": some(found, r"LUT4") + 2 * some(found, r"CCU2C") + 4 * some(found, r"TRELLIS_DPR16X4"), "FF": some(found, r"TRELLIS_FF"),
            "DP16KD": some(found, r"DP16KD"), "MULT18": some(found, r"MULT18X18D")}


def ice40(stem, folder):
    found = cells(f"synth_ice40 -top {stem}", f"{stem}_ice40.sv", stem, folder, "ice40")
    return {"LUT4": some(found, r"SB_LUT4"), "FF": some(found, r"SB_DFF.*"), "RAM40": some(found, r"SB_RAM40_4K.*")}


# Words of a block of memory by the bits of a word.
BLOCKS = {"xilinx": {1: 16384, 2: 8192, 4: 4096, 9: 2048, 18: 1024, 36: 512}, "ecp5": {1: 16384, 2: 8192, 4: 4096, 9: 2048, 18: 1024, 36: 512},
          "ice40": {2: 2048, 4: 1024, 8: 512, 16: 256}}


MOST_LOGIC = 1024  # bits of a line buffer that is no block, where there is other memory: emit/verilog/parts.sv.inc


DEEP = 16384  # words of a memory beyond which tools choose a shape that is cheap to select from, and may take a block more


def blocks_of(family, words, bits):
    """The fewest blocks (halves of a RAMB36, DP16KD, RAM40) that hold a memory."""
    return min(math.ceil(bits / wide) * math.ceil(words / deep) for wide, deep in BLOCKS[family].items())


def fifos_of(family, text):
    """(words, bits) of FIFOs in a text that are blocks; for iCE40 all, which synthesis lays in blocks or in logic as it likes."""
    fifos = [(1 << int(log), int(bits)) for bits, log in re.findall(r"_exit #\(\.W\((\d+)\), \.LOG\((\d+)\)", text)]
    deep = {"xilinx": lambda words, bits: words > 64 and words * bits > 3072, "ecp5": lambda words, bits: False, "ice40": lambda words, bits: True}
    return [fifo for fifo in fifos if deep[family](*fifo)]


def tables_of(text):
    """(words, bits) of tables in a text that are blocks."""
    return [(int(last) + 1, int(high) + 1) for high, last in re.findall(r'"block" \*\) reg \[(\d+):0\] \w+_t \[0:(\d+)\];', text)]


# ---- place and route ----------------------------------------------------------------------------------------------------------

def write_pins(circuit, stem, folder):
    """pins.v: the module between registers that are shifted in and out."""
    ins, outs = [("rst", 1)], [("error", 1)]
    for p in circuit["inputs"]:
        ins += [(f"s_{p['name']}_tdata", width_of(p)), (f"s_{p['name']}_tvalid", 1), (f"s_{p['name']}_tlast", 1), (f"s_{p['name']}_tuser", 1)]
        outs += [(f"s_{p['name']}_tready", 1)]
    ins += [(f"p_{p['name']}", p["bits"]) for p in circuit["scalars"]]
    for p in circuit["results"]:
        outs += [(f"m_{p['name']}_tdata", width_of(p)), (f"m_{p['name']}_tkeep", width_of(p) // 8), (f"m_{p['name']}_tvalid", 1),
                 (f"m_{p['name']}_tlast", 1), (f"m_{p['name']}_tuser", 1)]
        ins += [(f"m_{p['name']}_tready", 1)]
    n, m = sum(bits for _, bits in ins), sum(bits for _, bits in outs)
    ports, at = [".clk(clk)"], 0
    for name, bits in ins:
        ports.append(f".{name}(in[{at + bits - 1}:{at}])")
        at += bits
    at = 0
    for name, bits in outs:
        ports.append(f".{name}(now[{at + bits - 1}:{at}])")
        at += bits
    (folder / "pins.v").write_text(
        f"module pins(input wire clk, input wire si, input wire load, output wire so);\n  reg [{n - 1}:0] in;\n  reg [{m - 1}:0] out;\n"
        f"  wire [{m - 1}:0] now;\n  reg take;\n  assign so = out[{m - 1}];\n"
        "  always @(posedge clk) begin in <= {in, si}; take <= load; out <= take ? now : {out, 1'b0}; end\n"
        f"  {stem} circuit ({', '.join(ports)});\nendmodule\n")


def megahertz(folder, report):
    found = json.loads((folder / report).read_text())
    return min(clock["achieved"] for clock in found["fmax"].values())


SEEDS = (1, 2, 3)


def placed(nextpnr, wanted, stem, folder):
    """(MHz, seed) of a placement that reaches `wanted` MHz, or of the best of three: each begins at random."""
    best = (0, None)
    for seed in SEEDS:
        report = f"{stem}{seed}.json"
        call([*nextpnr, "--timing-allow-fail", "--seed", seed, "--report", report, "-q"], folder, f"{stem}{seed}.log")
        best = max(best, (megahertz(folder, report), seed))
        if best[0] >= wanted:
            break
    return best


ECP5_CHIPS = [("25k", "CABGA381", 24000, 56, 28), ("45k", "CABGA554", 43000, 108, 72), ("85k", "CABGA756", 83000, 208, 156)]


def route_ecp5(counts, stem, folder, nextpnr):
    """(chip, MHz, seed) of the smallest ECP5 of speed 8 that holds it: the best of at most three placements, if the first is below 200 MHz."""
    for chip, package, luts, rams, products in ECP5_CHIPS:
        if counts["LUT4"] * 1.05 < luts and counts["FF"] < luts and counts["DP16KD"] <= rams and counts["MULT18"] <= products:
            break
    else:
        return None, None, None
    yosys(f"read_verilog -sv {FOR_ECP5} {stem}.sv; read_verilog pins.v; synth_ecp5 -top pins; {REGISTERED}; write_json ecp5_pins.json", folder, "ecp5_pins.log")
    return f"LFE5U-{chip[:2]}F-8", *placed([nextpnr, f"--{chip}", "--package", package, "--speed", "8", "--json", "ecp5_pins.json", "--freq", "250",
                                            "--lpf-allow-unconstrained"], 200, "ecp5_route", folder)


def route_ice40(counts, stem, folder):
    """(MHz, seed), the best of at most three placements, if the first is below 150 MHz; None where an HX8K does not hold it."""
    if counts["LUT4"] > 7300 or counts["FF"] > 7300 or counts["RAM40"] > 32:
        return None
    yosys(f"read_verilog -sv {stem}_ice40.sv; read_verilog pins.v; synth_ice40 -top pins -json ice40_pins.json", folder, "ice40_pins.log")
    try:
        return placed(["nextpnr-ice40", "--hx8k", "--package", "ct256", "--json", "ice40_pins.json", "--freq", "150"], 150, "ice40_route", folder)
    except Failed as failure:
        if "no BELs remaining" in str(failure):  # it does not fit, as the place and route packs it
            return None
        raise
