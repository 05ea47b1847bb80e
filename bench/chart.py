#!/usr/bin/env python3
"""Draws bars as SVG; as a program the README's chart from published results: chart.py cpu.csv cpu.json > cpu.svg.

One group of bars per row of a table, all on one linear axis from zero; a bar that leaves the picture is cut and carries its text.
Of the benchmark: milliseconds per image, ours first, all on one thread, in times of the copy C of the job's own arrays, so that
bars of different jobs stand on one scale. Nothing is left out: a job that we lose is drawn as well.
"""

import html
import json
import sys
from collections import namedtuple

import report

SERIES = [(report.OURS, "Tessera", "#1b6ca8"), ("halide", "Halide, best schedule", "#e08e29"),
          ("opencv", "OpenCV", "#5a9e4b"), ("opencv-wheel", "OpenCV wheel", "#9cc791"), ("plain", "plain loops", "#a0a0a0")]
LEFT, WIDTH, BAR, GAP, TOP = 230, 560, 9, 9, 32  # pixels; TOP: of the legend

Bar = namedtuple("Bar", "length colour text")
Group = namedtuple("Group", "label bars")
# The axis runs from 0 to `limit` with a figure every `step`, and a line called `mark` at 1.
Axis = namedtuple("Axis", "limit step mark")


def draw_bars(title, notes, legend, groups, axis):
    """`notes`: lines below the title; `legend`: (name, colour) of every series."""
    below = 30 + 14 * len(notes)
    top = below + TOP
    height = top + sum(GAP + BAR * len(group.bars) for group in groups) + 30
    scale = WIDTH / axis.limit
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 90}" height="{height}" '
           'font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="10" y="18" font-size="14" font-weight="bold">{html.escape(title)}</text>',
           *[f'<text x="10" y="{34 + 14 * k}" fill="#555">{html.escape(note)}</text>' for k, note in enumerate(notes)]]
    x = 10
    for name, colour in legend:
        out.append(f'<rect x="{x}" y="{below}" width="10" height="10" fill="{colour}"/><text x="{x + 14}" y="{below + 9}">{html.escape(name)}</text>')
        x += 24 + 7 * len(name)

    def line(value, style, text, colour):
        at = LEFT + value * scale
        return (f'<line x1="{at:.1f}" y1="{top - 6}" x2="{at:.1f}" y2="{height - 24}" stroke="{style}/>'
                f'<text x="{at:.1f}" y="{height - 10}" text-anchor="middle" fill="{colour}">{html.escape(text)}</text>')

    for value in range(0, int(axis.limit) + 1, axis.step):
        if value != 1:
            out.append(line(value, '#e4e4e4"', str(value), "#555"))
    out.append(line(1, '#c0392b" stroke-dasharray="3 3"', axis.mark, "#c0392b"))
    y = top
    for group in groups:
        out.append(f'<text x="{LEFT - 8}" y="{y + BAR * len(group.bars) / 2 + 4:.1f}" text-anchor="end">{html.escape(group.label)}</text>')
        for bar in group.bars:
            length = min(bar.length, axis.limit) * scale
            cut = "" if bar.length <= axis.limit else " &#8230;"
            out.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 1}" fill="{bar.colour}"/>'
                       f'<text x="{LEFT + length + 3:.1f}" y="{y + BAR - 1}" font-size="9" fill="#333">'
                       f'{html.escape(bar.text)}{cut}</text>')
            y += BAR
        y += GAP
    out.append("</svg>")
    return "\n".join(out) + "\n"


def draw(rows, titles, about, threads=1):
    here = {job: figures for (n, job), figures in rows.items() if n == threads and report.copy_time(figures) > 0}
    shown = [series for series in SERIES if any(series[0] in figures for figures in here.values())]
    groups = [Group(titles.get(job, job), [Bar(figures[peer].ms / report.copy_time(figures), colour, report.milliseconds(figures, peer))
                                           for peer, _, colour in shown if peer in figures])
              for job, figures in here.items()]
    return draw_bars("Time per image, one thread, in copies of the image (shorter is better)",
                     [f'{about["machine"]}; {about["date"]}; the numbers are milliseconds; * a related job',
                      *([about["note"]] if about.get("note") else [])],
                     [(name, colour) for _, name, colour in shown], groups, Axis(12.0, 2, "copy"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: chart.py cpu.csv cpu.json > cpu.svg")
    facts = json.load(open(sys.argv[2]))
    sys.stdout.write(draw(report.read(sys.argv[1]), facts["titles"], facts))
