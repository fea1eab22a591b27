"""Which ops the choice of orders is about: all others stay as they are, and are not looked at."""

from __future__ import annotations

from collections.abc import Collection

from headrace.graph import JobGraph, JobOp, OpSource
from headrace.ops import Op


def ops_near(
    graph: JobGraph, turned: Collection[str], free: Collection[str], ops: OpSource
) -> frozenset[str]:
    """Names of the ops that read or make a tensor which may come to lie in another order.

    Such are those of ops that change their format, and of transposes; and from one of them to the
    next, those of free ops that may run in more orders than one.

    Args:
        graph: the job.
        turned: names of the ops that change their format.
        free: names of the ops that may run in any order that they can.
        ops: where ops are known.
    """
    makers, readers = graph.index.makers, graph.index.readers
    waiting = [op for op in graph.ops if op.call.name in turned or _may_move(op, free)]
    near = {op.call.name for op in waiting}
    loose: set[str | None] = {None}  # tensors
    kinds: dict[str, bool] = {}
    while waiting:
        op = waiting.pop()
        for tensor in (*op.inputs, *op.outputs):
            if tensor in loose:
                continue
            loose.add(tensor)
            maker = makers.get(tensor or "")
            others = readers.get(tensor, ())
            for other in others if maker is None else (maker, *others):
                name, kind = other.call.name, other.call.op
                if name in near:
                    continue
                near.add(name)
                if name in free:
                    if kind not in kinds:
                        kinds[kind] = _has_orders(ops.op(kind).op)
                    if kinds[kind]:
                        waiting.append(other)
    return frozenset(near)


def _may_move(op: JobOp, free: Collection[str]) -> bool:
    return op.call.op == "transpose" and op.call.name in free


def _has_orders(op: type[Op]) -> bool:
    return op.reordered.__func__ is not Op.reordered.__func__  # type: ignore[attr-defined]
