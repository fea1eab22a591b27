"""``FreeList``: free ranges of an arena that grows, best fit in logarithmic time."""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush


class FreeList:
    """Free ranges below ``end``, kept apart by at least one used byte; grows at the end.

    Ranges are kept by size, and those of one size in a heap: an arena has many ranges and few
    sizes. What is taken out of the middle of a heap stays there until it comes up.
    """

    def __init__(self) -> None:
        self.end = 0
        self._size_at: dict[int, int] = {}  # begin of a free range -> its size
        self._begin_of: dict[int, int] = {}  # end of a free range -> its begin
        self._of_size: dict[int, list[int]] = {}  # size -> begins, some of them taken since
        self._sizes: list[int] = []  # the keys of `_of_size`, sorted

    def take(self, nbytes: int) -> int:
        """The smallest range that fits; else at the end, which may use a free range there."""
        if nbytes == 0:
            return 0
        found = self._smallest(nbytes)
        if found is not None:
            size = self._remove(found)
            if size > nbytes:
                self._add(found + nbytes, size - nbytes)
            return found
        offset = self._begin_of.get(self.end, self.end)
        if offset != self.end:
            self._remove(offset)
        self.end = offset + nbytes
        return offset

    def give(self, offset: int, nbytes: int) -> None:
        """Free a range, joining it with its free neighbours."""
        if nbytes == 0:
            return
        if offset + nbytes in self._size_at:
            nbytes += self._remove(offset + nbytes)
        before = self._begin_of.get(offset)
        if before is not None:
            nbytes += self._remove(before)
            offset = before
        self._add(offset, nbytes)

    def _smallest(self, nbytes: int) -> int | None:
        """Begin of the smallest range of at least ``nbytes``, the lowest of several."""
        at = bisect_left(self._sizes, nbytes)
        while at < len(self._sizes):
            size = self._sizes[at]
            begins = self._of_size[size]
            while begins and self._size_at.get(begins[0]) != size:
                heappop(begins)
            if begins:
                return begins[0]
            del self._of_size[size], self._sizes[at]
        return None

    def _add(self, begin: int, size: int) -> None:
        self._size_at[begin] = size
        self._begin_of[begin + size] = begin
        if size not in self._of_size:
            self._of_size[size] = []
            insort(self._sizes, size)
        heappush(self._of_size[size], begin)

    def _remove(self, begin: int) -> int:
        size = self._size_at.pop(begin)
        del self._begin_of[begin + size]
        return size
