"""In which orders tensors will be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.compiler.layouts.orders import before, plain
from headrace.compiler.layouts.ways import Way, in_order, rank_of
from headrace.data_format import Order
from headrace.graph import JobGraph, JobOp, OpSource
from headrace.ops.shape import permutation


def orders_wanted(
    graph: JobGraph, turned: Mapping[str, Way], free: frozenset[str], ops: OpSource
) -> dict[str, Order]:
    """For tensors that somebody will read in another order than the plain one: that order.

    What ops that do not mind the order make is wanted as they are wanted to make it. Of several
    readers that want another order, the first one says which.

    Args:
        graph: the job.
        turned: the ways of the ops that change their format, by name.
        free: names of the ops that may run in any order that they can.
        ops: where ops are known.
    """
    wanted: dict[str, Order] = {}
    for op in reversed(graph.ops):
        if op.call.name in turned:
            wishes = _wishes(op, turned[op.call.name])
        elif op.call.name in free:
            wishes = _passed_on(op, wanted.get(op.outputs[0]), ops)
        else:
            continue
        wanted.update((name, order) for name, order in wishes if order != plain(len(order)))
    return wanted


def _passed_on(op: JobOp, order: Order | None, ops: OpSource) -> Iterator[tuple[str, Order]]:
    """What an op reads, and in which order so that it makes what is wanted in ``order``."""
    call = op.call
    if call.op == "transpose":
        assert op.inputs[0] is not None
        perm = permutation(call)
        yield op.inputs[0], before(perm, order or plain(len(perm)))
    elif order is not None and len(order) == rank_of(call):
        way = in_order(call, order, ops)
        if way is not None and way.outputs[0] == order:
            yield from _wishes(op, way)


def _wishes(op: JobOp, way: Way) -> Iterator[tuple[str, Order]]:
    for name, spec, order in zip(op.inputs, op.call.inputs, way.inputs, strict=True):
        if name is not None and spec is not None and len(order) == spec.rank:
            yield name, order
