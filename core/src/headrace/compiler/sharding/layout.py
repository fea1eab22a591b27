"""Layouts: which part of a tensor each device of a placement holds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product

from headrace.light_dataclass import dataclass
from headrace.sbp import Broadcast, NdSbp, PartialSum, Sbp, Split

Range = tuple[int, int]
"""A half-open range of indices along one axis of a tensor."""

Box = tuple[Range, ...]
"""A range along each axis: a part of a tensor."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one device holds.

    The pieces of one replica tile the tensor if their shares are equal, and all shares together
    reduce to it. Pieces that differ in the replica alone are equal only if no axis holds partial
    results: two copies may be made of different terms.

    Attributes:
        box: where it lies in the tensor.
        share: along each axis of the hierarchy, which of the partial results it is; 0 where the
            axis does not hold partial results.
        replica: along each axis of the hierarchy, which of the copies it is; 0 where the axis does
            not hold copies.
    """

    box: Box
    share: tuple[int, ...] = ()
    replica: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return tuple(stop - start for start, stop in self.box)

    @property
    def is_empty(self) -> bool:
        """True when it has no element."""
        return is_empty(self.box)


def balanced(total: int, parts: int, index: int) -> Range:
    """Part ``index`` of ``total`` things in ``parts`` parts; the first ones are larger by one.

    Example:
        >>> [balanced(7, 3, i) for i in range(3)]
        [(0, 3), (3, 5), (5, 7)]
    """
    size, larger = divmod(total, parts)
    start = index * size + min(index, larger)
    return start, start + size + (index < larger)


@lru_cache(maxsize=4096)
def lay_out(sbp: NdSbp, hierarchy: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Piece, ...]:
    """The piece of each device, in the order of parallel ids: the last hierarchy axis runs fastest.

    An axis of the hierarchy divides what the axes before it leave.

    Example:
        >>> [p.box for p in lay_out(NdSbp.parse("S(0),S(0)"), (2, 2), (5,))]
        [((0, 2),), ((2, 3),), ((3, 4),), ((4, 5),)]
    """
    pieces = [Piece(tuple((0, dim) for dim in shape))]
    for part, count in zip(sbp.axes, hierarchy, strict=True):
        pieces = [_part(piece, part, count, i) for piece in pieces for i in range(count)]
    return tuple(pieces)


def _part(piece: Piece, sbp: Sbp, count: int, index: int) -> Piece:
    box, share, replica = list(piece.box), 0, 0
    match sbp:
        case Split(axis):
            start, stop = box[axis]
            first, last = balanced(stop - start, count, index)
            box[axis] = (start + first, start + last)
        case Broadcast():
            replica = index
        case PartialSum():
            share = index
    return Piece(tuple(box), (*piece.share, share), (*piece.replica, replica))


def is_empty(box: Box) -> bool:
    """True when no element lies in it."""
    return any(start == stop for start, stop in box)


@dataclass(frozen=True, slots=True, eq=False)
class Tiling:
    """The pieces of a layout, found by where they lie: they form a grid.

    Attributes:
        ranges: along each axis of the tensor, the ranges that pieces have, ascending.
        holders: the parallel ids that hold a box of a share, ascending. Where terms are held, of
            each replica by itself (the first of the key); else of all.
    """

    ranges: tuple[tuple[Range, ...], ...]
    holders: Mapping[tuple[tuple[int, ...], tuple[int, ...], Box], tuple[int, ...]]

    def overlapping(self, wanted: Box) -> Iterator[tuple[Box, Box]]:
        """(box of the grid, what ``wanted`` has of it), for each that has an element of it."""
        near = []
        for (start, stop), ranges in zip(wanted, self.ranges, strict=True):
            first = bisect_right(ranges, start, key=lambda r: r[1])
            last = bisect_left(ranges, stop, key=lambda r: r[0])
            near.append([r for r in ranges[first:last] if r[0] < r[1]])
        for box in product(*near):
            pairs = zip(box, wanted, strict=True)
            yield box, tuple((max(p[0], q[0]), min(p[1], q[1])) for p, q in pairs)


@lru_cache(maxsize=1024)
def tile(sbp: NdSbp, hierarchy: tuple[int, ...], shape: tuple[int, ...]) -> Tiling:
    """``lay_out``, the other way round."""
    pieces = lay_out(sbp, hierarchy, shape)
    is_partial = any(isinstance(axis, PartialSum) for axis in sbp.axes)
    holders: dict[tuple[tuple[int, ...], tuple[int, ...], Box], list[int]] = {}
    for index, piece in enumerate(pieces):
        replica = piece.replica if is_partial else ()
        holders.setdefault((replica, piece.share, piece.box), []).append(index)
    ranges = tuple(tuple(sorted({p.box[axis] for p in pieces})) for axis in range(len(shape)))
    return Tiling(ranges, {key: tuple(ids) for key, ids in holders.items()})
