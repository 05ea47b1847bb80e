"""SciPy's own tests of the functions that tessera.ndimage has, run with them in place of SciPy's.

    python tests/python/scipy_tests.py [pytest's arguments]

It prints what passed and what did not; tests of other functions are not counted. Fails where a test fails that
INTENDED does not name, or where one passes that it names.

TESSERA_SAMPLE=1/2 runs every second test from number 1 on, as it does elsewhere (tests/support/sample.hpp).
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import scipy.ndimage
from scipy._lib import _array_api
from tessera import ndimage

# Parts of names of tests, and why Tessera means to do otherwise there.
INTENDED: dict[str, str] = {}

FILES = ("test_filters.py", "test_morphology.py", "test_fourier.py")


class Substitution:
    """A pytest plugin: replaces the functions, and notes which tests call one."""

    def __init__(self) -> None:
        self.current = ""
        self.calling: set[str] = set()
        self.outcomes: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        for name in ndimage.__all__:
            self._replace(name)

    def _replace(self, name: str) -> None:
        old, new = getattr(scipy.ndimage, name), getattr(ndimage, name)

        @functools.wraps(new)
        def called(*args: Any, **keywords: Any) -> Any:
            self.calling.add(self.current)
            return new(*args, **keywords)

        table = _array_api.xp_capabilities_table
        if old in table:
            table[called] = table[old]
        setattr(scipy.ndimage, name, called)

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves those that this run looks at."""
        part, parts = map(int, os.environ.get("TESSERA_SAMPLE", "0/1").split("/"))
        items[:] = items[part::parts]

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Notes which test runs."""
        self.current = nodeid

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Notes how it ends."""
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome
            if report.failed:
                crash = getattr(report.longrepr, "reprcrash", None)
                self.reasons[report.nodeid] = str(crash.message if crash else report.longrepr)


def main(arguments: list[str]) -> int:
    """Runs them."""
    folder = Path(scipy.ndimage.__file__).parent / "tests"
    files = [str(folder / name) for name in FILES]
    plugin = Substitution()
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-W", "ignore", "--disable-warnings"]
    pytest.main([*options, *files, *arguments], plugins=[plugin])
    counts = {"passed": 0, "failed": 0, "skipped": 0, "differs as intended": 0}
    wrong = []
    for test, outcome in plugin.outcomes.items():
        if outcome != "skipped" and test not in plugin.calling:
            continue
        reason = next((why for part, why in INTENDED.items() if part in test), "")
        if reason and outcome == "failed":
            counts["differs as intended"] += 1
            continue
        counts[outcome] += 1
        if outcome == "failed" or (reason and outcome == "passed"):
            wrong.append(test)
    for test in wrong:
        print(f"{test.rpartition('/')[2]}: {plugin.reasons.get(test, 'passes, but is said to differ')[:300]}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
