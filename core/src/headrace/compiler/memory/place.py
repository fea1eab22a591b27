"""Packing: intervals of time with sizes get offsets, so that no two alive at once overlap.

Two algorithms, neither always best; the smaller result is taken:

- *timeline*: walk through time with a free list, best fit; good for chains. Each step looks at all
  free ranges, of which a chain has few.
- *largest first*: place in descending size at the lowest offset that is free for the whole life;
  quadratic, so only for problems of up to ``LARGEST_FIRST_LIMIT`` intervals.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

ALIGNMENT_BYTES = 512
"""Offsets are multiples of this: as the documented system aligns, and enough for any device."""

LARGEST_FIRST_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Interval:
    """``nbytes`` needed from time ``first`` to time ``last``, both included.

    Time starts again and again, once for each run. What is needed ``between`` two runs as well,
    because others write or read it then, shares nothing with another that is.
    """

    first: int
    last: int
    nbytes: int
    between: bool = False

    def meets(self, other: Interval) -> bool:
        """True when both are needed at some moment."""
        overlap = self.first <= other.last and other.first <= self.last
        return overlap or (self.between and other.between)


@dataclass(frozen=True, slots=True)
class Placed:
    """Offsets in the order of the intervals, and the bytes needed in all."""

    offsets: tuple[int, ...]
    nbytes: int


def aligned(nbytes: int) -> int:
    """``nbytes`` rounded up to the alignment."""
    return -(-nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def place(intervals: Sequence[Interval]) -> Placed:
    """Offsets for ``intervals``, multiples of ``ALIGNMENT_BYTES``. Deterministic."""
    results = [_timeline(intervals)]
    if len(intervals) <= LARGEST_FIRST_LIMIT:
        results.append(_largest_first(intervals))
    return min(results, key=lambda placed: placed.nbytes)


def _largest_first(intervals: Sequence[Interval]) -> Placed:
    order = sorted(range(len(intervals)), key=lambda i: (-intervals[i].nbytes, i))
    offsets = [0] * len(intervals)
    placed: list[int] = []
    total = 0
    for index in order:
        me = intervals[index]
        others = sorted(
            (offsets[i], aligned(intervals[i].nbytes)) for i in placed if intervals[i].meets(me)
        )
        offset = 0
        for start, size in others:
            if start - offset >= aligned(me.nbytes):
                break
            offset = max(offset, start + size)
        offsets[index] = offset
        placed.append(index)
        total = max(total, offset + aligned(me.nbytes))
    return Placed(tuple(offsets), total)


def _timeline(intervals: Sequence[Interval]) -> Placed:
    offsets = [0] * len(intervals)
    horizon = max((interval.last for interval in intervals), default=0)
    free = _FreeList()
    by_end: list[tuple[int, int]] = []  # heap of (last, index) of what is alive
    for index in sorted(range(len(intervals)), key=lambda i: (intervals[i].first, i)):
        me = intervals[index]
        while by_end and by_end[0][0] < me.first:
            gone = heappop(by_end)[1]
            free.give(offsets[gone], aligned(intervals[gone].nbytes))
        offsets[index] = free.take(aligned(me.nbytes))
        # What is needed between runs is kept to the end: more than it must be, and simple.
        heappush(by_end, (horizon if me.between else me.last, index))
    return Placed(tuple(offsets), free.end)


class _FreeList:
    """Free ranges below ``end``, kept apart by at least one used byte; grows at the end."""

    def __init__(self) -> None:
        self.end = 0
        self._ranges: list[tuple[int, int]] = []  # (offset, size), sorted by offset

    def take(self, nbytes: int) -> int:
        """The smallest range that fits; else at the end, which may use a free range there."""
        fitting = [(size, offset) for offset, size in self._ranges if size >= nbytes]
        if fitting:
            size, offset = min(fitting)
            self._ranges.remove((offset, size))
            if size > nbytes:
                insort(self._ranges, (offset + nbytes, size - nbytes))
            return offset
        offset = self.end
        if self._ranges and sum(self._ranges[-1]) == self.end:
            offset = self._ranges.pop()[0]
        self.end = offset + nbytes
        return offset

    def give(self, offset: int, nbytes: int) -> None:
        """Free a range, joining it with its free neighbours."""
        if nbytes == 0:
            return
        at = bisect_left(self._ranges, (offset, 0))
        if at < len(self._ranges) and self._ranges[at][0] == offset + nbytes:
            nbytes += self._ranges.pop(at)[1]
        if at and sum(self._ranges[at - 1]) == offset:
            before = self._ranges.pop(at - 1)
            offset, nbytes = before[0], before[1] + nbytes
        insort(self._ranges, (offset, nbytes))
