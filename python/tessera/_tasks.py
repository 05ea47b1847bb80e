"""Tasks without edges: each reads a part of the inputs with its halo, runs everything, and writes whole chunks of the
result. A task is picklable, may run anywhere and twice, and leaves a marker when it has written."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from tessera import _given, _grids, _regions, _routes, _stored, _stored_passes
from tessera._arrays import move_axis
from tessera._errors import ArgumentError, Error
from tessera._journal import Head, Journal, head_of
from tessera._lazy import scaled
from tessera._regions import Box
from tessera._stored import Stored
from tessera._stored_passes import Plan, Run
from tessera._works import FilterWork, ProgramWork, Spec, Work, hollow

if TYPE_CHECKING:
    from tessera._program import Program


class Part(NamedTuple):
    """Outputs that are computed together, and the edges of the boxes of their tasks."""

    outputs: tuple[int, ...]
    edges: list[list[int]]

    def size(self) -> int:
        return math.prod(len(e) - 1 for e in self.edges)


class Job:
    """What the tasks of a list share."""

    def __init__(
        self,
        work: Work,
        sources: Sequence[Stored],
        targets: Sequence[Stored | None],
        parts: Sequence[Part],
        journal: Journal | None,
        resume: bool,
    ) -> None:
        self.work = work
        self.sources = tuple(sources)
        self.targets = tuple(targets)
        self.parts = parts
        self.journal = journal
        self.resume = resume

    def said(self) -> dict[str, Any]:
        """What the bits of the result depend on, and where they are."""

        def told(spec: Spec, array: Stored, chunks: Any) -> dict[str, Any]:
            own = {"name": spec.name, "shape": array.shape, "type": str(array.dtype), "chunks": chunks}
            return {**own, "place": array.address(), "written": array.written()}

        sources = zip(self.work.inputs, self.sources, strict=True)
        targets = [(s, t) for s, t in zip(self.work.outputs, self.targets, strict=True) if t is not None]
        said = {
            **self.work.said(),
            "inputs": [told(s, a, a.chunks()) for s, a in sources],
            "outputs": [told(s, a, a.units()) for s, a in targets],
        }
        made: dict[str, Any] = json.loads(json.dumps(said))
        return made

    def boxes(self) -> list[Any]:
        """Those of all tasks."""
        return [[list(p.outputs), p.edges] for p in self.parts]


class Task:
    """A part of a result to be computed: ``run()`` reads, computes and writes it."""

    def __init__(self, job: Job, part: int, index: tuple[int, ...]) -> None:
        self._job, self._part, self._index = job, part, index

    @property
    def id(self) -> str:
        """The same in every list of these tasks."""
        index = "-".join(map(str, self._index))
        return index if len(self._job.parts) == 1 else f"{self._part}-{index}"

    @property
    def region(self) -> Any:
        """What it writes, in slices; of several outputs by their names."""
        part, work = self._job.parts[self._part], self._job.work
        box = self._box()
        slices = tuple(slice(b, e) for b, e in zip(*box, strict=True))
        return slices if len(work.outputs) == 1 else {work.outputs[o].name: slices for o in part.outputs}

    def done(self) -> bool:
        """Whether its marker is there."""
        journal = self._job.journal
        return journal is not None and journal.has(self.id)

    def run(self) -> str:
        """Does it, or nothing where its marker is there and the list is one to resume; gives its id."""
        if not (self._job.resume and self.done()):
            self.write(self.compute(*self.read()))
        return self.id

    def __call__(self) -> str:
        return self.run()

    def _box(self) -> Box:
        return _routes.chunk_box(self._job.parts[self._part].edges, self._index)

    def _boxes(self) -> list[Box | None]:
        outputs, box = self._job.parts[self._part].outputs, self._box()
        return [box if o in outputs else None for o in range(len(self._job.work.outputs))]

    # The three steps of a task, for who does them side by side.

    def read(self) -> tuple[list[Any], list[Box]]:
        work = self._job.work
        boxes = [s.with_planes(b) for s, b in zip(work.inputs, work.reads(self._boxes()), strict=True)]
        return [a.read(b) for a, b in zip(self._job.sources, boxes, strict=True)], boxes

    def compute(self, windows: list[Any], places: list[Box]) -> tuple[Any, ...]:
        return self._job.work.run(windows, places, self._boxes())

    def write(self, results: tuple[Any, ...]) -> None:
        job = self._job
        for spec, target, box, result in zip(job.work.outputs, job.targets, self._boxes(), results, strict=True):
            if box is not None and target is not None:
                target.write(spec.with_planes(box), result)
        if job.journal is not None:
            job.journal.mark(self.id)

    def __repr__(self) -> str:
        return f"<Task {self.id}: {self.region}>"


class Tasks(Sequence[Task]):
    """Tasks that share nothing and may run anywhere, in any order: ``list(map(ts.Task.run, tasks))``."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __len__(self) -> int:
        return sum(p.size() for p in self._job.parts)

    @overload
    def __getitem__(self, k: int) -> Task: ...
    @overload
    def __getitem__(self, k: slice) -> list[Task]: ...

    def __getitem__(self, k: int | slice) -> Task | list[Task]:
        if isinstance(k, slice):
            return [self[n] for n in range(len(self))[k]]
        n = range(len(self))[k]
        for place, part in enumerate(self._job.parts):
            if n < part.size():
                index = []
                for e in reversed(part.edges):
                    n, i = divmod(n, len(e) - 1)
                    index.append(i)
                return Task(self._job, place, tuple(reversed(index)))
            n -= part.size()
        raise IndexError(k)

    def __iter__(self) -> Iterator[Task]:
        for place, part in enumerate(self._job.parts):
            for index in itertools.product(*(range(len(e) - 1) for e in part.edges)):
                yield Task(self._job, place, index)

    def left(self) -> list[Task]:
        """Those without a marker."""
        return [t for t in self if not t.done()]

    def finish(self) -> None:
        """Removes the markers, which nobody needs once everything is done."""
        left = self.left()
        if left:
            raise Error(f"{len(left)} of {len(self)} tasks have no marker yet, among them {left[0].id}")
        self._close()

    def _close(self) -> None:
        """Forgets what was done."""
        if self._job.journal is not None:
            self._job.journal.close()

    @property
    def journal(self) -> Path | None:
        """The folder of markers."""
        return None if self._job.journal is None else self._job.journal.folder

    def __repr__(self) -> str:
        return f"<{len(self)} tasks>"


# ---- making a list -------------------------------------------------------------------------------------------------


def _sources_of(src: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a call, whose arrays lie in files."""

    def one(value: Any, name: str) -> Any:
        if isinstance(value, str | os.PathLike) or len(getattr(value, "shape", ())) > 0:
            return _stored.opened(value, name)
        return value

    if isinstance(src, Mapping):
        return (), {n: one(v, n) for n, v in src.items()}
    if isinstance(src, tuple | list):
        return tuple(one(v, f"source {k}") for k, v in enumerate(src)), {}
    return (_stored.opened(src, "the source"),), {}


def _program_work(program: Program, inputs: Sequence[Any], options: Mapping[str, Any]) -> tuple[Work, list[Stored]]:
    given = list(inputs)
    sources = []
    for k, (port, value) in enumerate(zip(program.inputs, inputs, strict=False)):
        if port.array:
            source = value if isinstance(value, Stored) else _stored.opened(value, port.name)
            sources.append(source)
            given[k] = hollow(source.shape, source.dtype)
    return ProgramWork(program, given, options, "tasks"), sources


def work_of(what: Any, src: Any, named: dict[str, Any]) -> tuple[Work, list[Stored], list[int | None]]:
    """What is to be done, its sources, and of every output where its channels are, if not last."""
    from tessera._methods import Method
    from tessera._program import Program
    from tessera._trace import Pipeline

    args, by_name = _sources_of(src)
    named = {**by_name, **named}
    if isinstance(what, Method):
        what, args = what._of, (what._instance, *args)
    if isinstance(what, Program):
        options = what._take_options(named)
        work, sources = _program_work(what, what._in_order(args, named), options)
        return work, sources, [None] * len(work.outputs)
    if isinstance(what, Pipeline):
        axis = what._axis(named)
        options = what._take_options(named)
        program, inputs = what._bound(args, named, axis)
        work, sources = _program_work(program, inputs, options)
        moved = None if axis in (None, -1) else axis
        return work, sources, [moved if p.has_planes else None for p in program.outputs]
    if callable(what) and getattr(what, "__module__", "").startswith("tessera._filter"):
        made = what(*args, **named)
        if isinstance(made, tuple) and isinstance(made[0], FilterWork):
            return made[0], list(made[1]), [None]
    name = getattr(what, "__name__", "") if callable(what) else ""
    module = getattr(what, "__module__", None) or ""
    raise ArgumentError(
        f"{name or _given.shown(what)} has no tasks, expected a program, a pipeline or a named filter",
        ("functions of tessera.ndimage take arrays in memory",) if module.startswith("tessera.ndimage") else (),
        "write ts.tasks(ts.gaussian, source, target, sigma=2)",
    )


def _given_targets(work: Work, dst: Any) -> list[Any]:
    """Where the outputs go as it is given, None for those that are not wanted."""
    names = [s.name for s in work.outputs]
    given: list[Any]
    if isinstance(dst, Mapping):
        unknown = [n for n in dst if n not in names]
        if unknown:
            raise ArgumentError(f"the target has {unknown[0]!r}, expected some of {', '.join(names)}")
        given = [dst.get(n) for n in names]
    elif isinstance(dst, tuple | list):
        if len(dst) != len(names):
            raise ArgumentError(f"{len(dst)} targets are given, expected {len(names)}: {', '.join(names)}")
        given = list(dst)
    elif isinstance(dst, str | os.PathLike) and len(names) > 1:
        given = [*_stored.created_group(os.fspath(dst), names)]
    elif len(names) > 1:
        raise ArgumentError(
            f"one target is given, expected {len(names)}: {', '.join(names)}",
            help="write a tuple of them, or a dictionary by their names; one that is not named is not computed",
        )
    else:
        given = [dst]
    if all(g is None for g in given):
        raise ArgumentError(f"no target is given, expected some of {', '.join(names)}")
    return given


def _targets(
    work: Work, given: Sequence[Any], sources: Sequence[Stored], axes: Sequence[int | None]
) -> list[Stored | None]:
    """Arrays of what is given."""
    made = [
        None if g is None else _target(work, o, g, sources, axis)
        for o, (g, axis) in enumerate(zip(given, axes, strict=True))
    ]
    for spec, target in zip(work.outputs, made, strict=True):
        for source_spec, source in zip(work.inputs, sources, strict=True):
            if target is not None and target.is_same(source):
                raise ArgumentError(
                    f"the target of {spec.name!r} is the source {source_spec.name!r}, of which other tasks would read what "
                    "is written",
                    help="write to another array",
                )
    return made


def _target(work: Work, o: int, given: Any, sources: Sequence[Stored], axis: int | None) -> Stored:
    spec = work.outputs[o]
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        if not any(p.endswith(".zarr") for p in Path(path).parts):
            raise ArgumentError(
                f"the target is {path!r}, expected a path that ends in .zarr", help="or an array that is there already"
            )
        if spec.dtype.names is not None:
            fields = ", ".join(f"{n} {spec.dtype[n]}" for n in spec.dtype.names)
            raise ArgumentError(
                f"{spec.name!r} has structs of {fields}, but an array of zarr that is made has numbers",
                help="give an array of structs, such as numpy.lib.format.open_memmap makes",
            )
        shape, chunks = list(spec.shape), list(spec.shape)
        for a, c in zip(spec.axes, _natural_chunks(work, o, sources), strict=True):
            chunks[a] = c
        if axis is not None:
            shape.insert(axis % len(shape), shape.pop())
            chunks.insert(axis % len(chunks), chunks.pop())
        given = _stored.created(path, shape, spec.dtype, chunks)
    _stored.check_stored(given, "the target")
    target = Stored(given, for_writing=True)
    if axis is not None and target.ndim == len(spec.shape):
        target = move_axis(target, axis, -1)
    if target.shape != spec.shape:
        raise ArgumentError(f"the target of {spec.name!r} has the shape {target.shape}, expected {spec.shape}")
    if not _stored.alike(target.dtype, spec.dtype):
        raise ArgumentError(f"the target of {spec.name!r} is an array of {target.dtype}, expected {spec.dtype}")
    return target


def _natural_chunks(work: Work, o: int, sources: Sequence[Stored]) -> list[int]:
    """Chunks of a result as its sources have them."""
    spec = work.outputs[o]
    found = _grids.usual_chunk(spec.extents)
    for k, source in enumerate(sources):
        chunks, reach, own = source.chunks(), work.reach(o, k), work.inputs[k]
        if chunks is None or len(reach) != len(spec.axes):
            continue
        for d, extent in enumerate(spec.extents):
            whole = source.shape[own.axes[d]]
            edges = scaled([0, min(chunks[own.axes[d]], whole), whole], reach[d], extent)
            found[d] = edges[1]
        break
    return found


def _parts(
    work: Work,
    sources: Sequence[Stored],
    targets: Sequence[Stored | None],
    region: Any,
    chunks: Any,
    memory: int,
    least: int,
) -> list[Part]:
    names = [s.name for s in work.outputs]
    shapes = [s.extents for s in work.outputs]
    wanted = [k for k, t in enumerate(targets) if t is not None]
    if region is None:
        region = {names[k]: ... for k in wanted}
    boxes = _regions.boxes_of(region, names, shapes)
    alike: dict[Any, list[int]] = {}
    for k in wanted:
        if boxes[k] is not None:
            alike.setdefault((shapes[k], boxes[k]), []).append(k)
    parts = []
    for (extents, box), outputs in alike.items():
        units = [1] * len(extents)
        for o in outputs:
            target = targets[o]
            assert target is not None
            own, spec = target.units(), work.outputs[o]
            units = [math.lcm(u, own[a]) for u, a in zip(units, spec.axes, strict=True)]
        name = names[outputs[0]]
        units = [min(u, n) for u, n in zip(units, extents, strict=True)]
        if isinstance(chunks, str):
            if chunks != "auto":
                raise ArgumentError(f'chunks are {chunks!r}, expected "auto" or extents')
            cost = functools.partial(_cost, work, [s.chunks() for s in sources], outputs)
            sizes = _grids.chosen_sizes(box, units, cost, memory, least)
        else:
            sizes = _grids.given_sizes(chunks, units, extents, name)
        parts.append(Part(tuple(outputs), _grids.edges_of(box, sizes, units, extents, name)))
    return parts


def _as_before(parts: list[Part], head: Head) -> list[Part]:
    """The boxes of the tasks that are to be resumed, whatever memory and workers there are now."""
    before = {tuple(outputs): edges for outputs, edges in head["tasks"]}

    def ends(edges: list[list[int]]) -> list[list[int]]:
        return [[e[0], e[-1]] for e in edges]

    alike = [p.outputs in before and ends(before[p.outputs]) == ends(p.edges) for p in parts]
    return [Part(p.outputs, before[p.outputs]) if same else p for p, same in zip(parts, alike, strict=True)]


def _cost(work: Work, chunks: Sequence[Any], outputs: Sequence[int], box: Box) -> tuple[int, float]:
    """Bytes that a task takes, and by how much its halo multiplies what it does: points that it computes with, and those of
    the chunks that it opens."""
    boxes = [box if o in outputs else None for o in range(len(work.outputs))]
    read = points = opened = without = 0
    written = sum(_bytes(work.outputs[o], box) for o in outputs)
    rank = len(box[0])
    for k, (spec, own) in enumerate(zip(work.inputs, work.reads(boxes), strict=True)):
        read += _bytes(spec, own)
        points += _routes.volume(own)
        units = [1] * len(spec.axes) if chunks[k] is None else [chunks[k][a] for a in spec.axes]
        of = zip(*own, units, spec.extents, strict=True)
        opened += math.prod(min(-(-e // u) * u, n) - b // u * u for b, e, u, n in of)
        reach = work.reach(outputs[0], k)
        bare = 1.0
        for d, n in enumerate(spec.extents):
            place = d + rank - len(spec.axes)
            extent = box[1][place] - box[0][place] if place >= 0 else n
            r = reach[d] if d < len(reach) else None
            bare *= n if r is None or r.whole else max(1, extent * r.scale / r.divisor)
        without += int(bare)
    return read + written, (points + opened) / 2 / max(1, without)


def _bytes(spec: Spec, box: Box) -> int:
    return _routes.volume(spec.with_planes(box)) * int(spec.dtype.itemsize)


def tasks(
    what: Any,
    src: Any,
    dst: Any,
    *,
    region: Any = None,
    chunks: Any = "auto",
    memory: int | str = "1GiB",
    least_tasks: int = 1,
    journal: str | os.PathLike[str] | None = None,
    resume: bool = False,
    **options: Any,
) -> Tasks:
    """Tasks that compute a program, a pipeline or a named filter from files to files, without anything between them.

    ``src`` is an array with slices (zarr, h5py, tensorstore, ``numpy.memmap``), a path that ends in .zarr or .npy, or
    several in a tuple or by name; ``dst`` the same to write to, and a path that ends in .zarr is made. ``chunks`` are the
    extents of what a task writes: whole chunks of ``dst``. "auto" makes halos cheap within ``memory``, which is what a task
    reads and writes, and so that there are ``least_tasks``.

    Every task leaves a marker in the folder ``journal``, ``<dst>.tessera`` where none is given. With ``resume`` tasks that
    have one do nothing; that a program, its options, its inputs or its targets are others is an error. Without, and where
    ``dst`` was made again, all begins anew."""
    same = {"region": region, "chunks": chunks, "memory": memory, "least_tasks": least_tasks}
    return listed(what, src, dst, None, journal=journal, resume=resume, **same, **options)


def listed(
    what: Any,
    src: Any,
    dst: Any,
    run: Run | None,
    *,
    region: Any = None,
    chunks: Any = "auto",
    memory: int | str = "1GiB",
    least_tasks: int = 1,
    journal: str | os.PathLike[str] | None = None,
    resume: bool = False,
    **options: Any,
) -> Tasks:
    """The tasks. ``run`` computes what totals of whole images are made of; without it, nothing that has some is taken."""
    work, sources, axes = work_of(what, src, options)
    given = _given_targets(work, dst)
    wanted = [o for o, g in enumerate(given) if g is not None]
    passes = _stored_passes.needed(work, wanted)
    plan: Plan | None = None
    if passes is not None and isinstance(work, ProgramWork):
        if run is None:
            _stored_passes.refuse_tasks(work, wanted)
        plan = Plan(passes, work, sources, wanted)
        work, sources = plan.work, plan.sources
        given, axes = [given[o] for o in plan.outputs], [axes[o] for o in plan.outputs]
    folder = Path(journal) if journal is not None else next((j for j in map(_stored.journal_of, given) if j), None)
    if resume and folder is None:
        raise ArgumentError(
            "resume is True, but the result lies where no markers can stand beside it",
            help="say where they are: journal='a/folder'",
        )
    if folder is not None:
        head_of(folder)  # before anything is made
    targets = _targets(work, given, sources, axes)
    work.check([o for o, t in enumerate(targets) if t is not None])
    least = _given.whole("least_tasks", least_tasks, 1)
    most = _grids.memory_of(memory)
    parts = _parts(work, sources, targets, region, chunks, most, least)
    if plan is not None and run is not None:
        plan.fill(run, lambda w, s, of, box: _cost(w, [a.chunks() for a in s], of, box)[0], most, least)
    job = Job(work, sources, targets, parts, None if folder is None else Journal(folder), bool(resume))
    if job.journal is None:
        return Tasks(job)
    said = job.said()
    while True:
        before = head_of(job.journal.folder)
        if resume and before is not None and isinstance(chunks, str):
            job.parts = _as_before(parts, before)
        if job.journal.begin({**said, "tasks": job.boxes()}, before, job.resume):
            return Tasks(job)
