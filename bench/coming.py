"""Tessera beside what one comes from: python bench/coming.py scipy|opencv|halide|cupy|inductor [--quick] [--only WORD] [--out FILE]

Both libraries get the same arrays, which are in memory, and compile before they are timed. Times are medians of calls that take
turns, in milliseconds, on two threads; the ratio is theirs over ours. The table is printed; it, the machine and the versions go
to bench/results/coming-PEER.json, with --quick to build/. ./dev coming PEER installs what is needed first.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import math
import os
import platform
import sys
from pathlib import Path
from typing import Any

PEERS = {"scipy": "SciPy", "opencv": "OpenCV", "halide": "Halide", "cupy": "CuPy", "inductor": "Inductor"}


def machine() -> dict[str, Any]:
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
    }


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def kind_of(row: dict[str, Any]) -> str:
    shape = row["shape"]
    return str(row["type"]) + (", volume" if len(shape) == 3 and shape[2] > 4 else "")


def cell(row: dict[str, Any]) -> str:
    """The ratio, then both times; a star where the results differ by more than they may."""
    return f"{row['ratio']:.2f}{'' if row['same'] else '*'} ({row['tessera_ms']:.3g}; {row['peer_ms']:.3g})"


def table(found: dict[str, Any]) -> str:
    """What stands in the page: a row for each job, a column for each type."""
    kinds = list(dict.fromkeys(kind_of(row) for row in found["rows"]))
    cells: dict[str, dict[str, str]] = {}
    for row in found["rows"]:
        cells.setdefault(row["job"], {})[kind_of(row)] = cell(row)
    head = f"| | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}\n"
    return head + "".join(f"| {job} | {' | '.join(at.get(k, '') for k in kinds)} |\n" for job, at in cells.items())


def summary(found: dict[str, Any]) -> str:
    same = [row["ratio"] for row in found["rows"] if row["same"]]
    behind = sum(ratio < 1 for ratio in same)
    return f"Geometric mean of the {len(same)} rows whose results agree: {mean(same):.2f}. Below 1: {behind}."


def where(found: dict[str, Any]) -> str:
    name = f"{found['peer']} {found['version']}".strip()
    if "device" in found:
        return f"{name}, {found['device']}, {found['date']}."
    load = f"a load of {found['load']} when it began" if found["load"] else "no load"
    return f"{name}, {found['processor']}, {found['cores']} cores, {load}, {found['date']}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--quick", action="store_true", help="short samples")
    parser.add_argument("--only", default="", help="jobs whose names or types hold this word")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a sample")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", action="store_true", help="what was published, as it stands in the page")
    given = parser.parse_args()
    root = Path(__file__).resolve().parent
    if given.table:
        found = json.loads((root / f"results/coming-{given.peer}.json").read_text())
        print(table(found) + "\n" + summary(found) + "\n" + where(found))
        return
    folder = root.parent / "build" if given.quick or given.only else root / "results"
    out = given.out or folder / f"coming-{given.peer}.json"
    try:
        jobs = importlib.import_module(f"coming_{given.peer}")
    except ImportError as error:
        sys.exit(f"coming.py: {error}; ./dev coming {given.peer} installs what is needed")
    found = {"peer": PEERS[given.peer], "version": jobs.version(), **machine(), "rows": []}
    print(f"theirs over ours (ours, ms; {found['peer']} {found['version']}, ms)")
    for row in jobs.rows(given.only, given.quick, 0.2 if given.quick else given.seconds):
        found["rows"].append(row)
        print(f"{kind_of(row):18} {row['job']:40} {cell(row)}", flush=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{summary(found)} {out.name}")


if __name__ == "__main__":
    main()
