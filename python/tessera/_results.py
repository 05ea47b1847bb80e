"""What a program hands back: its results by name, an explanation, emitted code."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Self


class Outputs(tuple[Any, ...]):
    """The results of a program with several, in order, also by name: ``r.edges``, ``r["edges"]``, ``dict(r)``."""

    _names: tuple[str, ...]

    def __new__(cls, values: Sequence[Any], names: tuple[str, ...]) -> Self:
        made = super().__new__(cls, values)
        made._names = names
        return made

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return super().__getitem__(self._names.index(key))
            except ValueError:
                raise KeyError(f"there is no output {key!r}, the outputs are {', '.join(self._names)}") from None
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._names:
            return self[name]
        raise AttributeError(f"there is no output {name!r}, the outputs are {', '.join(self._names)}")

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def keys(self) -> tuple[str, ...]:
        return self._names

    def values(self) -> tuple[Any, ...]:
        return tuple(self)

    def items(self) -> tuple[tuple[str, Any], ...]:
        return tuple(zip(self._names, self, strict=True))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names]

    def __repr__(self) -> str:
        return "Outputs(" + ", ".join(f"{n}={v!r}" for n, v in self.items()) + ")"

    def __reduce__(self) -> tuple[Any, ...]:
        return Outputs, (tuple(self), self._names)


class Explanation(str):
    """What the plan decided and why: the text, and in a notebook the picture."""

    _of: Callable[[str], str]

    def __new__(cls, of: Callable[[str], str], format: str) -> Self:
        made = super().__new__(cls, of(format))
        made._of = of
        return made

    @property
    def svg(self) -> str:
        return self._of("svg")

    @property
    def json(self) -> Any:
        return json.loads(self._of("json"))

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


class Emitted(NamedTuple):
    """The code of a target: the source, the header of its entry points, what drives it; "" where there is none."""

    source: str
    header: str
    host: str

    def __repr__(self) -> str:
        return (
            f"<Emitted {', '.join(f'{name}: {len(text)} characters' for name, text in self._asdict().items() if text)}>"
        )
