"""Programs of examples/ and filters/ with inputs made for them: what tools that watch memory are run over. And how our program
is called where `./dev gpu pack` put it. Needs nothing but Python."""
import array
import os
import random
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Inputs of a program: g: an image of floats, c: a colour image of bytes, m: the mosaic of a sensor, v: a volume; then
# numbers. Parameters shorten what repeats equal steps. `rough`: extents must be even.
EXAMPLES = {
    "bilateral": ("g", []), "blur": ("g", []), "bracket": ("c", []), "camera": ("m", ["rough"]), "canny": ("g", []),
    "exposure_fusion": ("ccc", []), "harris": ("g", []), "jacobi": ("gg", ["steps=6"]), "local_laplacian": ("c", []),
    "mosaic": ("c", []), "perona_malik": ("g", ["most=6"]),
    "pyramid": ("g", []), "rician": ("v", ["steps=2"]), "sobel": ("g", []), "unsharp": ("c", ["amount=0.8"]),
}
FILTERS = {name: ("v" if name == "gaussian3d" else "c" if name == "grey" else "g", []) for name in (
    "bilateral", "box", "canny", "dilate", "erode", "gaussian", "gaussian3d", "grey", "harris", "laplacian", "median", "morphology",
    "pyramid", "sobel", "threshold", "unsharp")}


def environment(tessera):
    """What `./dev gpu pack` put beside the program serves the program alone: peers take the libraries of the machine."""
    beside = Path(tessera).resolve().parent.parent / "lib"
    found = dict(os.environ)
    if beside.is_dir():
        found["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(beside), os.environ.get("LD_LIBRARY_PATH")]))
    return found


def save(path, shape, code, values):
    """A .npy file; `code`: of the array module, f or H."""
    head = repr({"descr": {"f": "<f4", "H": "<u2"}[code], "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + array.array(code, values).tobytes())


def files(folder, rows, columns):
    """{kind: file} for images of so many rows and columns, and for volumes of about as many points."""
    numbers, folder = random.Random(7), Path(folder)
    volume = (max(3, rows // 32), 17, columns // 2)
    paths = {kind: folder / f"{kind}-{rows}x{columns}.{'ppm' if kind == 'c' else 'npy'}" for kind in "gmvc"}
    save(paths["g"], (rows, columns), "f", (255 * numbers.random() for _ in range(rows * columns)))
    save(paths["m"], (rows, columns), "H", (numbers.randrange(1024) for _ in range(rows * columns)))
    save(paths["v"], volume, "f", (numbers.random() for _ in range(volume[0] * volume[1] * volume[2])))
    paths["c"].write_bytes(f"P6 {columns} {rows} 255\n".encode() + numbers.randbytes(3 * rows * columns))
    return paths


def runs(folder, extents, rough):
    """(name, words behind `tessera run`) of every program: images of `rough` extents where they must be even, else of
    `extents`."""
    odd, even = files(folder, *extents), files(folder, *rough)
    for place, programs in (("examples", EXAMPLES), ("filters", FILTERS)):
        for name, (kinds, more) in programs.items():
            paths = even if "rough" in more else odd
            words = [str(ROOT / place / f"{name}.forma"), *(str(paths[kind]) for kind in kinds)]
            for setting in more:
                words += ["-p", setting] if "=" in setting else []
            yield f"{place}/{name}", words
