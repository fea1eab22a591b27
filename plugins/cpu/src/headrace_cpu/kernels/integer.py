"""Products of bytes with packed weights: each one native launch."""

from __future__ import annotations

from headrace.device import Launch, dtypes
from headrace.dtypes import int32
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.kernels.depthwise import is_depthwise
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.kernels.product import ProductKernel, is_product
from headrace_cpu.ops.conv import packed_window
from headrace_cpu.ops.depthwise import depthwise_window
from headrace_cpu.ops.epilogue import ADDEND, BIAS
from headrace_cpu.ops.integer import SCALE, SHIFT, SUMS, WEIGHT_ZEROS, X_ZERO, Y_SCALE, Y_ZERO
from headrace_cpu.ops.integer_depthwise import BLOCK
from headrace_cpu.ops.pack import PANEL, panel_count

_BYTES = dtypes("int8", "uint8")
byte_products = SomeCalls("groups of four channels or more", _BYTES, is_product)
"""Convolutions of bytes, channels last, that are products."""
depthwise_bytes = SomeCalls("each channel by itself", _BYTES, is_depthwise)
"""Convolutions of bytes, channels last, of each channel by itself."""


_Maybe = Array | None
Operands = tuple[
    Array, Array, Array,
    _Maybe, _Maybe, _Maybe, _Maybe, _Maybe, _Maybe, _Maybe, _Maybe,
    Array, Array,
]  # fmt: skip
"""As ``_native.integer_matmul`` takes them: x to sums, bias to y_zero, y and the corrections."""


class DynamicQuantize(NativeKernel):
    """``dynamic_quantize``: x: float32[...], y: uint8[...], the others scalars. No workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        y, scale, zero_point = map(views.output, range(3))
        return _native.dynamic_quantize(views.input(), y, scale, zero_point)


class IntegerAddKernel(NativeKernel):
    """``cpu.integer_add``: as the op says; y may be the memory of a or b. No workspace."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        number = self._call.float_attr
        return _native.integer_add(
            views.input(0),
            views.input(1),
            views.output(),
            number("a_factor"),
            number("b_factor"),
            number("offset"),
            number("low"),
            number("high"),
            self._call.int_attr("zero"),
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

    def _operands(self, views: Views) -> Operands:
        """Everything that the launch reads and writes, in its order."""

        def flat(index: int) -> Array | None:
            array = views.optional(index)
            return None if array is None else array.reshape(-1)

        return (
            views.input(),
            views.input(1),
            views.input(SUMS),
            flat(BIAS),
            views.optional(ADDEND),
            flat(SCALE),
            flat(X_ZERO),
            flat(WEIGHT_ZEROS),
            flat(SHIFT),
            flat(Y_SCALE),
            flat(Y_ZERO),
            views.output(),
            views.scratch(self._corrections()),
        )


class IntegerMatmulKernel(IntegerProductKernel):
    """``cpu.integer_matmul``: as the op says."""

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        return _native.integer_matmul(*self._operands(views), *self._epilogue())


class IntegerConvKernel(IntegerProductKernel):
    """``cpu.integer_conv``: as the op says."""

    def _groups(self) -> int:
        return self._call.int_attr("groups")

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        w = packed_window(self._call)
        return _native.integer_conv(
            *self._operands(views),
            *self._epilogue(),
            w.kernel,
            w.strides,
            w.dilations,
            w.pads_begin,
            self._groups(),
        )


class IntegerDepthwiseKernel(IntegerProductKernel):
    """``cpu.integer_depthwise_conv``: as the op says."""

    def _corrections(self) -> TensorSpec:
        blocks = -(-self._call.int_attr("columns") // BLOCK)
        return TensorSpec((4 * blocks * BLOCK,), int32)

    def _make(self, views: Views) -> Launch:
        from headrace_cpu import _native

        w = depthwise_window(self._call)
        geometry = (w.kernel, w.strides, w.dilations, w.pads_begin)
        return _native.integer_depthwise_conv(*self._operands(views), *self._epilogue(), *geometry)
