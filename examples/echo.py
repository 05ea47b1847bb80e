#!/usr/bin/env python3
"""Makes a series of volumes as an ultrasound scanner would show them: echo.py OUT.npy [MOMENTS SLICES ROWS COLUMNS]

A beating ellipsoid with a wall, in speckle: values from 0 to 1 on a logarithmic scale, float, moments first (usually 8 x 24 x 48 x 48).
Needs nothing but Python.
"""

import array
import math
import random
import struct
import sys


def series(moments, slices, rows, columns):
    chance = random.Random(1)
    for t in range(moments):
        beat = 1 + 0.12 * math.sin(2 * math.pi * t / moments)
        for z in range(slices):
            for y in range(rows):
                for x in range(columns):
                    across = [(2 * (i + 0.5) / n - 1) / s for i, n, s in ((z, slices, 0.8), (y, rows, 0.6), (x, columns, 0.5))]
                    r = math.sqrt(sum(a * a for a in across)) / beat
                    echo = 1.0 if 0.9 < r < 1.15 else 0.05 if r <= 0.9 else 0.25  # wall, blood, tissue
                    speckle = -math.log(1 - chance.random())  # the power of many echoes that meet
                    yield min(1.0, max(0.0, 0.75 + 0.15 * math.log10(echo * echo * speckle + 1e-9)))


def main(target, *extents):
    shape = tuple(int(n) for n in extents) or (8, 24, 48, 48)
    values = array.array("f", series(*shape))
    if sys.byteorder == "big":
        values.byteswap()
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + str(shape) + ", }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(target, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


if len(sys.argv) not in (2, 6):
    sys.exit(__doc__)
main(*sys.argv[1:])
