"""What ./dev reproduce fft shows: every stage of the document over the sizes, transposition by blocks and groups, mixed radix beside radix 2."""

import lines
import report

TITLE = "mixed-radix Fourier transforms in two dimensions, stage by stage"
SOURCE = "'mixed-radix FFT in two dimensions' (G. M. Iodice, ARM), whose plots are of Mali GPUs"
TARGETS = ["opencl"]
COLUMNS = ["kind", "size", "version", "block", "group", "min_ms", "mean_ms", "deviation_ms", "runs", "largest_difference", "verdict"]
VERSIONS = ["cpu", "rows", "ranges", "elements", "blocks", "in place", "groups", "radix 2", "tessera"]
STEPS = [("rows", "ranges"), ("ranges", "elements"), ("elements", "blocks"), ("blocks", "in place"), ("in place", "groups")]


def transforms(rows):
    """{size: {version: row}}"""
    found = {}
    for row in rows:
        if row["kind"] == "transform":
            found.setdefault(row["size"], {})[row["version"]] = row
    return found


def shown(row):
    return f"{row['min_ms']:.4g}" + ("" if row["verdict"] == "same" else " DIFFERENT")


def way(row):
    groups = "x".join(map(str, row["group"])) if row["group"][0] else "left to OpenCL"
    return f"{row['version']}, groups {groups}"


def table(rows):
    sizes = transforms(rows)
    head = ["minimum of the runs, ms", *(f"{n}" for n in sizes)]
    cells = [[version, *(shown(found[version]) if version in found else "-" for found in sizes.values())] for version in VERSIONS]
    cells.append(["mean and deviation of groups", *(f"{found['groups']['mean_ms']:.3g}±{found['groups']['deviation_ms']:.1g}" for found in sizes.values())])
    cells.append(["largest difference", *(f"{max(row['largest_difference'] for row in found.values()):.1e}" for found in sizes.values())])
    out = [*report.aligned([head, *cells]), "", "transposition alone, minimum of the runs, ms"]
    alone = [row for row in rows if row["kind"] == "transposition"]
    extents = sorted({row["size"] for row in alone})
    times = {(way(row), row["size"]): row for row in alone}
    out += report.aligned([["", *(f"{n} x {n}" for n in extents)],
                           *([name, *(shown(times[name, n]) if (name, n) in times else "-" for n in extents)] for name in dict.fromkeys(map(way, alone)))])
    high = next(row for row in rows if row["kind"] == "high-pass")
    return [*out, "", f"high-pass filter, {high['size']} x {high['size']}, forward and back: {shown(high)} ms, mean {high['mean_ms']:.4g}, deviation {high['deviation_ms']:.2g}; "
                      "its four pictures: build/bench/published/fft-high-pass-*.png"]


def by_size(rows, a, b):
    """How many times as long a takes as b."""
    return ", ".join(f"{n}: {found[a]['min_ms'] / found[b]['min_ms']:.2f}" for n, found in transforms(rows).items() if a in found and b in found)


def claims(rows, target):
    alone = [row for row in rows if row["kind"] == "transposition" and row["size"] == max(r["size"] for r in rows if r["kind"] == "transposition")]
    quickest = min(alone, key=lambda row: row["min_ms"])
    blocks = {n: min(row["min_ms"] for row in alone if row["block"] == n and row["version"] != "swap_2x2") for n in (1, 2, 4, 8)}
    only_mixed = [n for n, found in transforms(rows).items() if "radix 2" not in found]
    return [
        ("the device is the first speed-up over the naive version on the processor", "cpu over rows: " + by_size(rows, "cpu", "rows")),
        ("ranges of two dimensions instead of a launch a row gain much, most for small sizes", "rows over ranges: " + by_size(rows, "rows", "ranges")),
        ("transposing elements on the device does not make up for launches", "ranges over elements: " + by_size(rows, "ranges", "elements")),
        ("blocks of 2 x 2 do, larger ones need too many registers", f"elements over blocks: {by_size(rows, 'elements', 'blocks')}; alone, ms: "
         + ", ".join(f"{n} x {n} {ms:.3g}" for n, ms in blocks.items())),
        ("swapping blocks in place is faster again, and saves a buffer", "blocks over in place: " + by_size(rows, "blocks", "in place")),
        ("groups of 2 x 4 beat what the driver chooses", f"in place over groups: {by_size(rows, 'in place', 'groups')}; quickest alone: {way(quickest)}"),
        ("mixed radix is faster than radix 2", "radix 2 over groups: " + by_size(rows, "radix 2", "groups")),
        ("and takes sizes such as 120, 1000 and 3000", "only mixed: " + ", ".join(map(str, only_mixed))),
        ("(not in it) Tessera on the processor's cores", "groups over Tessera: " + by_size(rows, "groups", "tessera")),
    ]


def draw(rows, about):
    sizes = transforms(rows)
    colours = dict(zip(VERSIONS, lines.COLOURS))

    def line(version, value):
        return lines.Series(version, colours[version], [(n, value(found)) for n, found in sizes.items() if version in found], version in ("cpu", "tessera"))
    times = [line(version, lambda found, v=version: found[v]["min_ms"]) for version in VERSIONS if version != "radix 2"]
    steps = [lines.Series(f"{b} over {a}", lines.COLOURS[k], [(n, found[a]["min_ms"] / found[b]["min_ms"]) for n, found in sizes.items()])
             for k, (a, b) in enumerate(STEPS)]
    two = {n: found for n, found in sizes.items() if "radix 2" in found}
    radices = [lines.Series("groups", colours["groups"], [(n, found["groups"]["min_ms"]) for n, found in sizes.items()]),
               lines.Series("radix 2", colours["radix 2"], [(n, found["radix 2"]["min_ms"]) for n, found in two.items()], True)]
    return lines.draw("Fourier transforms in two dimensions: the stages of the document", [f"{about['machine']}, {about['driver']}", f"{about['date']}; minimum of the runs, by the wall"],
                      [lines.Panel("every stage", "rows and columns", "ms", times, "xy"),
                       lines.Panel("what each step gains", "rows and columns", "times as fast", steps, "x"),
                       lines.Panel("mixed radix beside radix 2", "rows and columns", "ms", radices, "xy")])
