"""Filters by name, that choose by order. Written by make_filters.py from what the library says of them: change that file, not this one."""

from __future__ import annotations

from typing import Any

from tessera._core import Cancel
from tessera._filter_calls import call
from tessera._filter_types import A, Alpha, Border, Extent, Method, Numbers, PerAxis, Progress, Target


def percentile(
    image: A,
    percent: float = 50,
    *,
    radius: PerAxis = 1,
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
    """The value of a window that a share of the others lies below.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    percent : number
        Of the values of the window that lie below, 0 to 100: 0 is the least, 100 the largest.
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
    >>> ts.percentile(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "percent": percent,
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
    result: A = call("percentile", image, options, channel_axis, None, out, run, region)
    return result


def rank(
    image: A,
    rank: float = 0,
    *,
    radius: PerAxis = 1,
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
    """The value of a window at a place in their order.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    rank : number
        Of the value, 0 the least, 1 the one after it; -1 the largest, -2 the one before it.
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
    >>> ts.rank(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "rank": rank,
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
    result: A = call("rank", image, options, channel_axis, None, out, run, region)
    return result
