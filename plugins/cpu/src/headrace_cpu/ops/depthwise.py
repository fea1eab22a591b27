"""cpu.depthwise_conv: every channel of an image by itself, and what follows it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr
from headrace.ops.failure import fail
from headrace.ops.window import slide
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import Product, check_epilogue, finish
from headrace_cpu.ops.places import packed_window


class DepthwiseConv(Product):
    """Convolution of each channel by itself.

    x: float32[n, *spatial, c] with one or two spatial axes; panels: the weight
    ``[c, *kernel, 1]`` as float32[taps, c]; y: float32[n, *windows, c], where c is ``columns``.
    """

    name = "cpu.depthwise_conv"
    attrs: ClassVar[tuple[Attr, ...]] = (
        *Product.attrs,
        Attr("kernel", "ints"),
        Attr("strides", "ints", ()),
        Attr("dilations", "ints", ()),
        Attr("pads", "ints", ()),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, channels = call.input(0), call.int_attr("columns")
        window = packed_window(call)
        if x.rank != len(window.kernel) + 2 or not 3 <= x.rank <= 4 or x.shape[-1] != channels:
            fail(call, f"x is {x}; it must be [n, *spatial, {channels}] for {window.kernel} taps")
        taps = (math.prod(window.kernel), channels)
        if call.input(1).shape != taps:
            fail(call, f"panels are {call.input(1)}; they must be {list(taps)}")
        made = (x.shape[0], *slide(call, window, x.shape[1:-1]), channels)
        check_epilogue(call, made)
        return (x.with_shape(made),)


def depthwise_conv(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.depthwise_conv``, tap by tap."""
    x, taps, window, y = given(inputs, 0), given(inputs, 1), packed_window(call), outputs[0]
    pads = zip(window.pads_begin, window.pads_end, strict=True)
    padded = np.pad(x, ((0, 0), *pads, (0, 0)))
    sums = np.zeros(y.shape, np.float32)
    for tap, weight in zip(itertools.product(*map(range, window.kernel)), taps, strict=True):
        places = tuple(
            slice(k * dilation, k * dilation + (count - 1) * stride + 1, stride)
            for k, dilation, count, stride in zip(
                tap, window.dilations, y.shape[1:-1], window.strides, strict=True
            )
        )
        sums += padded[(slice(None), *places)] * weight
    finish(call, sums, inputs[2], inputs[3], y)
