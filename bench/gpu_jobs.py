"""The jobs of bench/gpu.py: programs of bench/jobs/, the arrays that they read, what is to be reached, and when two results count
as the same."""
from dataclasses import dataclass
from pathlib import Path

import numpy

TYPES = {"f32": numpy.float32, "u8": numpy.uint8, "u16": numpy.uint16}
RANGES = {"f32": 1, "u8": 255, "u16": 65535}
SENSOR = 1023  # the largest value of what a sensor gives
FLOAT_TOLERANCE = 2e-5  # of the largest value of our result


@dataclass(frozen=True)
class Job:
    name: str
    kind: str  # of the inputs
    bytes_out: float  # for every point of an input
    goal: float | None = None  # times C, the copy
    beside: str = ""  # another goal, in words
    tolerance: float | None = None  # of one point; None: of floats FLOAT_TOLERANCE, of integers nothing
    share: float = 0.0  # of the points may differ by more
    margin: int = 8  # points at every edge that are not compared: peers treat borders differently
    extents: tuple = ()  # of an input; without: those of the command line
    inputs: int = 1
    content: str = "random"
    program: str = ""  # where it is another than the name

    @property
    def file(self):
        return Path(__file__).resolve().parent / "jobs" / f"{self.program or self.name}.forma"

    @property
    def long(self):
        return bool(self.extents)

    def shape(self, size, shrink):
        return tuple(n // shrink for n in self.extents) if self.long else (size, size)

    def bytes(self, shape):
        return round(numpy.prod(shape) * (self.inputs * numpy.dtype(TYPES[self.kind]).itemsize + self.bytes_out))

    def tolerance_of(self, result):
        """The largest difference from our result, a file, that counts as none."""
        if self.tolerance is not None:
            return self.tolerance
        ours = numpy.load(result, mmap_mode="r")
        return FLOAT_TOLERANCE * float(abs(ours).max()) if ours.dtype.kind == "f" else 0.0


HALIDE, UNTILED = "1.5 Halide", "3 untiled"
JOBS = [
    Job("blur3_f32", "f32", 4, 1.12), Job("conv3_f32", "f32", 4, 1.12), Job("conv5_f32", "f32", 4, 1.15), Job("conv7_f32", "f32", 4, 1.25),
    # Averages of bytes may be rounded another way, by one.
    Job("gauss3_u8", "u8", 1, 1.15, tolerance=1), Job("gauss5_u8", "u8", 1, 1.3, tolerance=1), Job("box3_u8", "u8", 1, tolerance=1),
    Job("conv9_u8", "u8", 1, tolerance=1), Job("conv15_u8", "u8", 1, 1.5, tolerance=1),
    Job("sobel_u8", "u8", 2, 1.2), Job("sobel_f32", "f32", 4), Job("unsharp5_f32", "f32", 4, 1.2), Job("harris_f32", "f32", 4, 1.25),
    # A point is suppressed for a gradient that differs in its last bit.
    Job("canny_f32", "f32", 4, 1.4, share=1e-4),
    Job("median3_f32", "f32", 4, 1.3), Job("median3_u8", "u8", 1), Job("dilate3_u8", "u8", 1), Job("chain_f32", "f32", 4),
    Job("bilateral5_f32", "f32", 4), Job("pyrdown_f32", "f32", 1),
    # Long: borders of peers that mirror or clamp the image alone reach far down a pyramid.
    Job("laplacian_f32", "f32", 4, beside=HALIDE, margin=256, extents=(8192, 8192), content="photograph"),
    Job("local_laplacian_u16", "u16", 2, beside=HALIDE, tolerance=400, margin=640, extents=(4096, 4096), inputs=3, content="photograph"),
    Job("camera_u16", "u16", 3, beside=HALIDE, tolerance=4, margin=32, extents=(1968, 2592), content="sensor"),
    Job("camera_large_u16", "u16", 3, beside=HALIDE, tolerance=4, margin=32, extents=(8192, 8192), content="sensor", program="camera_u16"),
    Job("bilateral_grid_f32", "f32", 4, beside=HALIDE, tolerance=1e-3, margin=64, extents=(4096, 4096), content="photograph"),
    Job("interpolate_f32", "f32", 12, beside=HALIDE, margin=960, extents=(4096, 4096), inputs=4, content="photograph"),
    Job("exposure_fusion_u8", "u8", 3, beside=HALIDE, tolerance=1, margin=128, extents=(4096, 4096), inputs=12, content="photograph"),
    Job("jacobi_f32", "f32", 4, 25, margin=128, extents=(8192, 8192)),
    Job("heat7_f32", "f32", 4, beside=UNTILED, margin=16, extents=(512, 512, 512)),
    Job("heat27_f32", "f32", 4, beside=UNTILED, margin=16, extents=(512, 512, 512)),
]


def named(name):
    return next(job for job in JOBS if job.name == name)


def chosen(names):
    """The jobs of a list of names, parts of them up to an underscore (camera), `short`, `long` and `all`; raises KeyError."""
    groups = {"all": lambda job: True, "short": lambda job: not job.long, "long": lambda job: job.long}
    found = []
    for name in names:
        fits = groups.get(name, lambda job: job.name == name or job.name.startswith(f"{name}_"))
        more = [job for job in JOBS if fits(job)]
        if not more:
            raise KeyError(name)
        found += more
    return [job for job in JOBS if job in found]


# ---- data --------------------------------------------------------------------------------------------------------

def photograph(shape):
    """Smooth shading, hard-edged shapes and light noise, as the harness of `./dev bench` draws them."""
    rows, columns = shape
    y, x = numpy.arange(rows, dtype=numpy.float32)[:, None], numpy.arange(columns, dtype=numpy.float32)
    image = 0.5 + 0.25 * numpy.sin(6 * x / columns) * numpy.cos(5 * y / rows)
    random = numpy.random.default_rng(12345)
    for _ in range(max(20, rows * columns // 8000)):
        cy, cx, radius = int(random.random() * rows), int(random.random() * columns), 4 + int(60 * random.random() * random.random())
        value, alpha, disc = numpy.float32(random.random()), numpy.float32(0.3 + 0.7 * random.random()), random.random() < 0.5
        place = (slice(max(0, cy - radius), cy + radius), slice(max(0, cx - radius), cx + radius))
        cover = alpha * ((x[place[1]] - cx) ** 2 + (y[place[0]] - cy) ** 2 <= radius * radius) if disc else alpha
        image[place] += cover * (value - image[place])
    image += numpy.float32(0.03) * (random.random(shape, dtype=numpy.float32) + random.random(shape, dtype=numpy.float32) - 1)
    return numpy.clip(image, 0, 1, out=image)


class Data:
    """Inputs as files of a folder; jobs that read the same share them."""

    def __init__(self, folder):
        self.folder, self.drawn, self.files = folder, {}, {}

    def image(self, job, shape, number):
        key = job.kind, job.content, shape, number
        if key not in self.files:
            self.files[key] = f"{self.folder}/{'-'.join(map(str, (job.kind, job.content, *shape, number)))}.npy"
            span = SENSOR if job.content == "sensor" else RANGES[job.kind]
            numpy.save(self.files[key], (self.values(job.content, shape, number) * numpy.float32(span)).astype(TYPES[job.kind]))
        return self.files[key]

    def values(self, content, shape, number):
        if content == "random":
            return numpy.random.default_rng(1 + number).random(shape, dtype=numpy.float32)
        if shape not in self.drawn:
            self.drawn = {shape: photograph(shape)}  # one at a time
        return numpy.roll(self.drawn[shape].ravel(), -97 * number).reshape(shape)

    def inputs(self, job, shape):
        return [self.image(job, shape, number) for number in range(job.inputs)]
