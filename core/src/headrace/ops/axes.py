"""What calls say about axes, for whoever reads no more of the op: which, and what of each."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.ops.shapes import normal_axes
from headrace.sizes import has_sizes


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


def slice_index(call: OpCall) -> tuple[slice, ...]:
    """What numpy indexes ``x`` with to take what a ``slice`` takes.

    Raises:
        ShapeError: the attributes differ in length, or an axis does not exist or is named twice.
        OpError: a step is 0.
    """
    index = [slice(None)] * call.input(0).rank
    for axis, *bounds in _bounds(call):
        index[axis] = slice(*bounds)
    return tuple(index)


def slice_ranges(call: OpCall) -> tuple[range, ...]:
    """The indices that a ``slice`` takes along each axis of ``x``; ``range(0)`` for none.

    Raises:
        ShapeError, OpError: as ``slice_index``.
    """
    cuts = zip(call.input(0).shape, slice_index(call), strict=True)
    # An empty range may begin at -1, which whoever cuts with it would take for the last index.
    return tuple([range(dim)[cut] or range(0) for dim, cut in cuts])


def _bounds(call: OpCall) -> Iterator[tuple[int, int, int, int]]:
    """Each axis that a ``slice`` cuts, where it begins and ends, and the step."""
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
    return zip(normal_axes(call, axes, x.rank), starts, ends, steps, strict=True)


def slice_parts(call: OpCall) -> tuple[tuple[int, int, int], ...]:
    """How many indices a ``slice`` takes along each axis, the first, and the step between them.

    Of none, the first is 0; of fewer than two, the step is 1.

    Raises:
        ShapeError, OpError: as ``slice_index``.
    """
    shape = call.input(0).shape
    parts = [(dim, 0, 1) for dim in shape]
    for axis, *bounds in _bounds(call):
        parts[axis] = _part(shape[axis], *bounds)
    return tuple(parts)


def _part(dim: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    if not has_sizes((dim, start, end)):
        cut = range(dim)[start:end:step]
        return _said(len(cut), cut.start, cut.step)
    # As a range is cut, where some of the numbers are symbolic.
    least, most = (0, dim) if step > 0 else (-1, dim - 1)
    first, stop = (
        least if bound + dim < least else bound + dim if bound < 0 else min(bound, most)
        for bound in (start, end)
    )
    return _said(-((stop - first) // -step), first, step)


def _said(count: int, first: int, step: int) -> tuple[int, int, int]:
    return (count, first, step if count > 1 else 1) if count > 0 else (0, 0, 1)


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
