"""Products of bytes with packed weights: each one native launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.device import Launch, dtypes
from headrace.dtypes import int32
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.depthwise import is_depthwise
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window
from headrace_cpu.kernels.product import ProductKernel, is_product
from headrace_cpu.ops.integer import SCALE, SHIFT, SUMS, WEIGHT_ZEROS, X_ZERO, Y_SCALE, Y_ZERO
from headrace_cpu.ops.integer_depthwise import BLOCK
from headrace_cpu.ops.places import PANEL, packed_window, panel_count

if TYPE_CHECKING:
    from headrace_cpu._native import Epilogue, IntegerWeights, Rescale

_BYTES = dtypes("int8", "uint8")

byte_products = SomeCalls("groups of four channels or more", _BYTES, is_product)
"""Convolutions of bytes, channels last, that are products."""
depthwise_bytes = SomeCalls("each channel by itself", _BYTES, is_depthwise)
"""Convolutions of bytes, channels last, of each channel by itself."""


class DynamicQuantize(NativeKernel):
    """``dynamic_quantize``: x: float32[...], y: uint8[...], the others scalars. No workspace."""

    def _make(self, views: Views) -> Launch:
        y, scale, zero_point = map(views.output, range(3))
        return native.dynamic_quantize(views.input(), y, scale, zero_point)


class IntegerAddKernel(NativeKernel):
    """``cpu.integer_add``: as the op says; y may be the memory of a or b. No workspace."""

    def _make(self, views: Views) -> Launch:
        number = self._call.float_attr
        return native.integer_add(
            views.input(0),
            views.input(1),
            views.output(),
            (number("a_factor"), number("b_factor")),
            number("offset"),
            (number("low"), number("high")),
            self._call.int_attr("zero"),
        )


def rescale(views: Views, epilogue: Epilogue) -> Rescale:
    """How sums become y, which ``epilogue`` is the end of."""
    flat = views.flat
    return native.Rescale(
        flat(SCALE), flat(X_ZERO), flat(SHIFT), flat(Y_SCALE), flat(Y_ZERO), epilogue
    )


class IntegerProductKernel(ProductKernel):
    """What products of bytes share; y may be the addend's memory."""

    def workspace_bytes(self) -> int:
        """What a call makes of the zero points and scales: three numbers for each column."""
        return self._corrections().nbytes

    def _corrections(self) -> TensorSpec:
        columns, groups = self._call.int_attr("columns"), self._groups()
        return TensorSpec((groups * 3 * panel_count(columns // groups) * PANEL,), int32)

    def _groups(self) -> int:
        return 1

    def _weights(self, views: Views) -> IntegerWeights:
        return native.IntegerWeights(views.input(1), views.input(SUMS), views.flat(WEIGHT_ZEROS))

    def _rescale(self, views: Views) -> Rescale:
        return rescale(views, self._epilogue(views))


class IntegerMatmulKernel(IntegerProductKernel):
    """``cpu.integer_matmul``: as the op says."""

    def _make(self, views: Views) -> Launch:
        x, y, corrections = views.input(), views.output(), views.scratch(self._corrections())
        weights, rescale = self._weights(views), self._rescale(views)
        return native.integer_matmul(x, weights, y, corrections, rescale)


class IntegerConvKernel(IntegerProductKernel):
    """``cpu.integer_conv``: as the op says."""

    def _groups(self) -> int:
        return self._call.int_attr("groups")

    def _make(self, views: Views) -> Launch:
        x, y, corrections = views.input(), views.output(), views.scratch(self._corrections())
        weights, rescale = self._weights(views), self._rescale(views)
        window, groups = native_window(packed_window(self._call)), self._groups()
        return native.integer_conv(x, weights, y, corrections, rescale, window, groups)


class IntegerDepthwiseKernel(IntegerProductKernel):
    """``cpu.integer_depthwise_conv``: as the op says."""

    def _corrections(self) -> TensorSpec:
        blocks = -(-self._call.int_attr("columns") // BLOCK)
        return TensorSpec((4 * blocks * BLOCK,), int32)

    def _make(self, views: Views) -> Launch:
        x, y, prepared = views.input(), views.output(), views.scratch(self._corrections())
        weights, rescale = self._weights(views), self._rescale(views)
        window = native_window(packed_window(self._call))
        return native.integer_depthwise_conv(x, weights, y, prepared, rescale, window)
