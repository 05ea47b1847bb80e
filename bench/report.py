#!/usr/bin/env python3
"""Tables out of the rows of tessera_bench: report.py results.csv [cpu.json].

For every job the median of the runs of one process start, and of several starts the lower one, the same for every peer. The last
columns say how ours stands: in copies C of the job's arrays, against the figure to reach, and against the fastest peer.
"""

import csv
import json
import math
import sys
from collections import namedtuple

Figure = namedtuple("Figure", "ms copy verdict note")
OURS, UNTILED = "tessera", "tessera-untiled"
PEERS = ["plain", "opencv", "opencv-wheel", "halide"]


def read(path):
    """{(threads, job): {peer: Figure}} in the order of the file."""
    rows = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            peers = rows.setdefault((int(row["threads"]), row["job"]), {})
            new = Figure(float(row["median_ms"]), float(row["copy_ms"]), row["verdict"], row["note"])
            old = peers.get(row["peer"])
            if old is None:
                peers[row["peer"]] = new
            else:  # another start: the lower time for everybody; a fault of either start stays
                faster = new if new.ms < old.ms else old
                peers[row["peer"]] = faster._replace(copy=min(old.copy, new.copy),
                                                     verdict="DIFFERENT" if "DIFFERENT" in (old.verdict, new.verdict) else faster.verdict)
    return rows


def comparable(figure):
    """A related job (verdict -) is shown, but does not count as a peer; nor does a wrong result."""
    return figure.verdict in ("same", "reference")


def best_peer(figures):
    found = {peer: figures[peer].ms for peer in PEERS if peer in figures and comparable(figures[peer])}
    return min(found.items(), key=lambda item: item[1], default=None)


def copy_time(figures):
    return min((figure.copy for figure in figures.values() if figure.copy > 0), default=0.0)


def milliseconds(figures, peer):
    if peer not in figures:
        return ""
    figure = figures[peer]
    mark = {"DIFFERENT": "!", "-": "*"}.get(figure.verdict, "")
    return f"{figure.ms:.3g}" + mark if figure.ms < 1000 else f"{figure.ms:.0f}" + mark


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def aligned(table):
    """Lines with the columns below one another, the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    return ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in table]


def text(rows, titles, about):
    lines = []
    if about:
        lines += [f"{about['date']}, {about['machine']}"] + [f"  {peer}: {what}" for peer, what in about["peers"].items()]
    for threads in sorted({key[0] for key in rows}):
        here = {job: figures for (n, job), figures in rows.items() if n == threads}
        lines += ["", f"{threads} thread{'s' if threads > 1 else ''}, milliseconds (C: the copy; *: a related job; !: a different result)", ""]
        head = ["job", "C", "tessera", "of C", "untiled", *PEERS, "best peer / ours"]
        table, wins, gains = [], [], []
        for job, figures in here.items():
            copy, best, ours = copy_time(figures), best_peer(figures), figures.get(OURS)
            if ours and best:
                wins.append(best[1] / ours.ms)
            if ours and UNTILED in figures:
                gains.append(figures[UNTILED].ms / ours.ms)
            table.append([titles.get(job, job), f"{copy:.3g}", milliseconds(figures, OURS),
                          f"{ours.ms / copy:.2f}" if ours and copy else "", milliseconds(figures, UNTILED),
                          *(milliseconds(figures, peer) for peer in PEERS),
                          f"{best[1] / ours.ms:.2f} ({best[0]})" if ours and best else f"({best[0]})" if best else ""])
        lines += aligned([head, *table])
        if wins:
            lines.append(f"geometric mean over {len(wins)} jobs: the best peer takes {mean(wins):.2f} times as long as ours; "
                         f"ours is ahead in {sum(w > 1 for w in wins)}")
        if gains:
            lines.append(f"geometric mean over {len(gains)} jobs: untiled takes {mean(gains):.2f} times as long as fused")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: report.py results.csv [cpu.json]")
    facts = json.load(open(sys.argv[2])) if len(sys.argv) == 3 else {}
    print(text(read(sys.argv[1]), facts.get("titles", {}), facts))
