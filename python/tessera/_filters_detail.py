"""Filters by name, that show what changes. Written by make_filters.py from what the library says of them: change that file, not this one."""

from __future__ import annotations

from typing import Any

from tessera._core import Cancel
from tessera._filter_calls import call
from tessera._filter_types import A, Alpha, Border, Extent, Method, Numbers, PerAxis, Progress, Target


def unsharp(
    image: A,
    amount: float = 0.8,
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
    """Unsharp masking: adds back what smoothing takes away.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    amount : number
        Of the difference to the smoothed image that is added.
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
        Of the result: that of the image, rounded half to even and clamped, where none is given.
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
    >>> ts.unsharp(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "amount": amount,
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
    result: A = call("unsharp", image, options, channel_axis, None, out, run, region)
    return result


def sobel(
    image: A,
    *,
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
    """The length of the gradient by Sobel's weights, scaled to grey values per point.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
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
    >>> ts.sobel(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {"border": border, "extent": extent, "type": type, "alpha": alpha, "arithmetic": arithmetic}
    run = {
        "numbers": numbers,
        "method": method,
        "threads": threads,
        "target": target,
        "device": device,
        "progress": progress,
        "cancel": cancel,
    }
    result: A = call("sobel", image, options, channel_axis, None, out, run, region)
    return result


def laplacian(
    image: A,
    *,
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
    """The Laplacian by nearest neighbours: 0 where the image is flat or a plane, large at edges and specks.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
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
    >>> ts.laplacian(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {"border": border, "extent": extent, "type": type, "alpha": alpha, "arithmetic": arithmetic}
    run = {
        "numbers": numbers,
        "method": method,
        "threads": threads,
        "target": target,
        "device": device,
        "progress": progress,
        "cancel": cancel,
    }
    result: A = call("laplacian", image, options, channel_axis, None, out, run, region)
    return result


def canny(
    image: A,
    threshold: float = 4,
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
    """The front of Canny's edge detector: smooth, take the gradient, keep its length where it is largest across
    the edge. What is below `threshold` is 0.

    Parameters
    ----------
    image : array
        2 dimensions, slowest first, besides that of its channels.
    threshold : number
        Grey values per point.
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
    >>> ts.canny(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "threshold": threshold,
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
    result: A = call("canny", image, options, channel_axis, None, out, run, region)
    return result


def harris(
    image: A,
    k: float = 0.05,
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
    """Harris's measure of corners: large and positive at corners, negative along edges.

    Parameters
    ----------
    image : array
        2 dimensions, slowest first, besides that of its channels.
    k : number
        Of the squared trace.
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
    >>> ts.harris(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "k": k,
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
    result: A = call("harris", image, options, channel_axis, None, out, run, region)
    return result
