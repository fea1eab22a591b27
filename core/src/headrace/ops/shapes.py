"""Shape rules that several op families share."""

from __future__ import annotations

import math

from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.tensor_spec import TensorSpec


def broadcast(call: OpCall, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """numpy's broadcasting of any number of shapes.

    Raises:
        ShapeError: two dimensions differ and neither is 1.
    """
    if len({*shapes}) == 1:
        return shapes[0]
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            if result[axis] == 1:
                result[axis] = dim
            elif dim not in (1, result[axis]):
                text = " and ".join(map(str, shapes))
                fail(call, f"shapes {text} do not broadcast")
    return tuple(result)


def normal_axis(call: OpCall, axis: int, rank: int, name: str = "axis") -> int:
    """Turn an axis in ``-rank..rank-1`` into ``0..rank-1``.

    Raises:
        ShapeError: it is outside.
    """
    if not -rank <= axis < rank:
        fail(call, f"{name} {axis} is outside a tensor of rank {rank}")
    return axis % rank


def normal_axes(
    call: OpCall, axes: tuple[int, ...], rank: int, name: str = "axes"
) -> tuple[int, ...]:
    """``normal_axis`` for each, in the given order.

    Raises:
        ShapeError: one is outside, or two are the same axis.
    """
    result = tuple([normal_axis(call, axis, rank, name) for axis in axes])
    if len(set(result)) != len(result):
        fail(call, f"{name} {axes} name an axis twice (rank {rank})")
    return result


ADDRESS_LIMIT_BYTES = 1 << 47
"""What one process can address on today's machines: no tensor can be larger."""


def addressable(call: OpCall, spec: TensorSpec) -> TensorSpec:
    """Return ``spec``, for ops whose output may be far larger than their inputs.

    Checked while a job is built, so that a dimension that is nonsense is an error with the name of
    its op and not an allocation that fails later. Sizes of empty tensors count their other axes.

    Raises:
        ShapeError: no machine can hold such a tensor.
    """
    nbytes = math.prod(filter(None, spec.shape)) * spec.dtype.itemsize
    if nbytes > ADDRESS_LIMIT_BYTES:
        fail(call, f"the result {spec} would take {nbytes} bytes, more than any machine addresses")
    return spec
