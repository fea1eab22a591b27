"""In which orders tensors will be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from headrace.compiler.layouts.orders import before, plain
from headrace.compiler.layouts.ways import Way, as_it_is, in_order, minds, rank_of
from headrace.data_format import Order
from headrace.graph import JobGraph, JobOp, OpSource
from headrace.ops.shape import permutation


def orders_wanted(
    graph: JobGraph, turned: Mapping[str, Way], free: frozenset[str], ops: OpSource
) -> dict[str, Order]:
    """The order in which somebody will need a tensor; nothing for those of which nobody minds.

    An op that does not mind hands on how its result is wanted, unless its result is the smaller:
    then that is what should be moved. Of several orders, another one than the plain goes before it,
    and the one that is needed first before others.

    Args:
        graph: the job.
        turned: the ways of the ops that change their format, by name.
        free: names of the ops that may run in any order that they can.
        ops: where ops are known.
    """
    wanted = {tensor.name: plain(tensor.spec.rank) for _, tensor in graph.results}
    for op in reversed(graph.ops):
        if op.call.name in turned:
            wishes = _wishes(op, turned[op.call.name])
        elif op.call.name in free:
            wishes = _handed_on(op, wanted.get(op.outputs[0]), ops)
        else:
            wishes = _wishes(op, as_it_is(op.call))
        for name, order in wishes:
            if name not in wanted or order != plain(len(order)):
                wanted[name] = order
    return wanted


def _handed_on(op: JobOp, order: Order | None, ops: OpSource) -> Iterator[tuple[str, Order]]:
    """How an op wants what it reads, when what it makes is wanted in ``order``."""
    call = op.call
    if call.op == "transpose":
        if order is not None and op.inputs[0] is not None:
            yield op.inputs[0], before(permutation(call), order)
    elif minds(call, ops):
        yield from _wishes(op, as_it_is(call))
    elif order is not None and len(order) == rank_of(call):
        way = in_order(call, order, ops)
        if way is None or way.outputs[0] != order:
            way = as_it_is(call)
        yield from _wishes(op, way, call.outputs[0].nbytes)


def _wishes(op: JobOp, way: Way, most: float = math.inf) -> Iterator[tuple[str, Order]]:
    """For what an op reads, up to so many bytes, the order in which it does."""
    for name, spec, order in zip(op.inputs, op.call.inputs, way.inputs, strict=True):
        if name is None or spec is None:
            continue
        if len(order) == spec.rank and spec.nbytes <= most:
            yield name, order
