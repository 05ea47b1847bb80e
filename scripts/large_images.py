#!/usr/bin/env python3
"""large_images.py TESSERA [FOLDER]: filters of images of 2^31 elements and more, where 32 bits would wrap. Takes 5 GiB of memory, 5 GiB in
FOLDER (a temporary one) for as long as it runs, and a minute or two. Needs nothing but Python.

Images are bytes, 0 but for a few points that lie before, at and behind element 2^31; a box of three makes 3 of each 9, and nothing else anywhere.
"""

import mmap
import struct
import subprocess
import sys
import tempfile
from pathlib import Path


def header(shape):
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': " + str(shape) + ", }"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def check(tessera, folder, shape, radius):
    source, target = folder / "in.npy", folder / "out.npy"
    count = 1
    for n in shape:
        count *= n
    row = shape[-1]
    marks = [5, 2**31 - 9, 2**31, 2**31 + 3, count - 3]  # three apart or more, none near an end of a row, which mirrors
    start = header(shape)
    with open(source, "wb") as file:  # with holes
        file.truncate(len(start) + count)
        file.write(start)
        for at in marks:
            assert 1 < at % row < row - 2
            file.seek(len(start) + at)
            file.write(b"\x09")
    subprocess.run([tessera, "filter", "box", source, "-o", target, "--radius", radius, "-q"], check=True)
    expected = {at + k for at in marks for k in (-1, 0, 1)}
    found = set()
    with open(target, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        begin = len(data) - count
        step = 1 << 24
        empty = bytes(step)
        for at in range(0, count, step):
            part = data[begin + at : min(begin + at + step, begin + count)]
            if part != empty[: len(part)]:
                found |= {at + k for k, value in enumerate(part) if value == 3}
                assert all(value in (0, 3) for value in part)
    assert found == expected, (sorted(found), sorted(expected))
    print(f"{'x'.join(map(str, shape))}: {count} elements, right")
    source.unlink()
    target.unlink()


def main(tessera, folder=None):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        tessera = str(Path(tessera).resolve())
        check(tessera, Path(place), (2**31 + 21,), "1")
        check(tessera, Path(place), (65538, 32771), "0,1")
        check(tessera, Path(place), (1290, 1291, 1300), "0,0,1")


if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
main(*sys.argv[1:])
