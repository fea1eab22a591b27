"""Products of bytes both sides of which are computed, batches of them: each one native launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from headrace.device import Launch, OpCall, dtypes
from headrace.dtypes import int8, int32, uint8
from headrace.ops.matmul import matrix_axes
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.batches import all_matrices, places_of
from headrace_cpu.kernels.integer import rescale
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import Views
from headrace_cpu.kernels.product import ProductKernel
from headrace_cpu.ops.integer import WEIGHT_ZEROS
from headrace_cpu.ops.pack_integers import panels_shape
from headrace_cpu.ops.places import PANEL, panel_count

if TYPE_CHECKING:
    from headrace_cpu._native import Rescale

A_ZERO, B_ZERO = 2, 3
"""Places among the inputs of ``matmul_integer``."""


def matrix_sides(call: OpCall) -> tuple[int, int]:
    """The columns and the depth of the right side of a ``matmul_integer`` of matrices."""
    columns, depth = matrix_axes(call, 1)
    shape = call.input(1).shape
    return shape[columns or 0], shape[depth]


def multiplies_matrices(call: OpCall) -> bool:
    """Whether a ``matmul_integer`` is of matrices, with zero points that its kernel takes."""
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


byte_matrices = SomeCalls(
    "matrices, one zero point for each column", dtypes("int8", "uint8"), multiplies_matrices
)
"""Products of bytes, matrix by matrix."""


class ByteBatchKernel(ProductKernel):
    """What products of computed sides share: the right one is packed in each call.

    Into the workspace. a: T[..., m, k], b: U[..., k, n], or [..., n, k] where it is transposed;
    y: [..., m, n].
    """

    _zero: ClassVar[int]
    """Place of the zero points of b, of which there is one, or one for each column."""

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        columns, depth = matrix_sides(call)
        b, y = call.input(1), call.outputs[0]
        matrices = math.prod(b.shape[:-2])
        self._has_one = matrices == 1  # for all rows
        products = 1 if self._has_one else math.prod(y.shape[:-2])
        corrections = 3 * panel_count(columns) * PANEL
        of_one, *panel = panels_shape(depth, columns)
        self._panels = TensorSpec((matrices * of_one, *panel), int8)
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
            a_places = b_places = [0]
        else:
            a_places, b_places = places_of(a, y), places_of(b, y)
        return native.byte_batch_matmul(
            self._rows_of(a),
            all_matrices(b),
            views.flat(self._zero),
            self._rows_of(y),
            (packed, numbers),
            a_places,
            b_places,
            self._call.flag_attr("transpose_b"),
            self._rescale(views),
        )

    def _rows_of(self, side: Array) -> Array:
        """All matrices of a or y along one axis; as one where b is one, whatever their batch."""
        *rows, columns = side.shape
        return side.reshape(1, math.prod(rows), columns) if self._has_one else all_matrices(side)

    def _rescale(self, views: Views) -> Rescale:
        """How sums become y."""
        raise NotImplementedError(f"{type(self).__name__} does not override _rescale")


class PackingIntegerMatmul(ByteBatchKernel):
    """``matmul_integer``, in a job that is built without the passes of this backend."""

    _zero = B_ZERO

    def _rescale(self, views: Views) -> Rescale:
        return native.Rescale(x_zero=views.flat(A_ZERO))


class IntegerBatchKernel(ByteBatchKernel):
    """``cpu.integer_batch_matmul``: as the op says; y may be the addend's memory."""

    _zero = WEIGHT_ZEROS

    def _rescale(self, views: Views) -> Rescale:
        return rescale(views, self._epilogue(views))

    def _addend(self, views: Views) -> Array | None:
        addend = super()._addend(views)
        return None if addend is None else self._rows_of(addend)
