"""Depthwise convolutions over images whose channels are last, each one native call."""

from __future__ import annotations

import math

from headrace.device import Launch, OpCall, dtypes
from headrace.ops.window import conv_window
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.copy import strides_of
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window
from headrace_cpu.kernels.product import ProductKernel
from headrace_cpu.ops.places import packed_window


def is_depthwise(call: OpCall) -> bool:
    """Whether a convolution, channels last, is of each channel by itself, on one axis or two."""
    x, weight = call.input(0), call.input(1)
    return (
        x.rank <= 4
        and weight.shape[-1] == 1
        and 1 < call.int_attr("groups") == weight.shape[0] == x.shape[-1]
    )


depthwise_last = SomeCalls("each channel by itself", dtypes("float32"), is_depthwise)
"""Convolutions, channels last, of each channel by itself."""


class DepthwiseKernel(ProductKernel):
    """``cpu.depthwise_conv``: as the op says; y may be the addend's memory."""

    def _make(self, views: Views) -> Launch:
        x, taps, y = views.input(), views.input(1), views.output()
        window = native_window(packed_window(self._call))
        return native.depthwise_conv_last(x, taps, y, window, self._epilogue(views))


class TurningDepthwise(NativeKernel):
    """``conv`` channels last whose weight is transposed in each call, into the workspace.

    x: float32[n, *spatial, c], weight: float32[c, *kernel, 1], bias: float32[c] or absent,
    y: float32[n, *windows, c]. The passes of this backend leave no such op.
    """

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        weight = call.input(1)
        self._taps = TensorSpec((math.prod(weight.shape[1:]), weight.shape[0]), "float32")

    def workspace_bytes(self) -> int:
        """The weight, channels last."""
        return self._taps.nbytes

    def _make(self, views: Views) -> Launch:
        window = native_window(conv_window(self._call))
        x, weight = views.input(), views.input(1)
        taps = views.scratch(self._taps)
        turned = strides_of(self._taps.shape[::-1])[::-1]
        epilogue = native.Epilogue(views.optional(2))
        y = views.output()
        return native.Sequence(
            [
                native.copy([(weight, taps.shape, 0, turned, 0, strides_of(taps.shape))], taps),
                native.depthwise_conv_last(x, taps, y, window, epilogue),
            ]
        )
