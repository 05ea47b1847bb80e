#!/usr/bin/env python3
"""The wheel of the Python package from a build of this tree.

    wheel.py BUILD FOLDER       makes FOLDER/tessera-*.whl of BUILD's library and compiler, with an honest tag
    wheel.py --install FOLDER   installs that wheel into the environment of the Python that runs this, without asking PyPI

The first runs in the environment of scripts/requirements/wheel.txt.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit(f"wheel: {' '.join(map(str, words))}:\n{done.stdout}")
    return done.stdout


def make(build, folder):
    tools = pathlib.Path(sys.executable).parent
    environment = os.environ | {"TESSERA_BUILD": str(build.resolve()), "PATH": f"{tools}:{os.environ['PATH']}"}
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as raw:
        # What the package is built with is here already, by version and hash (--require-hashes would ask for it again).
        run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", raw, ROOT, env=environment)
        (wheel,) = pathlib.Path(raw).glob("*.whl")
        run(tools / "auditwheel", "repair", "-w", folder, wheel, env=environment)
    (wheel,) = folder.glob("*.whl")
    run(tools / "abi3audit", "--strict", wheel, env=environment)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--install":
        (wheel,) = pathlib.Path(sys.argv[2]).glob("*.whl")
        run(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--force-reinstall", wheel)
    else:
        make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
