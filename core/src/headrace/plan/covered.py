"""``CoveredBytes``: how many bytes a changing set of ranges covers, those that overlap once."""

from __future__ import annotations

from bisect import bisect_left, insort


class CoveredBytes:
    """The number of bytes that a changing set of ranges covers."""

    def __init__(self) -> None:
        self.nbytes = 0
        self._ranges: list[tuple[int, int]] = []
        self._longest = 0

    def add(self, start: int, end: int) -> None:
        """Add a range."""
        self.nbytes += self._alone(start, end)
        insort(self._ranges, (start, end))
        self._longest = max(self._longest, end - start)

    def remove(self, start: int, end: int) -> None:
        """Remove a range that was added."""
        del self._ranges[bisect_left(self._ranges, (start, end))]
        self.nbytes -= self._alone(start, end)

    def _alone(self, start: int, end: int) -> int:
        """Bytes of a range that no range of the set covers."""
        alone, at = 0, start
        for index in range(
            bisect_left(self._ranges, (start - self._longest, 0)), len(self._ranges)
        ):
            low, high = self._ranges[index]
            if low >= end:
                break
            if high > at:
                alone += max(0, low - at)
                at = max(at, high)
        return alone + max(0, end - at)
