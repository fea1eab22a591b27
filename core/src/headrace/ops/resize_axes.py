"""Which axes a resampling changes, and how."""

from __future__ import annotations

from typing import NamedTuple

from headrace.op_call import OpCall
from headrace.ops.shapes import normal_axes


class ResampledAxis(NamedTuple):
    """One axis that a ``resize`` changes: its number, lengths in and out, scale and crop."""

    axis: int
    length: int
    size: int
    scale: float
    begin: float
    end: float


def resampled_axes(call: OpCall) -> tuple[ResampledAxis, ...]:
    """The axes that a ``resize`` changes; it may name others that stay as they are."""
    x, sizes = call.input(0), call.ints_attr("sizes")
    scales, roi = call.floats_attr("scales"), call.floats_attr("roi")
    result = []
    for number, axis in enumerate(named_axes(call)):
        length, size = x.shape[axis], sizes[number]
        scale = scales[number] if scales else size / max(length, 1)
        begin, end = (roi[number], roi[number + len(sizes)]) if roi else (0.0, 1.0)
        if (size, scale, begin, end) != (length, 1.0, 0.0, 1.0):
            result.append(ResampledAxis(axis, length, size, scale, begin, end))
    return tuple(result)


def named_axes(call: OpCall) -> tuple[int, ...]:
    """The axes that the attributes of a ``resize`` speak of, in their order."""
    rank = call.input(0).rank
    return normal_axes(call, call.ints_attr("axes"), rank) or tuple(range(rank))
