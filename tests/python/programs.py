"""Programs that the tests share."""

import numpy as np

BLUR = """
parameter M, N;
vector#2 float image[M,N];
stencil blur(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }
return blur(image:mirror);
"""

SCALED = """
parameter M, N;
vector#2 float image[M,N];
float gain;
int shift;
stencil scaled(vector#2 float X, float g, int s) { return X * g + s; }
return scaled(image, gain, shift);
"""

TWO = """
parameter M, N;
vector#2 uint8 image[M,N];
stencil twice(vector#2 uint8 X) { return cast<int32>(X) * 2; }
stencil half_of(vector#2 uint8 X) { return cast<float>(X) / 2; }
return double_of = twice(image), rest = half_of(image);
"""

COLOUR = """
parameter M, N;
struct rgb { uint8 r; uint8 g; uint8 b; }
vector#2 rgb image[M,N];
stencil grey(vector#2 rgb X) { return (cast<float>(X.r) + X.g + X.b) / 3; }
return grey(image);
"""

SLOW = """
parameter M, N;
vector#2 float image[M,N];
stencil middle(vector#2 float X) { return median(i=-6..6, j=-6..6) (X@[i,j]); }
return middle(image:mirror);
"""


def photo(shape=(40, 50), dtype=np.float32, seed=0):
    numbers = np.random.default_rng(seed).random(shape)
    if np.dtype(dtype).kind in "iu":
        return (numbers * 255).astype(dtype)
    return numbers.astype(dtype)


def blurred(image):
    """What BLUR makes."""
    wide = np.pad(image, ((1, 1), (0, 0)), mode="reflect")
    return (wide[:-2] + wide[1:-1] + wide[2:]) / 3
