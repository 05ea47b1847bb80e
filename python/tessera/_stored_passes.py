"""Programs that reduce whole images, from files to files: totals first, by rows of the images that are reduced, then the
tasks of the result, which take the numbers as arrays of one element."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tessera import _passes
from tessera._errors import ArgumentError
from tessera._passes import Bound, Pass, Passes, Total
from tessera._regions import Box
from tessera._stored import Stored
from tessera._works import ProgramWork, hollow

_LEAST = 16 << 20  # bytes of rows that are worth a task


class Rows:
    """Whole rows of the images that are reduced: ``run()`` gives what they come to. Picklable."""

    def __init__(self, work: ProgramWork, sources: Sequence[Stored], totals: Sequence[Total], box: Box) -> None:
        self._work, self._sources, self._totals, self._box = work, tuple(sources), tuple(totals), box

    def run(self) -> list[bytes]:
        work, of = self._work, {t.output for t in self._totals}
        boxes = [self._box if o in of else None for o in range(len(work.outputs))]
        places = [s.with_planes(b) for s, b in zip(work.inputs, work.reads(boxes), strict=True)]
        windows = [a.read(b) for a, b in zip(self._sources, places, strict=True)]
        extents = work.outputs[self._totals[0].output].extents
        first = _passes.first_of(self._box, extents, False)
        return _passes.parts(work, self._totals, windows, places, boxes, first)

    def __call__(self) -> list[bytes]:
        return self.run()


Run = Callable[[Sequence[Rows]], Sequence[list[bytes]]]
Cost = Callable[[ProgramWork, Sequence[Stored], Sequence[int], Box], int]


class Plan:
    """A work by passes. Its last one has numbers that are 0 until ``fill`` has found them."""

    def __init__(self, passes: Passes, work: ProgramWork, sources: Sequence[Stored], wanted: Sequence[int]) -> None:
        import numpy as np

        specs, stored = iter(work.inputs), iter(sources)
        given: list[Any] = []
        by_input: dict[int, Any] = {}
        for k, (port, number) in enumerate(zip(work.program.inputs, work.given, strict=True)):
            if port.array:
                spec = next(specs)
                given.append(hollow(spec.shape, spec.dtype))
                by_input[k] = next(stored)
            else:
                given.append(number)
        self._bound = Bound(passes, given, by_input, work.options, "tasks")
        self._numbers: dict[int, Any] = {}
        for one in passes.body:
            for total in one.totals:
                array = passes.arrays[total.array]
                number = self._numbers[total.array] = np.zeros((1,) * array.rank, array.type)
                self._bound.held[total.array] = Stored(number)
        last, self.outputs = self._last(passes, work, wanted)
        self.work, self.sources, _ = self._bound.work(last)

    def _last(self, passes: Passes, work: ProgramWork, wanted: Sequence[int]) -> tuple[Pass, list[int]]:
        """The pass that writes what is wanted, and which outputs it has."""
        for one in passes.last:
            outputs = [passes.arrays[a].place for a in one.outputs if a is not None]
            if set(wanted) <= set(outputs):
                return one, outputs
        named = " and ".join(repr(work.outputs[o].name) for o in wanted)
        raise ArgumentError(
            f"{named} have several extents, and follow from totals of whole images",
            help="write one call for the outputs of each: {'edges': target}",
        )

    def fill(self, run: Run, cost: Cost, memory: int, least: int) -> None:
        """Finds the numbers. ``cost``: bytes that a box takes."""
        for one in self._bound.passes.body:
            work, sources, _ = self._bound.work(one)
            outputs = sorted({t.output for t in one.totals})
            extents = work.outputs[outputs[0]].extents
            size = _rows(extents, functools.partial(cost, work, sources, outputs), memory, least)
            begins = range(0, extents[0], size)
            boxes = [((b, *(0,) * (len(extents) - 1)), (min(b + size, extents[0]), *extents[1:])) for b in begins]
            found = run([Rows(work, sources, one.totals, box) for box in boxes])
            for k, total in enumerate(one.totals):
                number, image = self._bound.passes.arrays[total.array], work.outputs[total.output].dtype.name
                self._numbers[total.array][...] = _passes.joined(total, image, number, found, k)


def _rows(extents: Sequence[int], cost: Callable[[Box], int], memory: int, least: int) -> int:
    """How many rows are a task."""

    def taken(rows: int) -> int:
        begin = (extents[0] - rows) // 2
        return cost(((begin, *(0,) * (len(extents) - 1)), (begin + rows, *extents[1:])))

    size = 1
    if taken(1) > memory:
        raise ArgumentError(
            f"a row of a total takes {-(-taken(1) >> 10)} KiB, more than memory allows, {memory >> 10} KiB",
            help=f'write memory="{-(-taken(1) >> 20)}MiB"',
        )
    while size < extents[0] and taken(size) < _LEAST:
        wider = min(2 * size, extents[0])
        if taken(wider) > memory or -(-extents[0] // wider) < least:
            break
        size = wider
    return size


def needed(work: Any, wanted: Sequence[int]) -> Passes | None:
    """The passes of a work that does not do without."""
    if not isinstance(work, ProgramWork) or not _passes.is_needed(work.program, wanted):
        return None
    passes = _passes.passes_of(work.program)
    return None if passes.why_not else passes


def refuse_tasks(work: ProgramWork, wanted: Sequence[int]) -> None:
    """Totals go before all tasks."""
    why = next(
        (o.depends_on_all for k, o in enumerate(work.program.locality()) if k in wanted and o.depends_on_all), ""
    )
    name = next(work.outputs[o].name for o in wanted)
    raise ArgumentError(
        f"{name!r} follows from totals of whole images, which come before all tasks: {why}",
        help="write store(...), which computes them first; or make the number an input of the program, and give it",
    )
