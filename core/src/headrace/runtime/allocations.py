"""``Allocations``: memory that one job has, and gives back together."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from headrace.device import Allocator, Buffer
from headrace.memory_case import MemoryCase
from headrace.runtime.blocks import Part
from headrace.runtime.memories import Memories
from headrace.taking import take


class Allocations:
    """What a job has taken from the memories of the process."""

    def __init__(self, memories: Memories, job: str, limit: int | None) -> None:
        """Nothing yet; ``limit`` as for ``Memories.take``."""
        self._memories = memories
        self._job = job
        self._limit = limit
        self._holdings: dict[MemoryCase, list[Part]] = {}

    def take(
        self, case: MemoryCase, nbytes: int, allocator: Allocator, alignment_bytes: int
    ) -> Buffer:
        """``nbytes`` bytes, until ``give_back``.

        Raises:
            OutOfMemoryError: there is not enough; says what was asked for, by whom, and who holds
                what there is.
        """
        asked = max(nbytes, 1)
        held = self._holdings.setdefault(case, [])
        ask = self._memories.take
        part = take(held, ask, case, asked, self._job, allocator, alignment_bytes, self._limit)
        return part.view().view(0, nbytes)

    def give_back(self, *, spoilt: bool = False) -> None:
        """Let go of all of it, whatever one of the plugins raises. Idempotent.

        Args:
            spoilt: the streams of the job could not be waited for: nobody is to have it next.
        """
        try:
            self._give_all(spoilt)
        finally:
            self._give_all(spoilt)  # the rest: Ctrl-C may have come before

    def _give_all(self, spoilt: bool) -> None:
        with ExitStack() as last_first:
            for case, parts in self._holdings.items():
                for part in parts:
                    give = partial(self._memories.give, case, part, self._job, parts)
                    last_first.callback(give, spoilt=spoilt)
