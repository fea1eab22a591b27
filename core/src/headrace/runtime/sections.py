"""Critical sections: which calls may begin. Pure, like the actors: requests in, grants out.

OneFlow's lock of critical sections, with one section for each job that can be called. A call begins
when no call is under way that its job excludes, and none waits that came first and excludes it; so
nobody waits for ever, and calls that only read the same things overlap. Calls of one job do not
exclude each other: what they write in turn is ordered by the job's own registers.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from headrace.plan import CriticalSection


class Sections:
    """The calls that are under way and those that wait, by job. Used by one thread at a time."""

    def __init__(self, sections: Iterable[CriticalSection]) -> None:
        self._sections = {section.job: section for section in sections}
        self._entered = Counter[int]()
        self._waiting: deque[int] = deque()

    def request(self, job: int) -> bool:
        """A call of ``job`` wants to begin: True if it may, else it waits for its turn."""
        if not self._may_enter(job, self._waiting):
            self._waiting.append(job)
            return False
        self._entered[job] += 1
        return True

    def release(self, job: int) -> tuple[int, ...]:
        """A call of ``job`` is over; returns the jobs of the calls that may now begin, in order."""
        self._entered[job] -= 1
        if not self._entered[job]:
            del self._entered[job]
        granted: list[int] = []
        left: deque[int] = deque()
        for waiting in self._waiting:
            if self._may_enter(waiting, left):
                self._entered[waiting] += 1
                granted.append(waiting)
            else:
                left.append(waiting)
        self._waiting = left
        return tuple(granted)

    def _may_enter(self, job: int, before: Iterable[int]) -> bool:
        if job in before:
            return False
        mine = self._sections[job]
        return not any(mine.excludes(self._sections[o]) for o in {*self._entered, *before})
