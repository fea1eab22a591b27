"""Chains as text: which tasks are launched together, and which chains each waits for."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.compiler.stage import Chained
from headrace.compiler.task_graph import TaskGraph


def dump_chains(chained: Chained) -> str:
    """All chains; ends with a newline."""
    graph, chains = chained.tasks, chained.chains
    chain_of = {position: number for number, chain in enumerate(chains) for position in chain}
    waits = _waits(graph, chain_of, len(chains))
    lines = [f"chains of {graph.name!r}"]
    for number, chain in enumerate(chains):
        first = graph.tasks[chain[0]]
        after = ", ".join(f"chain {other}" for other in sorted(waits[number] - {number}))
        after = after and f", after {after}"
        lines.append(f"  chain {number} on {first.stream}, job {first.job}{after}")
        lines += [f"    task {position}: {graph.tasks[position].name}" for position in chain]
    return "\n".join(lines) + "\n"


def _waits(graph: TaskGraph, chain_of: Mapping[int, int], count: int) -> list[set[int]]:
    """For each chain those that must be done before it; a variable is there without any."""
    maker = {
        name: chain_of[position]
        for position, task in enumerate(graph.tasks)
        for name in task.outputs
        if not graph.tensors[name].variable
    }
    waits: list[set[int]] = [set() for _ in range(count)]
    for position, task in enumerate(graph.tasks):
        waits[chain_of[position]].update(maker[name] for name in task.inputs if name in maker)
    for first, second in graph.control:
        waits[chain_of[second]].add(chain_of[first])
    return waits
