"""Filters by name, of what is as large as a window or a sigma. Written by make_filters.py from what the library says of them: change that file, not this one."""

from __future__ import annotations

from typing import Any

from tessera._core import Cancel
from tessera._filter_calls import call
from tessera._filter_types import A, Alpha, Border, Extent, Method, Numbers, PerAxis, Progress, Target


def difference_of_gaussians(
    image: A,
    sigma: PerAxis = 1.5,
    *,
    truncate: float = 3,
    ratio: float = 1.6,
    border: Border | None = None,
    extent: Extent = "same",
    type: Any = None,
    alpha: Alpha | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    region: Any = None,
    arithmetic: Any = None,
    numbers: Numbers | None = None,
    method: Method | None = None,
    threads: int | None = None,
    target: Target | None = None,
    device: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> A:
    """A Gaussian less a wider one: what is as large as the sigma between them, bright where it is above 0.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    sigma : number, or one for each axis
        Standard deviation in points: one for all axes, or one for each.
    truncate : number
        The weights reach so many standard deviations.
    ratio : number
        Of the wider sigma to the other one.
    border : str or sequence of str
        What is read outside of the image, a mode or one for each axis: mirror where none is given,
        "constant(0)" for a full extent.

            mirror       d c b | a b c d | c b a
            symmetric    c b a | a b c d | d c b
            clamp        a a a | a b c d | d d d
            wrap         b c d | a b c d | a b c
            constant(k)  k k k | a b c d | k k k
            none         points whose window leaves the image are 0

    extent : {"same", "valid", "full"}
        Of the result: that of the image, the points whose window lies inside, or every point that a window
        touches.
    type : str or dtype
        Of the result: float32, float64 of a float64, where none is given.
    alpha : {"weighted", "kept", "associated"}
        Takes the last of 2 or 4 channels for alpha: colours count by it, it stays as it is, or colours are
        multiplied by it already. Without it all channels are filtered by themselves.
    channel_axis : int
        The dimension of the channels, each of which is filtered by itself; none has them where it is not given.
    out : array
        Where the result goes: of its shape and type, sharing no memory with the image.
    region : slices
        The part of the result that is computed, as ``np.s_[10:20, 5:9]``, channels not among the dimensions: it
        has the bits of the whole.
    arithmetic : {"float32", "float64"}
        What is computed in; float64 for int32, uint32 and float64.
    numbers, method, threads, target, device, progress, cancel
        Options of the run, as of :class:`Program`.

    Returns
    -------
    array
        Of the kind of the image, on its device.

    Raises
    ------
    ArgumentError
        An image of another rank or of a type that images do not have (int64), an option that cannot be used, an
        extent of which nothing is left.

    Examples
    --------
    >>> ts.difference_of_gaussians(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "sigma": sigma,
        "truncate": truncate,
        "ratio": ratio,
        "border": border,
        "extent": extent,
        "type": type,
        "alpha": alpha,
        "arithmetic": arithmetic,
    }
    run = {
        "numbers": numbers,
        "method": method,
        "threads": threads,
        "target": target,
        "device": device,
        "progress": progress,
        "cancel": cancel,
    }
    result: A = call("difference_of_gaussians", image, options, channel_axis, None, out, run, region)
    return result


def laplacian_of_gaussian(
    image: A,
    sigma: PerAxis = 1.5,
    *,
    truncate: float = 3,
    border: Border | None = None,
    extent: Extent = "same",
    type: Any = None,
    alpha: Alpha | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    region: Any = None,
    arithmetic: Any = None,
    numbers: Numbers | None = None,
    method: Method | None = None,
    threads: int | None = None,
    target: Target | None = None,
    device: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> A:
    """The Laplacian of a Gaussian: 0 where the image is flat or a plane, below 0 on bright spots as large as
    sigma.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    sigma : number, or one for each axis
        Standard deviation in points: one for all axes, or one for each.
    truncate : number
        The weights reach so many standard deviations.
    border : str or sequence of str
        What is read outside of the image, a mode or one for each axis: mirror where none is given,
        "constant(0)" for a full extent.

            mirror       d c b | a b c d | c b a
            symmetric    c b a | a b c d | d c b
            clamp        a a a | a b c d | d d d
            wrap         b c d | a b c d | a b c
            constant(k)  k k k | a b c d | k k k
            none         points whose window leaves the image are 0

    extent : {"same", "valid", "full"}
        Of the result: that of the image, the points whose window lies inside, or every point that a window
        touches.
    type : str or dtype
        Of the result: float32, float64 of a float64, where none is given.
    alpha : {"weighted", "kept", "associated"}
        Takes the last of 2 or 4 channels for alpha: colours count by it, it stays as it is, or colours are
        multiplied by it already. Without it all channels are filtered by themselves.
    channel_axis : int
        The dimension of the channels, each of which is filtered by itself; none has them where it is not given.
    out : array
        Where the result goes: of its shape and type, sharing no memory with the image.
    region : slices
        The part of the result that is computed, as ``np.s_[10:20, 5:9]``, channels not among the dimensions: it
        has the bits of the whole.
    arithmetic : {"float32", "float64"}
        What is computed in; float64 for int32, uint32 and float64.
    numbers, method, threads, target, device, progress, cancel
        Options of the run, as of :class:`Program`.

    Returns
    -------
    array
        Of the kind of the image, on its device.

    Raises
    ------
    ArgumentError
        An image of another rank or of a type that images do not have (int64), an option that cannot be used, an
        extent of which nothing is left.

    Examples
    --------
    >>> ts.laplacian_of_gaussian(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "sigma": sigma,
        "truncate": truncate,
        "border": border,
        "extent": extent,
        "type": type,
        "alpha": alpha,
        "arithmetic": arithmetic,
    }
    run = {
        "numbers": numbers,
        "method": method,
        "threads": threads,
        "target": target,
        "device": device,
        "progress": progress,
        "cancel": cancel,
    }
    result: A = call("laplacian_of_gaussian", image, options, channel_axis, None, out, run, region)
    return result


def gaussian_derivative(
    image: A,
    derivative: PerAxis = 1,
    *,
    sigma: PerAxis = 1.5,
    truncate: float = 3,
    border: Border | None = None,
    extent: Extent = "same",
    type: Any = None,
    alpha: Alpha | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    region: Any = None,
    arithmetic: Any = None,
    numbers: Numbers | None = None,
    method: Method | None = None,
    threads: int | None = None,
    target: Target | None = None,
    device: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> A:
    """A Gaussian, and along each axis the derivative of that order.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    derivative : number, or one for each axis
        Its order, 0 to 2: one for all axes, or one for each.
    sigma : number, or one for each axis
        Standard deviation in points: one for all axes, or one for each.
    truncate : number
        The weights reach so many standard deviations.
    border : str or sequence of str
        What is read outside of the image, a mode or one for each axis: mirror where none is given,
        "constant(0)" for a full extent.

            mirror       d c b | a b c d | c b a
            symmetric    c b a | a b c d | d c b
            clamp        a a a | a b c d | d d d
            wrap         b c d | a b c d | a b c
            constant(k)  k k k | a b c d | k k k
            none         points whose window leaves the image are 0

    extent : {"same", "valid", "full"}
        Of the result: that of the image, the points whose window lies inside, or every point that a window
        touches.
    type : str or dtype
        Of the result: float32, float64 of a float64, where none is given.
    alpha : {"weighted", "kept", "associated"}
        Takes the last of 2 or 4 channels for alpha: colours count by it, it stays as it is, or colours are
        multiplied by it already. Without it all channels are filtered by themselves.
    channel_axis : int
        The dimension of the channels, each of which is filtered by itself; none has them where it is not given.
    out : array
        Where the result goes: of its shape and type, sharing no memory with the image.
    region : slices
        The part of the result that is computed, as ``np.s_[10:20, 5:9]``, channels not among the dimensions: it
        has the bits of the whole.
    arithmetic : {"float32", "float64"}
        What is computed in; float64 for int32, uint32 and float64.
    numbers, method, threads, target, device, progress, cancel
        Options of the run, as of :class:`Program`.

    Returns
    -------
    array
        Of the kind of the image, on its device.

    Raises
    ------
    ArgumentError
        An image of another rank or of a type that images do not have (int64), an option that cannot be used, an
        extent of which nothing is left.

    Examples
    --------
    >>> ts.gaussian_derivative(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "derivative": derivative,
        "sigma": sigma,
        "truncate": truncate,
        "border": border,
        "extent": extent,
        "type": type,
        "alpha": alpha,
        "arithmetic": arithmetic,
    }
    run = {
        "numbers": numbers,
        "method": method,
        "threads": threads,
        "target": target,
        "device": device,
        "progress": progress,
        "cancel": cancel,
    }
    result: A = call("gaussian_derivative", image, options, channel_axis, None, out, run, region)
    return result


def structure_tensor(
    image: A,
    row: float = 0,
    column: float = 0,
    *,
    sigma: PerAxis = 1.5,
    truncate: float = 3,
    border: Border | None = None,
    extent: Extent = "same",
    type: Any = None,
    alpha: Alpha | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    region: Any = None,
    arithmetic: Any = None,
    numbers: Numbers | None = None,
    method: Method | None = None,
    threads: int | None = None,
    target: Target | None = None,
    device: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> A:
    """A component of the structure tensor: the product of the gradients along two axes, smoothed by a Gaussian.
    Its components say along which directions an image changes around each point.

    Parameters
    ----------
    image : array
        2 to 3 dimensions, slowest first, besides that of its channels.
    row : number
        Of the tensor: an axis of the image, the slowest is 0.
    column : number
        Of the tensor: an axis of the image.
    sigma : number, or one for each axis
        Standard deviation in points: one for all axes, or one for each.
    truncate : number
        The weights reach so many standard deviations.
    border : str or sequence of str
        What is read outside of the image, a mode or one for each axis: mirror where none is given,
        "constant(0)" for a full extent.

            mirror       d c b | a b c d | c b a
            symmetric    c b a | a b c d | d c b
            clamp        a a a | a b c d | d d d
            wrap         b c d | a b c d | a b c
            constant(k)  k k k | a b c d | k k k
            none         points whose window leaves the image are 0

    extent : {"same", "valid", "full"}
        Of the result: that of the image, the points whose window lies inside, or every point that a window
        touches.
    type : str or dtype
        Of the result: float32, float64 of a float64, where none is given.
    alpha : {"weighted", "kept", "associated"}
        Takes the last of 2 or 4 channels for alpha: colours count by it, it stays as it is, or colours are
        multiplied by it already. Without it all channels are filtered by themselves.
    channel_axis : int
        The dimension of the channels, each of which is filtered by itself; none has them where it is not given.
    out : array
        Where the result goes: of its shape and type, sharing no memory with the image.
    region : slices
        The part of the result that is computed, as ``np.s_[10:20, 5:9]``, channels not among the dimensions: it
        has the bits of the whole.
    arithmetic : {"float32", "float64"}
        What is computed in; float64 for int32, uint32 and float64.
    numbers, method, threads, target, device, progress, cancel
        Options of the run, as of :class:`Program`.

    Returns
    -------
    array
        Of the kind of the image, on its device.

    Raises
    ------
    ArgumentError
        An image of another rank or of a type that images do not have (int64), an option that cannot be used, an
        extent of which nothing is left.

    Examples
    --------
    >>> ts.structure_tensor(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "row": row,
        "column": column,
        "sigma": sigma,
        "truncate": truncate,
        "border": border,
        "extent": extent,
        "type": type,
        "alpha": alpha,
        "arithmetic": arithmetic,
    }
    run = {
        "numbers": numbers,
        "method": method,
        "threads": threads,
        "target": target,
        "device": device,
        "progress": progress,
        "cancel": cancel,
    }
    result: A = call("structure_tensor", image, options, channel_axis, None, out, run, region)
    return result
