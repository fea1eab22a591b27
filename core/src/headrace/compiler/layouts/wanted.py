"""In which orders tensors will be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from headrace.compiler.layouts.orders import before, plain
from headrace.compiler.layouts.ways import Kind, Way, Wishes
from headrace.data_format import Order
from headrace.graph import JobGraph, JobOp
from headrace.ops.axes import permutation


def orders_wanted(
    graph: JobGraph,
    near: Mapping[str, Kind],
    turned: Mapping[str, Way],
    free: frozenset[str],
) -> dict[str, dict[Order, bool]]:
    """The orders in which tensors will be needed, and whether that is sure.

    It is where a reader runs in one way only. An op that does not mind hands on the one order that
    its result is wanted in; unless its result is the smaller, for then that is what should be
    moved. A tensor of which nobody minds is wanted in no order.

    Args:
        graph: the job.
        near: its ops that may read or make tensors in another order, by name, and their kinds.
        turned: the ways of the ops that change their format, by name.
        free: names of the ops that may run in any order that they can.
    """
    wanted: dict[str, dict[Order, bool]] = {}
    for _, tensor in graph.results:
        wanted[tensor.name] = {plain(tensor.spec.rank): True}
    for op in reversed(graph.ops):
        name = op.call.name
        kind = near.get(name)
        if kind is None:
            continue
        way = turned.get(name)
        sure = way is not None or name not in free or kind.minds()
        if sure:
            wishes = kind.wishes(way or kind.own)
        else:
            wishes = _handed_on(op, wanted.get(op.outputs[0], ()), kind)
        for index, order in wishes:
            read = op.inputs[index]
            assert read is not None
            orders = wanted.get(read)
            if orders is None:
                wanted[read] = {order: sure}
            else:
                orders[order] = orders.get(order, False) or sure
    return wanted


def _handed_on(op: JobOp, orders: Collection[Order], kind: Kind) -> Wishes:
    """How an op that does not mind wants what it reads, if its result is wanted in ``orders``."""
    if op.call.op == "transpose":
        perm = permutation(op.call)
        return [(0, before(perm, order)) for order in orders]
    if len(orders) != 1:
        return ()
    (order,) = orders
    return kind.handed_on(order) if len(order) == kind.rank else ()
