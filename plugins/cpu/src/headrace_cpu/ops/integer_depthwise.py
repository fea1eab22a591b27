"""cpu.integer_depthwise_conv: every channel of an image of bytes by itself, and what follows it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headrace.dtypes import int8, int32, uint8
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Input, Op, Output
from headrace.ops.failure import fail
from headrace.ops.window import slide
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.conv import conv_sums
from headrace_cpu.ops.depthwise import DepthwiseConv
from headrace_cpu.ops.epilogue import Product
from headrace_cpu.ops.integer import (
    WEIGHT_ZEROS,
    IntegerProduct,
    finish_sums,
    made_of,
    without_zero,
)
from headrace_cpu.ops.pack_integers import BYTES, QUAD
from headrace_cpu.ops.places import packed_window

BLOCK = 64
"""Channels whose weights lie together."""

_LANES = (4, 4, 4)
"""Channel ``16 * l + 4 * k + i`` of a block, as (l, k, i)."""


class PackIntegerTaps(Op):
    """The weights of each channel, as ``cpu.integer_depthwise_conv`` reads them.

    weight: int8[c, *kernel, 1] or uint8, of which 128 is taken off. panels: int8[c / 64, taps / 4,
    256], four taps of a channel together and channels in the order (k, l, i) of ``_LANES``, filled
    up with zeros; fewer channels that divide 64 are there again and again. sums: int32[c].
    """

    name = "cpu.pack_integer_taps"
    folds_late = True
    inputs = (Input("weight", BYTES),)
    outputs = (Output("panels"), Output("sums"))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        weight = call.input(0)
        if weight.rank < 3 or weight.shape[-1] != 1:
            fail(call, f"weight is {weight}; it must be [c, *kernel, 1]")
        channels, taps = weight.shape[0], math.prod(weight.shape[1:])
        panels = TensorSpec(taps_shape(taps, channels), int8)
        return (panels, TensorSpec((channels,), int32))


def taps_shape(taps: int, channels: int) -> tuple[int, int, int]:
    """The shape of the panels of so many taps of each channel."""
    return (-(-channels // BLOCK), -(-taps // QUAD), BLOCK * QUAD)


def pack_integer_taps(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    """Compute ``cpu.pack_integer_taps``."""
    weight, (panels, sums) = given(inputs, 0), outputs
    taps = weight.reshape(weight.shape[0], -1).astype(np.int16)
    if call.input(0).dtype == uint8:
        taps -= 128
    sums[...] = taps.sum(axis=1)
    blocks, quads, _ = panels.shape
    whole = np.zeros((blocks * BLOCK, quads * QUAD), np.int8)
    channels = taps.shape[0]
    for first in range(0, BLOCK if BLOCK % channels == 0 else channels, channels):
        whole[first : first + channels, : taps.shape[1]] = taps
    parts = whole.reshape(blocks, *_LANES, quads, QUAD)  # block, l, k, i, quad, tap
    panels[...] = parts.transpose(0, 4, 2, 1, 3, 5).reshape(panels.shape)


def unpack_integer_taps(panels: Array, taps: int, channels: int) -> Array:
    """The weights that were packed: int8[taps, channels]."""
    blocks, quads, _ = panels.shape
    parts = panels.reshape(blocks, quads, *_LANES, QUAD)  # block, quad, k, l, i, tap
    whole = parts.transpose(1, 5, 0, 3, 2, 4).reshape(quads * QUAD, blocks * BLOCK)
    return whole[:taps, :channels]


class IntegerDepthwise(IntegerProduct):
    """Convolution of each channel by itself, over an image whose channels are last.

    x: [n, *spatial, c] with one or two spatial axes; panels: the weight ``[c, *kernel, 1]``, as
    ``cpu.pack_integer_taps`` makes it; y: [n, *windows, c], where c is ``columns``.
    """

    name = "cpu.integer_depthwise_conv"
    attrs = (*IntegerProduct.attrs, *DepthwiseConv.attrs[len(Product.attrs) :])

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, channels, window = call.input(0), call.int_attr("columns"), packed_window(call)
        if x.rank != len(window.kernel) + 2 or not 3 <= x.rank <= 4 or x.shape[-1] != channels:
            fail(call, f"x is {x}; it must be [n, *spatial, {channels}] for {window.kernel} taps")
        panels = taps_shape(math.prod(window.kernel), channels)
        if call.input(1).shape != panels:
            fail(call, f"panels are {call.input(1)}; they must be {list(panels)}")
        return made_of(call, (x.shape[0], *slide(call, window, x.shape[1:-1]), channels))


def integer_depthwise(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    """Compute ``cpu.integer_depthwise_conv``: exactly, in doubles."""
    window, channels, zeros = packed_window(call), call.int_attr("columns"), inputs[WEIGHT_ZEROS]
    taps = math.prod(window.kernel)
    weights = unpack_integer_taps(given(inputs, 1), taps, channels).astype(np.float64)
    if zeros is not None:
        weights -= zeros
    groups = weights.T.reshape(channels, taps, 1)
    sums = conv_sums(window, without_zero(inputs), groups, outputs[0].shape)
    finish_sums(call, sums, inputs, outputs[0])
