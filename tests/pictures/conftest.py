"""What the tests of this folder share: the command, the numbers of a run, the inputs on which results once were wrong.

`tessera` runs the command in a folder of its own and returns what it printed; `numbers` gives a generator whose seed is
printed with a failure and changes from commit to commit (TESSERA_SEED chooses another), so that many runs see many
siblings, and whoever repeats one sees the same."""

import os
import subprocess
import time
from pathlib import Path

import numpy
import pytest

SOURCE = Path(__file__).resolve().parents[2]
DATA = SOURCE / "tests" / "data"
FAULTS = DATA / "faults"


def seed_of_commit():
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=SOURCE, capture_output=True, text=True, check=True).stdout
        return int(head[:7], 16)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return time.time_ns() % 1_000_000


SEED = int(os.environ.get("TESSERA_SEED") or seed_of_commit())


class Command:
    """`tessera(...)`: arguments as words; files are names in `folder`. Status 0 is expected unless `status` says else."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = dict(os.environ, XDG_CACHE_HOME=os.environ.get("XDG_CACHE_HOME", str(SOURCE / "build" / "cache")))

    def __call__(self, *words, status=0, **environment):
        done = subprocess.run([os.environ["TESSERA"], *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              env=dict(self.environment, **environment), timeout=300)
        assert done.returncode == status, f"tessera {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def array(self, *words, **more):
        """The result of a run as an array: `-o` is added."""
        self(*words, "-q", "-o", "result.npy", **more)
        return numpy.load(self.folder / "result.npy")


@pytest.fixture
def tessera(tmp_path):
    return Command(tmp_path)


@pytest.fixture
def numbers(request):
    print(f"TESSERA_SEED={SEED}")
    return numpy.random.default_rng([SEED, sum(request.node.name.encode())])
