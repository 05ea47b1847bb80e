"""What the named filters share: compiled ones are kept, channels become the last dimension as a view."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

from tessera import _arrays, _borders, _core, _given, _lazy, _options, _regions, _xarray
from tessera._errors import ArgumentError
from tessera._forks import Lock
from tessera._works import FilterCall, FilterWork, hollow

_most = 64  # compiled filters that are kept
_kept: dict[Any, _core.Filter] = {}
_lock = Lock()


def call(
    name: str,
    image: Any,
    options: Mapping[str, Any],
    channel_axis: int | None,
    mask: Any,
    out: Any,
    run: Mapping[str, Any],
    region: Any = None,
) -> Any:
    """Filters an image. ``options`` are those of tsr_filter_new; None leaves one out."""
    if isinstance(image, _regions.InputWindow):
        raise ArgumentError(
            "image is an InputWindow, which programs take; filters take the whole image",
            help="the programs of filters/ take windows: ts.Program.from_text('import \"gaussian.forma\"; ...')",
        )
    if "dask.array" in sys.modules and (_lazy.is_lazy(image) or _lazy.is_lazy(mask)):
        return _lazy.call_filter(FilterCall(name, options, channel_axis, run), image, mask, out, region)
    if hasattr(image, "__stored__"):  # for a list of tasks
        if out is not None:
            raise ArgumentError("out is given, but results of tasks go to their target", help="leave it out")
        return _stored_work(FilterCall(name, options, channel_axis, run), image, mask)
    (image, mask, bare), like = _xarray.unwrapped((image, mask, out))
    image, filter_, axis = prepared(name, image, options, channel_axis, mask)
    target = bare
    if axis is not None and bare is not None:
        target = _arrays.move_axis(bare, axis, -1)
    chosen = _options.run(run)
    part = None if region is None else _part(filter_, image, region, channel_axis is not None)
    result = filter_.run(image, mask, target, chosen, *([] if part is None else part[:1]))
    if out is not None:
        return out
    if axis is not None:
        result = _arrays.move_axis(result, -1, axis)
    return result if like is None else _xarray.wrapped(result, like, part)


def _stored_work(asked: FilterCall, image: Any, mask: Any) -> tuple[FilterWork, list[Any]]:
    """What tasks do, and its sources."""
    from tessera._stored import opened

    sources = [image] if mask is None else [image, opened(mask, "mask")]
    arrays = [*(hollow(s.shape, s.dtype) for s in sources), None]
    return FilterWork(asked, arrays[0], arrays[1], "tasks"), sources


def _part(filter_: _core.Filter, image: Any, region: Any, channels: bool) -> tuple[_regions.Box, tuple[int, ...]]:
    """The region of the result and the shape of all of it, channels not among their dimensions."""
    image_shape = tuple(image.shape)[:-1] if channels else tuple(image.shape)
    shape = filter_.result(image_shape)[1]
    shape = shape[:-1] if channels else shape
    return _regions.only_box_of(region, shape), shape


def explain(
    name: str, image: Any, options: Mapping[str, Any], channel_axis: int | None, mask: Any, run: Mapping[str, Any]
) -> Any:
    from tessera._results import Explanation

    (image, mask), _ = _xarray.unwrapped((image, mask))
    image, filter_, _axis = prepared(name, image, options, channel_axis, mask)
    chosen = _options.run(run)
    return Explanation(lambda format: filter_.explain(image, format, chosen), "text")


def prepared(
    name: str, image: Any, options: Mapping[str, Any], channel_axis: int | None, mask: Any
) -> tuple[Any, _core.Filter, int | None]:
    """The image with its channels last, the compiled filter, and where the channels were if they were moved."""
    _given.text("the name of a filter", name)
    dtype, shape = _core.describe(image, "image")
    if not hasattr(image, "dtype") or not hasattr(image, "shape"):
        image = _arrays.as_numpy(image, "image", False)
    rank = len(shape)
    channels = None
    moved = None
    if channel_axis is not None:
        channel_axis = _given.whole("channel_axis", channel_axis)
        axis = channel_axis + rank if channel_axis < 0 else channel_axis
        if not 0 <= axis < rank:
            raise ArgumentError(f"channel_axis is {channel_axis}, but the image has {rank} dimensions")
        if rank == 1:
            raise ArgumentError("channel_axis is given for an image of one dimension, which are its channels alone")
        channels = shape[axis]
        if axis != rank - 1:
            image = _arrays.move_axis(image, axis, -1)
            moved = axis
        rank -= 1
    mask_type = None if mask is None else _core.describe(mask, "mask")[0]
    key = (name, dtype, rank, channels, mask_type, *options, *options.values())
    try:
        found = _kept.get(key)
    except TypeError:  # lists, arrays
        key = (*key[:5], *options, *map(_given.same, options.values()))
        found = _kept.get(key)
    if found is None:
        found = _compiled(name, dtype, rank, channels, mask_type, options)
        with _lock:
            while len(_kept) >= _most:
                del _kept[next(iter(_kept))]
            _kept[key] = found
    return image, found, moved


def _number(given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"nodata is {_given.shown(given)}, expected a number, or several") from None


def as_given(option: str, value: Any) -> Any:
    """An option as it is, however it is written."""
    if option == "border":
        return _borders.text(value)
    if option in ("type", "arithmetic"):
        return _options.type_name(value)
    if option in ("kernel", "footprint"):
        return _options.weights(value, option)
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def _fields(channels: int, alpha: str | None) -> str:
    if alpha is not None:
        if channels not in (2, 4):
            raise ArgumentError(
                f"alpha is {alpha!r}, but the image has {channels} channels, expected 2 or 4, of which the last is alpha",
                help="leave alpha out",
            )
        return "y a" if channels == 2 else "r g b a"
    return "r g b" if channels == 3 else " ".join(f"c{k}" for k in range(channels))


def _compiled(
    name: str, dtype: str, rank: int, channels: int | None, mask_type: str | None, options: Mapping[str, Any]
) -> _core.Filter:
    chosen = _core.Options()
    for option, value in options.items():
        if value is None:
            continue
        value = as_given(option, value)
        if option == "ignore_nan":
            if isinstance(value, str) or hasattr(value, "__len__"):
                raise ArgumentError(f"ignore_nan is {_given.shown(value)}, expected True or False")
            if not value:
                continue
            value = True
        elif option == "nodata":
            value = value.tolist() if hasattr(value, "tolist") else value
            value = [_number(v) for v in (value if isinstance(value, tuple | list) else [value])]
            if any(map(math.isnan, value)):
                chosen.set("ignore_nan", True)
            value = [v for v in value if not math.isnan(v)]
            if not value:
                continue
        elif option == "alpha" and channels is None:
            raise ArgumentError(
                f"alpha is {value!r}, but the image has no channels", help="say where they are by channel_axis"
            )
        chosen.set(option, value)
    if channels is not None:
        alpha: str | None = options.get("alpha")
        chosen.set("fields", _fields(channels, alpha))
    if mask_type is not None:
        chosen.set("mask", mask_type)
    return _core.Filter(name, dtype, rank, chosen)
