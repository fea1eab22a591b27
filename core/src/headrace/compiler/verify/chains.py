"""What chains promise: launching each as a whole, in any order that its readers allow, ends."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.compiler.task_graph import TaskGraph
from headrace.errors import GraphError


def verify_chains(graph: TaskGraph, chains: Sequence[Sequence[int]]) -> None:
    """Chains part the tasks, and no chain waits for itself.

    - every task is in one chain, on one stream and of one job with the rest of it;
    - a chain launches its tasks in the order of the graph;
    - chains that wait for each other form no circle.

    Raises:
        GraphError: names the chain, the task, or the circle.
    """
    chain_of: dict[int, int] = {}
    for number, chain in enumerate(chains):
        if not chain:
            raise GraphError(f"chain {number} has no task")
        if list(chain) != sorted(chain):
            raise GraphError(f"chain {number} launches its tasks out of order: {list(chain)}")
        first = graph.tasks[chain[0]]
        for position in chain:
            task = graph.tasks[position]
            if position in chain_of:
                raise GraphError(
                    f"task {task.name!r} is in chain {chain_of[position]} and in chain {number}"
                )
            chain_of[position] = number
            if (task.stream, task.job) != (first.stream, first.job):
                raise GraphError(
                    f"chain {number} begins with {first.name!r} on {first.stream} of job "
                    f"{first.job}; {task.name!r} is on {task.stream} of job {task.job}"
                )
    for position, task in enumerate(graph.tasks):
        if position not in chain_of:
            raise GraphError(f"task {task.name!r} is in no chain")
    circle = _circle(_edges(graph, chain_of, len(chains)))
    if circle:
        names = " -> ".join(f"{n} ({graph.tasks[chains[n][0]].name!r} ...)" for n in circle)
        raise GraphError(f"chains wait for each other in a circle: {names}")


def _edges(graph: TaskGraph, chain_of: dict[int, int], count: int) -> list[list[int]]:
    """For each chain, those that read what it makes."""
    maker = {name: chain_of[i] for i, task in enumerate(graph.tasks) for name in task.outputs}
    readers: list[dict[int, None]] = [{} for _ in range(count)]
    for position, task in enumerate(graph.tasks):
        for name in task.inputs:
            source = chain_of[position] if name is None else maker.get(name, chain_of[position])
            if source != chain_of[position]:
                readers[source][chain_of[position]] = None
    return [list(found) for found in readers]


def _circle(readers: list[list[int]]) -> list[int]:
    """Nodes of a circle, the first once more at the end; empty when there is none."""
    waiting = [0] * len(readers)
    for found in readers:
        for reader in found:
            waiting[reader] += 1
    ready = [node for node, count in enumerate(waiting) if not count]
    while ready:
        for reader in readers[ready.pop()]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    left = {node for node, count in enumerate(waiting) if count}
    if not left:
        return []
    before = {r: node for node in sorted(left, reverse=True) for r in readers[node] if r in left}
    path: list[int] = [min(left)]  # every node that is left waits for another that is left
    while before[path[-1]] not in path:
        path.append(before[path[-1]])
    start = path.index(before[path[-1]])
    circle = [*path[start:], path[start]]
    return circle[::-1]
