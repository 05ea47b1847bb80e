"""Draws lines as SVG: panels one below the other, each with axes of its own, linear or logarithmic, and one legend for all.

A panel is Panel(title, below, beside, series, log): `below` and `beside` name the axes, `log` is a subset of "xy", `series` a list of
Series(name, colour, points, dashed), points being (x, y) or (x, y, mark): a mark draws an open circle. A line of one point runs across.
"""

import html
import math
from collections import namedtuple

Panel = namedtuple("Panel", "title below beside series log")
Series = namedtuple("Series", "name colour points dashed", defaults=[False])
COLOURS = ["#1b6ca8", "#e08e29", "#5a9e4b", "#8e5ea2", "#c0392b", "#7f8c8d", "#16a3a3", "#b8860b", "#2c3e50", "#d35494"]
LEFT, WIDTH, HEIGHT, GAP = 70, 620, 210, 62  # pixels; a panel's plot and what lies between two


class Axis:
    """Numbers to pixels."""

    def __init__(self, values, logarithmic, pixels, from_zero):
        self.logarithmic, self.pixels = logarithmic, pixels
        low, high = min(values), max(values)
        if logarithmic:
            self.low, self.high = math.log10(low) - 0.05, math.log10(high) + 0.05
        else:
            self.low, self.high = (0 if from_zero else low), high * 1.05
        if self.high <= self.low:
            self.high = self.low + 1

    def at(self, value):
        return ((math.log10(value) if self.logarithmic else value) - self.low) / (self.high - self.low) * self.pixels

    def ticks(self):
        if self.logarithmic:
            decades = range(math.floor(self.low), math.ceil(self.high) + 1)
            steps = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
            return [v for d in decades for v in (step * 10.0 ** d for step in steps) if self.low <= math.log10(v) <= self.high]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        step *= 0.2 if (self.high - self.low) / step < 2 else 0.5 if (self.high - self.low) / step < 5 else 1
        return [k * step for k in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def panel_lines(panel, top):
    xs = [point[0] for series in panel.series for point in series.points if len(series.points) > 1]
    ys = [point[1] for series in panel.series for point in series.points]
    across, up = Axis(xs, "x" in panel.log, WIDTH, False), Axis(ys, "y" in panel.log, HEIGHT, True)
    bottom = top + HEIGHT
    out = [f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{html.escape(panel.title)}</text>',
           f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
           f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 30}" text-anchor="middle" fill="#555">{html.escape(panel.below)}</text>',
           f'<text transform="translate(14 {top + HEIGHT / 2}) rotate(-90)" text-anchor="middle" fill="#555">{html.escape(panel.beside)}</text>']
    for value in up.ticks():
        y = bottom - up.at(value)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{number(value)}</text>')
    free = 0
    for value in sorted(set(xs)) if len(set(xs)) < 14 else across.ticks():
        x = across.at(value)
        half = 3.5 * len(number(value)) + 2
        if x - half >= free:  # figures that would touch are left out
            out.append(f'<text x="{LEFT + x:.1f}" y="{bottom + 15}" text-anchor="middle" fill="#555">{number(value)}</text>')
            free = x + half
    for series in panel.series:
        places = [(LEFT + across.at(point[0]), bottom - up.at(point[1]), len(point) > 2 and point[2]) for point in series.points] if len(series.points) > 1 else \
                 [(x, bottom - up.at(series.points[0][1]), False) for x in (LEFT, LEFT + WIDTH)] if series.points else []
        dash = ' stroke-dasharray="5 4"' if series.dashed else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{series.colour}" stroke-width="1.6"{dash}/>')
        if len(series.points) > 1:
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4 if mark else 2.5}" fill="{"#ffffff" if mark else series.colour}" stroke="{series.colour}" stroke-width="1.5"/>'
                    for x, y, mark in places]
    return out


def draw(title, notes, panels):
    named = {series.name: series for panel in panels for series in panel.series}
    columns = 3
    rows = -(-len(named) // columns)
    head = 30 + 14 * len(notes) + 16 * rows + 30
    height = head + len(panels) * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{height}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="10" y="18" font-size="14" font-weight="bold">{html.escape(title)}</text>',
           *[f'<text x="10" y="{34 + 14 * k}" fill="#555">{html.escape(note)}</text>' for k, note in enumerate(notes)]]
    for k, series in enumerate(named.values()):
        x, y = 10 + 235 * (k % columns), 40 + 14 * len(notes) + 16 * (k // columns)
        dash = ' stroke-dasharray="5 4"' if series.dashed else ""
        out.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 22}" y2="{y - 4}" stroke="{series.colour}" stroke-width="2"{dash}/>'
                   f'<text x="{x + 28}" y="{y}">{html.escape(series.name)}</text>')
    for k, panel in enumerate(panels):
        out += panel_lines(panel, head + k * (HEIGHT + GAP))
    out.append("</svg>")
    return "\n".join(out) + "\n"
