"""Filters by name, that smooth. Written by make_filters.py from what the library says of them: change that file, not this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera._core import Cancel
from tessera._filter_calls import call
from tessera._filter_types import A, Alpha, Border, Extent, Method, Numbers, PerAxis, Progress, Target


def gaussian(
    image: A,
    sigma: PerAxis = 1.5,
    *,
    truncate: float = 3,
    border: Border | None = None,
    extent: Extent = "same",
    type: Any = None,
    alpha: Alpha | None = None,
    mask: Any = None,
    ignore_nan: bool = False,
    nodata: float | Sequence[float] = (),
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
    """Gaussian smoothing, one dimension after the other. Weights are normalised; sigma 0 leaves an axis as it is.

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
        Of the result: that of the image, rounded half to even and clamped, where none is given.
    alpha : {"weighted", "kept", "associated"}
        Takes the last of 2 or 4 channels for alpha: colours count by it, it stays as it is, or colours are
        multiplied by it already. Without it all channels are filtered by themselves.
    mask : array
        How certain each point is, 0 for those that count for nothing: of the shape of the image without its
        channels, or of its last dimensions.
    ignore_nan : bool
        Points that are NaN or infinite count for nothing.
    nodata : number or sequence
        Points of these values count for nothing.
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
    >>> ts.gaussian(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "sigma": sigma,
        "truncate": truncate,
        "border": border,
        "extent": extent,
        "type": type,
        "alpha": alpha,
        "arithmetic": arithmetic,
        "ignore_nan": ignore_nan,
        "nodata": nodata,
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
    result: A = call("gaussian", image, options, channel_axis, mask, out, run, region)
    return result


def box(
    image: A,
    radius: PerAxis = 1,
    *,
    border: Border | None = None,
    extent: Extent = "same",
    type: Any = None,
    alpha: Alpha | None = None,
    mask: Any = None,
    ignore_nan: bool = False,
    nodata: float | Sequence[float] = (),
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
    """The mean of a window.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    radius : number, or one for each axis
        Of the window, in points: one for all axes, or one for each.
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
    mask : array
        How certain each point is, 0 for those that count for nothing: of the shape of the image without its
        channels, or of its last dimensions.
    ignore_nan : bool
        Points that are NaN or infinite count for nothing.
    nodata : number or sequence
        Points of these values count for nothing.
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
    >>> ts.box(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "radius": radius,
        "border": border,
        "extent": extent,
        "type": type,
        "alpha": alpha,
        "arithmetic": arithmetic,
        "ignore_nan": ignore_nan,
        "nodata": nodata,
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
    result: A = call("box", image, options, channel_axis, mask, out, run, region)
    return result


def median(
    image: A,
    radius: PerAxis = 1,
    *,
    footprint: Any = None,
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
    """The median of a window: removes specks and keeps edges.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    radius : number, or one for each axis
        Of the window, in points: one for all axes, or one for each.
    footprint : array of numbers
        Which elements count in place of a box, those that are not 0: of the rank of the image, its middle (n //
        2) on the point.
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
    >>> ts.median(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "radius": radius,
        "footprint": footprint,
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
    result: A = call("median", image, options, channel_axis, None, out, run, region)
    return result


def bilateral(
    image: A,
    sigma: PerAxis = 1.5,
    range: float = 25,
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
    """The bilateral filter: a mean of near points of similar value, which smooths and keeps edges.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    sigma : number, or one for each axis
        Standard deviation in points: one for all axes, or one for each.
    range : number
        Standard deviation in grey values.
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
    >>> ts.bilateral(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "sigma": sigma,
        "range": range,
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
    result: A = call("bilateral", image, options, channel_axis, None, out, run, region)
    return result


def nonlocal_means(
    image: A,
    strength: float = 10,
    *,
    search: float = 3,
    patch: float = 2,
    noise: float = 0,
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
    """Non-local means: the mean of a search window, in which a point counts the more, the more its surroundings
    are like those of the middle. Takes noise away where an image repeats itself.

    Parameters
    ----------
    image : array
        2 dimensions, slowest first, besides that of its channels.
    strength : number
        Root of the mean squared difference of surroundings that count 1/e.
    search : number
        Radius of the search window, in points.
    patch : number
        Radius of the surroundings that are compared.
    noise : number
        Standard deviation of the noise, which differences are less by.
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
    >>> ts.nonlocal_means(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "strength": strength,
        "search": search,
        "patch": patch,
        "noise": noise,
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
    result: A = call("nonlocal_means", image, options, channel_axis, None, out, run, region)
    return result
