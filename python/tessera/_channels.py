"""Where pipelines have their channels: the last dimension of programs, any axis of what is given and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tessera._arrays import move_axis
from tessera._images import ImageType
from tessera._ports import Port
from tessera._program import Program
from tessera._results import Outputs


def last(shape: Sequence[int], of: ImageType, axis: int | None) -> Sequence[int]:
    """The extents of an array of planes whose channels are moved to the end."""
    if not of.fields or axis is None or len(shape) != (of.rank or 0) + 1 or not -len(shape) <= axis < len(shape):
        return shape
    extents = list(shape)
    extents.append(extents.pop(axis))
    return extents


def shown(program: Program, result: Any, axis: int | None) -> Any:
    """Channels back to where they were."""
    if axis is None or axis == -1:
        return result
    if isinstance(result, Outputs):
        of = zip(result, program.outputs, strict=True)
        moved = [move_axis(r, -1, axis) if p.has_planes and r is not None else r for r, p in of]
        return Outputs(moved, result.keys())
    return move_axis(result, -1, axis) if program.outputs[0].has_planes else result


def targets(program: Program, out: Any, axis: int | None) -> Any:
    """Arrays to write to, with their channels last."""
    if axis is None or axis == -1:
        return out
    ports = program.outputs

    def moved(array: Any, port: Port) -> Any:
        return move_axis(array, axis, -1) if port.has_planes and array is not None else array

    if isinstance(out, Mapping):
        by_name = {p.name: p for p in ports}
        return {n: moved(o, by_name[n]) if n in by_name else o for n, o in out.items()}
    if isinstance(out, tuple | list):
        return [moved(o, p) for o, p in zip(out, ports, strict=False)] if len(out) == len(ports) else out
    return moved(out, ports[0])


def in_place(out: Any, result: Any) -> Any:
    """The arrays that were given to be written to, in the places of those that share their memory."""
    if not isinstance(result, Outputs):
        given = next(iter(out.values()), None) if isinstance(out, Mapping) else out
        given = given[0] if isinstance(given, tuple | list) else given
        return result if given is None else given
    names = result.keys()
    arrays = [out.get(n) for n in names] if isinstance(out, Mapping) else list(out)
    return Outputs([r if o is None else o for o, r in zip(arrays, result, strict=True)], names)
