"""How parts of chunks come to where they are needed, in few pieces.

A chunk of a result reads a box of the source: a chunk of it, its *home*, and what lies around. In three dimensions 26
chunks lie around, and a task for each slice of them would be 26 tasks a chunk. Two steps do with two tasks:

- A *cut* of a chunk is all that its neighbours along some of the axes take of it.
- A *relay* of a chunk is what its neighbours along the other axes take of it, and of what it has taken itself. So what
  lies across a corner comes by way of a chunk between.

        cut   cut          o takes chunk o, the cuts c beside it, and the relays r above and below,
         |     |           which have taken from the cuts beside them: corners come with the relays
    c ---> r <--- c
           |
    c ---> o <--- c
           |
    c ---> r <--- c

What is cut is a slab as thick as the halo. Nothing is sent that is no part of what some neighbour reads."""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tessera._regions import Box

Index = tuple[int, ...]
#: A cut of as much of its chunk as this is not made: the chunk itself goes.
_MOST_OF_A_CHUNK = 0.75


@dataclass
class Relay:
    boxes: set[Box] = field(default_factory=set)
    cuts: set[Index] = field(default_factory=set)  # that it takes


@dataclass
class Takes:
    """What a chunk of a result takes: its home, cuts and relays of other chunks."""

    box: Box
    home: Index
    cuts: list[Index] = field(default_factory=list)
    relays: list[Index] = field(default_factory=list)


@dataclass
class Routes:
    cuts: dict[Index, list[Box]]
    relays: dict[Index, Relay]
    takes: dict[Index, Takes]
    whole: set[Index]  # cuts that are the chunk


def volume(box: Box) -> int:
    n = 1
    for b, e in zip(*box, strict=True):
        n *= max(0, e - b)
    return n


def common(a: Box, b: Box) -> Box:
    return tuple([max(y, x) for x, y in zip(a[0], b[0], strict=True)]), tuple(
        [min(y, x) for x, y in zip(a[1], b[1], strict=True)]
    )


def chunk_box(edges: Sequence[Sequence[int]], index: Index) -> Box:
    return tuple(e[i] for e, i in zip(edges, index, strict=True)), tuple(
        e[i + 1] for e, i in zip(edges, index, strict=True)
    )


def largest(boxes: set[Box]) -> list[Box]:
    """Those that lie in no other one."""

    def within(a: Box, b: Box) -> bool:
        return all(map(int.__ge__, a[0], b[0])) and all(map(int.__le__, a[1], b[1]))

    kept: list[Box] = []
    for box in sorted(boxes, key=lambda b: (-volume(b), b)):
        if not any(within(box, k) for k in kept):
            kept.append(box)
    return kept


def _span(edges: Sequence[int], begin: int, end: int) -> tuple[range, int]:
    """The chunks that a range meets, and the one of which it has most."""
    met = range(bisect_right(edges, begin) - 1, bisect_right(edges, end - 1))
    return met, max(met, key=lambda i: min(end, edges[i + 1]) - max(begin, edges[i]))


def _thickness(edges: Sequence[Sequence[int]], needs: Mapping[Index, Box]) -> list[float]:
    """By how much of a chunk what is read reaches beyond its home, on the average, along every axis."""
    sums = [0.0] * len(edges)
    for box in needs.values():
        for a, (b, e) in enumerate(zip(*box, strict=True)):
            _, home = _span(edges[a], b, e)
            first, last = edges[a][home], edges[a][home + 1]
            sums[a] += (e - b - (min(e, last) - max(b, first))) / (last - first)
    return [s / max(1, len(needs)) for s in sums]


def groups(thick: Sequence[float], axes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of cuts and those of relays, so that least is sent: every neighbour along some axes gets all that is cut
    along them."""
    if len(axes) < 2:
        return tuple(axes), ()

    def sent(of: Sequence[int]) -> float:
        inner = 1.0
        for a in of:
            inner *= 1 - min(1.0, thick[a])
        return float(3 ** len(of) - 1) * (1 - inner)

    best: tuple[float, tuple[int, ...], tuple[int, ...]] | None = None
    for n in range(1, len(axes)):
        for first in itertools.combinations(axes, n):
            second = tuple(a for a in axes if a not in first)
            grown = 1.0
            for a in first:
                grown *= 1 + thick[a]
            cost = sent(first) + sent(second) * grown
            if best is None or cost < best[0] - 1e-9:
                best = (cost, first, second)
    assert best is not None
    return best[1], best[2]


def routes(edges: Sequence[Sequence[int]], needs: Mapping[Index, Box]) -> Routes:
    """``edges`` of the chunks of a source along every axis, and what every chunk of a result reads of it."""
    spans = {o: [_span(e, b, f) for e, b, f in zip(edges, *box, strict=True)] for o, box in needs.items()}
    axes = [a for a in range(len(edges)) if any(len(s[a][0]) > 1 for s in spans.values())]
    beside, beyond = groups(_thickness(edges, needs), axes)
    cuts: dict[Index, set[Box]] = {}
    relays: dict[Index, Relay] = {}
    takes: dict[Index, Takes] = {}

    def reached(span: list[tuple[range, int]], along: Sequence[int], start: Index) -> list[Index]:
        ranges = [span[a][0] if a in along else (start[a],) for a in range(len(edges))]
        return [s for s in itertools.product(*ranges) if s != start]

    chunk = functools.lru_cache(None)(functools.partial(chunk_box, edges))

    def cut(box: Box, of: Index) -> Index:
        cuts.setdefault(of, set()).add(common(box, chunk(of)))
        return of

    for o, box in needs.items():
        span = spans[o]
        home = tuple(s[1] for s in span)
        take = takes[o] = Takes(box, home)
        take.cuts = [cut(box, s) for s in reached(span, beside, home)]
        for r in reached(span, beyond, home):
            place = chunk(r)
            begin, end = list(box[0]), list(box[1])
            for a in beyond:
                begin[a], end[a] = max(begin[a], place[0][a]), min(end[a], place[1][a])
            part = tuple(begin), tuple(end)
            relay = relays.setdefault(r, Relay())
            take.relays.append(r)
            if part not in relay.boxes:
                relay.boxes.add(part)
                relay.cuts.update(cut(part, s) for s in reached(span, beside, r))
    made = {s: largest(boxes) for s, boxes in cuts.items()}
    whole = {s for s, b in made.items() if sum(map(volume, b)) >= _MOST_OF_A_CHUNK * volume(chunk_box(edges, s))}
    return Routes({s: b for s, b in made.items() if s not in whole}, relays, takes, whole)
