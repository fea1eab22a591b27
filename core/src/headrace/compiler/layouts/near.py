"""Which ops the choice of orders is about: all others stay as they are, and are not looked at."""

from __future__ import annotations

from collections.abc import Collection

from headrace.graph import JobGraph, OpSource
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
    waiting = [graph.index.by_name[name] for name in turned]
    waiting += [op for op in graph.of_kind("transpose") if op.call.name in free]
    near = {op.call.name for op in waiting}
    loose: set[str | None] = {None}  # tensors
    kinds: dict[str, bool] = {}
    while waiting:
        op = waiting.pop()
        met = {*op.inputs, *op.outputs} - loose
        loose |= met
        for tensor in met:
            maker, others = makers.get(tensor), readers.get(tensor, ())
            for other in others if maker is None else (maker, *others):
                name = other.call.name
                if name in near:
                    continue
                near.add(name)
                if name in free:
                    kind = other.call.op
                    if kind not in kinds:
                        kinds[kind] = _has_orders(ops.op(kind).op)
                    if kinds[kind]:
                        waiting.append(other)
    return frozenset(near)


def _has_orders(op: type[Op]) -> bool:
    return op.reordered.__func__ is not Op.reordered.__func__  # type: ignore[attr-defined]
