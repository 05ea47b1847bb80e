"""Tessera beside what one comes from: python bench/coming.py scipy|opencv|halide|cupy [--quick] [--only WORD] [--out FILE]

Both libraries get the same arrays, which are in memory, and compile before they are timed. Times are medians of calls that take
turns, in milliseconds, on two threads; the ratio is theirs over ours. The table is printed; it, the machine and the versions go
to bench/results/coming-PEER.json, with --quick to build/. ./dev coming PEER installs what is needed first.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from coming_timing import mean

PEERS = {"scipy": "SciPy", "opencv": "OpenCV", "halide": "Halide", "cupy": "CuPy"}


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


def line(row: dict[str, Any]) -> str:
    """A row of the table in the pages."""
    ours, theirs = row["tessera_ms"], row["peer_ms"]
    same = "" if row["same"] else f" differs: {row['difference']:.2g}"
    kind = row["type"] + (", volume" if len(row["shape"]) == 3 and row["shape"][2] > 4 else "")
    return f"| {row['job']} | {kind} | {ours:.3g} | {theirs:.3g} | {row['ratio']:.2f}{same} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--quick", action="store_true", help="short samples")
    parser.add_argument("--only", default="", help="jobs whose names or types hold this word")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a sample")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    root = Path(__file__).resolve().parent
    folder = root.parent / "build" if given.quick or given.only else root / "results"
    out = given.out or folder / f"coming-{given.peer}.json"
    try:
        jobs = importlib.import_module(f"coming_{given.peer}")
    except ImportError as error:
        sys.exit(f"coming.py: {error}; ./dev coming {given.peer} installs what is needed")
    found: dict[str, Any] = {"peer": PEERS[given.peer], "version": jobs.version(), **machine(), "rows": []}
    name = f"{found['peer']} {found['version']}"
    print(f"| | type | Tessera, ms | {name}, ms | ratio |\n|---|---|---|---|---|", flush=True)
    for row in jobs.rows(given.only, given.quick, 0.2 if given.quick else given.seconds):
        found["rows"].append(row)
        print(line(row), flush=True)
    found["mean"] = mean([row["ratio"] for row in found["rows"] if row["same"]])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"geometric mean: {found['mean']:.2f}; {out.name}")


if __name__ == "__main__":
    main()
