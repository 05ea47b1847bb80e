"""Filters by name, that compare a point with its window. Written by make_filters.py from what the library says of them: change that file, not this one."""

from __future__ import annotations

from typing import Any

from tessera._core import Cancel
from tessera._filter_calls import call
from tessera._filter_types import A, Alpha, Border, Extent, Method, Numbers, PerAxis, Progress, Target


def deviation(
    image: A,
    radius: PerAxis = 1,
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
    """The standard deviation of a window: how much it varies.

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
    >>> ts.deviation(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "radius": radius,
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
    result: A = call("deviation", image, options, channel_axis, None, out, run, region)
    return result


def local_contrast(
    image: A,
    radius: PerAxis = 1,
    *,
    least: float = 1,
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
    """What differs from the mean of a window, in standard deviations of it: the same contrast in light and in
    shadow.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    radius : number, or one for each axis
        Of the window, in points: one for all axes, or one for each.
    least : number
        Standard deviation that is divided by: below it, noise is not made larger.
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
    >>> ts.local_contrast(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "radius": radius,
        "least": least,
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
    result: A = call("local_contrast", image, options, channel_axis, None, out, run, region)
    return result


def local_threshold(
    image: A,
    radius: PerAxis = 7,
    *,
    deviations: float = 0,
    offset: float = 0,
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
    """White where the image is above a threshold of its surroundings: the mean of a window, and so many standard
    deviations of it, less an offset. Black elsewhere.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    radius : number, or one for each axis
        Of the window, in points: one for all axes, or one for each.
    deviations : number
        Standard deviations that the threshold is above the mean.
    offset : number
        How far the threshold is lowered.
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
    >>> ts.local_threshold(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "radius": radius,
        "deviations": deviations,
        "offset": offset,
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
    result: A = call("local_threshold", image, options, channel_axis, None, out, run, region)
    return result


def sauvola(
    image: A,
    radius: PerAxis = 7,
    *,
    k: float = 0.2,
    spread: float = 0,
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
    """Sauvola's threshold, for pages: white where the image is above the mean of its window, lowered where the
    window varies little. Black elsewhere.

    Parameters
    ----------
    image : array
        1 to 4 dimensions, slowest first, besides that of its channels.
    radius : number, or one for each axis
        Of the window, in points: one for all axes, or one for each.
    k : number
        How far the threshold is lowered where nothing varies, in the mean.
    spread : number
        The largest standard deviation: 0 for half of what is white.
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
    >>> ts.sauvola(photo, channel_axis=-1)  # doctest: +SKIP
    """
    options = {
        "radius": radius,
        "k": k,
        "spread": spread,
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
    result: A = call("sauvola", image, options, channel_axis, None, out, run, region)
    return result
