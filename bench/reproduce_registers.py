"""What ./dev reproduce register-blocking shows: speed against results an item in 2-D, 3-D and 4-D, and where registers run out."""

import lines
import report

TITLE = "register blocking of dense convolutions: speed against results an item"
SOURCE = "'Efficient convolution of multi-dimensional data', which leaves code and numbers to come"
TARGETS = ["cpu", "opencl", "cuda"]
COLUMNS = ["rank", "taps", "extents", "series", "block", "outputs", "loads_per_output", "min_ms", "mean_ms", "deviation_ms", "runs", "gpoints_per_second",
           "registers", "spilled_bytes", "stack_bytes", "threads_per_multiprocessor", "largest_difference", "verdict"]
SERIES = ["last axis", "axis before it", "several axes"]
COLOURS = dict(zip([*SERIES, "tessera"], ["#e08e29", "#1b6ca8", "#5a9e4b", "#c0392b"]))


def only(rows, rank, series):
    return [row for row in rows if row["rank"] == rank and row["series"] == series]


def ranks(rows):
    return sorted({row["rank"] for row in rows})


def told(rows, column):
    """Whether the compiler tells kernels apart: one that says the same of all says nothing."""
    return len({row[column] for row in rows if row.get(column) is not None}) > 1


def spills(row, rows):
    """Bytes that the compiler keeps in memory for want of registers; None where it does not say. A frame in C holds saved
    registers and alignment too, so that of one result counts as nothing."""
    if told(rows, "stack_bytes") and "stack_bytes" in row:
        single = [other["stack_bytes"] for other in rows if other["rank"] == row["rank"] and other.get("outputs") == 1]
        over = row["stack_bytes"] - min(single)
        return over if over > 64 else 0
    if "registers" in row or told(rows, "spilled_bytes"):
        return row.get("spilled_bytes")
    return None


def table(rows):
    found, extra = [], [name for name in ("registers", "threads_per_multiprocessor") if any(name in row for row in rows)]
    head = ["", "block", "results", "loads each", "min ms", "mean ms", "deviation", "Gpoint/s", "of 1", *({"registers": "registers"}.get(n, "threads") for n in extra), "spilled", ""]
    for rank in ranks(rows):
        for series in [*SERIES, "tessera"]:
            single = next((row for row in only(rows, rank, "last axis") if row["outputs"] == 1))
            for row in only(rows, rank, series):
                spilled = spills(row, rows)
                found.append([f"{rank}-D, {row['taps']} taps an axis, {series}", "x".join(map(str, row.get("block", []))), str(row.get("outputs", "")),
                              f"{row['loads_per_output']:.3g}" if "loads_per_output" in row else "", f"{row['min_ms']:.4g}", f"{row['mean_ms']:.4g}",
                              f"{row['deviation_ms']:.2g}", f"{row['gpoints_per_second']:.3g}", f"{single['min_ms'] / row['min_ms']:.2f}",
                              *(str(row.get(name, "")) for name in extra), "" if spilled is None or series == "tessera" else str(spilled),
                              "" if row["verdict"] == "same" else "DIFFERENT"])
    return report.aligned([head, *found])


def best(rows):
    return min(rows, key=lambda row: row["min_ms"])


def claims(rows, target):
    said, out = [], []
    for rank in ranks(rows):
        single = next(row for row in only(rows, rank, "last axis") if row["outputs"] == 1)
        gain = {series: best(only(rows, rank, series)) for series in SERIES}
        said.append(f"{rank}-D: " + ", ".join(f"{series} {single['min_ms'] / row['min_ms']:.2f} times with {'x'.join(map(str, row['block']))}" for series, row in gain.items()))
        first = {series: next((row for row in only(rows, rank, series) if spills(row, rows)), None) for series in SERIES}
        out.append(f"{rank}-D: " + ", ".join(f"{series} {'from ' + 'x'.join(map(str, row['block'])) if row else 'never'}" for series, row in first.items()))
    fetched = [f"{row['loads_per_output']:.3g}" for row in (best(only(rows, rank, "last axis")) for rank in ranks(rows))]
    knows = any(spills(row, rows) is not None for row in rows if row["series"] != "tessera")
    fastest = [f"{rank}-D {min(row['min_ms'] for row in rows if row['rank'] == rank and row['series'] != 'tessera') / only(rows, rank, 'tessera')[0]['min_ms']:.2f}" for rank in ranks(rows)]
    where = " (vectors side by side share no element)" if target == "cpu" else ""
    return [("ko results an item cost k1 ... kn-1 (kn + ko - 1) loads instead of ko k1 ... kn, and give up to ko times the speed", "; ".join(said) + where),
            ("(loads for one result, of the fastest block along the last axis)", ", ".join(f"{rank}-D {n}" for rank, n in zip(ranks(rows), fetched))),
            ("where it ends depends on the number of registers", "spilled: " + "; ".join(out) if knows else "this compiler does not tell what it spills"),
            ("(not in it) Tessera", "the best block takes " + ", ".join(fastest) + " times as long as Tessera" + (", one thread each" if target == "cpu" else ""))]


def draw(rows, about):
    panels = []
    for rank in ranks(rows):
        drawn = []
        for series in SERIES:
            points = {}  # of equal numbers the fastest
            for row in only(rows, rank, series):
                if row["outputs"] not in points or row["gpoints_per_second"] > points[row["outputs"]][1]:
                    points[row["outputs"]] = (row["outputs"], row["gpoints_per_second"], bool(spills(row, rows)))
            if series == "several axes":
                single = next(row for row in only(rows, rank, "last axis") if row["outputs"] == 1)
                points[1] = (1, single["gpoints_per_second"], False)
            drawn.append(lines.Series(f"block along {'the ' if 'axes' not in series else ''}{series}", COLOURS[series], [points[n] for n in sorted(points)]))
        ours = only(rows, rank, "tessera")[0]
        drawn.append(lines.Series("Tessera", COLOURS["tessera"], [(1, ours["gpoints_per_second"])], True))
        row = only(rows, rank, "last axis")[0]
        filters = " x ".join([str(row["taps"])] * rank)
        panels.append(lines.Panel(f"{rank}-D, dense {filters}, {' x '.join(map(str, row['extents']))} results", "results an item" + (" (vectors)" if about["target"] == "cpu" else ""),
                                  "Gpoint/s", drawn, "x"))
    return lines.draw("Register blocking: speed against results an item", [f"{about['machine']}, {about['driver']}", f"{about['date']}; minimum of the runs; open circles: registers ran out"], panels)
