#!/usr/bin/env python3
"""The wheel of OpenCV from PyPI (it carries IPP) on the arrays that tessera_bench left: opencv_wheel.py FOLDER CSV START THREADS SECONDS.

Appends rows with the columns of tessera_bench. Buffers rotate as there; outputs are preallocated and passed as dst; the results are
compared with the same reference.
"""

import csv
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path

try:
    import cv2
    import numpy as np
except ImportError as error:
    sys.exit(f"peer opencv-wheel is missing: {error}")

TYPES = {"uint8": np.uint8, "uint16": np.uint16, "int16": np.int16, "float": np.float32}
ROTATE_BYTES = 128 << 20


def random_weights(count, seed):
    """As in harness.cpp."""
    weights = np.empty(count, np.float32)
    state = seed
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xffffffff
        weights[i] = np.float32(state >> 8) * np.float32(1 / 16777216)
    total = np.float32(0)
    for w in weights:
        total = np.float32(total + w)
    return weights / total


def dense(k):
    weights = random_weights(k * k, 7).reshape(k, k)
    return lambda a, o: cv2.filter2D(a, -1, weights, dst=o)


def dilate(k):
    element = np.ones((k, k), np.uint8)
    return lambda a, o: cv2.dilate(a, element, dst=o)


def unsharp(a, o):
    cv2.GaussianBlur(a, (5, 5), 1.5, dst=o)
    return cv2.addWeighted(a, 1.7, o, -0.7, 0, dst=o)


class Chain:
    def __init__(self):
        self.a = self.b = None

    def __call__(self, image, out):
        self.a = cv2.GaussianBlur(image, (5, 5), 0, dst=self.a)
        self.b = cv2.Sobel(self.a, cv2.CV_32F, 1, 0, ksize=3, dst=self.b)
        return cv2.blur(self.b, (3, 3), dst=out)


def laplacian(image, out):
    images, details = [image], []
    for _ in range(4):
        images.append(cv2.pyrDown(images[-1]))
        details.append(cv2.subtract(images[-2], cv2.pyrUp(images[-1], dstsize=images[-2].shape[::-1])))
    total = images[4]
    for detail, gain in zip(details[::-1], (1.1, 1.2, 1.3, 1.5)):
        total = cv2.scaleAdd(detail, gain, cv2.pyrUp(total, dstsize=detail.shape[::-1]))
    np.copyto(out, total)
    return out


FILTERS = {
    "blur3_f32": lambda a, o: cv2.blur(a, (3, 3), dst=o),
    "box3_u8": lambda a, o: cv2.blur(a, (3, 3), dst=o),
    "conv3_f32": dense(3),
    "conv5_f32": dense(5),
    "conv7_f32": dense(7),
    "sobel_f32": lambda a, o: cv2.Sobel(a, cv2.CV_32F, 1, 0, ksize=3, dst=o),
    "sobel_u8": lambda a, o: cv2.Sobel(a, cv2.CV_16S, 1, 0, ksize=3, dst=o),
    "gauss3_u8": lambda a, o: cv2.GaussianBlur(a, (3, 3), 0, dst=o),
    "tiny_u8": lambda a, o: cv2.GaussianBlur(a, (3, 3), 0, dst=o),
    "gauss5_u8": lambda a, o: cv2.GaussianBlur(a, (5, 5), 0, dst=o),
    "median3_u8": lambda a, o: cv2.medianBlur(a, 3, dst=o),
    "median3_f32": lambda a, o: cv2.medianBlur(a, 3, dst=o),
    "dilate3_u8": dilate(3),
    "dilate15_u8": dilate(15),
    "bilateral5_f32": lambda a, o: cv2.bilateralFilter(a, 5, 0.1, 2, dst=o),
    "unsharp5_f32": unsharp,
    "chain_f32": Chain(),
    "harris_f32": lambda a, o: cv2.cornerHarris(a, 3, 3, 0.04, dst=o),
    "pyrdown_f32": lambda a, o: cv2.pyrDown(a, dst=o),
    "laplacian_f32": laplacian,
}


def load(path, about):
    return np.fromfile(path, TYPES[about["type"]]).reshape(about["shape"])


def measure(fn, inputs, outputs, seconds):
    times = []
    for i in range(2):
        fn(inputs[i % len(inputs)], outputs[i % len(outputs)])
    while (sum(times) < seconds or len(times) < 5) and len(times) < 2000 and sum(times) < 8:
        i = len(times) % len(inputs)
        begin = time.perf_counter()
        fn(inputs[i], outputs[i])
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3, min(times) * 1e3, len(times)


def busy():
    """CPU seconds of everybody but this process."""
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    own = os.times()
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK") - own.user - own.system


def main():
    folder, csv_path, start, threads, seconds = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5])
    copies = {(r["threads"], r["job"]): r["copy_ms"] for r in csv.DictReader(open(csv_path))} if Path(csv_path).exists() else {}
    print(f"peer opencv-wheel     {cv2.__version__} from PyPI", file=sys.stderr)
    good = True
    with open(csv_path, "a", newline="") as file:
        for n in (int(t) for t in threads.split(",")):
            cv2.setNumThreads(n)
            for path in sorted(folder.glob("*.json")):
                job, about = path.stem, json.loads(path.read_text())
                if job not in FILTERS or not (folder / f"{job}.in").exists():
                    continue
                image, reference = load(folder / f"{job}.in", about["in"]), load(folder / f"{job}.out", about["out"])
                sets = max(2, min(64, math.ceil(ROTATE_BYTES / (image.nbytes + reference.nbytes))))
                inputs, outputs = [image.copy() for _ in range(sets)], [np.zeros_like(reference) for _ in range(sets)]
                before, begin = busy(), time.perf_counter()
                median, least, runs = measure(FILTERS[job], inputs, outputs, seconds)
                others = max(0.0, (busy() - before) / (time.perf_counter() - begin))
                inner = tuple(slice(about["margin"], -about["margin"]) for _ in reference.shape)
                difference = np.abs(outputs[0][inner].astype(np.float64) - reference[inner])
                same = difference.mean() <= about["mean_limit"] and difference.max() <= about["max_limit"]
                good &= bool(same)
                file.write(f'{start},{job},opencv-wheel,{n},{median:.4f},{least:.4f},{copies.get((str(n), job), "0")},{runs},{others:.2f},'
                           f'{difference.mean():.3g},{difference.max():.3g},{"same" if same else "DIFFERENT"},"{cv2.__version__}"\n')
                file.flush()
                if not same:
                    print(f"{job}: opencv-wheel differs: mean {difference.mean():.3g}, max {difference.max():.3g}", file=sys.stderr)
    sys.exit(0 if good else 1)


main()
