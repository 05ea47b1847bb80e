#!/usr/bin/env python3
"""A Gaussian of a volume in chunks: dask-image, the same by ts.gaussian over an array of Dask, and ts.store.

    python bench/dask_store.py [--edge 512] [--chunk 128] [--sigma 3] [--workers 2] [--folder /tmp]

It needs the package tessera, and those of scripts/requirements/chunked.txt. Each of them runs in a process of its own, from an
array of zarr into one: times, the largest resident set, tasks, and how far results are from those of dask-image. The first
call of the package is not timed; with dask, `--workers` threads."""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time


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


def measured(name, folder, options):
    import numpy as np

    sigma = options.sigma
    if name == "dask-image":
        from dask_image.ndfilters import gaussian_filter

        seconds, tasks = lazily(lambda x: gaussian_filter(x, sigma, truncate=3), folder, name, options)
    else:
        import tessera as ts

        ts.gaussian(np.ones((64, 64, 64), np.float32), sigma, border="symmetric")
        if name == "tessera over Dask":
            seconds, tasks = lazily(lambda x: ts.gaussian(x, sigma, border="symmetric"), folder, name, options)
        else:
            import zarr

            source = zarr.open(f"{folder}/in.zarr", mode="r")
            target = zarr.create_array(
                f"{folder}/{name}.zarr", shape=source.shape, chunks=source.chunks, dtype="float32", compressors=None
            )
            more = {"chunks": source.chunks} if name == "ts.store, a chunk a task" else {"least_tasks": 4}
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
        for name in ("dask-image", "tessera over Dask", "ts.store, a chunk a task", "ts.store"):
            words = [sys.executable, __file__, "--one", name, "--folder", folder]
            for option in ("edge", "chunk", "workers", "sigma"):
                words += [f"--{option}", str(getattr(options, option))]
            said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            seconds, peak, tasks = json.loads(said.splitlines()[-1])
            chunks = (-(-options.edge // options.chunk)) ** 3
            far = difference(folder, name, options.edge, options.chunk)
            print(f"| {name} | {seconds:.2f} | {peak:.0f} | {tasks} | {tasks / chunks:.2g} | {far:.1e} |", flush=True)
            if name != "dask-image":
                shutil.rmtree(f"{folder}/{name}.zarr")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
