#!/usr/bin/env python3
"""Draws the README's chart from published results: overview.py > bench/results/overview.svg; with --table the whole table.

Ten jobs from the smallest to the largest, two bars each, on the processor and on the card: how many times as long as Tessera the
fastest of the peers takes that computed the same. One axis from 0, on which every bar ends inside the picture; a job where a peer is
faster is drawn like the others and says so. What is not among the ten and slower stands in a line below them, so that no loss is
left out by the choice of jobs.
"""

import html
import json
import sys
from pathlib import Path

import report

RESULTS = Path(__file__).resolve().parent / "results"
THREADS = 2  # what a run takes on the machine of the results: all cores
JOBS = {"blur3_f32": "blur, two stages", "conv7_f32": "7 x 7 weights", "gauss5_u8": "Gaussian 5 x 5 of bytes",
        "median3_u8": "median 3 x 3 of bytes", "unsharp5_f32": "unsharp mask", "bilateral5_f32": "bilateral filter 5 x 5",
        "canny_f32": "Canny's edges", "harris_f32": "Harris's corners", "exposure_fusion_u8": "exposure fusion",
        "local_laplacian_u16": "local Laplacian filter"}
PEERS = {"halide": "Halide", "opencv": "OpenCV", "opencv-wheel": "OpenCV's wheel", "plain": "plain loops", "npp": "NPP",
         "inductor": "Inductor"}
PROCESSOR, CARD, SLOWER = "#1b6ca8", "#e08e29", "#c0392b"
LEFT, WIDTH, BAR, GAP, TOP = 190, 480, 12, 10, 78  # pixels; TOP: of the first bar


def processor(threads=THREADS):
    """{job: (best peer over ours, peer)} of the processor."""
    found = {}
    for (count, job), figures in report.read(RESULTS / "cpu.csv").items():
        best = report.best_peer(figures)
        if count == threads and best and report.OURS in figures:
            found[job] = (best[1] / figures[report.OURS].ms, best[0])
    return found


def card():
    """The same of the card. Of a job that several files hold, the first one has our time; peers come from all of them."""
    ours, peers = {}, {}
    for name in ("gpu.json", "gpu-halide.json", "gpu-long.json"):
        for row in json.loads((RESULTS / name).read_text())["rows"]:
            if "median_ms" in row["auto"]:
                ours.setdefault(row["job"], row["auto"]["median_ms"])
            for peer, figures in row["peers"].items():
                if figures.get("verdict") == "same" and figures.get("ms"):
                    peers.setdefault(row["job"], []).append((figures["ms"], peer))
    return {job: (min(peers[job])[0] / ms, min(peers[job])[1]) for job, ms in ours.items() if job in peers}


def slower(found, titles):
    """Jobs where a peer is ahead, the worst first: "local Laplacian 0.77"."""
    behind = sorted((ratio, job) for job, (ratio, _) in found.items() if ratio < 1)
    return [f"{titles.get(job, job)} {ratio:.2f}" for ratio, job in behind]


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(words)}</text>'


def draw():
    facts, device = json.loads((RESULTS / "cpu.json").read_text()), json.loads((RESULTS / "gpu.json").read_text())
    on = [(processor(), PROCESSOR), (card(), CARD)]
    limit = max(found[job][0] for found, _ in on for job in JOBS if job in found)
    scale = WIDTH / limit
    bottom = TOP + len(JOBS) * (2 * BAR + GAP)
    mean = [report.mean([ratio for ratio, _ in found.values()]) for found, _ in on]
    legend = [f"processor: {facts['machine'].split(',')[0]}, {THREADS} threads; {mean[0]:.2f} in the mean of {len(on[0][0])} jobs",
              f"card: {device['card'].split(',')[0]}; {mean[1]:.2f} in the mean of {len(on[1][0])} jobs"]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 140}" height="{bottom + 34}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           text(10, 20, "How many times as long as Tessera the fastest peer takes", 'font-size="15" font-weight="bold"')]
    for k, (words, (_, colour)) in enumerate(zip(legend, on)):
        out += [f'<rect x="{10 + 400 * k}" y="32" width="11" height="11" fill="{colour}"/>', text(26 + 400 * k, 42, words)]
    for value in range(0, int(limit) + 1):
        x, style = LEFT + value * scale, f'stroke="{SLOWER}" stroke-width="1.5"' if value == 1 else 'stroke="#e0e0e0"'
        out += [f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}" {style}/>',
                text(x, bottom + 16, str(value), 'text-anchor="middle" fill="#555"')]
    out.append(text(LEFT + scale, TOP - 13, "as fast", f'text-anchor="middle" fill="{SLOWER}"'))
    for row, (job, title) in enumerate(JOBS.items()):
        y = TOP + row * (2 * BAR + GAP)
        out.append(text(LEFT - 8, y + BAR + 4, title, 'text-anchor="end"'))
        for k, (found, colour) in enumerate(on):
            if job not in found:
                continue
            ratio, peer = found[job]
            ahead = f' fill="{SLOWER}" font-weight="bold"' if ratio < 1 else ' fill="#333"'
            words = f"{ratio:.2f}  {PEERS[peer]}" + (" is faster" if ratio < 1 else "")
            # Behind the line at 1, where a bar ends before it.
            out += [f'<rect x="{LEFT}" y="{y + k * BAR}" width="{ratio * scale:.1f}" height="{BAR - 1}" fill="{colour}"/>',
                    text(LEFT + max(ratio, 1) * scale + 5, y + k * BAR + BAR - 2, words, f'font-size="10.5"{ahead}')]
    out.append("</svg>")
    return "\n".join(out) + "\n"


def table():
    """Markdown: every job and every peer on the processor, one and two threads."""
    titles = json.loads((RESULTS / "cpu.json").read_text())["titles"]
    rows = report.read(RESULTS / "cpu.csv")
    counts = sorted({count for count, _ in rows})
    columns = [report.OURS, report.UNTILED, *report.PEERS]
    lines = ["| job | C | ours | of C | untiled | plain | OpenCV | its wheel | Halide | best peer over ours |", "|---|---|---|---|---|---|---|---|---|---|"]
    for job in dict.fromkeys(job for _, job in rows):
        cells = {name: [] for name in ["C", "of", *columns, "best"]}
        for count in counts:
            figures = rows.get((count, job), {})
            copy, ours, best = report.copy_time(figures), figures.get(report.OURS), report.best_peer(figures)
            cells["C"].append(f"{copy:.3g}")
            cells["of"].append(f"{ours.ms / copy:.2f}" if ours and copy else "")
            cells["best"].append(f"{best[1] / ours.ms:.2f}" if ours and best else "")
            for peer in columns:
                cells[peer].append(report.milliseconds(figures, peer))
        joined = {name: "; ".join(cell) if any(cell) else "" for name, cell in cells.items()}
        lines.append("| " + " | ".join([titles.get(job, job), joined["C"], joined[report.OURS], joined["of"],
                                        *(joined[peer] for peer in columns[1:]), joined["best"]]) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        sys.stdout.write(table())
    elif len(sys.argv) == 1:
        sys.stdout.write(draw())
    else:
        sys.exit("usage: overview.py [--table]")
