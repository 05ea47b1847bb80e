"""docs/notebook.ipynb: its cells run in order, what it shows is stored, it is small and of no one machine."""

import importlib.util
import json
import os
import re
import unittest

import notebook


class Notebook(unittest.TestCase):
    def setUp(self):
        self.text = notebook.FILE.read_text()
        self.cells = json.loads(self.text)["cells"]
        self.code = [cell for cell in self.cells if cell["cell_type"] == "code"]

    def test_what_is_stored(self):
        self.assertLess(len(self.text), 1_000_000)
        self.assertIsNone(re.search(r"/(home|root|tmp|work)/", "".join(self.sources())))
        pictures = 0
        for number, cell in enumerate(self.code, 1):
            self.assertEqual(cell["execution_count"], number)
            for output in cell["outputs"]:
                self.assertNotEqual(output["output_type"], "error", output)
                pictures += any(kind.startswith("image/") for kind in output.get("data", {}))
        self.assertGreater(pictures, 4)

    def sources(self):
        """Every text of the notebook but those of pictures of points."""
        for cell in self.cells:
            yield "".join(cell["source"])
            for output in cell.get("outputs", []):
                yield "".join(output.get("text", []))
                for kind, value in output.get("data", {}).items():
                    if kind != "image/png":
                        yield "".join(value)

    @unittest.skipUnless(importlib.util.find_spec("PIL"), "Pillow is not here")
    def test_cells_run_and_show_what_is_stored(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(notebook.FILE.parent)
        shown = list(notebook.run(self.cells))
        self.assertEqual(len(shown), len(self.code))
        for cell, outputs in zip(self.code, shown, strict=True):
            with self.subTest(cell["source"][0]):
                kinds = [sorted(output.get("data", {"stream": ""})) for output in outputs]
                stored = [sorted(output.get("data", {"stream": ""})) for output in cell["outputs"]]
                self.assertEqual(kinds, stored)


if __name__ == "__main__":
    unittest.main()
