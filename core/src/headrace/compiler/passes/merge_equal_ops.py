"""Compute once what several ops compute."""

from __future__ import annotations

from headrace.graph.job_graph import JobGraph, JobOp


def merge_equal_ops(graph: JobGraph) -> JobGraph:
    """Keep the first of several ops that do the same to the same tensors at the same place.

    Ops are not equal if their results have different hints, or only one has a hint.

    Before: any ops; no op of headrace has a side effect or draws random numbers. After: no two ops
    are equal but for their names. Results keep their names.
    """
    # The first op that equals another reads what that reads, by name.
    if len({(op.call.op, op.inputs) for op in graph.ops}) == len(graph.ops):
        return graph
    same: dict[str, str] = {}  # tensor -> the equal one that is kept
    seen: dict[object, JobOp] = {}
    kept: list[JobOp] = []
    for op in graph.ops:
        op = op.reading(same) if same else op
        call, hints = op.call, None
        if graph.hints:
            hints = tuple(h and h.axes for h in map(graph.hints.get, op.outputs))
        key = (call.op, op.inputs, call.attrs.form, call.output_count, op.placement, hints)
        first = seen.setdefault(key, op)
        if first is op:
            kept.append(op)
        else:
            same.update(zip(op.outputs, first.outputs, strict=True))
    if not same:
        return graph
    return graph.rewired(kept, same)
