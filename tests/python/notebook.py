"""The notebook docs/notebook.ipynb without Jupyter: its cells run in order, and what they show is what Jupyter would show.

python tests/python/notebook.py        # runs the cells and stores what they show
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"


def shown(value: Any) -> dict[str, Any]:
    """A value as a notebook keeps it: a picture where the value has one."""
    data: dict[str, Any] = {"text/plain": [f"<{type(value).__name__}>"]}
    if hasattr(value, "_repr_svg_"):
        data["image/svg+xml"] = value._repr_svg_().splitlines(keepends=True)
    elif hasattr(value, "_repr_png_"):
        data["image/png"] = base64.b64encode(value._repr_png_()).decode()
    else:
        data["text/plain"] = repr(value).splitlines(keepends=True)
    return data


def run(cells: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """What each cell shows. An exception of a cell is an exception here."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        count += 1
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed, outputs, name = io.StringIO(), [], f"cell {count}"
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, name, "exec"), names)  # noqa: S102
            value = eval(compile(ast.Expression(last.value), name, "eval"), names) if last else None
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            outputs.append({"output_type": "stream", "name": "stdout", "text": text})
        if value is not None:
            result = {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": shown(value)}
            outputs.append(result)
        yield outputs


def main() -> None:
    os.chdir(FILE.parent)  # as Jupyter does
    notebook = json.loads(FILE.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, (cell, outputs) in enumerate(zip(code, run(code), strict=True), 1):
        cell["outputs"], cell["execution_count"] = outputs, count
    FILE.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
