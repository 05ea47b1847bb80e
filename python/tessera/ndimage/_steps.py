"""Programs of binary morphology: steps in a row, steps until nothing changes, and blocks of an image."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.ndimage._graph import Graph, Image
from tessera.ndimage._support import cached

BLOCK = 8  # sides of blocks that are propagated first, as one point each
_FOREVER = 2**31 - 1


class Structure(NamedTuple):
    """A structuring element and what the image is beyond its ends."""

    places: bytes
    shape: tuple[int, ...]
    lo: tuple[int, ...]
    border: int
    dilation: bool

    def array(self) -> npt.NDArray[np.bool_]:
        """The places as an array."""
        return np.frombuffer(self.places, np.bool_).reshape(self.shape)


def ones(graph: Graph, image: Image) -> Image:
    """0 and 1."""
    value = graph.op("ne", graph.here(image), graph.number("int32", 0))
    return graph.stage(graph.p.convert("uint8", value), "uint8")


def step(graph: Graph, image: Image, mask: Image | None, structure: Structure) -> Image:
    """One erosion or dilation of an image of 0 and 1, where the mask is set."""
    array = structure.array()
    if array.any():
        modes = tuple("constant" if n > 1 else "none" for n in structure.shape)
        found = graph.extreme(image, array, structure.lo, modes, structure.border, not structure.dilation)
    else:
        nothing = graph.op("mul", graph.p.convert("float32", graph.here(image)), graph.number("float32", 0))
        value = graph.op("add", nothing, graph.number("float32", 0 if structure.dilation else 1))
        found = graph.stage(graph.p.convert("uint8", value), "uint8")
    if mask is None:
        return found
    value = graph.p.select(graph.here(mask), graph.here(found), graph.here(image))
    return graph.stage(graph.p.convert("uint8", value), "uint8")


@cached
def steps_program(
    rank: int, of: str, to: str, masked: bool, structures: tuple[Structure, ...], inverted: bool
) -> _core.Program:
    """One erosion or dilation after the other, as 0 and 1 in the type ``to``."""
    graph = Graph(rank)
    image = graph.input(of)
    mask = graph.input("bool") if masked else None
    current = ones(graph, image)
    for structure in structures:
        current = step(graph, current, mask, structure)
    return graph.program(given_back(graph, current, to, inverted))


def given_back(graph: Graph, image: Image, to: str, inverted: bool) -> Image:
    value = graph.op("eq" if inverted else "ne", graph.here(image), graph.number("int32", 0))
    if to == "bool":
        return graph.stage(value, "bool")
    return graph.stage(graph.cast(graph.p.convert("int32", value), "int32", to), to)


@cached
def loop_program(
    rank: int, of: str, to: str, masked: bool, structure: Structure, steps: int, inverted: bool
) -> _core.Program:
    """Steps until nothing changes."""
    graph = Graph(rank)
    image = graph.input(of)
    mask = graph.input("bool") if masked else None
    first = ones(graph, image)
    before = Image(graph.p.begin_loop(graph.name(), _FOREVER, [first.id])[0], "uint8")
    current = before
    for _ in range(steps):
        current = step(graph, current, mask, structure)
    changed = graph.op("ne", graph.here(current), graph.here(before))
    difference = graph.stage(graph.p.convert("uint8", changed), "uint8")
    total = graph.p.total(graph.name(), "max_of", difference.id)
    test = graph.op("ne", graph.p.only(total), graph.number("int32", 0))
    after = Image(graph.p.end_loop([current.id], test)[0], "uint8")
    return graph.program(given_back(graph, after, to, inverted))


def spreads(structure: Structure) -> bool:
    """Whether it is a dilation by at least the point and both neighbours along every axis that it touches."""
    array, centre = structure.array(), [-a for a in structure.lo]
    for d, size in enumerate(structure.shape):
        for step in (-1, 0, 1):
            place = [*centre[:d], centre[d] + step, *centre[d + 1 :]]
            if size > 1 and not (0 <= place[d] < size and array[tuple(place)]):
                return False
    return structure.dilation


@cached
def coarse_program(rank: int, of: str, wide: tuple[int, ...]) -> _core.Program:
    """Of blocks along some axes: whether all points are of the mask, after whether one of these is set."""
    graph = Graph(rank)
    found = []
    for image, operation in ((graph.input(of), "any"), (graph.input("bool"), "all")):
        ids = graph.p.variables([(0, BLOCK - 1) for _ in wide])
        offsets: list[object] = [0] * rank
        for d, id in zip(wide, ids):
            offsets[d] = (0, [(id, 1)])
        view = graph.p.every(image.id, [BLOCK if d in wide else 1 for d in range(rank)])
        value = graph.op("ne", graph.p.read(view, offsets), graph.number("int32", 0))  # type: ignore[arg-type]
        found.append(graph.stage(graph.p.reduce(operation, ids, value), "bool"))
    seeds = graph.stage(graph.op("and", graph.here(found[0]), graph.here(found[1])), "bool")
    return graph.program(seeds, found[1])


@cached
def fine_program(rank: int, of: str, wide: tuple[int, ...]) -> _core.Program:
    """The image with the blocks of a coarse one."""
    graph = Graph(rank)
    image = graph.input(of)
    extents = [graph.p.size(f"c{d}") for d in range(rank)]
    coarse = graph.p.input("coarse", "bool", rank, extents)[0]
    coarse = graph.p.borders(coarse, [("constant" if d in wide else "none", 0.0) for d in range(rank)])
    places = []
    for d in range(rank):
        place = graph.p.coord(d)
        places.append(graph.op("shr", place, graph.number("int32", BLOCK.bit_length() - 1)) if d in wide else place)
    zero = graph.number("int32", 0)
    value = graph.op(
        "or", graph.op("ne", graph.here(image), zero), graph.op("ne", graph.p.gather(coarse, places), zero)
    )
    return graph.program(graph.stage(value, "bool"))


@cached
def hit_or_miss_program(rank: int, of: str, to: str, hit: Structure, miss: Structure) -> _core.Program:
    graph = Graph(rank)
    current = ones(graph, graph.input(of))
    one = graph.here(step(graph, current, None, hit))
    other = graph.here(step(graph, current, None, miss))
    zero = graph.number("int32", 0)
    value = graph.op("and", graph.op("ne", one, zero), graph.op("eq", other, zero))
    return graph.program(given_back(graph, graph.stage(graph.p.convert("uint8", value), "uint8"), to, False))
