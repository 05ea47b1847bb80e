"""The blocks of Python in docs/python.md run, in order."""

import contextlib
import importlib.util
import io
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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
            if needs and not importlib.util.find_spec(needs.split()[2]):
                continue
            with self.subTest(block.split("\n")[0]), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block, name, "exec"), names)  # noqa: S102

    def test_python(self):
        self.run_page("python.md")

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
