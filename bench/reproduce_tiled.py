"""What ./dev reproduce tiled-convolution shows: times of every version by picture, job and region, and what tiles gain."""

import chart
import report

TITLE = "tiled separable convolution with four classes of groups"
SOURCE = "the sample and the claims of 'tiled convolution' (AMD, OpenCL): 8 x 8 items, 4 x 4 results an item"
TARGETS = ["opencl", "cuda"]
COLUMNS = ["rows", "columns", "job", "region", "version", "min_ms", "mean_ms", "deviation_ms", "runs", "largest_difference", "verdict",
           "classes"]
VERSIONS = ["naive", "two passes", "one pass", "tiled", "tessera"]
COLOURS = ["#a0a0a0", "#5a9e4b", "#9cc791", "#e08e29", "#1b6ca8"]


def grouped(rows):
    """{(rows, columns, job, region): {version: row}} in the order of the rows."""
    found = {}
    for row in rows:
        found.setdefault((row["rows"], row["columns"], row["job"], row["region"]), {})[row["version"]] = row
    return found


def cell(row):
    return f"{row['min_ms']:.4g} {row['mean_ms']:.4g} ±{row['deviation_ms']:.2g}" + ("" if row["verdict"] == "same" else " DIFFERENT")


def table(rows):
    head = ["", "", "region", *VERSIONS, "largest difference"]
    cells = [[f"{height} x {width}", job, region, *(cell(found[version]) for version in VERSIONS),
              f"{max(row['largest_difference'] for row in found.values()):.2g}"]
             for (height, width, job, region), found in grouped(rows).items()]
    lines = ["milliseconds on the device: minimum, mean, standard deviation", *report.aligned([head, *cells]), ""]
    for (height, width, job, region), found in grouped(rows).items():
        if "classes" in found["tiled"]:
            lines.append(f"{height} x {width}, {job}, {region}: groups free on read {found['tiled']['classes'][0]}, not {found['tiled']['classes'][1]};"
                         f" free on write {found['tiled']['classes'][2]}, not {found['tiled']['classes'][3]}")
    return lines


def span(values):
    low, high = min(values), max(values)
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def gains(rows, version, over, job=None):
    return [found[version]["min_ms"] / found[over]["min_ms"] for key, found in grouped(rows).items() if job in (None, key[2])]


def claims(rows, target):
    largest = max(row["rows"] * row["columns"] for row in rows)
    big = [row for row in rows if row["rows"] * row["columns"] == largest]
    free = [row["classes"][0] / sum(row["classes"][:2]) for row in big if "classes" in row and row["region"] == "whole"]
    return [
        ("tiles are 4 to 5 times as fast as a good version in two passes",
         f"two passes take {span(gains(rows, 'two passes', 'tiled'))} times as long as tiles, {span(gains(big, 'two passes', 'tiled'))} on the largest picture"),
        ("tiles beat the version of one pass by a good margin",
         f"one pass takes {span(gains(rows, 'one pass', 'tiled'))} times as long, {span(gains(big, 'one pass', 'tiled'))} on the largest picture"),
        ("6 times fewer fetches and half the arithmetic of the naive version",
         f"naive takes {span(gains(rows, 'naive', 'tiled'))} times as long, {span(gains(big, 'naive', 'tiled'))} on the largest picture"),
        ("nearly all groups are free on read and on write", f"{100 * min(free):.0f} % of the groups are free on read on the largest picture"),
        ("colour is left to the reader: intensity 5 x 5, colour planes 3 x 3",
         f"done: two passes take {span(gains(rows, 'two passes', 'tiled', 'colour'))} times as long as tiles, Tessera {span(gains(rows, 'tessera', 'tiled', 'colour'))}"),
        ("(not in it) Tessera", f"tiles take {span(gains(rows, 'tiled', 'tessera'))} times as long as Tessera, {span(gains(big, 'tiled', 'tessera'))} on the largest picture"),
    ]


def draw(rows, about):
    colours = dict(zip(VERSIONS, COLOURS))
    groups, longest = [], 1.0
    for (height, width, job, region), found in grouped(rows).items():
        if region != "whole":
            continue
        bars = [chart.Bar(found[v]["min_ms"] / found["tiled"]["min_ms"], colours[v], f"{found[v]['min_ms']:.3g} ms") for v in VERSIONS]
        longest = max(longest, *(bar.length for bar in bars))
        groups.append(chart.Group(f"{height} x {width}, {job}", bars))
    limit = min(8.0, max(2.0, longest * 1.05))
    return chart.draw_bars("Separable convolution: time over that of the document's tiles (shorter is better)",
                           [f"{about['machine']}, {about['driver']}; {about['date']}; whole pictures, minimum of the runs"],
                           list(colours.items()), groups, chart.Axis(limit, 1, "tiled"))
