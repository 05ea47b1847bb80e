#!/usr/bin/env python3
"""Draws the README's chart from published results: chart.py cpu.csv cpu.json > cpu.svg.

One group of bars per job, milliseconds per image, ours first, all on one thread. The axis is linear from zero in times of the copy
C of the job's own arrays, so that bars of different jobs stand on one scale; a bar that leaves the picture is cut and carries its
time. Nothing is left out: a job that we lose is drawn as well.
"""

import html
import json
import sys

import report

SERIES = [(report.OURS, "Tessera", "#1b6ca8"), ("halide", "Halide, best schedule", "#e08e29"),
          ("opencv", "OpenCV", "#5a9e4b"), ("opencv-wheel", "OpenCV wheel", "#9cc791"), ("plain", "plain loops", "#a0a0a0")]
LEFT, WIDTH, BAR, GAP, TOP, LIMIT = 230, 560, 9, 9, 76, 12.0  # pixels; LIMIT in copies


def draw(rows, titles, about, threads=1):
    here = {job: figures for (n, job), figures in rows.items() if n == threads and report.copy_time(figures) > 0}
    shown = [series for series in SERIES if any(series[0] in figures for figures in here.values())]
    height = TOP + sum(GAP + BAR * sum(s[0] in figures for s in shown) for figures in here.values()) + 30
    scale = WIDTH / LIMIT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 90}" height="{height}" '
           'font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="10" y="18" font-size="14" font-weight="bold">Time per image, one thread, in copies of the image (shorter is better)</text>',
           f'<text x="10" y="34" fill="#555">{html.escape(about["machine"])}; {about["date"]}; the numbers are milliseconds; '
           '* a related job</text>']
    x = 10
    for _, name, colour in shown:
        out.append(f'<rect x="{x}" y="44" width="10" height="10" fill="{colour}"/><text x="{x + 14}" y="53">{html.escape(name)}</text>')
        x += 24 + 7 * len(name)
    for copies in range(0, int(LIMIT) + 1, 2):
        at = LEFT + copies * scale
        out.append(f'<line x1="{at:.1f}" y1="{TOP - 6}" x2="{at:.1f}" y2="{height - 24}" stroke="#e4e4e4"/>'
                   f'<text x="{at:.1f}" y="{height - 10}" text-anchor="middle" fill="#555">{copies}</text>')
    at = LEFT + scale
    out.append(f'<line x1="{at:.1f}" y1="{TOP - 6}" x2="{at:.1f}" y2="{height - 24}" stroke="#c0392b" stroke-dasharray="3 3"/>'
               f'<text x="{at:.1f}" y="{height - 10}" text-anchor="middle" fill="#c0392b">copy</text>')
    y = TOP
    for job, figures in here.items():
        copy = report.copy_time(figures)
        bars = [series for series in shown if series[0] in figures]
        out.append(f'<text x="{LEFT - 8}" y="{y + BAR * len(bars) / 2 + 4:.1f}" text-anchor="end">{html.escape(titles.get(job, job))}</text>')
        for peer, _, colour in bars:
            copies = figures[peer].ms / copy
            length = min(copies, LIMIT) * scale
            cut = "" if copies <= LIMIT else " &#8230;"
            out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 1}" fill="{colour}"/>'
                       f'<text x="{LEFT + length + 3:.1f}" y="{y + BAR - 1}" font-size="9" fill="#333">'
                       f'{report.milliseconds(figures, peer)}{cut}</text>')
            y += BAR
        y += GAP
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: chart.py cpu.csv cpu.json > cpu.svg")
    facts = json.load(open(sys.argv[2]))
    sys.stdout.write(draw(report.read(sys.argv[1]), facts["titles"], facts))
