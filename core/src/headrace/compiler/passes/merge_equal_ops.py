"""Compute once what several ops compute."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.graph.hint import SbpHint
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
    readers: dict[object, JobOp] = {}  # the first op of a kind that reads the same
    seen: dict[object, JobOp] = {}
    kept: list[JobOp] = []
    for op in graph.ops:
        op = op.reading(same) if same else op
        first = readers.setdefault((op.call.op, op.inputs), op)
        if first is not op:  # few are, so only now it is asked what more they say
            seen.setdefault(_said(first, graph.hints), first)
            first = seen.setdefault(_said(op, graph.hints), op)
        if first is op:
            kept.append(op)
        else:
            same.update(zip(op.outputs, first.outputs, strict=True))
    if not same:
        return graph
    return graph.rewired(kept, same)


def _said(op: JobOp, hints: Mapping[str, SbpHint]) -> object:
    """Equal for ops that do the same to the same at one place, for tensors that lie alike."""
    call, wishes = op.call, None
    if hints:
        wishes = tuple([hint and hint.axes for hint in map(hints.get, op.outputs)])
    return call.op, op.inputs, call.attrs.form, call.output_count, op.placement, wishes
