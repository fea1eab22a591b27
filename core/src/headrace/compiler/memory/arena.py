"""Arenas: which chains use the same bytes one after another.

A chain has an arena. Chains of one job on one stream, each of which waits, through whatever others,
for the one before, share one: a job that is cut into many chains by what goes between devices then
needs no more memory than its largest part.

That takes *control edges*. By itself the first chain of an arena starts on the next piece as soon
as its own readers are done, and would write over what later chains still use. So it also waits
until the last chain is done, and every chain elsewhere that reads from the arena without going
before a later chain of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence, Set
from dataclasses import field
from graphlib import TopologicalSorter

from headrace.compiler.memory.uses import Uses
from headrace.compiler.task_graph import Stream, TaskGraph
from headrace.light_dataclass import dataclass

MOST_CHAINS = 1 << 14
"""Beyond, each chain keeps an arena of its own: who waits for whom is a bit for each two chains."""


@dataclass(slots=True, eq=False)
class Arena:
    """Chains in order, and when each begins: their tasks are numbered through.

    Between two chains one moment is left, in which chains elsewhere read what the first has made
    and bring what the second will read, in whatever order.

    Attributes:
        chains: numbers of the chains.
        starts: time of the first task of each chain, and behind it, a time after the last task.
        waits_for: chains elsewhere that must be done before the first one starts anew.
    """

    chains: list[int]
    starts: list[int]
    waits_for: set[int] = field(default_factory=set)

    @property
    def end(self) -> int:
        """A time after the last task."""
        return self.starts[-1]


class Arenas:
    """The arenas of a graph, and the time of every task in its own."""

    def __init__(
        self,
        graph: TaskGraph,
        chains: Sequence[Sequence[int]],
        uses: Uses,
        joined: frozenset[int],
    ) -> None:
        """Join chains into arenas in the jobs ``joined``; elsewhere make one for each chain."""
        order: Sequence[int] = range(len(chains))
        self._waits: list[int] | None = None
        if joined:
            before = _chains_before(graph, chains, uses)
            order = _in_order(before)
            if len(chains) <= MOST_CHAINS:
                self._waits = _waits(before, order)
        self._chain_of = uses.chain_of
        self._of_chain: dict[int, Arena] = {}
        self._times = [0] * len(graph.tasks)
        self.all: list[Arena] = []
        last: dict[tuple[Stream, int], Arena] = {}
        for number in order:
            task = graph.tasks[chains[number][0]]
            key = (task.stream, task.job)
            arena = last.get(key)
            if (
                arena is None
                or task.job not in joined
                or not self._goes_before(arena.chains[-1], number)
            ):
                arena = last[key] = Arena([], [0])
                self.all.append(arena)
            for time, position in enumerate(chains[number], arena.end):
                self._times[position] = time
            arena.chains.append(number)
            arena.starts.append(arena.end + len(chains[number]) + 1)
            self._of_chain[number] = arena

    @staticmethod
    def may_be_joined(graph: TaskGraph, chains: Sequence[Sequence[int]]) -> bool:
        """True when there are several chains of one job on one stream."""
        firsts = [graph.tasks[chain[0]] for chain in chains]
        return len({(task.stream, task.job) for task in firsts}) < len(firsts)

    def of(self, position: int) -> Arena:
        """The arena of the chain of a task."""
        return self._of_chain[self._chain_of[position]]

    def waited_for(self, arena: Arena) -> list[int]:
        """Chains that must be done before the arena starts anew; those that imply the rest."""
        chains = arena.waits_for | set(arena.chains[1:][-1:])
        return sorted(
            chain
            for chain in chains
            if not any(self._goes_before(chain, other) for other in chains)
        )

    def time(self, position: int) -> int:
        """When a task runs, in its arena."""
        return self._times[position]

    def begin_after(self, arena: Arena, chain: int) -> int | None:
        """The time at which ``chain``, which reads from ``arena``, is certainly done; None: never.

        That is the beginning of the first chain of the arena that waits for it.
        """
        waiting = bisect_left(arena.chains, True, key=lambda other: self._goes_before(chain, other))
        return arena.starts[waiting] if waiting < len(arena.chains) else None

    def end_before(self, arena: Arena, chain: int) -> int:
        """The time by which ``chain``, which writes into ``arena``, has certainly not begun.

        That is the moment behind the last chain of the arena that it waits for; 0 if there is none.
        """
        waited_for = bisect_left(
            arena.chains, True, key=lambda other: not self._goes_before(other, chain)
        )
        return max(arena.starts[waited_for] - 1, 0)

    def _goes_before(self, chain: int, other: int) -> bool:
        """True when ``other`` waits, through whatever others, until ``chain`` is done."""
        return self._waits is not None and bool(self._waits[other] >> chain & 1)


def _chains_before(graph: TaskGraph, chains: Sequence[Sequence[int]], uses: Uses) -> list[set[int]]:
    """The chains that each chain reads from, or waits for through a control edge."""
    before: list[set[int]] = [set() for _ in chains]
    for name, position in uses.maker.items():
        maker = uses.chain_of[position]
        for reader in uses.readers_of(name):
            before[uses.chain_of[reader]].add(maker)
    for first, second in graph.control:
        before[uses.chain_of[second]].add(uses.chain_of[first])
    for number, others in enumerate(before):
        others.discard(number)
    return before


def _in_order(before: Sequence[Set[int]]) -> list[int]:
    """Every chain behind those it reads from; otherwise in the order of their numbers."""
    return list(TopologicalSorter(dict(enumerate(map(sorted, before)))).static_order())


def _waits(before: Sequence[Set[int]], order: Sequence[int]) -> list[int]:
    """For each chain, a number whose bit c is set when it waits for chain c."""
    waits = [0] * len(before)
    for number in order:
        for other in before[number]:
            waits[number] |= waits[other] | 1 << other
    return waits
