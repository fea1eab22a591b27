"""Products of bytes with packed weights: each one native launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headrace.device import Launch, OpCall, dtypes
from headrace.dtypes import int8, int32, uint8
from headrace.ops.matmul import matrix_axes
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.batches import all_matrices, places_of
from headrace_cpu.kernels.depthwise import is_depthwise
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views, native_window
from headrace_cpu.kernels.product import ProductKernel, is_product
from headrace_cpu.ops.integer import SCALE, SHIFT, SUMS, WEIGHT_ZEROS, X_ZERO, Y_SCALE, Y_ZERO
from headrace_cpu.ops.integer_depthwise import BLOCK
from headrace_cpu.ops.pack_integers import panels_shape
from headrace_cpu.ops.places import PANEL, packed_window, panel_count

if TYPE_CHECKING:
    from headrace_cpu._native import IntegerWeights, Rescale

_BYTES = dtypes("int8", "uint8")
A_ZERO, B_ZERO = 2, 3
"""Places among the inputs of ``matmul_integer``."""


def matrix_sides(call: OpCall) -> tuple[int, int]:
    """The columns and the depth of the right side of a ``matmul_integer`` of matrices."""
    columns, depth = matrix_axes(call, 1)
    shape = call.input(1).shape
    return shape[columns or 0], shape[depth]


def _multiplies_matrices(call: OpCall) -> bool:
    a, b = call.input(0), call.input(1)
    if min(a.rank, b.rank) < 2 or call.flag_attr("transpose_a") or 0 in (*a.shape, *b.shape):
        return False
    if call.has_input(A_ZERO) and call.input(A_ZERO).elements != 1:
        return False
    if not call.has_input(B_ZERO) or call.input(B_ZERO).elements == 1:
        return True
    zero, columns = call.input(B_ZERO), matrix_sides(call)[0]
    axis = -2 if call.flag_attr("transpose_b") else -1
    return zero.elements == columns == zero.shape[axis]


byte_matrices = SomeCalls("matrices, one zero point for each column", _BYTES, _multiplies_matrices)
"""Products of bytes, matrix by matrix."""
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
        flat = views.flat
        return native.Rescale(
            flat(SCALE), flat(X_ZERO), flat(SHIFT), flat(Y_SCALE), flat(Y_ZERO),
            self._epilogue(views),
        )  # fmt: skip


class IntegerMatmulKernel(IntegerProductKernel):
    """``cpu.integer_matmul``: as the op says."""

    def _make(self, views: Views) -> Launch:
        x, y, corrections = views.input(), views.output(), views.scratch(self._corrections())
        weights, rescale = self._weights(views), self._rescale(views)
        return native.integer_matmul(x, weights, y, corrections, rescale)


class PackingIntegerMatmul(NativeKernel):
    """``matmul_integer`` whose right side is packed in each call, into the workspace.

    a: T[..., m, k], b: U[..., k, n], or [..., n, k] where it is transposed; zero points: of one
    element, or that of b of one for each column; y: int32[..., m, n]. What has constant weights
    a pass packs once.
    """

    _zero = B_ZERO

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        columns, depth = matrix_sides(call)
        b, y = call.input(1), call.outputs[0]
        matrices = math.prod(b.shape[:-2])
        self._has_one = matrices == 1  # for all rows
        products = 1 if self._has_one else math.prod(y.shape[:-2])
        corrections = 3 * panel_count(columns) * PANEL
        self._panels = TensorSpec(panels_shape(depth, matrices * columns, matrices), int8)
        self._numbers = TensorSpec(((matrices + 1) * columns + products * corrections,), int32)

    def workspace_bytes(self) -> int:
        """Matrices in panels; sums, zero points, and what products make of these."""
        return self._panels.nbytes + self._numbers.nbytes

    def _make(self, views: Views) -> Launch:
        a, b, y = views.input(0), views.input(1), views.output()
        memory = views.scratch(TensorSpec((self.workspace_bytes(),), uint8))
        packed = memory[: self._panels.nbytes].view(np.int8).reshape(self._panels.shape)
        numbers = memory[self._panels.nbytes :].view(np.int32)
        if self._has_one:
            a, y = (side.reshape(1, -1, side.shape[-1]) for side in (a, y))
            b = b.reshape(1, *b.shape[-2:])
        return native.byte_batch_matmul(
            all_matrices(a),
            all_matrices(b),
            views.flat(self._zero),
            all_matrices(y),
            (packed, numbers),
            places_of(a, y),
            places_of(b, y),
            self._call.flag_attr("transpose_b"),
            self._rescale(views),
        )

    def _rescale(self, views: Views) -> Rescale:
        return native.Rescale(x_zero=views.flat(A_ZERO))


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
