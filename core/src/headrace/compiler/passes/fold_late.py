"""Compute what was left of constants for the devices to see, or to be computed one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from headrace.aligned import Region
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
    begin = [
        op.call
        for op in graph.ops
        if _is_late(op, known_ops) and _reads(op) <= graph.constants.keys()
    ]
    if not begin:
        return graph
    memory = Region(sum(spec.nbytes for call in begin for spec in call.outputs))
    rewriter = GraphRewriter(graph, fold_late=True, empty=memory.empty, ops=known_ops)
    graph = replace(graph, constants=MappingProxyType({}))
    reads = [_reads(op) for op in graph.ops]
    readers = Counter(tensor.name for _, tensor in graph.results)
    for names_read in reads:
        readers.update(names_read)
    folded: set[str] = set()
    for op, names_read in zip(graph.ops, reads, strict=True):
        call = op.call
        follows = _is_late(op, known_ops) or not folded.isdisjoint(names_read)
        if follows and op.placement.parallel_num == 1 and _folds(rewriter, op):
            made = rewriter.op(
                call.op,
                rewriter.read_by(op),
                outputs=call.output_count,
                location=call.location,
                attrs=call.attrs,
            )
            rewriter.put(op, made)
            folded.update(op.outputs)
        else:
            rewriter.keep(op)
        for name in names_read:
            readers[name] -= 1
            if not readers[name]:
                rewriter.forget(rewriter.tensor(name))
    return rewriter.finish()


def _is_late(op: JobOp, known_ops: OpSource) -> bool:
    alone = op.placement.parallel_num == 1  # the others are collectives, which are no ops
    return alone and known_ops.op(op.call.op).op.folds_late


def _folds(rewriter: GraphRewriter, op: JobOp) -> bool:
    read = rewriter.read_by(op)
    return rewriter.folds(op.call, [None if tensor is None else tensor.name for tensor in read])


def _reads(op: JobOp) -> set[str]:
    return {name for name in op.inputs if name is not None}
