#!/usr/bin/env python3
"""A Gaussian of a volume in chunks: dask-image, the same by ts.gaussian over an array of Dask, by ts.store, and by the command.

    python bench/dask_store.py [--edge 512] [--chunk 128] [--sigma 3] [--workers 2] [--folder /tmp]
                               [--jobs dask-image,command] [--memory 2GiB] [--tessera PATH]

It needs the package tessera, and those of scripts/requirements/chunked.txt. Each of them runs in a process of its own, from an
array of zarr into one: times, the largest resident set, tasks, and how far results are from those of dask-image. The first
call of the package is not timed; with dask, `--workers` threads. The command has `--memory`. Results take as much room as
the volume, two of them at a time."""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time


JOBS = {
    "dask-image": "dask-image",
    "dask": "`ts.gaussian` over Dask",
    "store-chunks": "`ts.store`, a chunk a task",
    "store": "`ts.store`",
    "command": "the command",
}


def made(folder, edge, chunk):
    import numpy as np
    import zarr

    volume = zarr.create_array(
        f"{folder}/in.zarr", shape=(edge,) * 3, chunks=(chunk,) * 3, dtype="float32", compressors=None
    )
    random = np.random.default_rng(1)
    for z in range(0, edge, chunk):
        volume[z : z + chunk] = random.random((min(chunk, edge - z), edge, edge), np.float32)


def lazily(filtered, folder, name, options):
    """Through Dask's graph; gives the number of tasks as they run."""
    import dask
    import dask.array as da
    import zarr

    source = da.from_zarr(f"{folder}/in.zarr")
    target = zarr.create_array(
        f"{folder}/{name}.zarr", shape=source.shape, chunks=source.chunksize, dtype="float32", compressors=None
    )
    start = time.perf_counter()
    with dask.config.set(scheduler="threads", num_workers=options.workers):
        stored = da.store(filtered(source), target, lock=False, compute=False)
        tasks = len(dask.optimize(stored)[0].__dask_graph__())
        stored.compute()
    return time.perf_counter() - start, tasks


def by_command(folder, options):
    """Whole: its start and its plan, too."""
    command = [options.tessera, "filter", "gaussian", f"{folder}/in.zarr", "-o", f"{folder}/command.zarr", "-q"]
    command += ["--sigma", str(options.sigma), "--border", "symmetric", "--threads", str(options.workers)]
    command += ["--memory", options.memory, "--chunk", "x".join([str(options.chunk)] * 3), "--compression", "none"]
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"the command ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024, 1


def measured(name, folder, options):
    import numpy as np

    sigma = options.sigma
    if name == "command":
        print(json.dumps(by_command(folder, options)))
        return
    if name == "dask-image":
        from dask_image.ndfilters import gaussian_filter

        seconds, tasks = lazily(lambda x: gaussian_filter(x, sigma, truncate=3), folder, name, options)
    else:
        import tessera as ts

        ts.gaussian(np.ones((64, 64, 64), np.float32), sigma, border="symmetric")
        if name == "dask":
            seconds, tasks = lazily(lambda x: ts.gaussian(x, sigma, border="symmetric"), folder, name, options)
        else:
            import zarr

            source = zarr.open(f"{folder}/in.zarr", mode="r")
            target = zarr.create_array(
                f"{folder}/{name}.zarr", shape=source.shape, chunks=source.chunks, dtype="float32", compressors=None
            )
            more = {"chunks": source.chunks} if name == "store-chunks" else {"least_tasks": 4}
            start = time.perf_counter()
            tasks = len(ts.tasks(ts.gaussian, source, target, sigma=sigma, border="symmetric", **more))
            ts.store(ts.gaussian, source, target, sigma=sigma, border="symmetric", **more)
            seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, peak, tasks]))


def difference(folder, name, edge, chunk):
    import numpy as np
    import zarr

    a, b = (zarr.open(f"{folder}/{n}.zarr", mode="r") for n in ("dask-image", name))
    return max(float(np.abs(a[z : z + chunk] - b[z : z + chunk]).max()) for z in range(0, edge, chunk))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("edge", 512), ("chunk", 128), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--sigma", type=float, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--tessera", default="build/release/src/cli/tessera")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measured(options.one, options.folder, options)
        return
    folder = tempfile.mkdtemp(dir=options.folder)
    try:
        made(folder, options.edge, options.chunk)
        print(f"{options.edge}^3 float32, chunks {options.chunk}^3, sigma {options.sigma:g}, {options.workers} workers, "
              f"{os.cpu_count()} cores")
        print("\n| | seconds | peak, MiB | tasks | tasks a chunk | from dask-image |\n|---|---|---|---|---|---|")
        asked = options.jobs.split(",")
        for name in (name for name in JOBS if name in asked):
            words = [sys.executable, __file__, "--one", name, "--folder", folder]
            for option in ("edge", "chunk", "workers", "sigma", "memory", "tessera"):
                words += [f"--{option}", str(getattr(options, option))]
            said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            seconds, peak, tasks = json.loads(said.splitlines()[-1])
            chunks = (-(-options.edge // options.chunk)) ** 3
            far = difference(folder, name, options.edge, options.chunk) if name != "dask-image" else 0
            print(f"| {JOBS[name]} | {seconds:.2f} | {peak:.0f} | {tasks} | {tasks / chunks:.2g} | {far:.1e} |", flush=True)
            if name != "dask-image":
                shutil.rmtree(f"{folder}/{name}.zarr")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
