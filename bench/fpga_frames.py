"""Frames for circuits: random ones, what the program makes of them on a processor, and how far words of a circuit are from that.

A frame is bytes, elements of an integer type in rows; arrays are read and written as .npy. Needs nothing but Python.
"""

import array
import ast
import random
import struct
import subprocess

CODES = {"uint8": ("B", "|u1"), "bool": ("B", "|b1"), "int16": ("h", "<i2"), "uint16": ("H", "<u2"), "int32": ("i", "<i4"), "uint32": ("I", "<u4"),
         "float": ("f", "<f4")}


def write_npy(path, type_name, shape, data, fields=()):
    """`fields`: the names of those of a struct, all of that type."""
    one = CODES[type_name][1]
    head = repr({"descr": [(field, one) for field in fields] or one, "fortran_order": False, "shape": tuple(shape)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def read_npy(path):
    """Elements, those of a struct one behind the other."""
    raw = path.read_bytes()
    start = 10 + struct.unpack("<H", raw[8:10])[0]
    head = ast.literal_eval(raw[10:start].decode())
    descr = head["descr"] if isinstance(head["descr"], str) else head["descr"][0][1]
    code = {descr: code for code, descr in CODES.values()}[descr]
    return array.array(code, raw[start:])


class Frames:
    """`count` random frames for every input stream of a circuit, as `explain --json` describes it."""

    def __init__(self, circuit, count, seed=1):
        self.circuit, self.count = circuit, count
        maker = random.Random(seed)
        self.inputs = {port["name"]: [frame_of(port, maker) for _ in range(count)] for port in circuit["inputs"]}

    def write(self, folder):
        for name, frames in self.inputs.items():
            (folder / f"{name}.raw").write_bytes(b"".join(frames))

    def words(self, frame, settings, folder):
        """The inputs and scalars of one frame as words of `tessera run`, with files in a folder."""
        ports = {port["name"]: port for port in self.circuit["inputs"]}
        words = []
        for name, fields in fields_of(list(ports)).items():
            first, path = ports[fields[0]], folder / f"{name}_{frame}.npy"
            planes = [array.array(CODES[first["type"]][0], self.inputs[f][frame]) for f in fields]
            inner = [field.rpartition("_")[2] for field in fields] if len(fields) > 1 else []
            write_npy(path, first["type"], (first["height"], first["width"]), interleaved(planes).tobytes(), inner)
            words.append(f"{name}={path}")
        return words + settings

    def expected(self, tessera, program, settings, folder):
        """{result: elements of all frames}, of what the program gives on the processor in the interpreter's order."""
        found = {result["name"]: None for result in self.circuit["results"]}
        outputs = fields_of(list(found))
        for k in range(self.count):
            command = [str(tessera), "run", str(program), "--exact", "-q", *self.words(k, settings, folder)]
            for name in outputs:
                command += ["-o", f"{name}={folder / f'{name}_ref.npy'}" if name != "result" else f"{folder / 'result_ref.npy'}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip())
            for name, fields in outputs.items():
                elements = read_npy(folder / f"{name}_ref.npy")
                for at, field in enumerate(fields):
                    part = elements[at::len(fields)]
                    found[field] = part if found[field] is None else found[field] + part
        return found


def frame_of(port, maker):
    return maker.randbytes(port["height"] * port["width"] * array.array(CODES[port["type"]][0]).itemsize)


def fields_of(names):
    """{argument: its streams}: a struct comes as one stream for every field, `image_r` and so on."""
    groups = {}
    for name in names:
        stem, _, field = name.rpartition("_")
        of_struct = stem and len(field) == 1 and sum(other.rpartition("_")[0] == stem for other in names) > 1
        groups.setdefault(stem if of_struct else name, []).append(name)
    return groups


def interleaved(planes):
    if len(planes) == 1:
        return planes[0]
    together = array.array(planes[0].typecode, bytes(planes[0].itemsize * len(planes[0]) * len(planes)))
    for at, plane in enumerate(planes):
        together[at::len(planes)] = plane
    return together


class Difference:
    """Between words of a circuit and what was expected, frame by frame."""

    def __init__(self, port, raw, expected, frames):
        code = CODES[port["type"]][0] if port["bytes"] < 8 else "q" if port["signed"] else "Q"
        self.port, self.points = port, port["height"] * port["width"]
        self.count = self.points * frames
        got, want = array.array(code, raw)[: self.count], expected[: self.count]
        self.largest, self.at = 0.0, []  # the largest difference, where one is larger than the bound: (index, value)
        self.exact = want.typecode == code
        if self.exact and got == want:
            return
        scale, bound = (1, 0) if self.exact else (2.0 ** -port["fraction"], port["error"])
        rounding = 0 if self.exact else 1e-5  # floats of the processor err by some units of their last place
        for k, (a, b) in enumerate(zip(got, want)):
            d = abs(a * scale - b)
            if d > self.largest:
                self.largest = d
            if d > bound + rounding * abs(b):
                self.at.append((k, a * scale))

    def lines(self, frame):
        """Those of a frame, as fpga_possible reads them."""
        return "".join(f"{self.port['name']} {k % self.points // self.port['width']} {k % self.port['width']} {v} {self.port['error']}\n"
                       for k, v in self.at if k // self.points == frame)
