"""``Allocations``: memory that one job has, and gives back together."""

from __future__ import annotations

from contextlib import ExitStack

from headrace.device import Allocator, Buffer
from headrace.memory_case import MemoryCase
from headrace.runtime.blocks import Part
from headrace.runtime.memories import Memories


class Allocations:
    """What a job has taken from the memories of the process."""

    def __init__(self, memories: Memories, job: str, limit: int | None) -> None:
        """Nothing yet; ``limit`` as for ``Memories.take``."""
        self._memories = memories
        self._job = job
        self._limit = limit
        self._holdings: list[tuple[MemoryCase, Part]] = []

    def take(
        self, case: MemoryCase, nbytes: int, allocator: Allocator, alignment_bytes: int
    ) -> Buffer:
        """``nbytes`` bytes, until ``give_back``.

        Raises:
            OutOfMemoryError: there is not enough; says what was asked for, by whom, and who holds
                what there is.
        """
        asked = max(nbytes, 1)
        part = self._memories.take(case, asked, self._job, allocator, alignment_bytes, self._limit)
        self._holdings.append((case, part))
        return part.view().view(0, nbytes)

    def give_back(self, *, spoilt: bool = False) -> None:
        """Let go of all of it, whatever one of the plugins raises. Idempotent.

        Args:
            spoilt: the streams of the job could not be waited for: nobody is to have it next.
        """
        given, self._holdings = self._holdings, []
        with ExitStack() as last_first:
            for case, part in given:
                last_first.callback(self._memories.give, case, part, self._job, spoilt=spoilt)
