#!/usr/bin/env python3
"""Turns a NIfTI-1 volume into a NumPy file that `tessera run` reads: nifti.py IN.nii OUT.npy

Values are scaled to 0..1 and stored as float, slices first. Needs nothing but Python.
"""

import array
import gzip
import struct
import sys

TYPES = {2: "B", 4: "h", 8: "i", 16: "f", 64: "d", 256: "b", 512: "H"}


def main(source, target):
    opener = gzip.open if source.endswith(".gz") else open
    with opener(source, "rb") as file:
        data = file.read()
    order = "<" if struct.unpack_from("<i", data, 0)[0] == 348 else ">"
    if struct.unpack_from(order + "i", data, 0)[0] != 348:
        sys.exit(f"{source} is not a NIfTI-1 file")
    rank, *extents = struct.unpack_from(order + "8h", data, 40)
    code = struct.unpack_from(order + "h", data, 70)[0]
    if code not in TYPES:
        sys.exit(f"{source} has samples of type {code}, which this script does not know")
    extents = [n for n in extents[:rank] if n > 1]
    count = 1
    for n in extents:
        count *= n
    offset = int(struct.unpack_from(order + "f", data, 108)[0])
    values = struct.unpack_from(f"{order}{count}{TYPES[code]}", data, offset)
    low, high = min(values), max(values)
    scaled = array.array("f", ((v - low) / ((high - low) or 1) for v in values))
    if sys.byteorder == "big":
        scaled.byteswap()
    shape = "(" + "".join(f"{n}, " for n in reversed(extents)) + ")"  # NIfTI counts the fastest dimension first
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(target, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + scaled.tobytes())


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2])
