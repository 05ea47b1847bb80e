"""Programs that reduce whole images, as passes: programs that have parts, between which numbers lie (src/engine/passes).

        mean(a) -- pass 1 --> number --+
        a -----------------------------+-- pass 2 --> result

What a part of an image comes to is some numbers, which go wherever they are joined. The elements of an image are one list,
whose order decides the bits of a sum: parts of sums are whole rows, those of other totals any boxes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tessera import _core
from tessera._regions import Box
from tessera._works import LATER, ProgramWork, Spec, Work, hollow

if TYPE_CHECKING:
    from tessera._program import Program

_EXACT = ("bool", "uint8", "int16", "uint16")  # whose sums in double are, of as many elements:
_MOST = 2**36


class Array(NamedTuple):
    """An input or an output of the program, or a number between passes: ``rank`` extents of 1."""

    kind: str
    place: int  # among inputs or outputs
    rank: int
    type: str


class Total(NamedTuple):
    output: int  # of its pass
    operation: str
    array: int  # that it is


class Pass(NamedTuple):
    program: Program
    inputs: tuple[int, ...]  # arrays
    outputs: tuple[int | None, ...]
    totals: tuple[Total, ...]


class Passes(NamedTuple):
    why_not: str
    arrays: tuple[Array, ...]
    body: tuple[Pass, ...]  # in their order
    last: tuple[Pass, ...]  # which write the outputs


def passes_of(program: Program) -> Passes:
    """The passes of a program; none, and why, where something else than a total depends on a whole image."""
    from tessera._program import Program

    said = json.loads(program._core.passes())

    def made(k: int) -> Pass:
        p = said["passes"][k]
        totals = tuple(Total(t["output"], t["operation"], t["array"]) for t in p["totals"])
        own = Program._from_core(_core.Program.of_graph(p["graph"]))
        return Pass(own, tuple(p["inputs"]), tuple(p["outputs"]), totals)

    if said["why"]:
        return Passes(said["why"], (), (), ())
    arrays = tuple(Array(a["kind"], a["index"], a["rank"], a["type"]) for a in said["arrays"])
    return Passes("", arrays, tuple(map(made, said["body"])), tuple(map(made, said["last"])))


def is_needed(program: Program, outputs: Sequence[int] | None = None) -> bool:
    """Whether an output depends on a whole image."""
    told = program.locality()
    return any(o.depends_on_all for k, o in enumerate(told) if outputs is None or k in outputs)


class Bound:
    """The passes of a program with all but its arrays: what is given for every array so far."""

    def __init__(
        self, passes: Passes, given: Sequence[Any], sources: Mapping[int, Any], options: Mapping[str, Any], what: str
    ) -> None:
        """``given``: arrays without memory and numbers, of every input; ``sources``: where arrays and lazy numbers are."""
        self.passes = passes
        self._given = given
        self._options, self._what = options, what
        self.held: dict[int, Any] = {
            a: sources[array.place]
            for a, array in enumerate(passes.arrays)
            if array.kind == "input" and array.place in sources
        }

    def work(self, one: Pass) -> tuple[ProgramWork, list[Any], list[Any]]:
        """A pass as a work, its sources, and its numbers that are lazy."""
        given: list[Any] = []
        sources: list[Any] = []
        numbers: list[Any] = []
        for a, port in zip(one.inputs, one.program.inputs, strict=True):
            array = self.passes.arrays[a]
            value = self._given[array.place] if array.kind == "input" else hollow((1,) * array.rank, array.type)
            given.append(value)
            if port.array:
                sources.append(self.held[a])
            elif value is LATER:
                numbers.append(self.held[a])
        return ProgramWork(one.program, given, self._options, self._what), sources, numbers


def is_free(one: Pass, outputs: Sequence[Spec]) -> bool:
    """Whether elements may come in any order: of minima, maxima and exact sums."""
    return all(
        t.operation in ("min", "max")
        or (outputs[t.output].dtype.name in _EXACT and math.prod(outputs[t.output].extents) <= _MOST)
        for t in one.totals
    )


def first_of(box: Box, extents: Sequence[int], free: bool) -> int:
    """The place of the first element of whole rows."""
    return 0 if free else box[0][0] * math.prod(extents[1:])


def parts(
    work: Work,
    totals: Sequence[Total],
    windows: Sequence[Any],
    places: Sequence[Box],
    boxes: Sequence[Box | None],
    first: int,
    numbers: Sequence[Any] = (),
) -> list[bytes]:
    """What a box of the images that are reduced comes to, for every total."""
    results = work.run(windows, places, boxes, numbers)
    return [_core.total_part(t.operation, _on_host(results[t.output]), first) for t in totals]


def _on_host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array  # of CuPy


def joined(total: Total, image: str, number: Array, found: Sequence[Sequence[bytes]], k: int) -> Any:
    """The number, by the parts of all boxes in their order, of which it is number ``k``."""
    import numpy as np

    value = _core.total(total.operation, image, number.type, [own[k] for own in found])
    return np.full((1,) * number.rank, value, number.type)


Reduced = Callable[[Pass, ProgramWork, list[Any], list[Any]], Sequence[Any]]


def reduce(bound: Bound, reduced: Reduced) -> None:
    """Runs all passes but the last ones; ``reduced`` gives the numbers of one."""
    for one in bound.passes.body:
        for total, number in zip(one.totals, reduced(one, *bound.work(one)), strict=True):
            bound.held[total.array] = number
