"""``FreeList``: free ranges of an arena that grows, best fit."""

from __future__ import annotations

from bisect import bisect_left, insort


class FreeList:
    """Free ranges below ``end``, kept apart by at least one used byte; grows at the end.

    They are one sorted list: to move the rest of it takes less than a step of Python, up to
    thousands of ranges.
    """

    def __init__(self) -> None:
        self.end = 0
        self._ranges: list[tuple[int, int]] = []  # size and begin, sorted
        self._size_at: dict[int, int] = {}  # begin of a free range -> its size
        self._begin_of: dict[int, int] = {}  # end of a free range -> its begin

    def take(self, nbytes: int) -> int:
        """The smallest range that fits, the lowest of several; else at the end.

        There it may begin with a free range.
        """
        if nbytes == 0:
            return 0
        at = bisect_left(self._ranges, (nbytes, 0))
        if at < len(self._ranges):
            size, begin = self._ranges[at]
            self._remove(begin)
            if size > nbytes:
                self._add(begin + nbytes, size - nbytes)
            return begin
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

    def _add(self, begin: int, size: int) -> None:
        self._size_at[begin] = size
        self._begin_of[begin + size] = begin
        insort(self._ranges, (size, begin))

    def _remove(self, begin: int) -> int:
        size = self._size_at.pop(begin)
        del self._begin_of[begin + size]
        del self._ranges[bisect_left(self._ranges, (size, begin))]
        return size
