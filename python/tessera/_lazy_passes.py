"""Programs that reduce whole images, over arrays of Dask: tasks that make parts of totals, one that joins them, and the
tasks of a result, which take the number as an array of one element."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tessera import _lazy, _passes, _routes
from tessera._passes import Array, Bound, Pass, Passes, Total
from tessera._regions import Box
from tessera._works import ProgramWork

if TYPE_CHECKING:
    from tessera._program import Program


def part(
    work: ProgramWork,
    totals: Sequence[Total],
    boxes: Sequence[Box | None],
    first: int,
    reads: Sequence[Any],
    numbers: Sequence[Any],
) -> list[bytes]:
    """What a chunk comes to, or a row of chunks; ``reads`` as compute() of _lazy takes them."""
    windows, places = _lazy.windows_of(reads)
    return _passes.parts(work, totals, windows, places, boxes, first, numbers)


def join(total: Total, image: str, number: Array, k: int, like: Any, found: Sequence[Any]) -> Any:
    import numpy as np

    made = _passes.joined(total, image, number, found, k)
    if type(like) is np.ndarray:
        return made
    there = np.empty_like(like, shape=made.shape, dtype=made.dtype)  # where windows are
    there[...] = made.item()
    return there


def results(
    program: Program,
    passes: Passes,
    given: Sequence[Any],
    sources: Mapping[int, Any],
    options: Mapping[str, Any],
) -> tuple[Any, ...]:
    """The lazy results of a program; ``sources`` are its arrays and lazy numbers, by input."""
    bound = Bound(passes, given, sources, options, "chunks of Dask")

    def reduced(one: Pass, work: ProgramWork, arrays: list[Any], numbers: list[Any]) -> list[Any]:
        return _totals(one, work, arrays, numbers, passes)

    _passes.reduce(bound, reduced)
    made: dict[int, Any] = {}
    for one in passes.last:
        for a, result in zip(one.outputs, _lazy.results(*bound.work(one)), strict=True):
            if a is not None:
                made[passes.arrays[a].place] = result
    return tuple(made[o] for o in range(len(program.outputs)))


def _totals(one: Pass, work: ProgramWork, arrays: Sequence[Any], numbers: Sequence[Any], passes: Passes) -> list[Any]:
    """The numbers of a pass, lazy arrays of one element."""
    da = sys.modules["dask.array"]
    from dask.highlevelgraph import HighLevelGraph
    from dask.task_spec import List, Task, TaskRef

    token = sys.modules["dask.base"].tokenize(work.token(), one.totals, *(a.name for a in (*arrays, *numbers)))
    of = sorted({t.output for t in one.totals})
    edges = _lazy.result_edges(work, of[0], [_lazy.edges_of(a.chunks) for a in arrays])
    extents = work.outputs[of[0]].extents
    free = _passes.is_free(one, work.outputs)
    if not free:  # whole rows, whose elements follow one another
        edges = [edges[0], *([0, n] for n in extents[1:])]
    boxes: dict[Any, list[Box | None]] = {}
    for o in itertools.product(*(range(len(e) - 1) for e in edges)):
        box = _routes.chunk_box(edges, o)
        boxes[o] = [box if k in of else None for k in range(len(work.outputs))]
    name = f"tessera-parts-{token}"
    tasks, takes, taken = _lazy.inputs_of(work, arrays, boxes, name)
    refs = List(*(TaskRef((n.name,)) for n in numbers))
    for o, wanted in boxes.items():
        first = _passes.first_of(_routes.chunk_box(edges, o), extents, free)
        key = (name, *o)
        tasks[key] = Task(key, part, taken, one.totals, wanted, first, takes[o], refs)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[*arrays, *numbers])
    meta = da.utils.meta_from_array(arrays[0])
    made = []
    for k, total in enumerate(one.totals):
        number, spec = passes.arrays[total.array], work.outputs[total.output]
        own = f"tessera-{total.operation}-{k}-{token}"
        key = (own, *((0,) * number.rank))
        found = List(*(TaskRef((name, *o)) for o in boxes))
        task = Task(key, join, total, spec.dtype.name, number, k, meta, found)
        whole = HighLevelGraph({**graph.layers, own: {key: task}}, {**graph.dependencies, own: {name}})
        made.append(da.Array(whole, own, ((1,),) * number.rank, dtype=number.type))
    return made
