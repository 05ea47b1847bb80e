"""The filters and the morphology of ``scipy.ndimage``, with its names, arguments and types, computed by Tessera.

``from tessera import ndimage`` in place of ``from scipy import ndimage``. docs/ndimage.md says what is not here and what differs.
"""

from __future__ import annotations

from typing import NoReturn

from tessera.ndimage._binary import (
    binary_closing,
    binary_dilation,
    binary_erosion,
    binary_fill_holes,
    binary_hit_or_miss,
    binary_opening,
    binary_propagation,
    generate_binary_structure,
    iterate_structure,
)
from tessera.ndimage._box import convolve, correlate, uniform_filter, uniform_filter1d
from tessera.ndimage._extremes import maximum_filter, maximum_filter1d, minimum_filter, minimum_filter1d
from tessera.ndimage._fourier import fourier_ellipsoid, fourier_gaussian, fourier_shift, fourier_uniform
from tessera.ndimage._linear import (
    convolve1d,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    generic_gradient_magnitude,
    generic_laplace,
    laplace,
    prewitt,
    sobel,
)
from tessera.ndimage._morphology import (
    black_tophat,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    morphological_gradient,
    morphological_laplace,
    white_tophat,
)
from tessera.ndimage._rank import median_filter, percentile_filter, rank_filter

__all__ = [
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_fill_holes",
    "binary_hit_or_miss",
    "binary_opening",
    "binary_propagation",
    "black_tophat",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "fourier_ellipsoid",
    "fourier_gaussian",
    "fourier_shift",
    "fourier_uniform",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generate_binary_structure",
    "generic_gradient_magnitude",
    "generic_laplace",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "iterate_structure",
    "laplace",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
    "morphological_laplace",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
    "white_tophat",
]

_ELSEWHERE = (
    "affine_transform",
    "center_of_mass",
    "distance_transform_bf",
    "distance_transform_cdt",
    "distance_transform_edt",
    "extrema",
    "find_objects",
    "generic_filter",
    "generic_filter1d",
    "geometric_transform",
    "histogram",
    "label",
    "labeled_comprehension",
    "map_coordinates",
    "maximum",
    "maximum_position",
    "mean",
    "median",
    "minimum",
    "minimum_position",
    "rotate",
    "shift",
    "spline_filter",
    "spline_filter1d",
    "standard_deviation",
    "sum",
    "sum_labels",
    "value_indices",
    "variance",
    "vectorized_filter",
    "watershed_ift",
    "zoom",
)


def __getattr__(name: str) -> NoReturn:
    if name in _ELSEWHERE:
        raise AttributeError(
            f"tessera.ndimage has no {name!r}, which Tessera cannot compute; scipy.ndimage.{name} does"
        )
    raise AttributeError(f"module 'tessera.ndimage' has no attribute {name!r}")
