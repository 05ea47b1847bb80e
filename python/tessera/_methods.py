"""Pipelines that are methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tessera._results import Emitted

if TYPE_CHECKING:
    from tessera._trace import Pipeline


class Method:
    """A pipeline of an instance: whatever is called of it is given the instance first."""

    def __init__(self, of: Pipeline, instance: Any) -> None:
        self._of = of
        self._instance = instance

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        return self._of(self._instance, *args, **named)

    def emit(self, target: str = "c", *args: Any, options: Mapping[str, Any] | None = None, **named: Any) -> Emitted:
        return self._of.emit(target, self._instance, *args, options=options, **named)

    def reads(self, region: Any, /, *args: Any, **named: Any) -> tuple[Any, ...]:
        return self._of.reads(region, self._instance, *args, **named)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        return functools.partial(found, self._instance) if inspect.ismethod(found) and name != "clear" else found

    def __reduce__(self) -> tuple[Any, ...]:
        return Method, (self._of, self._instance)

    def __repr__(self) -> str:
        return f"{self._of!r} of {self._instance!r}"
