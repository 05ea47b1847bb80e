"""What is to be done with chunked arrays: a program or a named filter with all but its arrays, which computes parts of
its results from parts of its inputs. A work is pickled, and knows what it reads; chunks, files and schedulers are not
its matter."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tessera import _core, _given, _options, _regions
from tessera._errors import ArgumentError
from tessera._regions import Box, Reach

if TYPE_CHECKING:
    from tessera._program import Program

#: Options that change no bit of a result.
_SILENT = ("threads", "device", "devices", "device_memory", "compiler", "compile_limit", "tile_rows", "tile_columns")
_SPAN = re.compile('^span ".*\n', re.MULTILINE)  # where something stands in a text
LATER: Any = object()  # in the place of a number


@dataclass(frozen=True)
class Spec:
    """An array of a work: ``axes`` are the dimensions of it that are those of the image, the others are planes."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    axes: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(self.shape[a] for a in self.axes)

    def with_planes(self, box: Box) -> Box:
        """A box of the image as one of the array."""
        begin, end = [0] * len(self.shape), list(self.shape)
        for a, b, e in zip(self.axes, *box, strict=True):
            begin[a], end[a] = b, e
        return tuple(begin), tuple(end)

    def image_place(self, box: Box) -> tuple[int, ...]:
        """Where a box of the array begins in the image."""
        return tuple(box[0][a] for a in self.axes)


def hollow(shape: Sequence[int], dtype: Any) -> Any:
    """An array without memory."""
    import numpy as np

    return np.broadcast_to(np.zeros((), dtype), tuple(shape))


def _run_options(given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Options that go with a task to wherever it runs."""
    for name in _options.HANDLES:
        if given.get(name) is not None:
            raise ArgumentError(f"{name} is given, but {what} run elsewhere and later", help=f"leave {name} out")
    return {n: v for n, v in given.items() if v is not None}


def _refused(name: str, why: str, call: str, what: str) -> ArgumentError:
    at_once = f"target[...] = {call}(source[...])" if what == "tasks" else f"{call}(image.compute())"
    by_passes = (
        "; files that do not are for the command: tessera run --memory 4GiB" if "a loop with a test" in why else ""
    )
    return ArgumentError(
        f"{name!r} cannot be computed chunk by chunk: {why}, so that any chunk takes the whole input",
        help=f"where that fits into memory, compute all at once: {at_once}{by_passes}",
    )


def _loud(options: Mapping[str, Any]) -> dict[str, Any]:
    return {n: _given.same(v) for n, v in options.items() if n not in _SILENT}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _union(boxes: Sequence[Box]) -> Box:
    return (
        tuple(min(b[0][d] for b in boxes) for d in range(len(boxes[0][0]))),
        tuple(max(b[1][d] for b in boxes) for d in range(len(boxes[0][0]))),
    )


class Work:
    """A program or a filter with all but its arrays."""

    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    #: Which of the numbers of a run come from elsewhere, by name.
    numbers: tuple[str, ...] = ()

    def check(self, outputs: Sequence[int] | None = None) -> None:
        """Raises where an output has no parts."""

    def reads(self, boxes: Sequence[Box | None]) -> tuple[Box, ...]:
        """What parts of the outputs read of every input: one box for all, planes not among its dimensions."""
        raise NotImplementedError

    def run(
        self, windows: Sequence[Any], places: Sequence[Box], boxes: Sequence[Box | None], numbers: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        """Those parts, of windows of the inputs that stand at ``places``; None where an output is not wanted."""
        raise NotImplementedError

    def reach(self, output: int, source: int) -> tuple[Reach, ...]:
        """What a point of an output reads along the dimensions of an input; nothing where that is not known."""
        raise NotImplementedError

    def said(self) -> dict[str, Any]:
        """What decides about the bits of the results, as JSON has it."""
        raise NotImplementedError

    def token(self) -> str:
        return _hash(json.dumps(self.said(), sort_keys=True))[:32]


class ProgramWork(Work):
    def __init__(self, program: Program, given: Sequence[Any], options: Mapping[str, Any], what: str) -> None:
        """``given``: arrays without memory in the places of arrays; numbers, LATER where they come with a run."""
        if len(given) != len(program.inputs):
            wanted = ", ".join(p.name for p in program.inputs)
            raise ArgumentError(f"{len(given)} inputs are given, expected {len(program.inputs)}: {wanted}")
        self.program = program
        self._what = what
        self.options = _run_options(options, what)
        arrays = [0 if g is LATER else g for g in given]
        extents = program._core.whole_shapes(arrays, [None] * len(arrays))  # and whether types and ranks fit
        self.given = tuple(None if p.array or g is LATER else g for p, g in zip(program.inputs, given, strict=True))
        self.inputs = tuple(
            Spec(p.name, tuple(g.shape), p.numpy_type, tuple(range(p.rank)))
            for p, g in zip(program.inputs, given, strict=True)
            if p.array
        )
        of = zip(program.outputs, program._names, extents, strict=True)
        self.outputs = tuple(
            Spec(n, (*e, len(p.fields)) if p.has_planes else e, p.numpy_type, tuple(range(p.rank))) for p, n, e in of
        )
        self.numbers = tuple(p.name for p, g in zip(program.inputs, given, strict=True) if g is LATER)

    def check(self, outputs: Sequence[int] | None = None) -> None:
        for o, locality in enumerate(self.program.locality()):
            if locality.depends_on_all and (outputs is None or o in outputs):
                raise _refused(self.outputs[o].name, locality.depends_on_all, "program", self._what)

    def reads(self, boxes: Sequence[Box | None]) -> tuple[Box, ...]:
        specs = iter(self.inputs)
        arrays = []
        for port, number in zip(self.program.inputs, self.given, strict=True):
            if port.array:
                spec = next(specs)
                arrays.append(hollow(spec.shape, spec.dtype))
            else:
                arrays.append(0 if number is None else number)
        options = _options.run(self.options)
        found: list[list[Box]] = [[] for _ in self.inputs]
        for o, box in enumerate(boxes):
            if box is not None:
                all_of = self.program._core.reads(arrays, o, *box, options)
                for k, read in enumerate(b for b in all_of if b is not None):
                    found[k].append(read)
        return tuple(map(_union, found))

    def run(
        self, windows: Sequence[Any], places: Sequence[Box], boxes: Sequence[Box | None], numbers: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        inputs: list[Any] = []
        at: list[Box | None] = []
        arrays, more = iter(zip(windows, places, self.inputs, strict=True)), iter(numbers)
        for port, number in zip(self.program.inputs, self.given, strict=True):
            if port.array:
                window, place, spec = next(arrays)
                inputs.append(window)
                at.append((spec.image_place(place), spec.extents))
            else:
                inputs.append(next(more) if number is None else number)
                at.append(None)
        shapes = [p.window_shape(b) for b, p in zip(boxes, self.program.outputs, strict=True)]
        return self.program._core.run_region(inputs, at, boxes, shapes, None, _options.run(self.options))

    def reach(self, output: int, source: int) -> tuple[Reach, ...]:
        inputs = self.program.locality()[output].inputs
        return inputs.get(self.inputs[source].name, ())

    def said(self) -> dict[str, Any]:
        return {
            "program": _hash(_SPAN.sub("", self.program.graph_text())),
            "numbers": _given.same(self.given),
            "options": _loud(self.options),
        }


class FilterCall(NamedTuple):
    """A call of a named filter without its arrays: options of the filter, and of the run."""

    name: str
    options: Mapping[str, Any]
    channel_axis: int | None
    run: Mapping[str, Any]


class FilterWork(Work):
    def __init__(self, call: FilterCall, image: Any, mask: Any, what: str) -> None:
        """``image`` and ``mask`` are arrays without memory."""
        from tessera._filter_calls import prepared

        _, filter_, _moved = prepared(call.name, image, call.options, call.channel_axis, mask)
        rank = len(image.shape)
        axis = None if call.channel_axis is None else _given.whole("channel_axis", call.channel_axis) % rank
        self._call = FilterCall(call.name, dict(call.options), axis, _run_options(call.run, what))
        self._what = what
        axes = tuple(d for d in range(rank) if d != axis)
        self.inputs = (Spec("image", tuple(image.shape), image.dtype, axes),)
        if mask is not None:
            self.inputs += (Spec("mask", tuple(mask.shape), mask.dtype, tuple(range(len(mask.shape)))),)
        dtype, shape = filter_.result(self.inputs[0].extents)
        if axis is not None:
            shape = (*shape[:axis], shape[-1], *shape[axis:-1])
        import numpy as np

        self.outputs = (Spec("out", tuple(shape), np.dtype(dtype), axes),)

    def _filter(self) -> _core.Filter:
        from tessera._filter_calls import prepared

        image, *masks = (hollow(spec.shape, spec.dtype) for spec in self.inputs)
        name, options, axis, _run = self._call
        filter_: _core.Filter = prepared(name, image, options, axis, masks[0] if masks else None)[1]
        return filter_

    def check(self, outputs: Sequence[int] | None = None) -> None:
        (locality,) = _regions.localities(json.loads(self._filter().locality()))
        if locality.depends_on_all:
            raise _refused(self._call.name, locality.depends_on_all, f"ts.{self._call.name}", self._what)

    def reads(self, boxes: Sequence[Box | None]) -> tuple[Box, ...]:
        (box,) = boxes
        if box is None:
            raise ArgumentError("no part of the result is wanted, expected one")
        read = self._filter().reads(self.inputs[0].extents, *box, _options.run(self._call.run))
        if len(self.inputs) == 1:
            return (read,)
        rank = len(self.inputs[1].axes)
        mask = (read[0][len(read[0]) - rank :], read[1][len(read[1]) - rank :])
        return read, mask

    def run(
        self, windows: Sequence[Any], places: Sequence[Box], boxes: Sequence[Box | None], numbers: Sequence[Any] = ()
    ) -> tuple[Any, ...]:
        from tessera._arrays import move_axis

        image, *masks = windows
        axis = self._call.channel_axis
        if axis is not None:
            image = move_axis(image, axis, -1)
        place = (self.inputs[0].image_place(places[0]), self.inputs[0].extents)
        options = _options.run(self._call.run)
        result = self._filter().run(image, masks[0] if masks else None, None, options, boxes[0], place)
        return (result if axis is None else move_axis(result, -1, axis),)

    def reach(self, output: int, source: int) -> tuple[Reach, ...]:
        if source > 0:
            return ()
        return tuple(Reach(0, 0, 1, 1, False) for _ in self.outputs[0].axes)

    def said(self) -> dict[str, Any]:
        from tessera._filter_calls import as_given

        name, options, axis, run = self._call
        told = {n: _given.same(as_given(n, v)) for n, v in options.items() if v is not None}
        return {"program": {"filter": name, **told}, "numbers": axis, "options": _loud(run)}
