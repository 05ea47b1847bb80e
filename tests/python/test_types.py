import ast
import importlib.util
import re
import subprocess
import sys
import unittest
from pathlib import Path

from tessera import _core

ROOT = Path(__file__).parents[2] / "python"


@unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy")
class Types(unittest.TestCase):
    def check(self, *command):
        done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_package_and_its_use(self):
        self.check("mypy", "--strict", "tessera")
        use = """
import numpy as np
import tessera as ts
photo = np.zeros((4, 5), np.float32)
smooth: np.ndarray[tuple[int, int], np.dtype[np.float32]] = ts.gaussian(photo, sigma=(1, 2), border="wrap")
program = ts.Program("canny.forma", parameters={"sigma": 2})
text: str = program.explain(photo)
run = program.submit(photo, cancel=ts.Cancel(), progress=lambda done, total: print(done))
run.result()
try:
    program(photo)
except ts.CompileError as error:
    line: int = error.diagnostics[0].line
"""
        self.check("mypy", "--strict", "-c", use)

    def test_pipelines(self):
        use = """
from typing import Annotated, Any
import numpy as np
import tessera as ts

@ts.pipeline
def edges(image: ts.Image, amount: ts.f32 = 0.8, *, radius: ts.Constant[int] = 1, mode: ts.Constant = "mirror") -> Any:
    b = image.borders(mode)
    g = ts.stage(ts.over(radius, (-1, 1)).sum(lambda i, j: ts.table([1.0, 2, 1])[j + 1] * b[i, 2 * j]))
    low = ts.where((g > 0.5) & ~(g == 1), g // 2, ts.saturate(ts.uint8, g % 3))
    return {"edges": ts.sqrt(low) * amount - g.mean(), "planes": {"a": g, "b": -g[0, 1] ** 2}}

@ts.pipeline(channel_axis=-1)
def grey(photo: ts.Planes, mask: Annotated[ts.Image, ts.float32, 2]) -> ts.Value:
    value: ts.Value = (photo.r + photo["g"]) / 2 * mask
    return value

out = edges(np.zeros((3, 4)), amount=2, numbers="exact")
text: str = edges.explain(np.zeros((3, 4)))
program: ts.Program = grey.compile(np.zeros((3, 4, 3)))
source: str = edges.emit("cuda").source
"""
        self.check("mypy", "--strict", "-c", use)


class Declarations(unittest.TestCase):
    """_core.pyi says what the module has, name by name."""

    def arguments(self, function):
        (signature, *_) = function.__nb_signature__[0]
        made = ast.parse(re.sub(r"\\\d+", "None", signature) + ": ...").body[0]
        return [a.arg for a in made.args.args if a.arg != "self"]

    def functions(self, body, owner):
        written = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
        has = {n for n in vars(owner) if not n.startswith("_")}
        public = {n for n in written if not n.startswith("_")}
        classes = {n.name for n in body if isinstance(n, ast.ClassDef)}
        self.assertEqual(has, public | classes, owner)
        for name in public:
            function = vars(owner)[name]
            if isinstance(function, staticmethod):
                function = function.__func__
            if hasattr(function, "__nb_signature__"):
                self.assertEqual(
                    [a.arg for a in written[name].args.args if a.arg != "self"], self.arguments(function), name
                )

    def test_names(self):
        declared = ast.parse((ROOT / "tessera" / "_core.pyi").read_text())
        self.functions(declared.body, _core)
        for node in declared.body:
            if isinstance(node, ast.ClassDef):
                self.functions(node.body, getattr(_core, node.name))


if __name__ == "__main__":
    unittest.main()
