"""Tessera: a compiler of filters for images and volumes.

::

    import tessera as ts

    smooth = ts.gaussian(photo, sigma=2.5, border="wrap", channel_axis=-1)
    canny = ts.Program("canny.forma", parameters={"sigma": 2})
    edges = canny(photo)
    canny.explain(photo)
"""

from __future__ import annotations

from tessera._core import Cancel, Stream
from tessera._errors import (
    ArgumentError,
    Cancelled,
    CompileError,
    DeviceError,
    Diagnostic,
    Error,
    InternalError,
    IoError,
)
from tessera._filters import (
    FilterInfo,
    OptionInfo,
    bandpass,
    bilateral,
    box,
    canny,
    convolve,
    correlate,
    dilate,
    erode,
    explain_filter,
    filter,
    filters,
    fwhm,
    gaussian,
    harris,
    highpass,
    laplacian,
    lowpass,
    median,
    sobel,
    unsharp,
)
from tessera._program import Emitted, Explanation, Outputs, Port, Program, Run

__version__: str

__all__ = [
    "ArgumentError",
    "Cancel",
    "Cancelled",
    "CompileError",
    "DeviceError",
    "Diagnostic",
    "Emitted",
    "Error",
    "Explanation",
    "FilterInfo",
    "InternalError",
    "IoError",
    "OptionInfo",
    "Outputs",
    "Port",
    "Program",
    "Run",
    "Stream",
    "bandpass",
    "bilateral",
    "box",
    "canny",
    "convolve",
    "correlate",
    "dilate",
    "erode",
    "explain_filter",
    "filter",
    "filters",
    "fwhm",
    "gaussian",
    "harris",
    "highpass",
    "laplacian",
    "lowpass",
    "median",
    "sobel",
    "unsharp",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from tessera._core import version

        return version()
    raise AttributeError(f"module 'tessera' has no attribute {name!r}")
