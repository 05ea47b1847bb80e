"""Tessera: a compiler of filters for images and volumes.

::

    import tessera as ts

    smooth = ts.gaussian(photo, sigma=2.5, border="wrap", channel_axis=-1)
    canny = ts.Program("canny.forma", parameters={"sigma": 2})
    edges = canny(photo)
    canny.explain(photo)

    @ts.pipeline
    def blur(image):
        return (image.mirror()[0, -1] + image + image.mirror()[0, 1]) / 3

    blur(photo)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tessera._builder import (
    DType,
    bool_,
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i16,
    i32,
    int16,
    int32,
    u8,
    u16,
    u32,
    uint8,
    uint16,
    uint32,
)
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
from tessera._filter_types import FilterInfo, OptionInfo, explain_filter, filter, filters, fwhm
from tessera._filters_detail import canny, harris, laplacian, sobel, unsharp
from tessera._filters_frequency import bandpass, highpass, lowpass
from tessera._filters_levels import clahe, equalize, otsu
from tessera._filters_local import deviation, local_contrast, local_threshold, sauvola
from tessera._filters_morphology import blackhat, closing, morphological_gradient, opening, tophat
from tessera._filters_order import percentile, rank
from tessera._filters_scale import (
    difference_of_gaussians,
    gaussian_derivative,
    laplacian_of_gaussian,
    structure_tensor,
)
from tessera._filters_smooth import bilateral, box, gaussian, median, nonlocal_means
from tessera._filters_window import convolve, correlate, dilate, erode
from tessera._functions import (
    abs,
    acos,
    asin,
    atan,
    atan2,
    cbrt,
    ceil,
    clip,
    cos,
    cosh,
    exp,
    exp2,
    floor,
    fmod,
    hypot,
    isnan,
    log,
    log2,
    log10,
    maximum,
    minimum,
    round,
    saturate,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from tessera._images import Image, Planes, Total, compose, coord, extent, ifft, repeat, stage
from tessera._parameters import Constant, Size, size
from tessera._ports import Port
from tessera._program import Program, Run
from tessera._regions import InputWindow, Locality, Reach
from tessera._results import Emitted, Explanation, Outputs
from tessera._store import store
from tessera._tasks import Task, Tasks, tasks
from tessera._trace import Pipeline, pipeline
from tessera._values import Value, cast, power, rint, where
from tessera._windows import Table, over, table

pow = power

__version__: str

__all__ = [
    "ArgumentError",
    "Cancel",
    "Cancelled",
    "CompileError",
    "Constant",
    "DType",
    "DeviceError",
    "Diagnostic",
    "Emitted",
    "Error",
    "Explanation",
    "FilterInfo",
    "Image",
    "InputWindow",
    "InternalError",
    "IoError",
    "Locality",
    "OptionInfo",
    "Outputs",
    "Pipeline",
    "Planes",
    "Port",
    "Program",
    "Reach",
    "Run",
    "Size",
    "Stream",
    "Table",
    "Task",
    "Tasks",
    "Total",
    "Value",
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "bandpass",
    "bilateral",
    "blackhat",
    "bool_",
    "box",
    "canny",
    "cast",
    "cbrt",
    "ceil",
    "clahe",
    "clip",
    "closing",
    "compose",
    "convolve",
    "coord",
    "correlate",
    "cos",
    "cosh",
    "deviation",
    "difference_of_gaussians",
    "dilate",
    "equalize",
    "erode",
    "exp",
    "exp2",
    "explain_filter",
    "extent",
    "f16",
    "f32",
    "f64",
    "filter",
    "filters",
    "float16",
    "float32",
    "float64",
    "floor",
    "fmod",
    "fwhm",
    "gaussian",
    "gaussian_derivative",
    "harris",
    "highpass",
    "hypot",
    "i16",
    "i32",
    "ifft",
    "int16",
    "int32",
    "isnan",
    "laplacian",
    "laplacian_of_gaussian",
    "local_contrast",
    "local_threshold",
    "log",
    "log2",
    "log10",
    "lowpass",
    "maximum",
    "median",
    "minimum",
    "morphological_gradient",
    "nonlocal_means",
    "opening",
    "otsu",
    "over",
    "percentile",
    "pipeline",
    "pow",
    "power",
    "rank",
    "repeat",
    "rint",
    "round",
    "saturate",
    "sauvola",
    "sin",
    "sinh",
    "size",
    "sobel",
    "sqrt",
    "stage",
    "store",
    "structure_tensor",
    "table",
    "tan",
    "tanh",
    "tasks",
    "tophat",
    "trunc",
    "u8",
    "u16",
    "u32",
    "uint8",
    "uint16",
    "uint32",
    "unsharp",
    "where",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from tessera._core import version

        return version()
    if name == "torch":  # loads torch: when it is asked for
        return import_module("tessera.torch")
    raise AttributeError(f"module 'tessera' has no attribute {name!r}")
