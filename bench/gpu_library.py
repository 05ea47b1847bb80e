"""One peer of bench/gpu.py that is a Python library, in a process of its own: gpu_library.py PEER SPEC.json.

PEER: eager, inductor, cudnn (PyTorch) or cupy. The specification says which jobs, on which files, and whether anything is timed
(device cuda) or only compared on the processor (cpu, with SciPy in CuPy's place). Prints the versions, then a line of JSON per job.

PyTorch's texts compute the points whose windows lie inside, without a border: the library does a little less than we do and pays
for no padding. eager and inductor run the same text, as a user would write it for Inductor: sums of shifted slices.
"""
import itertools
import json
import math
import sys
import time

import numpy

SETS, MOST_RUNS = 4, 60


# ---- the jobs, PyTorch -------------------------------------------------------------------------------------------

def cut(x, j, i, rows, columns):
    """x moved by (j, i), on the points at least (rows, columns) from an edge."""
    return x[rows + j:x.shape[0] - rows + j, columns + i:x.shape[1] - columns + i]


def middle(x, margins):
    """Without so many points at both ends of every dimension."""
    return x[tuple(slice(margin, n - margin) for margin, n in zip(margins, x.shape))]


def margins(shape, margin):
    """The planes of a colour image are no border."""
    return [0 if k == 0 and len(shape) == 3 and n <= 4 else margin for k, n in enumerate(shape)]


def square(weights):
    """A job's table as rows; of a table that is no square, one weight."""
    k = math.isqrt(len(weights))
    return [weights[j * k:(j + 1) * k] for j in range(k)] if k and k * k == len(weights) else [[1.0]]


def weighted(weights, terms):
    """The fewest operations that PyTorch has for it."""
    total = None
    for w, x in zip(weights, terms):
        total = (x if w == 1 else w * x) if total is None else total.add(x, alpha=w)
    return total


def down(x, weights):
    reach = len(weights) // 2
    return weighted(weights, (cut(x, j, 0, reach, 0) for j in range(-reach, reach + 1)))


def along(x, weights):
    reach = len(weights) // 2
    return weighted(weights, (cut(x, 0, i, 0, reach) for i in range(-reach, reach + 1)))


def inner(x, margin):
    return cut(x, 0, 0, margin, margin)


def slope_x(x):
    return (cut(x, -1, 1, 1, 1) - cut(x, -1, -1, 1, 1)) + 2 * (cut(x, 0, 1, 1, 1) - cut(x, 0, -1, 1, 1)) + (cut(x, 1, 1, 1, 1) - cut(x, 1, -1, 1, 1))


def slope_y(x):
    return (cut(x, 1, -1, 1, 1) - cut(x, -1, -1, 1, 1)) + 2 * (cut(x, 1, 0, 1, 1) - cut(x, -1, 0, 1, 1)) + (cut(x, 1, 1, 1, 1) - cut(x, -1, 1, 1, 1))


def block(x):
    return along(down(x, [1, 1, 1]), [1, 1, 1])


def heat(x, weights):
    """Ten steps in a volume; weights of the point, its neighbours across faces, edges and corners, as many as there are."""
    for _ in range(10):
        terms = {}
        for offsets in itertools.product((-1, 0, 1), repeat=3):
            far = sum(map(abs, offsets))
            term = x[tuple(slice(1 + k, n - 1 + k) for k, n in zip(offsets, x.shape))]
            if far < len(weights):
                terms[far] = terms[far] + term if far in terms else term
        x = weighted(weights, (terms[far] for far in sorted(terms)))
    return x


BINOMIAL = [0.0625, 0.25, 0.375, 0.25, 0.0625]


def torch_jobs(torch, weights):
    """{job: f(image)}; `weights`: the job's table, in one row."""
    small, large = torch.minimum, torch.maximum

    def dense(x):
        k = math.isqrt(len(weights))
        r = k // 2
        return weighted(weights, (cut(x, j - r, i - r, r, r) for j in range(k) for i in range(k)))

    def gauss(x, w, shift):
        return ((along(down(x.to(torch.int32), w), w) + (1 << (shift - 1))) >> shift).to(torch.uint8)

    def harris(x):
        ix, iy = slope_x(x) * (1 / 12), slope_y(x) * (1 / 12)
        xx, xy, yy = block(ix * ix), block(ix * iy), block(iy * iy)
        return xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)

    def canny(x):
        smooth = along(down(x, BINOMIAL), BINOMIAL)
        gx, gy = slope_x(smooth), slope_y(smooth)
        p = torch.sqrt(gx * gx + gy * gy)
        gx, gy = inner(gx, 1), inner(gy, 1)

        def pair(j, i):
            return large(cut(p, -j, -i, 1, 1), cut(p, j, i, 1, 1))
        diagonal = torch.where(gx * gy < 0, pair(1, -1), pair(1, 1))
        beside = torch.where(gy.abs() < 0.41421356 * gx.abs(), pair(0, 1),
                             torch.where(gy.abs() > 2.41421356 * gx.abs(), pair(1, 0), diagonal))
        p = inner(p, 1)
        return torch.where(p >= beside, p, 0.0)

    def median(x):
        def three(a, b, c):
            low, high = small(a, b), large(a, b)
            return small(low, c), large(low, small(high, c)), large(high, c)

        def middle(a, b, c):
            return large(small(a, b), small(large(a, b), c))
        low, mid, high = three(*(cut(x, j, 0, 1, 0) for j in (-1, 0, 1)))

        def shifts(v):
            return [cut(v, 0, i, 0, 1) for i in (-1, 0, 1)]
        a, b, c = shifts(low)
        d, e, f = shifts(high)
        return middle(large(large(a, b), c), middle(*shifts(mid)), small(small(d, e), f))

    def dilate(x):
        rows = large(large(cut(x, -1, 0, 1, 0), x[1:-1]), cut(x, 1, 0, 1, 0))
        return large(large(cut(rows, 0, -1, 0, 1), rows[:, 1:-1]), cut(rows, 0, 1, 0, 1))

    def bilateral(x):
        centre, total, weight = inner(x, 2), 0, 0
        for j in range(-2, 3):
            for i in range(-2, 3):
                if abs(j) + abs(i) <= 2:
                    v = cut(x, j, i, 2, 2)
                    w = torch.exp(-50 * (v - centre) * (v - centre) - (j * j + i * i) * 0.125)
                    total, weight = total + w * v, weight + w
        return total / weight

    def pyramid(x):
        h, w = x.shape[0] // 2 - 2, x.shape[1] // 2 - 2
        rows = weighted(BINOMIAL, (x[k:k + 2 * h - 1:2] for k in range(5)))
        return weighted(BINOMIAL, (rows[:, k:k + 2 * w - 1:2] for k in range(5)))

    return {
        "blur3_f32": lambda x: block(x) * (1 / 9), "conv3_f32": dense, "conv5_f32": dense, "conv7_f32": dense,
        "gauss3_u8": lambda x: gauss(x, [1, 2, 1], 4), "gauss5_u8": lambda x: gauss(x, [1, 4, 6, 4, 1], 8),
        "box3_u8": lambda x: ((block(x.to(torch.int32)) + 4) // 9).to(torch.uint8),
        "sobel_u8": lambda x: slope_x(x.to(torch.int16)), "sobel_f32": slope_x,
        "unsharp5_f32": lambda x: 1.7 * inner(x, 2) - 0.7 * along(down(x, weights), weights),
        "harris_f32": harris, "canny_f32": canny, "median3_f32": median, "median3_u8": median, "dilate3_u8": dilate,
        "chain_f32": lambda x: block(slope_x(along(down(x, BINOMIAL), BINOMIAL))) * (1 / 9),
        "bilateral5_f32": bilateral, "pyrdown_f32": pyramid,
        "heat7_f32": lambda x: heat(x, weights), "heat27_f32": lambda x: heat(x, weights),
    }


def cudnn_jobs(torch, weights, device):
    """Jobs that are one convolution of floats, or one per axis."""
    def convolution(rows, **more):
        kernel = torch.tensor(rows, dtype=torch.float32, device=device)[None, None]
        pad = tuple(n // 2 for n in kernel.shape[2:])
        return lambda x: torch.nn.functional.conv2d(x[None, None], kernel, padding=pad, **more)[0, 0]

    dense = convolution(square(weights))
    return {"blur3_f32": convolution([[1 / 9] * 3] * 3), "conv3_f32": dense, "conv5_f32": dense, "conv7_f32": dense,
            "sobel_f32": convolution([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]),
            "pyrdown_f32": convolution([[a * b for a in BINOMIAL] for b in BINOMIAL], stride=2)}


# ---- the jobs, CuPy ----------------------------------------------------------------------------------------------

def cupy_jobs(xp, nd, weights):
    """Jobs for which CuPy has the filter; all take the edge's points beyond it."""
    def correlation(rows):
        w = xp.asarray(rows, dtype="float32")
        return lambda x: nd.correlate(x, w, mode="nearest")

    def outer(line, scale):
        return [[a * b / scale for a in line] for b in line]
    dense = correlation(square(weights))

    def steps(count, kernel):
        w = xp.asarray(kernel, dtype="float32")

        def all_of(x):
            for _ in range(count):
                x = nd.correlate(x, w, mode="nearest")
            return x
        return all_of

    def by_distance():
        """Weights of a cube; of those that are not given, none."""
        line, given = (1, 0, 1), [*weights, 0, 0, 0, 0]
        return [[[given[a + b + c] for a in line] for b in line] for c in line]

    def unsharp(x):
        return 1.7 * x - 0.7 * nd.gaussian_filter(x, 1.5, mode="nearest", truncate=1.4)
    jobs = {name: dense for name in ("conv3_f32", "conv5_f32", "conv7_f32")}
    return jobs | {
        "blur3_f32": lambda x: nd.uniform_filter(x, 3, mode="nearest"),
        "gauss3_u8": correlation(outer([1, 2, 1], 16)), "gauss5_u8": correlation(outer([1, 4, 6, 4, 1], 256)),
        "box3_u8": correlation(outer([1, 1, 1], 9)),
        "sobel_u8": lambda x: nd.sobel(x, axis=1, output=xp.int16, mode="nearest"),
        "sobel_f32": lambda x: nd.sobel(x, axis=1, mode="nearest"), "unsharp5_f32": unsharp,
        "median3_f32": lambda x: nd.median_filter(x, 3, mode="nearest"),
        "median3_u8": lambda x: nd.median_filter(x, 3, mode="nearest"),
        "dilate3_u8": lambda x: nd.maximum_filter(x, 3, mode="nearest"),
        "jacobi_f32": steps(100, [[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]]), "heat7_f32": steps(10, by_distance()), "heat27_f32": steps(10, by_distance()),
    }


# ---- libraries ---------------------------------------------------------------------------------------------------

class Torch:
    def __init__(self, peer, device):
        import torch
        self.torch, self.peer, self.device = torch, peer, device
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # another arithmetic
        torch.backends.cudnn.benchmark = True
        self.version = f"PyTorch {torch.__version__}"
        if peer == "cudnn":
            self.version += f", cuDNN {torch.backends.cudnn.version()}"
        if peer == "inductor":
            import importlib.metadata
            self.version += f", Triton {importlib.metadata.version('triton')}"

    def function(self, job, weights):
        found = cudnn_jobs(self.torch, weights, self.device) if self.peer == "cudnn" else torch_jobs(self.torch, weights)
        if self.peer != "inductor" or job not in found:
            return found.get(job)
        self.torch._dynamo.reset()
        return self.torch.compile(found[job], fullgraph=True, dynamic=False, mode="max-autotune-no-cudagraphs")

    def load(self, path):
        return self.torch.from_numpy(numpy.load(path)).to(self.device)

    def copy(self, x):
        return x.clone()

    def different(self, result, ours, tolerance):
        distance = (result.to(self.torch.float32) - ours.to(self.torch.float32)).abs()
        return float(distance.max()), float((~(distance <= tolerance)).to(self.torch.float32).mean())

    def wait(self):
        self.torch.cuda.synchronize()

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def between(self, a, b):
        return a.elapsed_time(b)

    def spin(self, cycles):
        self.torch.cuda._sleep(cycles)


class CuPy:
    def __init__(self, device):
        if device == "cpu":
            import scipy
            import scipy.ndimage
            self.xp, self.nd, self.version = numpy, scipy.ndimage, f"SciPy {scipy.__version__} in place of CuPy"
        else:
            import cupy
            import cupyx.scipy.ndimage
            self.xp, self.nd, self.version = cupy, cupyx.scipy.ndimage, f"CuPy {cupy.__version__}"
            self.waiting = cupy.RawKernel(r"""extern "C" __global__ void spin(long long cycles) {
                const long long start = clock64(); while (clock64() - start < cycles) {} }""", "spin")

    def function(self, job, weights):
        return cupy_jobs(self.xp, self.nd, weights).get(job)

    def load(self, path):
        return self.xp.asarray(numpy.load(path))

    def copy(self, x):
        return x.copy()

    def different(self, result, ours, tolerance):
        distance = self.xp.abs(result.astype(self.xp.float32) - ours.astype(self.xp.float32))
        return float(distance.max()), float((~(distance <= tolerance)).mean())

    def wait(self):
        self.xp.cuda.Device().synchronize()

    def event(self):
        return self.xp.cuda.Event()

    def between(self, a, b):
        return self.xp.cuda.get_elapsed_time(a, b)

    def spin(self, cycles):
        self.waiting((1,), (1,), (numpy.int64(cycles),))


# ---- measuring ---------------------------------------------------------------------------------------------------

def compare(library, result, ours, tolerance, margin):
    """Over the points at least so far from every edge; a result without its border lies in the middle."""
    lost = [(a - b) // 2 for a, b in zip(ours.shape, result.shape)]
    if any(n < 0 or n > margin or 2 * n + b != a for n, a, b in zip(lost, ours.shape, result.shape)):
        raise ValueError(f"a result of {tuple(result.shape)}, ours has {tuple(ours.shape)}")
    return library.different(middle(result, [margin - n for n in lost]), middle(ours, [margin] * len(lost)), tolerance)


def median_ms(library, f, image):
    """All runs are put into the queue while the device waits, so that launches from Python are no part of the time."""
    images = [image] + [library.copy(image) for _ in range(SETS - 1)]
    results = [None] * SETS  # keeps the memory of the last results, so that these rotate as well

    def times(runs):
        events = [(library.event(), library.event()) for _ in range(runs)]
        library.wait()
        library.spin(600_000 * runs)
        for k, (a, b) in enumerate(events):
            a.record()
            results[k % SETS] = f(images[k % SETS])
            b.record()
        library.wait()
        return sorted(library.between(a, b) for a, b in events)[runs // 2]
    first = times(5)
    return times(max(10, min(MOST_RUNS, int(400 / first))))


def measure(library, spec, job, images):
    f = library.function(job["job"], job["weights"])
    if f is None:
        return {"none": True}
    path = job["inputs"][0]
    if path not in images:
        images.clear()
        images[path] = library.load(path)
    image = images[path]
    start = time.time()
    result = f(image)
    if spec["device"] == "cuda":
        library.wait()
    found = {"first_s": round(time.time() - start, 2)}
    ours = library.load(job["result"])
    found["difference"], found["share"] = compare(library, result, ours, job["tolerance"], job["margin"])
    found["verdict"] = "same" if found["share"] <= job["share"] else "DIFFERENT"
    del ours, result
    if spec["device"] == "cuda":
        found["ms"] = median_ms(library, f, image)
    return found


def alive(library, spec):
    try:
        if spec["device"] == "cuda":
            library.wait()
        return True
    except Exception:
        return False


def main():
    peer, spec = sys.argv[1], json.load(open(sys.argv[2]))
    library = CuPy(spec["device"]) if peer == "cupy" else Torch(peer, spec["device"])
    print(json.dumps({"version": library.version}), flush=True)
    images = {}
    for job in spec["jobs"]:
        try:
            found = measure(library, spec, job, images)
        except Exception as error:  # whatever a library throws is a note in the table, not the end of the run
            if not alive(library, spec):
                sys.exit(f"{type(error).__name__}: {error}")  # the next jobs get another process
            found = {"error": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:300]}
        print(json.dumps({"job": job["job"], **found}), flush=True)


if __name__ == "__main__":
    main()
