"""Where a call of an op over images has its channels, for whoever reads no more of the op."""

from __future__ import annotations

from headrace.data_format import CHANNELS_FIRST, CHANNELS_LAST, order_between
from headrace.op_call import OpCall


def is_last(call: OpCall) -> bool:
    """True when the channels of an ``Imaged`` call are last."""
    return call.attrs["data_format"] == CHANNELS_LAST


def first_shape(call: OpCall, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an image of ``call``, as it is channels first."""
    if not is_last(call):
        return shape
    order = order_between(CHANNELS_LAST, CHANNELS_FIRST, len(shape))
    return tuple([shape[axis] for axis in order])


def spatial_of(call: OpCall, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of an image of ``call`` that are neither its first nor that of its channels."""
    return shape[1:-1] if is_last(call) else shape[2:]


def own_shape(call: OpCall, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A channels-first shape, as it is in the format of ``call``."""
    if not is_last(call):
        return shape
    order = order_between(CHANNELS_FIRST, CHANNELS_LAST, len(shape))
    return tuple([shape[axis] for axis in order])


def channel_axis(call: OpCall) -> int:
    """The axis of the first input, and of a convolution's weight, that is 1 channels first."""
    return call.input(0).rank - 1 if is_last(call) else 1
