"""Programs and named filters over arrays of Dask: lazy results. Dask is not loaded here.

A chunk of a result is one run of the whole program, on a window of each input that ``reads`` tells: with the halos of all
stages, so that stages are fused and nothing is exchanged between them. How windows come together: ``_routes``."""

from __future__ import annotations

import itertools
import math
import operator
import pickle
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tessera import _arrays, _regions, _routes, _xarray
from tessera._errors import ArgumentError
from tessera._regions import Box, Reach
from tessera._results import Outputs
from tessera._routes import Index
from tessera._works import LATER, FilterCall, FilterWork, ProgramWork, Spec, Work

if TYPE_CHECKING:
    from tessera._program import Program

_LARGE = 1 << 16  # bytes of a work that goes to workers once, not with every task
Patch = tuple[tuple[int, ...], Any]  # where it begins, an array


def is_lazy(given: Any) -> bool:
    """An array of Dask, or one of xarray over one."""
    array = getattr(sys.modules.get("dask.array"), "Array", None)
    if array is None:
        return False
    if isinstance(given, array):
        return True
    labelled = getattr(sys.modules.get("xarray"), "DataArray", None)
    return labelled is not None and isinstance(given, labelled) and given.chunks is not None


def any_of(arrays: Sequence[Any], named: Mapping[str, Any]) -> bool:
    return any(map(is_lazy, arrays)) or any(map(is_lazy, named.values()))


# ---- tasks ---------------------------------------------------------------------------------------------------------


def paste(box: Box, patches: Sequence[Patch]) -> Any:
    """What a box has, of arrays that cover it: a view where one of them does."""
    import numpy as np

    shape = tuple(e - b for b, e in zip(*box, strict=True))
    made: Any = None
    for k, (at, array) in enumerate(patches):
        end = tuple(b + n for b, n in zip(at, array.shape, strict=True))
        first, last = _routes.common(box, (at, end))
        if any(b >= e for b, e in zip(first, last, strict=True)):
            continue
        part = array[tuple(slice(b - a, e - a) for b, e, a in zip(first, last, at, strict=True))]
        if made is None:
            if part.shape == shape:
                return part
            # The type of the arrays decides where the window lies: those of CuPy stay on their device.
            made = np.empty_like(patches[k][1], shape=shape, order="C")
        made[tuple(slice(b - a, e - a) for b, e, a in zip(first, last, box[0], strict=True))] = part
    return made


def cut(chunk: Any, at: tuple[int, ...], boxes: Sequence[Box]) -> list[Patch]:
    """Parts of a chunk, copied: what is left of it may be freed."""
    return [(b[0], paste(b, [(at, chunk)]).copy()) for b in boxes]


def relay(chunk: Any, at: tuple[int, ...], boxes: Sequence[Box], cuts: Sequence[Any], places: Sequence[Any]) -> Any:
    patches = _patches(chunk, at, cuts, places)
    return [(b[0], _own(paste(b, patches), chunk)) for b in boxes]


def _own(part: Any, chunk: Any) -> Any:
    return part.copy() if part.base is not None else part


def _patches(chunk: Any, at: tuple[int, ...], others: Sequence[Any], places: Sequence[Any]) -> list[Patch]:
    """``places``: where an array stands that is a chunk; None of a list of patches."""
    patches: list[Patch] = [(at, chunk)]
    for other, place in zip(others, places, strict=True):
        patches.extend(other if place is None else [(place, other)])
    return patches


def compute(work: Work, boxes: Sequence[Box | None], reads: Sequence[Any], numbers: Sequence[Any], single: bool) -> Any:
    """A chunk of the result, or of several a tuple. ``reads``: (box, chunk, its place, others, their places) of each input."""
    windows, places = windows_of(reads)
    results = [r for r in work.run(windows, places, boxes, numbers) if r is not None]
    return results[0] if single else tuple(results)


def windows_of(reads: Sequence[Any]) -> tuple[list[Any], list[Box]]:
    """The windows of the inputs, and where they stand."""
    return [paste(box, _patches(*rest)) for box, *rest in reads], [box for box, *_ in reads]


def pick(results: tuple[Any, ...], output: int, _work: Any) -> Any:
    """One of several results. Dask, which optimizes each array by itself, would make one task of this and the run, and so
    run once for each output, if this took nothing else."""
    return results[output]


# ---- graphs --------------------------------------------------------------------------------------------------------


def edges_of(chunks: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[0, *itertools.accumulate(along)] for along in chunks]


def check_known(array: Any, name: str) -> None:
    """Raises for chunks of which Dask does not know how large they are."""
    if any(math.isnan(n) for along in array.chunks for n in along):
        raise ArgumentError(
            f"{name!r} has chunks of unknown extents, expected known ones",
            help=f"write {name}.compute_chunk_sizes()",
        )


def scaled(edges: Sequence[int], reach: Reach, extent: int) -> list[int]:
    """Where chunks of a result end whose points read what stands before these edges: point i goes with i * scale / divisor."""
    if reach.whole or reach.scale <= 0:
        return [0, extent]
    inner = {-(-e * reach.divisor // reach.scale) for e in edges[1:-1]}
    return [0, *sorted(e for e in inner if 0 < e < extent), extent]


def result_edges(work: Work, output: int, sources: Sequence[Sequence[Sequence[int]]]) -> list[list[int]]:
    """Edges of the chunks of a result along the dimensions of the image, from those of its inputs."""
    spec = work.outputs[output]
    found: list[list[int]] = []
    rank = len(spec.axes)
    for d, extent in enumerate(spec.extents):
        edges = [0, extent]
        for k, source in enumerate(work.inputs):
            reach = work.reach(output, k)
            own = d - rank + len(source.axes)
            if own < 0 or own >= len(reach):
                continue
            candidate = scaled(sources[k][source.axes[own]], reach[own], extent)
            if len(candidate) > 2:
                edges = candidate
                break
        found.append(edges)
    return found


class _Source:
    """An input that lies in chunks: its keys in a graph."""

    def __init__(self, array: Any, name: str, spec: Spec, needs: Mapping[Index, Box]) -> None:
        self.array = array
        self.edges = edges_of(array.chunks)
        self._names = {"cut": f"{name}-cut", "relay": f"{name}-relay"}
        self.routes = _routes.routes(self.edges, {o: spec.with_planes(b) for o, b in needs.items()})

    def _ref(self, index: Index, kind: str = "") -> Any:
        from dask.task_spec import TaskRef

        return TaskRef((self._names[kind] if kind else self.array.name, *index))

    def _at(self, index: Index) -> tuple[int, ...]:
        return _routes.chunk_box(self.edges, index)[0]

    def _others(self, cuts: Sequence[Index], relays: Sequence[Index] = ()) -> tuple[Any, list[Any]]:
        """References to what comes from elsewhere, and where it stands that is a chunk."""
        from dask.task_spec import List

        whole = self.routes.whole
        refs = [self._ref(s, "" if s in whole else "cut") for s in cuts]
        places: list[Any] = [self._at(s) if s in whole else None for s in cuts]
        return List(*refs, *(self._ref(r, "relay") for r in relays)), places + [None] * len(relays)

    def tasks(self) -> dict[Any, Any]:
        from dask.task_spec import Task

        made: dict[Any, Any] = {}
        for s, boxes in self.routes.cuts.items():
            key = (self._names["cut"], *s)
            made[key] = Task(key, cut, self._ref(s), self._at(s), boxes)
        for r, of in self.routes.relays.items():
            key = (self._names["relay"], *r)
            others, places = self._others(sorted(of.cuts))
            made[key] = Task(key, relay, self._ref(r), self._at(r), _routes.largest(of.boxes), others, places)
        return made

    def taken(self, o: Index) -> Any:
        """What compute() has of it."""
        from dask.task_spec import List

        take = self.routes.takes[o]
        others, places = self._others(take.cuts, take.relays)
        return List(take.box, self._ref(take.home), self._at(take.home), others, places)


def _layer(work: Work, arrays: Sequence[Any], numbers: Sequence[Any], of: Sequence[int], name: str) -> Any:
    """Tasks that compute the outputs ``of``, which have the same chunks, and the edges of these."""
    from dask.task_spec import List, Task, TaskRef

    sources = [edges_of(a.chunks) for a in arrays]
    edges = result_edges(work, of[0], sources)
    boxes: dict[Index, list[Box | None]] = {}
    for o in itertools.product(*(range(len(e) - 1) for e in edges)):
        box = _routes.chunk_box(edges, o)
        boxes[o] = [box if k in of else None for k in range(len(work.outputs))]
    tasks, takes, given = inputs_of(work, arrays, boxes, name, len(of) > 1)
    refs = List(*(TaskRef((n.name,)) for n in numbers))
    pad = (0,) * (len(work.outputs[of[0]].shape) - len(edges))
    for o, wanted in boxes.items():
        key = (name, *_planes_first(work.outputs[of[0]], o)) if len(of) == 1 else (name, *o, *pad)
        tasks[key] = Task(key, compute, given, wanted, takes[o], refs, len(of) == 1)
    return tasks, edges


def inputs_of(
    work: Work, arrays: Sequence[Any], boxes: Mapping[Index, Sequence[Box | None]], name: str, apart: bool = False
) -> tuple[dict[Any, Any], dict[Index, Any], Any]:
    """Tasks that bring what boxes of the outputs read, what each takes of them, and the work: ``apart`` or where it is large
    a task of its own."""
    from dask.task_spec import DataNode, List, TaskRef

    needs: list[dict[Index, Box]] = [{} for _ in arrays]
    for o, wanted in boxes.items():
        for k, read in enumerate(work.reads(wanted)):
            needs[k][o] = read
    parts = [
        _Source(a, f"{name}-{k}", spec, needs[k]) for k, (a, spec) in enumerate(zip(arrays, work.inputs, strict=True))
    ]
    tasks: dict[Any, Any] = {}
    for part in parts:
        tasks.update(part.tasks())
    given: Any = work
    if apart or len(pickle.dumps(work)) > _LARGE:
        tasks[f"{name}-work"] = DataNode(f"{name}-work", work)
        given = TaskRef(f"{name}-work")
    return tasks, {o: List(*(p.taken(o) for p in parts)) for o in boxes}, given


def _planes_first(spec: Spec, index: Index) -> Index:
    """The index of a chunk among those of the array, of which all planes lie in one."""
    full = [0] * len(spec.shape)
    for a, i in zip(spec.axes, index, strict=True):
        full[a] = i
    return tuple(full)


def results(work: Work, arrays: Sequence[Any], numbers: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The lazy results of a work."""
    work.check()
    import numpy as np

    da = sys.modules["dask.array"]
    from dask.highlevelgraph import HighLevelGraph
    from dask.task_spec import Task, TaskRef

    token = sys.modules["dask.base"].tokenize(work.token(), *(a.name for a in (*arrays, *numbers)))
    sources = [edges_of(a.chunks) for a in arrays]
    alike: dict[Any, list[int]] = {}
    for o in range(len(work.outputs)):
        grid = result_edges(work, o, sources)
        alike.setdefault(repr((grid, len(work.outputs[o].shape))), []).append(o)
    made: dict[int, Any] = {}
    for of in alike.values():
        name = f"tessera-{'-'.join(work.outputs[o].name for o in of)}-{token}"
        tasks, edges = _layer(work, arrays, numbers, of, name)
        graph = HighLevelGraph.from_collections(name, tasks, dependencies=[*arrays, *numbers])
        for place, o in enumerate(of):
            spec, own, whole = work.outputs[o], name, graph
            if len(of) > 1:
                own = f"tessera-{spec.name}-{token}"
                picks: dict[Any, Any] = {}
                for index in itertools.product(*(range(len(e) - 1) for e in edges)):
                    pad = (0,) * (len(spec.shape) - len(edges))
                    key = (own, *_planes_first(spec, index))
                    picks[key] = Task(key, pick, TaskRef((name, *index, *pad)), place, TaskRef(f"{name}-work"))
                whole = HighLevelGraph({**graph.layers, own: picks}, {**graph.dependencies, own: {name}})
            chunks: list[tuple[int, ...]] = [(n,) for n in spec.shape]
            for a, e in zip(spec.axes, edges, strict=True):
                chunks[a] = tuple(map(operator.sub, e[1:], e[:-1]))
            meta = np.empty_like(da.utils.meta_from_array(arrays[0]), shape=(0,) * len(spec.shape), dtype=spec.dtype)
            made[o] = da.Array(whole, own, tuple(chunks), meta=meta)
    return tuple(made[o] for o in range(len(work.outputs)))


# ---- calls ---------------------------------------------------------------------------------------------------------


def _as_dask(given: Any, like: Any) -> Any:
    """An array beside one of Dask, in chunks that lie as its chunks do."""
    da = sys.modules["dask.array"]
    if isinstance(given, da.Array):
        return given
    rank = len(given.shape)
    chunks = like.chunks[-rank:] if tuple(given.shape) == tuple(like.shape[-rank:]) else "auto"
    return da.from_array(given, chunks=chunks)


def _split(
    given: Sequence[Any], names: Sequence[str], arrays: Sequence[bool]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Stand-ins for what is given, the arrays, and numbers that are lazy."""
    lazy = next((g for g, is_array in zip(given, arrays, strict=True) if is_array and is_lazy(g)), None)
    if lazy is None:
        raise ArgumentError("the numbers are arrays of Dask, but no array is", help="write number.compute()")
    stand_ins: list[Any] = []
    sources: list[Any] = []
    numbers: list[Any] = []
    for value, name, is_array in zip(given, names, arrays, strict=True):
        if isinstance(value, _regions.InputWindow):
            raise ArgumentError(
                f"{name!r} is an InputWindow, but other inputs are arrays of Dask", help="give the whole as an array"
            )
        if is_array:
            array = (
                value if hasattr(value, "dtype") and hasattr(value, "shape") else _arrays.as_numpy(value, name, False)
            )
            stand_ins.append(_arrays.stand_in(array, name))
            sources.append(array)
        elif is_lazy(value):
            if value.shape != ():
                raise ArgumentError(
                    f"{name!r} is an array of Dask of shape {value.shape}, expected a number",
                    help=f"write {name}.reshape(()) where it has one element",
                )
            stand_ins.append(LATER)
            numbers.append(value)
        else:
            stand_ins.append(value)
    return stand_ins, [_as_dask(s, lazy) for s in sources], numbers


def call(program: Program, arrays: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
    """``program(...)`` where an input is an array of Dask."""
    _no_out(out)
    region = None if "region" in program._places else named.pop("region", None)
    options = {"threads": 1, **program._take_options(named)}
    given, like = _xarray.unwrapped(program._in_order(arrays, named))
    if len(given) != len(program.inputs):
        program._core.whole_shapes(given, [None] * len(given))  # says what is missing
    of = [p.array for p in program.inputs]
    stand_ins, sources, numbers = _split(given, [p.name for p in program.inputs], of)
    work = ProgramWork(program, stand_ins, options, "chunks of Dask")
    made: Sequence[Any] = _by_passes(program, work, stand_ins, of, sources, numbers, options)
    if region is not None:
        shapes = [s.extents for s in work.outputs]
        boxes = _regions.boxes_of(region, program._names, shapes)
        made = [
            None if b is None else _sliced(r, s, b, like) for r, s, b in zip(made, work.outputs, boxes, strict=True)
        ]
    elif like is not None:
        made = [_xarray.wrapped(r, like) for r in made]
    return made[0] if program._single else Outputs(made, program._names)


def _by_passes(
    program: Program,
    work: ProgramWork,
    given: Sequence[Any],
    of: Sequence[bool],
    sources: Sequence[Any],
    numbers: Sequence[Any],
    options: Mapping[str, Any],
) -> Sequence[Any]:
    """The results; ``of``: which inputs are arrays."""
    from tessera import _lazy_passes, _passes

    passes = _passes.passes_of(program) if _passes.is_needed(program) else None
    if passes is None or passes.why_not:
        return results(work, sources, numbers)
    arrays, more = iter(sources), iter(numbers)
    by_input = {
        k: next(arrays) if is_array else next(more)
        for k, (value, is_array) in enumerate(zip(given, of, strict=True))
        if is_array or value is LATER
    }
    return _lazy_passes.results(program, passes, given, by_input, options)


def _sliced(result: Any, spec: Spec, box: Box, like: Any) -> Any:
    whole = spec.with_planes(box)
    part = result[tuple(slice(b, e) for b, e in zip(*whole, strict=True))]
    return part if like is None else _xarray.wrapped(part, like, (box, spec.extents))


def _no_out(out: Any) -> None:
    if out is not None:
        raise ArgumentError(
            "out is given, but results of arrays of Dask are lazy",
            help="leave it out, and write dask.array.store(result, out), or program.store(source, out)",
        )


def call_filter(call: FilterCall, image: Any, mask: Any, out: Any, region: Any) -> Any:
    """A named filter where the image or its mask is an array of Dask."""
    _no_out(out)
    (image, mask), like = _xarray.unwrapped((image, mask))
    given = [image] if mask is None else [image, mask]
    (first, *masks), sources, _ = _split(given, ["image", "mask"][: len(given)], [True] * len(given))
    threads = 1 if call.run.get("threads") is None else call.run["threads"]
    call = call._replace(run={**call.run, "threads": threads})
    work = FilterWork(call, first, masks[0] if masks else None, "chunks of Dask")
    (result,) = results(work, sources)
    if region is not None:
        return _sliced(result, work.outputs[0], _regions.only_box_of(region, work.outputs[0].extents), like)
    return result if like is None else _xarray.wrapped(result, like)
