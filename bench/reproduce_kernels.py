"""The experiments of ./dev reproduce that bring kernels of their own: tiled-convolution, register-blocking, fft, line-buffer.

tessera_reproduce (bench/published/) runs every version of a document's kernels, and Tessera last, on the same arrays, and prints a line of
JSON for each; here lines become a table, sentences (what the document says, what was measured) and files. What each experiment shows is
in a module of its own: TITLE, SOURCE, TARGETS, COLUMNS, table(rows), claims(rows, target), draw(rows, about). Needs nothing but Python; on
a machine that only measures, the program comes from build/gpu (./dev gpu pack).
"""

import csv
import datetime
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fusion_cuda
import gpu_programs
import reproduce_fft
import reproduce_line_buffer
import reproduce_registers
import reproduce_tiled

ROOT = Path(__file__).resolve().parent.parent
WORK, RESULTS = ROOT / "build" / "bench", ROOT / "bench" / "results"
PACKED = ROOT / "build" / "gpu" / "bin" / "tessera_reproduce"
BUILT = ROOT / "build" / "release" / "bench" / "published" / "tessera_reproduce"
PHOTOGRAPH = ROOT / "tests" / "data" / "astronaut.png"
EXPERIMENTS = {"tiled-convolution": reproduce_tiled, "register-blocking": reproduce_registers, "fft": reproduce_fft, "line-buffer": reproduce_line_buffer}


Refused = reproduce_line_buffer.Refused


def program(options):
    """The program to measure with: the one given, the packed one where there is a GPU, else a fresh build."""
    if options.program:
        return Path(options.program).resolve()
    if PACKED.exists() and (options.target == "cuda" or not fusion_cuda.no_gpu() or not shutil.which("cmake")):
        return PACKED
    if options.target == "cuda":
        subprocess.run([ROOT / "dev", "gpu", "pack"], check=True)
        return PACKED
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    if not list(Path("/usr/lib/llvm-19/lib").glob("libclang-cpp.so*")):
        launcher.append("-DTESSERA_INPROCESS_CLANG=OFF")
    subprocess.run(["cmake", "--preset", "release", *launcher], cwd=ROOT, check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", "build/release", "--target", "tessera_reproduce"], cwd=ROOT, check=True, stdout=sys.stderr)
    return BUILT


def measure(options):
    """(facts about the machine, rows, whether all results were right)."""
    tool = program(options)
    if not tool.exists():
        raise Refused(f"there is no program '{tool}' to measure with")
    folder = (Path(options.out).resolve() if options.out else WORK) / "published"
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(tool), options.experiment, "--photograph", str(options.photograph or PHOTOGRAPH), "--target", options.target,
               "--device", str(options.device), "--texts", str(ROOT / "bench" / "published"), "--work", str(folder)]
    command += ["--quick"] if options.quick else []
    command += ["--offsets", options.offsets] if options.offsets else []
    command += ["--repeat", str(options.repeat)] if options.repeat else []
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=gpu_programs.environment(tool)) as running:
        for line in running.stdout:
            rows.append(json.loads(line))
            if not options.quick and "version" in rows[-1]:
                print(f"== {line.strip()[:150]}", file=sys.stderr, flush=True)
    if running.returncode not in (0, 1) or len(rows) < 2:
        raise Refused(f"the program ended with status {running.returncode}; what it said stands above")
    return rows[0], rows[1:], running.returncode == 0


def write(options, module, rows, about):
    folder = Path(options.out).resolve() if options.out else WORK if options.quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{options.experiment}-{options.target}"
    with open(folder / f"{stem}.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(module.COLUMNS)
        for row in rows:
            cells = (row.get(column, "") for column in module.COLUMNS)
            writer.writerow(["x".join(map(str, cell)) if isinstance(cell, list) else cell for cell in cells])
    (folder / f"{stem}.json").write_text(json.dumps(about, indent=2) + "\n")
    (folder / f"{stem}.svg").write_text(module.draw(rows, about))
    print(f"== written: {', '.join(f'{os.path.relpath(folder)}/{stem}.{suffix}' for suffix in ('csv', 'json', 'svg'))}", file=sys.stderr)


def main(options):
    module = EXPERIMENTS[options.experiment]
    machine, rows, good = getattr(module, "measure", measure)(options)
    claims = module.claims(rows, options.target)
    about = {"title": module.TITLE, "source": module.SOURCE, **machine, "target": options.target, "quick": options.quick,
             "date": datetime.date.today().isoformat(),
             "claims": [{"document": said, "here": found} for said, found in claims]}
    print(f"{module.TITLE}\n{about['date']}, {about['machine']}, {about['driver']}\n")
    print("\n".join(module.table(rows)))
    for said, found in claims:
        print(f"\nthe document: {said}\n        here: {found}")
    write(options, module, rows, about)
    if not good:
        print("== DIFFERENT: a result is not what the reference gives", file=sys.stderr)
    return 0 if good else 1
