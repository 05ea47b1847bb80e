"""The experiments of ./dev reproduce fusion on a GPU: every stage a kernel of its own (--schedule untiled) against the plan (auto).

Times are those of kernels with arrays on the device, as `tessera run --target cuda --time` reports them; both schedules must give the
same image, borders included. Where Nsight Compute (ncu) is installed it counts what went through global memory, in one run of each.
"""
import csv
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKED = HERE.parent / "build" / "gpu" / "bin" / "tessera"
SIZES, COUNTED = [2048, 4096, 8192], 4096  # square images; the size that is counted
SCHEDULES = {"untiled": "untiled", "fused": "auto"}

# The same event under the names that it has had; per launch, summed over the kernels of one run.
COUNTERS = {
    "load instructions": ["smsp__sass_inst_executed_op_global_ld.sum", "smsp__inst_executed_op_global_ld.sum"],
    "store instructions": ["smsp__sass_inst_executed_op_global_st.sum", "smsp__inst_executed_op_global_st.sum"],
    "load sectors": ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"],
    "store sectors": ["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
    "bytes read": ["dram__bytes_read.sum"], "bytes written": ["dram__bytes_write.sum"],
    "instructions": ["sm__inst_executed.sum"], "cycles": ["sm__cycles_active.sum"],
}
Row = namedtuple("Row", "experiment rows columns untiled_ms fused_ms speed_up published largest_difference verdict")


def no_gpu():
    """Why there is no GPU of CUDA here, or None where there is one."""
    for name in filter(None, [os.environ.get("TESSERA_CUDA_DRIVER"), "libcuda.so.1", "libcuda.so"]):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            return "the CUDA driver finds none"
        return None
    return "the CUDA driver is not installed"


def find_tessera(given):
    """The program to measure: the one given, the packed one, or the packed one once it is built."""
    if given is None and not PACKED.exists():
        subprocess.run([HERE.parent / "dev", "gpu", "pack"], check=True)
    return Path(given or PACKED).resolve()


# ---- times -------------------------------------------------------------------------------------------------------

def compare(folder, job):
    """The largest difference of the two images, and whether they are the same to rounding."""
    import numpy

    import gpu_jobs
    fused, untiled = (numpy.load(folder / f"{name}.npy").astype(numpy.float64) for name in ("fused", "untiled"))
    distance = abs(fused - untiled)
    far = ~(distance <= gpu_jobs.FLOAT_TOLERANCE * abs(untiled).max())
    return float(distance.max()), "same" if far.mean() <= gpu_jobs.named(job).share else "DIFFERENT"


def measure(tessera, published, quick, say):
    """Rows, and {experiment: {schedule: counts}} with a note where nothing was counted."""
    import numpy

    import gpu
    import gpu_jobs
    rows, counts, note = [], {name: {} for name, _ in published.values()}, counting_note(quick)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        for size in SIZES:
            say(f"{size} x {size}")
            image = folder / "image.npy"
            numpy.save(image, numpy.random.default_rng(1).random((size, size), dtype=numpy.float32))
            for job, (name, figure) in published.items():
                ms = {}
                for column, schedule in SCHEDULES.items():
                    for _ in range(1 if quick else 2):  # process starts; the lower median, as everywhere
                        found = gpu.run(str(tessera), gpu_jobs.named(job), [image], "cuda", schedule, 20 if quick else 60, folder / f"{column}.npy")
                        if "error" in found:
                            raise RuntimeError(f"{name} {size} x {size} {schedule}: {found['error']}")
                        ms[column] = min(ms.get(column, found["median_ms"]), found["median_ms"])
                    if size == COUNTED and not note:
                        counts[name][column], note = count(str(tessera), job, image, schedule, folder)
                rows.append(Row(name, size, size, ms["untiled"], ms["fused"], round(ms["untiled"] / ms["fused"], 3), figure,
                                *compare(folder, job)))
    order = [name for name, _ in published.values()]
    rows.sort(key=lambda row: (order.index(row.experiment), row.rows))
    return rows, counts, note


# ---- counters ----------------------------------------------------------------------------------------------------

def counting_note(quick):
    if quick:
        return "not counted: --quick"
    return None if profiler() else "not counted: Nsight Compute (ncu) is not installed"


def profiler():
    return shutil.which("ncu") or next((str(path) for path in sorted(Path("/usr/local/cuda/bin").glob("ncu"))), None)


def count(tessera, job, image, schedule, folder):
    """({counter: sum over the kernels of one run}, None), or ({}, note)."""
    # A profiler ends where it does not know a name: the newer names, the older ones, those without another name.
    sets = [[names[0] for names in COUNTERS.values()], [names[-1] for names in COUNTERS.values()],
            [name for names in COUNTERS.values() for name in names if name.startswith(("l1tex", "dram"))]]
    best, said = {}, ""
    for names in sets:
        try:
            found, text = profile(tessera, job, image, schedule, names, folder / "ncu.csv")
        except subprocess.TimeoutExpired:
            return {}, "not counted: ncu took longer than two minutes"
        best, said = max(best, found, key=len), said or text
        if len(found) > len(names):  # with the number of kernels
            break
    return best, None if best else f"not counted: {said}"


def profile(tessera, job, image, schedule, names, log):
    """What was counted, and what the profiler said of a failure."""
    import gpu_programs
    log.unlink(missing_ok=True)
    command = [profiler(), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--metrics", ",".join(names),
               "--log-file", str(log), tessera, "run", str(HERE / "jobs" / f"{job}.forma"), str(image), "--target", "cuda",
               "--schedule", schedule, "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=gpu_programs.environment(tessera))
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = [line for line in (text + done.stderr).splitlines() if "error" in line.lower()] or [f"ncu ended with status {done.returncode}"]
    return totals(text), lines[0][:200]


def totals(text):
    """Sums of the columns of ncu's table; the row below the head holds units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    kernels = [row for row in csv.DictReader(lines) if (row.get("ID") or "").isdigit()] if lines else []
    found = {"kernels": len(kernels)} if kernels else {}
    for counter, names in COUNTERS.items():
        for name in names:
            values = [number(row.get(name)) for row in kernels]
            if values and None not in values:
                found[counter] = sum(values)
                break
    return found if len(found) > 1 else {}


def number(text):
    try:
        return float(text.replace(",", ""))
    except (AttributeError, ValueError):
        return None


def count_table(counts):
    """Cells: what a run counted, then how many times as much untiled as fused."""
    head = ["", "", "kernels", "global loads", "stores", "load sectors", "store sectors", "MB read", "MB written", "instructions a cycle"]
    cells = []
    for name, schedules in counts.items():
        if len(schedules) < len(SCHEDULES):
            continue
        for column, found in schedules.items():
            def millions(key):
                return f"{found[key] / 1e6:.4g} M" if key in found else "-"

            def megabytes(key):
                return f"{found[key] / 1e6:.0f}" if key in found else "-"
            rate = f"{found['instructions'] / found['cycles']:.2f}" if found.get("cycles") and "instructions" in found else "-"
            cells.append([name, column, str(found["kernels"]), *(millions(key) for key in list(COUNTERS)[:4]),
                          *(megabytes(key) for key in ("bytes read", "bytes written")), rate])
        untiled, fused = schedules["untiled"], schedules["fused"]
        ratios = [f"{untiled[key] / fused[key]:.2f}" if fused.get(key) and key in untiled else "-" for key in list(COUNTERS)[:6]]
        cells.append(["", "ratio", f"{untiled['kernels'] / fused['kernels']:.2f}", *ratios, ""])
    return [head, *cells] if cells else []


if __name__ == "__main__":
    sys.exit("run ./dev reproduce fusion --target cuda")
