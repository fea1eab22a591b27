"""Packing: intervals of time with sizes get offsets, so that no two alive at once overlap.

No algorithm is always best, so several are tried and the smallest result is taken. As soon as one
reaches what is alive at once, which none can go below, the rest is spared:

- *first fit*: place one interval after another at the lowest offset that is free for its whole
  life, by descending size, by descending size times life, and by ascending number of others alive
  with it. Quadratic, so only for problems of up to ``FIRST_FIT_LIMIT`` intervals. Of nets, nearly
  all are done with the first of these orders.
- *timeline*: walk through time with a free list, best fit, forwards and backwards. Cheap at any
  size, and good for chains.
- *search*: first fit again and again, each time with the interval that lay on top placed first.
  Rounds are counted: equal input must give equal plans, so no clock ends it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate, islice

from headrace.compiler.memory.free_list import FreeList
from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple

ALIGNMENT_BYTES = 512
"""Offsets are multiples of this: as OneFlow aligns, and enough for any device."""

FIRST_FIT_LIMIT = 1000
SEARCH_STEPS = 20_000
"""Intervals that all rounds of the search may place together."""
STEP_MEETINGS = 8
"""Others that an interval may meet for one step."""
SEARCH_PATIENCE = 32
"""The search ends after so many rounds that found nothing smaller; what it finds in nets, it finds
in half as many."""


class Interval(NamedTuple):
    """``nbytes`` needed from time ``first`` to time ``last``, both included.

    Time starts again and again, once for each run. What is needed ``between`` two runs as well,
    because others write or read it then, shares nothing with another that is.
    """

    first: int
    last: int
    nbytes: int
    between: bool = False


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
    bound = largest_live_set(intervals)
    stacked = _stacked(intervals)
    if stacked.nbytes == bound:  # all are alive at once; most of many small arenas are like this
        return stacked
    best: Placed | None = None
    for placed in _attempts(intervals):
        if best is None or placed.nbytes < best.nbytes:
            best = placed
        if best.nbytes == bound:
            break
    assert best is not None
    return best


def _stacked(intervals: Sequence[Interval]) -> Placed:
    """One behind the other."""
    ends = [0, *accumulate([aligned(interval.nbytes) for interval in intervals])]
    return Placed(tuple(ends[:-1]), ends[-1])


def largest_live_set(intervals: Sequence[Interval]) -> int:
    """The most bytes, aligned, that are needed at one moment: no placement takes less."""
    changes: dict[int, int] = defaultdict(int)
    lasting = 0
    for first, last, nbytes, between in intervals:
        size = aligned(nbytes)
        changes[first] += size
        changes[last + 1] -= size
        if between:
            lasting += size
    return max([lasting, *accumulate([change for _, change in sorted(changes.items())])])


def _attempts(intervals: Sequence[Interval]) -> Iterator[Placed]:
    """What each algorithm gives, the most likely first, and the search last."""
    fits: Iterator[Placed] = iter(())
    if 1 < len(intervals) <= FIRST_FIT_LIMIT:
        fits = FirstFit(intervals).attempts()
        yield from islice(fits, 1)
    yield timeline(intervals)
    yield timeline([Interval(-i.last, -i.first, i.nbytes, i.between) for i in intervals])
    yield from fits


def timeline(intervals: Sequence[Interval]) -> Placed:
    """Walk through time with a free list. What is needed between runs is kept to the end."""
    offsets = [0] * len(intervals)
    sizes = [aligned(interval.nbytes) for interval in intervals]
    first = [interval.first for interval in intervals]
    end = max((interval.last for interval in intervals), default=0)
    # More than it must be, and simple: so no two of those that are needed between runs share.
    last = [end if interval.between else interval.last for interval in intervals]
    free = FreeList()
    by_end: list[tuple[int, int]] = []  # heap of (last, index) of what is alive
    for index in sorted(range(len(intervals)), key=first.__getitem__):
        while by_end and by_end[0][0] < first[index]:
            gone = heappop(by_end)[1]
            free.give(offsets[gone], sizes[gone])
        offsets[index] = free.take(sizes[index])
        heappush(by_end, (last[index], index))
    return Placed(tuple(offsets), free.end)


class FirstFit:
    """Places one interval after another at the lowest offset that is free for its whole life."""

    def __init__(self, intervals: Sequence[Interval]) -> None:
        self._intervals = intervals
        self._sizes = [aligned(interval.nbytes) for interval in intervals]
        self._meets = _meetings(intervals)

    def attempts(self) -> Iterator[Placed]:
        """By each order, then by a search from the best of them."""
        keys: tuple[Callable[[int], tuple[int, ...]], ...] = (
            lambda i: (-self._sizes[i], i),
            lambda i: (-self._sizes[i] * self._life(i), i),
            lambda i: (len(self._meets[i]), -self._sizes[i], i),
        )
        tried = []
        for key in keys:
            order = sorted(range(len(self._intervals)), key=key)
            placed = self.place(order)
            yield placed
            tried.append((placed.nbytes, order))
        yield from self._search(min(tried)[1])

    def place(self, order: Sequence[int]) -> Placed:
        """Place the intervals in ``order``, all of them."""
        offsets = [0] * len(order)
        spans: list[tuple[int, int] | None] = [None] * len(order)
        total = 0
        for index in order:
            size, offset = self._sizes[index], 0
            for begin, end in sorted(filter(None, map(spans.__getitem__, self._meets[index]))):
                if begin - offset >= size:
                    break
                if end > offset:
                    offset = end
            offsets[index] = offset
            spans[index] = offset, offset + size
            total = max(total, offset + size)
        return Placed(tuple(offsets), total)

    def _search(self, order: list[int]) -> Iterator[Placed]:
        """Move what lies on top to the front, and place all again, until an order comes back."""
        placed = self.place(order)
        least, vain, seen = placed.nbytes, 0, set[int]()
        # A round costs as many steps as there are intervals, or more where each meets many others.
        steps = max(len(order), sum(map(len, self._meets)) // STEP_MEETINGS)
        for _ in range(SEARCH_STEPS // steps):
            top = max(order, key=lambda i: (placed.offsets[i] + self._sizes[i], i))
            order = [top, *(i for i in order if i != top)]
            if (known := hash(tuple(order))) in seen:
                return
            seen.add(known)
            placed = self.place(order)
            yield placed
            least, vain = min(least, placed.nbytes), 0 if placed.nbytes < least else vain + 1
            if vain >= SEARCH_PATIENCE:
                return

    def _life(self, index: int) -> int:
        return self._intervals[index].last - self._intervals[index].first + 1


def _meetings(intervals: Sequence[Interval]) -> list[list[int]]:
    """For each interval, the others that it meets, in no order."""
    meets: list[list[int]] = [[] for _ in intervals]
    alive: list[int] = []
    gone: list[int] = []  # needed between two runs: another that is meets them all the same
    for index in sorted(range(len(intervals)), key=lambda index: intervals[index].first):
        first, _, _, between = intervals[index]
        gone += [i for i in alive if intervals[i].last < first and intervals[i].between]
        alive = [i for i in alive if intervals[i].last >= first]
        met = alive + gone if between else alive
        meets[index] += met
        for other in met:
            meets[other].append(index)
        alive.append(index)
    return meets
