"""Which format of images a device prefers for an op, by the kernels that it offers."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.compiler.layouts.orders import between, laid, plain, steps
from headrace.compiler.layouts.ways import Way, call_of, in_order
from headrace.data_format import (
    CHANNELS_FIRST,
    Order,
    format_of,
    order_between,
    other_format,
)
from headrace.graph import OpSource
from headrace.op_call import OpCall
from headrace.ops import get_op, make_call
from headrace.registry.tables import Backend
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class Choice:
    """The format in which a call is to run on a device.

    Attributes:
        data_format: the format.
        why: what speaks for it, for users.
    """

    data_format: str
    why: str


def choose_format(call: OpCall, backend: Backend, ops: OpSource) -> Choice | None:
    """The format that a device prefers for a call; None when there is nothing to choose.

    That is when the op has no format, or the call is channels first and the device knows nothing
    else. Else it is the format of the kernel with the higher priority, or of the only one; where
    both are as good, that of the call. Without a kernel for either it is channels first, in which
    decompositions are written.
    """
    here = format_of(call)
    if here is None:
        return None
    there = other_format(here)
    if here == CHANNELS_FIRST and not backend.kernels.takes(call.op, there):
        return None
    way = in_order(call, order_between(here, there, call.input(0).rank), ops)
    assert way is not None, f"{call} has no other format"
    own, other = (backend.kernels.select(c) for c in (call, call_of(call, way, ops)))
    if own is None and other is None:
        if here == CHANNELS_FIRST:
            return None
        choice = Choice(CHANNELS_FIRST, "the device has a kernel in neither format")
    elif own is None or other is None:
        only = there if own is None else here
        choice = Choice(only, "the only format that the device has a kernel in")
    elif own.priority == other.priority:
        choice = Choice(here, f"kernels of priority {own.priority} in both formats")
    else:
        best, rest = sorted((own.priority, other.priority), reverse=True)
        preferred = here if own.priority == best else there
        why = f"a kernel of priority {best}, and of {rest} in {other_format(preferred)}"
        choice = Choice(preferred, why)
    if choice.data_format == there and not can_move(call, way, backend):
        return Choice(here, f"the device has no kernel to make it {there}")
    return choice


def can_move(call: OpCall, way: Way, backend: Backend) -> bool:
    """True when the device can bring what does not lie plain from the plain order and back."""
    return all(
        can_transpose(spec, order, backend)
        and can_transpose(
            spec.with_shape(laid(spec.shape, order)), between(order, plain(len(order))), backend
        )
        for spec, order in way.moved(call)
    )


def can_transpose(spec: TensorSpec, perm: Order, backend: Backend) -> bool:
    """True when the device has a kernel for each step of it."""
    for op, attrs in steps(spec.shape, perm):
        call = make_call(get_op(op), "to another order", [spec], attrs)
        if backend.kernels.select(call) is None:
            return False
        spec = call.outputs[0]
    return True
