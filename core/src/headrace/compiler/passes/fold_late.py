"""Compute what was left of constants for the devices to see, or to be computed one by one."""

from __future__ import annotations

from collections.abc import Callable

from headrace.aligned import Region
from headrace.device import COLLECTIVES
from headrace.graph.constants import entries_of
from headrace.graph.job_graph import JobGraph, JobOp
from headrace.graph.op_source import OpSource
from headrace.graph.rewriter import GraphRewriter


def fold_late(take: Callable[[], JobGraph], known_ops: OpSource) -> JobGraph:
    """Fold ops that say ``folds_late``, and what depends on these and constants alone.

    Before: ``dequantize`` of a weight is an op, and so are those that pack weights. After: only if
    it is too large to be folded. A constant that nobody else reads is let go of when the last op
    that reads it was folded: most of them are weights, which would all be there twice.

    Args:
        take: gives the job, which then nobody holds but this function.
        known_ops: knows the ops of plugins.
    """
    graph = take()
    index, constants = graph.index, entries_of(graph.constants)
    kinds = {kind for kind in index.kinds if _is_late(kind, known_ops)}
    late = [op for op in graph.of_kind(*kinds) if constants.keys() >= _reads(op)]
    if not late:
        return graph
    memory = Region(sum(spec.nbytes for op in late for spec in op.call.outputs))
    rewriter = GraphRewriter(graph, fold_late=True, empty=memory.empty, ops=known_ops)
    results = {tensor.name for _, tensor in graph.results}
    ops = graph.ops
    del graph, constants
    folded: set[str | None] = set()
    for op in ops:
        follows = op.call.op in kinds or not folded.isdisjoint(op.inputs)
        if not follows or op.placement.parallel_num > 1 or not rewriter.fold(op):
            rewriter.keep(op)
            continue
        folded.update(op.outputs)
        for name in _reads(op):
            if index.readers[name][-1] is op and name not in results:
                rewriter.forget(rewriter.tensor(name))  # unless an op that is kept reads it
    return rewriter.finish()


def _is_late(kind: str, known_ops: OpSource) -> bool:
    return kind not in COLLECTIVES and known_ops.op(kind).op.folds_late


def _reads(op: JobOp) -> set[str]:
    return {name for name in op.inputs if name is not None}
