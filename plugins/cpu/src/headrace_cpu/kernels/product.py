"""Products with packed weights: each one native launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headrace.device import Launch, OpCall, dtypes
from headrace.ops.window import conv_window
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window
from headrace_cpu.ops.places import ADDEND, BIAS, PANEL, SCALES, ZEROS, packed_window, panel_count

if TYPE_CHECKING:
    from headrace_cpu._native import Epilogue

FEW_CHANNELS = 4
"""A group of fewer channels, or columns, is no product."""


class PackKernel(NativeKernel):
    """``cpu.pack``: as the op says. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        groups, transposed = self._call.int_attr("groups"), self._call.flag_attr("transposed")
        return native.pack(views.input(), views.output(), groups, transposed)


class ProductKernel(NativeKernel):
    """What the products of this backend share. None needs a workspace."""

    def _epilogue(self, views: Views) -> Epilogue:
        """What follows the sums."""
        call = self._call
        return native.Epilogue(
            views.flat(BIAS),
            self._addend(views),
            call.str_attr("activation"),
            call.float_attr("alpha"),
            call.float_attr("beta"),
            call.flag_attr("addend_last"),
        )

    def _addend(self, views: Views) -> Array | None:
        """What is added to them, as the launch sees y."""
        return views.optional(ADDEND)


class ConvKernel(ProductKernel):
    """``cpu.conv``: as the op says; y may be the addend's memory."""

    def _make(self, views: Views) -> Launch:
        x, panels, y = views.input(), views.input(1), views.output()
        window, groups = native_window(packed_window(self._call)), self._call.int_attr("groups")
        return native.conv(x, panels, y, window, groups, self._epilogue(views))


class MatmulKernel(ProductKernel):
    """``cpu.matmul``: as the op says; y may be the addend's memory."""

    def _make(self, views: Views) -> Launch:
        x, panels, y = views.input(), views.input(1), views.output()
        return native.matmul(x, panels, y, self._epilogue(views))


class BlockMatmulKernel(ProductKernel):
    """``cpu.block_matmul``: as the op says; y may be the addend's memory."""

    def workspace_bytes(self) -> int:
        """What is rounded, with a scale and a sum for each block."""
        call, x = self._call, self._call.input(0)
        if not call.flag_attr("rounded"):
            return 0
        size = call.int_attr("block_size")
        return math.prod(x.shape[:-1]) * -(-x.shape[-1] // size) * (size + 8)

    def _make(self, views: Views) -> Launch:
        call = self._call
        weights = native.BlockWeights(
            views.input(1),
            views.input(SCALES),
            views.optional(ZEROS),
            call.int_attr("bits"),
            call.int_attr("block_size"),
        )
        memory = TensorSpec((self.workspace_bytes(),), "uint8")
        rounded = views.scratch(memory) if call.flag_attr("rounded") else None
        epilogue = self._epilogue(views)
        return native.block_matmul(views.input(), weights, rounded, views.output(), epilogue)


def is_product(call: OpCall) -> bool:
    """Whether the groups of a convolution, channels last, are wide enough for a product."""
    groups, weight = call.int_attr("groups"), call.input(1)
    few = min(weight.shape[-1], weight.shape[0] // groups)
    return groups == 1 or few >= FEW_CHANNELS


conv_products = SomeCalls("groups of four channels or more", dtypes("float32"), is_product)
"""Convolutions, channels last, that are products."""


class PackingConv(NativeKernel):
    """``conv`` channels last whose weight is packed in each call, into the workspace.

    x: float32[n, *spatial, c], weight: float32[m, *kernel, c / groups], bias: float32[m] or absent,
    y: float32[n, *windows, m]. The passes of this backend leave no such op; a job that is built
    without them is computed all the same.
    """

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        weight, groups = call.input(1), call.int_attr("groups")
        panels = groups * panel_count(weight.shape[0] // groups)
        self._panels = weight.with_shape((panels, math.prod(weight.shape[1:]), PANEL))

    def workspace_bytes(self) -> int:
        """The packed weight."""
        return self._panels.nbytes

    def _make(self, views: Views) -> Launch:
        window, groups = conv_window(self._call), self._call.int_attr("groups")
        x, weight = views.input(), views.input(1)
        panels = views.scratch(TensorSpec(self._panels.shape, "float32"))
        epilogue = native.Epilogue(views.optional(BIAS))
        y = views.output()
        return native.Sequence(
            [
                native.pack(weight, panels, groups, True),
                native.conv(x, panels, y, native_window(window), groups, epilogue),
            ]
        )
