"""What the tests of chunked arrays share: programs of every kind, and chunkings at random."""

import contextlib
import importlib.util
import tempfile

import numpy as np
import tessera as ts

SHAPES = {1: (97,), 2: (41, 53), 3: (19, 23, 26), 4: (9, 11, 8, 13)}
BORDERS = ("mirror", "symmetric", "clamped", "wrap", "constant(3)", "none")


def stencil_program(rank, border, reach, seed=0):
    """Two stages with neighbours at random places up to ``reach`` points away, the farthest among them."""
    random = np.random.default_rng(seed)

    def stage(name):
        places = [random.integers(-reach, reach + 1, rank) for _ in range(4)] + [[-reach] * rank, [reach] * rank]
        terms = [f"{k + 1} * X@[{','.join(map(str, p))}]" for k, p in enumerate(places)]
        return f"stencil {name}(vector#{rank} float X) {{ return ({' + '.join(terms)}) / 7; }}"

    names = ", ".join("KLMN"[-rank:])
    use = "" if border == "none" else f":{border}"
    return ts.Program.from_text(
        f"{stage('f')} {stage('g')} parameter {names}; vector#{rank} float image[{names.replace(' ', '')}];"
        f"return g(f(image{use}){use});"
    )


COORDINATES = """
stencil f(vector#2 float X) { return X@[-1,0] + 2 * X + X@[0,2] + coord(1) + 3 * coord(0); }
parameter M, N; vector#2 float image[M,N]; return f(image:mirror);
"""
PLANES = """
struct rgb { uint8 r; uint8 g; uint8 b; }
stencil f(vector#2 rgb X) { return struct rgb(X.b, X@[0,1].g, X@[2,0].r); }
parameter M, N; vector#2 rgb image[M,N]; return f(image:wrap);
"""
STRUCTS = """
struct mark { float value; uint8 high; }
stencil marks(vector#2 float X) { return struct mark(X@[0,1], cast<uint8>(X > 0.5)); }
parameter M, N; vector#2 float image[M,N]; return marks(image:clamped);
"""
OF_STRUCTS = """
struct mark { float value; uint8 high; }
stencil f(vector#2 mark X) { return X@[-2,1].value + X.high; }
parameter M, N; vector#2 mark image[M,N]; return f(image:mirror);
"""
GLOBAL = """
stencil f(vector#2 float X) { return X@[1,0]; } stencil g(vector#2 float X, float m) { return X / m; }
parameter M, N; vector#2 float image[M,N]; m = max(image); a = f(image:clamped);
return shifted = a, scaled = g(image, m);
"""
LOWER = """
stencil f(vector#3 float X, vector#2 float W, float gain) { return X@[1,-2,0] * W@[0,1] + gain * X@[0,0,3]; }
parameter L, M, N; vector#3 float image[L,M,N]; vector#2 float weights[M,N]; float gain;
return f(image:mirror, weights:wrap, gain);
"""


@ts.pipeline
def sampled(image):
    """A pyramid down and up again."""
    b = image.mirror()
    smooth = ts.stage((b[0, -1] + 2 * b + b[1, 0]) / 4)
    half = ts.stage(smooth.clamped().every(2, 2) * 1.0)
    return {"half": half, "detail": smooth - b[2, 2]}


@ts.pipeline
def composed(image):
    b = image.mirror()
    soft = ts.stage((b[0, -1] + b + b[1, 0]) / 3)
    return ts.compose([(soft, ((r, 2), (c, 2))) for r in (0, 1) for c in (0, 1)])


@ts.pipeline
def several(image, amount=0.8):
    b = image.mirror()
    smooth = ts.stage((b[0, -1] + b[2, 0] + b[-3, 1]) / 3)
    return {"sharp": image + amount * (image - smooth), "smooth": smooth, "valid": image[0, 2] - image[3, 0]}


@ts.pipeline(channel_axis=0)
def planes(photo):
    return photo.mirror().map(lambda c: (c[0, -1] + 2 * c + c[1, 0]) / 4)


def volume(shape, seed=1):
    return np.random.default_rng(seed).random(shape, np.float32)


def random_chunks(random, shape, most=6):
    """Chunks of any extents along each dimension."""
    return tuple(
        tuple(
            np.diff(
                [0, *np.sort(random.choice(np.arange(1, n), min(n - 1, random.integers(0, most)), False)), n]
            ).tolist()
        )
        for n in shape
    )


def bits(test, found, wanted):
    """Equal, to the bit."""
    test.assertEqual((found.dtype, found.shape), (wanted.dtype, wanted.shape))
    a, b = (np.ascontiguousarray(x).view(np.uint8) for x in (found, wanted))
    if wanted.dtype.names is None:
        test.assertTrue(np.array_equal(a, b), "bits differ")
    else:
        for n in wanted.dtype.names:
            np.testing.assert_array_equal(found[n], wanted[n])


def folder(test):
    made = tempfile.TemporaryDirectory()
    test.addCleanup(made.cleanup)
    return made.name


@contextlib.contextmanager
def cluster(test):
    """A client of two workers of Dask, processes of one thread each."""
    if not importlib.util.find_spec("distributed"):
        test.skipTest("no distributed")
    import distributed

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(n_workers=2, **options) as workers, distributed.Client(workers) as client:
        yield client
