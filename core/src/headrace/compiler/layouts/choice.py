"""Which format of images a device prefers for an op, by the kernels that it offers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from headrace.compiler.layouts.orders import between, laid, plain, steps
from headrace.compiler.layouts.ways import Way, Ways
from headrace.data_format import (
    CHANNELS_FIRST,
    Order,
    format_of,
    order_between,
    other_format,
)
from headrace.device import KernelEntry
from headrace.light_dataclass import dataclass
from headrace.op_call import OpCall
from headrace.registry.tables import Backend, KernelTable
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


def choose_format(call: OpCall, backend: Backend, ways: Ways) -> Choice | None:
    """The format that a device prefers for a call; None when it may stay as it is.

    It may when the op has no format, when the device knows channels first alone and the call is so,
    and when both are as good. Else it is the format of the kernel with the higher priority, or of
    the only one. Without a kernel for either it is channels first, in which decompositions are
    written.
    """
    here = format_of(call)
    if here is None:
        return None
    there = other_format(here)
    if here == CHANNELS_FIRST and not backend.kernels.takes(call.op, there):
        return None
    kind = ways.of(call)
    way = kind.in_order(order_between(here, there, kind.rank))
    assert way is not None, f"{call} has no other format"
    own = backend.kernels.select(call)
    other = backend.kernels.select(kind.call_of(call, way))
    choice = _preferred({here: own, there: other})
    if choice is not None and choice.data_format == there and not can_move(call, way, backend):
        return Choice(here, f"the device has no kernel to make it {there}")
    return choice


def _preferred(kernels: Mapping[str, KernelEntry | None]) -> Choice | None:
    """What the kernels for the two formats say."""
    offered = ((entry.priority, name) for name, entry in kernels.items() if entry is not None)
    match sorted(offered, reverse=True):
        case []:
            return Choice(CHANNELS_FIRST, "the device has a kernel in neither format")
        case [(_, only)]:
            return Choice(only, "the only format that the device has a kernel in")
        case [(most, name), (less, other)] if most > less:
            return Choice(name, f"a kernel of priority {most}, and of {less} in {other}")
    return None


def can_move(call: OpCall, way: Way, backend: Backend) -> bool:
    """True when the device can bring what does not lie plain from the plain order and back."""
    if _moves_all(backend.kernels):
        return True
    return all(_goes_and_comes(spec, order, backend.kernels) for spec, order in way.moved(call))


@lru_cache(maxsize=64)
def _moves_all(kernels: KernelTable) -> bool:
    """Whether there is no tensor that could not be moved, as on most devices."""
    return kernels.takes_all("reshape") and kernels.takes_all("transpose")


@lru_cache(maxsize=4096)
def _goes_and_comes(spec: TensorSpec, order: Order, kernels: KernelTable) -> bool:
    there = spec.with_shape(laid(spec.shape, order))
    back = between(order, plain(len(order)))
    return _can_transpose(spec, order, kernels) and _can_transpose(there, back, kernels)


def can_transpose(spec: TensorSpec, perm: Order, backend: Backend) -> bool:
    """True when the device has a kernel for each step of it."""
    return _moves_all(backend.kernels) or _can_transpose(spec, perm, backend.kernels)


@lru_cache(maxsize=4096)
def _can_transpose(spec: TensorSpec, perm: Order, kernels: KernelTable) -> bool:
    for op, attrs, made in steps(spec, perm):
        # Of ops that are known so well nothing has to be checked and inferred.
        if kernels.select(OpCall(op, "to another order", (spec,), (made,), attrs)) is None:
            return False
        spec = made
    return True
