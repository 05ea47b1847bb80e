"""The blocks of Python in the pages run, in order; tables of times are those that were published."""

import contextlib
import importlib.util
import io
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def there(needs):
    """Is that package here, and what it needs?"""
    if not importlib.util.find_spec(needs):
        return False
    if needs != "cupy":
        return True
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


class Docs(unittest.TestCase):
    def run_page(self, name):
        names = {}
        blocks = re.findall(
            r"^(<!-- needs \w+ -->\n)?```python\n(.*?)^```",
            (ROOT / "docs" / name).read_text(),
            re.DOTALL | re.MULTILINE,
        )
        self.assertGreater(len(blocks), 3)
        for needs, block in blocks:
            if needs and not there(needs.split()[2]):
                continue
            with self.subTest(block.split("\n")[0]), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, name, "exec"), names)  # noqa: S102

    def test_python(self):
        self.run_page("python.md")

    def test_what_one_comes_from(self):
        for peer in ("scipy", "opencv", "halide", "cupy"):
            self.run_page(f"from{peer}.md")

    def test_tables_are_those_that_were_measured(self):
        for peer in ("scipy", "opencv", "halide", "cupy"):
            with self.subTest(peer):
                words = [sys.executable, ROOT / "bench" / "coming.py", peer, "--table"]
                table = subprocess.run(words, capture_output=True, text=True, check=True).stdout
                self.assertIn(table, (ROOT / "docs" / f"from{peer}.md").read_text())

    def test_readme(self):
        import numpy as np

        names = {
            "photo": (np.random.default_rng(1).random((40, 50, 3)) * 255).astype(np.uint8),
            "volume": np.ones((8, 9, 10)),
        }
        (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102


if __name__ == "__main__":
    unittest.main()
