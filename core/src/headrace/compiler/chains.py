"""Chains: which tasks are launched together, as one actor.

Tasks of one job on one in-order stream may form a chain as long as no path leaves the chain and
comes back: otherwise the chain would wait for itself. Each task gets a level, which rises by one on
every edge that changes stream or job; a chain is the tasks of one (stream, job, level). Every edge
between two chains then goes from a lower level to a higher one, so chains cannot form a cycle. One
pass over the edges. Control edges count as well.

What a chain makes can be read elsewhere when all of it is done. Where ops of one device are spread
over several streams so that they overlap, that would be too late for a branch that begins in the
middle of a chain: so a chain also ends, for who reads it, with a task that such a branch reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.compiler.task_graph import Stream, TaskGraph
from headrace.plan import TaskKind


def assign_chains(graph: TaskGraph) -> tuple[tuple[int, ...], ...]:
    """Positions of the tasks of each chain, in launch order; chains ordered by their first task."""
    producer = {name: i for i, task in enumerate(graph.tasks) for name in task.outputs}
    waits: dict[int, list[int]] = {}
    for first, second in graph.control:
        waits.setdefault(second, []).append(first)
    ends = _read_by_another_stream(graph, producer)
    level: list[int] = []
    chains: dict[tuple[Stream, int, int], list[int]] = {}
    for position, task in enumerate(graph.tasks):
        here = 0
        made = [producer[n] for n in task.inputs if n in producer and not graph.tensors[n].variable]
        for before in (*made, *waits.get(position, ())):
            other = graph.tasks[before]
            same = (other.stream, other.job) == (task.stream, task.job) and before not in ends
            here = max(here, level[before] + (not same))
        level.append(here)
        chains.setdefault((task.stream, task.job, here), []).append(position)
    return tuple(map(tuple, chains.values()))


def _read_by_another_stream(graph: TaskGraph, producer: Mapping[str, int]) -> frozenset[int]:
    """The tasks that compute what a task on another compute stream of their device reads."""
    found = set()
    for task in graph.tasks:
        for name in task.inputs if task.kind is TaskKind.COMPUTE else ():
            position = None if name is None else producer.get(name)
            if position is not None:
                maker = graph.tasks[position]
                if maker.kind is TaskKind.COMPUTE and maker.stream != task.stream:
                    found.add(position)
    return frozenset(found)
