"""In which orders tensors will be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from headrace.compiler.layouts.orders import before, plain
from headrace.compiler.layouts.ways import Kind, Way, Ways
from headrace.data_format import Order
from headrace.graph import JobGraph, JobOp
from headrace.ops.axes import permutation


def orders_wanted(
    graph: JobGraph,
    near: Sequence[JobOp],
    turned: Mapping[str, Way],
    free: frozenset[str],
    ways: Ways,
) -> dict[str, dict[Order, bool]]:
    """The orders in which tensors will be needed, and whether that is sure.

    It is where a reader runs in one way only. An op that does not mind hands on the one order that
    its result is wanted in; unless its result is the smaller, for then that is what should be
    moved. A tensor of which nobody minds is wanted in no order.

    Args:
        graph: the job.
        near: those of its ops that may read or make tensors in another order, in order.
        turned: the ways of the ops that change their format, by name.
        free: names of the ops that may run in any order that they can.
        ways: those of the ops of the job.
    """
    wanted: dict[str, dict[Order, bool]] = {}
    for _, tensor in graph.results:
        wanted[tensor.name] = {plain(tensor.spec.rank): True}
    for op in reversed(near):
        name, kind = op.call.name, ways.of(op.call)
        sure = name in turned or name not in free or kind.minds
        if sure:
            wishes = _wishes(op, turned.get(name) or kind.own)
        else:
            wishes = _handed_on(op, tuple(wanted.get(op.outputs[0], ())), kind)
        for name, order in wishes:
            orders = wanted.setdefault(name, {})
            orders[order] = orders.get(order, False) or sure
    return wanted


def _handed_on(op: JobOp, orders: tuple[Order, ...], kind: Kind) -> Iterator[tuple[str, Order]]:
    """How an op that does not mind wants what it reads, if its result is wanted in ``orders``."""
    call = op.call
    if call.op == "transpose":
        assert op.inputs[0] is not None
        for order in orders:
            yield op.inputs[0], before(permutation(call), order)
    elif len(orders) == 1 and len(orders[0]) == kind.rank:
        way = kind.in_order(orders[0])
        if way is None or way.outputs[0] != orders[0]:
            way = kind.own
        yield from _wishes(op, way, call.outputs[0].nbytes)


def _wishes(op: JobOp, way: Way, most: float = math.inf) -> Iterator[tuple[str, Order]]:
    """For what an op reads, up to so many bytes, the order in which it does."""
    for name, spec, order in zip(op.inputs, op.call.inputs, way.inputs, strict=True):
        if name is None or spec is None:
            continue
        if len(order) == spec.rank and spec.nbytes <= most:
            yield name, order
