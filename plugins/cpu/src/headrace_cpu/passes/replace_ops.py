"""What passes that say single ops in another way have in common: all the others stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from headrace.graph import JobGraph, JobGraphBuilder, JobOp, OpSource
from headrace.ops import Tensor

Make = Callable[[JobOp, Mapping[str, Tensor], JobGraphBuilder], tuple[Tensor, ...]]
"""Adds what stands for an op, and returns its outputs. Tensors are known by their old names."""


def replace_ops(graph: JobGraph, chosen: Collection[str], make: Make, ops: OpSource) -> JobGraph:
    """The graph with what ``make`` adds in the place of ops, on the devices where those were.

    Args:
        graph: the job.
        chosen: names of the ops that are replaced. What is added may have them.
        make: called for each of these, in the order of the graph.
        ops: where the ops that are added are known.
    """
    builder = JobGraphBuilder(graph.name, graph.placement, ops=ops)
    known = builder.begin_like(graph)
    builder.reserve(op.call.name for op in graph.ops if op.call.name not in chosen)
    for op in graph.ops:
        if op.call.name in chosen:
            with builder.placed(op.placement):
                made = make(op, known, builder)
        else:
            read = [None if name is None else known[name].name for name in op.inputs]
            made = builder.adopt(op, read)
        known.update(zip(op.outputs, made, strict=True))
    builder.end_like(graph, known)
    return builder.finish()


def read_by(op: JobOp, known: Mapping[str, Tensor]) -> list[Tensor | None]:
    """What an op reads, as the new graph has it."""
    return [None if name is None else known[name] for name in op.inputs]
