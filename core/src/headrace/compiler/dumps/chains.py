"""Chains as text: which tasks are launched together, and which chains each waits for."""

from __future__ import annotations

from headrace.compiler.stage import Chained


def dump_chains(chained: Chained) -> str:
    """All chains; ends with a newline."""
    graph, chains = chained.tasks, chained.chains
    chain_of = {position: number for number, chain in enumerate(chains) for position in chain}
    maker = {name: chain_of[i] for i, task in enumerate(graph.tasks) for name in task.outputs}
    lines = [f"chains of {graph.name!r}"]
    for number, chain in enumerate(chains):
        first = graph.tasks[chain[0]]
        read = {name for position in chain for name in graph.tasks[position].inputs if name}
        waits = sorted({maker[name] for name in read if name in maker} - {number})
        after = f", after {', '.join(f'chain {n}' for n in waits)}" if waits else ""
        lines.append(f"  chain {number} on {first.stream}, job {first.job}{after}")
        lines += [f"    task {position}: {graph.tasks[position].name}" for position in chain]
    return "\n".join(lines) + "\n"
