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

from collections.abc import Mapping, Set

from headrace.compiler.task_graph import Stream, TaskGraph
from headrace.plan import TaskKind


def assign_chains(graph: TaskGraph) -> tuple[tuple[int, ...], ...]:
    """Positions of the tasks of each chain, in launch order; chains ordered by their first task."""
    makers = {
        name: position
        for position, task in enumerate(graph.tasks)
        for name in task.outputs
        if not graph.tensors[name].variable
    }
    waits: dict[int, list[int]] = {}
    for first, second in graph.control:
        waits.setdefault(second, []).append(first)
    ends = _read_by_another_stream(graph, makers)
    levels: list[int] = []
    keys: list[tuple[Stream, int]] = []
    chains: dict[tuple[tuple[Stream, int], int], list[int]] = {}
    for position, task in enumerate(graph.tasks):
        key, level = (task.stream, task.job), 0
        made = [makers[name] for name in task.inputs if name in makers]
        for before in (*made, *waits.get(position, ())):
            rises = keys[before] != key or before in ends
            level = max(level, levels[before] + rises)
        keys.append(key)
        levels.append(level)
        chains.setdefault((key, level), []).append(position)
    return tuple(map(tuple, chains.values()))


def _read_by_another_stream(graph: TaskGraph, makers: Mapping[str, int]) -> Set[int]:
    """The tasks that compute what a task on another compute stream of their device reads."""
    stream_of = {n: t.stream for n, t in enumerate(graph.tasks) if t.kind is TaskKind.COMPUTE}
    if len(set(stream_of.values())) <= 1:
        return frozenset()
    return {
        makers[name]
        for reader, stream in stream_of.items()
        for name in graph.tasks[reader].inputs
        if name is not None and name in makers and stream_of.get(makers[name], stream) != stream
    }
