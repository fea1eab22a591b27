"""What calls say about axes, for whoever reads no more of the op: which, and what of each."""

from __future__ import annotations

from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.ops.shapes import normal_axes


def permutation(call: OpCall) -> tuple[int, ...]:
    """The axes of ``x`` in the order that a ``transpose`` gives them; none is negative.

    Raises:
        ShapeError: ``perm`` does not name every axis once.
    """
    rank, perm = call.input(0).rank, call.ints_attr("perm")
    if not perm:
        return tuple(reversed(range(rank)))
    if len(perm) != rank:
        fail(call, f"perm {perm} must name each of the {rank} axes of {call.input(0)} once")
    return normal_axes(call, perm, rank, "perm")


def slice_ranges(call: OpCall) -> tuple[range, ...]:
    """The indices that a ``slice`` takes along each axis of ``x``; ``range(0)`` for none.

    Raises:
        ShapeError: the attributes differ in length, or an axis does not exist or is named twice.
        OpError: a step is 0.
    """
    x, starts, ends = call.input(0), call.ints_attr("starts"), call.ints_attr("ends")
    axes = call.ints_attr("axes") or tuple(range(len(starts)))
    steps = call.ints_attr("steps") or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        fail(
            call,
            f"starts {starts}, ends {ends}, axes {axes} and steps {steps} must be equally long",
        )
    if 0 in steps:
        fail(call, f"steps {steps} hold a 0")
    ranges = [range(dim) for dim in x.shape]
    for axis, *bounds in zip(normal_axes(call, axes, x.rank), starts, ends, steps, strict=True):
        # An empty range may begin at -1, which whoever cuts with it would take for the last index.
        ranges[axis] = ranges[axis][slice(*bounds)] or range(0)
    return tuple(ranges)


def pad_amounts(call: OpCall) -> tuple[tuple[int, int], ...]:
    """The amounts (before, after) of a ``pad`` for each axis of ``x``.

    Raises:
        ShapeError: ``pads`` is not twice as long as ``x`` has axes.
    """
    rank, pads = call.input(0).rank, call.ints_attr("pads")
    if len(pads) != 2 * rank:
        fail(call, f"pads {pads} must hold two amounts for each of the {rank} axes")
    return tuple(zip(pads[:rank], pads[rank:], strict=True))


def folded_axes(call: OpCall) -> set[int]:
    """The axes that a checked reduction folds, none negative."""
    rank = call.input(0).rank
    return {axis % rank for axis in call.ints_attr("axes")} or set(range(rank))


def per_tensor(call: OpCall) -> bool:
    """True when a ``quantize`` or ``dequantize`` has one scale for all axes."""
    return call.input(1).shape in ((), (1,)) and not call.int_attr("block_size")
