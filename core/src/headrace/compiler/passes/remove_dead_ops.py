"""Remove what no result needs."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from headrace.graph.constants import entries_of
from headrace.graph.job_graph import JobGraph, JobOp

_read, _made = attrgetter("inputs"), attrgetter("outputs")


def remove_dead_ops(graph: JobGraph) -> JobGraph:
    """Remove ops and constants that no result of the job is computed from.

    Before: ops may have no reader. After: every op and constant has one, or is a result. Inputs
    and variables stay, read or not: the caller feeds the ones and finds the others all the same.
    A graph that has nothing to be removed is given back itself.
    """
    kept, needed = _alive(graph)
    entries = entries_of(graph.constants)
    if len(kept) == len(graph.ops) and needed.issuperset(entries):
        return graph
    return graph.reduced(kept, [name for name in entries if name in needed])


def _alive(graph: JobGraph) -> tuple[Sequence[JobOp], set[str | None]]:
    """The ops that results are computed from; the tensors that they read, or that are results."""
    results: set[str | None] = {tensor.name for _, tensor in graph.results}
    needed = results.union(*map(_read, graph.ops))
    # Where each has a reader, none has only dead ones: the last op is a result.
    if not any(map(needed.isdisjoint, map(_made, graph.ops))):
        return graph.ops, needed
    needed = {*results}
    kept: list[JobOp] = []
    for op in reversed(graph.ops):
        if not needed.isdisjoint(op.outputs):
            kept.append(op)
            needed.update(op.inputs)
    return kept[::-1], needed
