"""What jobs hold of the memories of a process, and what is said when there is no more."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import NamedTuple

from headrace.device import Allocator, Buffer
from headrace.errors import OutOfMemoryError
from headrace.memory_case import MemoryCase
from headrace.runtime.bus import new_lock

SHOWN = 3
"""How many jobs a message names."""


class Ledger:
    """Bytes that each job holds of each memory, for all executors of one registry.

    Attributes:
        allocating: held while an allocator is called, which plugins are promised one call of at a
            time, and while anything here is.
    """

    def __init__(self) -> None:
        self.allocating = new_lock()
        self._held: dict[MemoryCase, Counter[str]] = {}

    def enter(self, memory: MemoryCase, job: str, nbytes: int) -> None:
        """A job holds so many bytes more; less, if they are negative."""
        jobs = self._held.setdefault(memory, Counter())
        jobs[job] += nbytes
        if not jobs[job]:
            del jobs[job]

    def holders(self, memory: MemoryCase) -> str:
        """In words: what is held of a memory, and by which jobs most of it."""
        jobs = self._held.get(memory, Counter())
        if not jobs:
            return "no job of this process holds any of it"
        most = "; ".join(f"{name!r} {held:,}" for name, held in jobs.most_common(SHOWN))
        return f"jobs of this process hold {jobs.total():,} bytes of it ({most})"


class _Holding(NamedTuple):
    allocator: Allocator
    buffer: Buffer
    memory: MemoryCase
    nbytes: int


class Allocations:
    """Memory that one job has allocated and gives back together."""

    def __init__(self, ledger: Ledger, job: str) -> None:
        self._ledger = ledger
        self._job = job
        self._holdings: list[_Holding] = []

    def take(self, allocator: Allocator, memory: MemoryCase, nbytes: int) -> Buffer:
        """At least ``nbytes`` bytes, until ``give_back``.

        Raises:
            OutOfMemoryError: there is not enough; says what was asked for, by whom, and who holds
                what there is.
        """
        with self._ledger.allocating:
            try:
                buffer = allocator.allocate(max(nbytes, 1))
            except OutOfMemoryError as error:
                raise OutOfMemoryError(
                    f"job {self._job!r} needs {nbytes:,} bytes of {memory} in one piece: {error}; "
                    f"{self._ledger.holders(memory)}. Close jobs or models that are not needed, or "
                    "make the inputs smaller"
                ) from error
            self._holdings.append(_Holding(allocator, buffer, memory, nbytes))
            self._ledger.enter(memory, self._job, nbytes)
        return buffer

    def give_back(self) -> None:
        """Free all of it, whatever one of the allocators raises. Idempotent."""
        given, self._holdings = self._holdings, []
        with ExitStack() as last_first:
            for holding in given:
                last_first.callback(self._free, holding)

    def _free(self, holding: _Holding) -> None:
        with self._ledger.allocating:
            self._ledger.enter(holding.memory, self._job, -holding.nbytes)
            holding.allocator.free(holding.buffer)
