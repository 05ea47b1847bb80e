"""Filters by name: what their functions have in common, and what the library says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from tessera import _core
from tessera._filter_calls import call, explain
from tessera._given import real
from tessera._results import Explanation

A = TypeVar("A")
PerAxis = float | Sequence[float]
Border = str | float | Sequence[str | float | tuple[str, float]]
Extent = Literal["same", "valid", "full"]
Alpha = Literal["weighted", "kept", "associated"]
Numbers = Literal["fast", "exact"]
Method = Literal["automatic", "direct", "separable", "low_rank", "transform", "whole", "matrix"]
Target = Literal["cpu", "cuda", "opencl"]
Progress = Callable[[int, int], object] | bool


@dataclass(frozen=True)
class OptionInfo:
    """An option of a filter; ``value`` is the usual one, "" where it must be given."""

    name: str
    type: str
    value: str
    summary: str
    per_axis: bool


@dataclass(frozen=True)
class FilterInfo:
    """A filter: ranks of its images, whether the result has their type, whether it takes a mask."""

    name: str
    summary: str
    ranks: tuple[int, ...]
    keeps_type: bool
    takes_mask: bool
    options: tuple[OptionInfo, ...]


def filters() -> tuple[FilterInfo, ...]:
    """All filters, by name."""
    return tuple(
        FilterInfo(
            f["name"],
            f["summary"],
            tuple(f["ranks"]),
            f["keeps_type"],
            f["takes_mask"],
            tuple(OptionInfo(**o) for o in f["options"]),
        )
        for f in json.loads(_core.filters_json())
    )


_of_runs = ("numbers", "method", "threads", "target", "device", "progress", "cancel")


def filter(
    name: str,
    image: A,
    *,
    channel_axis: int | None = None,
    mask: Any = None,
    out: Any = None,
    region: Any = None,
    **options: Any,
) -> A:
    """The filter of a name, with the options of its function: ``filter("gaussian", photo, sigma=2)``."""
    run = {n: options.pop(n, None) for n in _of_runs}
    result: A = call(name, image, options, channel_axis, mask, out, run, region)
    return result


def explain_filter(
    name: str, image: Any, *, channel_axis: int | None = None, mask: Any = None, **options: Any
) -> Explanation:
    """What the plan of a filter decided and why: ``explain_filter("gaussian", photo, sigma=40)``."""
    run = {n: options.pop(n, None) for n in _of_runs}
    explanation: Explanation = explain(name, image, options, channel_axis, mask, run)
    return explanation


def fwhm(width: PerAxis) -> PerAxis:
    """The sigma of a Gaussian whose full width at half of its maximum this is: ``sigma=fwhm(6)``."""
    if isinstance(width, Sequence) and not isinstance(width, str):
        return [_sigma(w) for w in width]
    return _sigma(width)


def _sigma(width: Any) -> float:
    return real("the width of a Gaussian", width) / 2.3548200450309493
