"""Emitted files on a GPU: compiled by nvcc and linked with the drivers of the C files, which compare with plain loops.

Usage: gpu_emitted.py TESSERA

Then one program as a shared library, on PyTorch's tensors: memory of the device used where it lies or copied, and
memory of the host, all with the same result. Prints a line a check; exits with 1 when one fails.
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import gpu_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIVERS = ROOT / "tests" / "emit" / "drivers"
NAMES = ["blur", "sobel", "color", "pyramid", "odd", "warp", "heat"]
CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))


def call(command, folder, env=None):
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, timeout=300, env=env)
    said = (done.stdout + done.stderr).strip()
    return f"status {done.returncode}: {said}" if done.returncode or said else ""


def driver(tessera, name, target, folder):
    """Nothing, or what went wrong."""
    plus = (DRIVERS / f"{name}.cpp").exists()
    file = f"{name}.{'cu' if target == 'cuda' else 'cl'}"
    emitted = call([tessera, "emit", DRIVERS / f"{name}.forma", "--target", target, "--name", name, "-o", file, "--header", f"{name}.h", "--exact"], folder, gpu_programs.environment(tessera))
    libraries = ["-L", CUDA / "lib64"] + (["-lcudart"] if target == "cuda" else ["-lOpenCL"])
    compile_line = (["nvcc", "-O3", "-fmad=false", "-arch=native", "-c", file, "-o", "program.o"] if target == "cuda" else
                    ["gcc", "-O3", "-Wall", "-I", CUDA / "include", "-c", f"{name}.c", "-o", "program.o"])
    return (emitted or call(compile_line, folder) or
            call(["g++" if plus else "gcc", "-O1", "-w", "-I.", "-I", DRIVERS, "-c", DRIVERS / f"{name}.{'cpp' if plus else 'c'}", "-o", "driver.o"], folder) or
            call(["g++", "driver.o", "program.o", "-o", "driver", *libraries, "-lm"], folder) or call(["./driver"], folder))


def tensors(tessera, folder):
    import torch
    found = call([tessera, "emit", ROOT / "bench" / "jobs" / "harris_f32.forma", "--target", "cuda", "--name", "harris", "-o", "harris.cu"], folder, gpu_programs.environment(tessera))
    found = found or call(["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "harris.cu", "-o", "harris.so"], folder)
    if found:
        return found
    library = ctypes.CDLL(str(pathlib.Path(folder) / "harris.so"))
    stream = torch.cuda.Stream()
    for shape in [(1024, 1024), (777, 611), (3, 3)]:
        rows, columns = (ctypes.c_int(n) for n in shape)
        image = torch.rand(shape, device="cuda")
        results = []
        for where in ["cuda", "cpu", "mixed"]:
            given = image if where != "cpu" else image.cpu()
            out = torch.full(shape, -1.0, device="cuda" if where == "cuda" else "cpu")
            pointers = ctypes.c_void_p(given.data_ptr()), rows, columns, ctypes.c_void_p(out.data_ptr())
            if where == "cuda":
                stream.wait_stream(torch.cuda.current_stream())
                status = library.harris_on_stream(*pointers, ctypes.c_void_p(stream.cuda_stream))
                if status:
                    return f"harris_on_stream returned {status}"
                stream.synchronize()
            else:
                library.harris(*pointers)
            results.append(out.cpu())
        if not all(torch.equal(results[0], other) for other in results[1:]) or not bool((results[0] != -1).any()):
            return f"results of {shape} differ"
    return ""


def main():
    tessera = pathlib.Path(sys.argv[1]).resolve()
    os.environ["PATH"] += f":{CUDA / 'bin'}"
    os.environ["LD_LIBRARY_PATH"] = f"{os.environ.get('LD_LIBRARY_PATH', '')}:{CUDA / 'lib64'}"
    if not shutil.which("nvcc"):
        sys.exit("there is no nvcc to compile emitted files with")
    bad = 0
    checks = [(f"{target} {name}", lambda f, n=name, t=target: driver(tessera, n, t, f)) for target in ["cuda", "opencl"] for name in NAMES]
    for what, check in checks + [("cuda harris on tensors", lambda f: tensors(tessera, f))]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                problem = check(folder)
            except Exception as error:  # a tool that is missing is a failed check like any other
                problem = repr(error)
        print(f"emitted {what}: {problem[:600] or 'passes'}", flush=True)
        bad += bool(problem)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
