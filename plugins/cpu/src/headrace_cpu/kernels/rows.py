"""Rows: softmax, layer norm, reductions of the last axes, pairs of classes; batches of products."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from headrace.device import KernelEntry, Launch, OpCall, any_call, dtypes
from headrace.ops.axes import folded_axes
from headrace.tensor_spec import TensorSpec
from headrace_cpu.extension import native
from headrace_cpu.kernels.batches import all_matrices, places_of
from headrace_cpu.kernels.match import SomeCalls
from headrace_cpu.kernels.native import NativeKernel, Views
from headrace_cpu.ops.places import PANEL, panel_count

FLOAT32 = dtypes("float32")
INTEGERS = dtypes("int32", "int64", "uint32", "uint64")

FEW_ROWS = 8
SMALL_MATRIX = 4096
"""Fewer rows read a matrix once: if it is larger than this, packing it costs more than it saves."""


class SoftmaxRows(NativeKernel):
    """``softmax`` and ``log_softmax`` of the last axis but for axes of one: x, y: float32[...],
    which may be one. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, y = views.input(), views.output()
        length = x.shape[call.int_attr("axis") % x.ndim]
        logarithm = call.op == "log_softmax"
        return native.softmax(x.reshape(-1, length), y.reshape(-1, length), logarithm)


def _last_axis(call: OpCall) -> bool:
    x = call.input(0)
    axis = call.int_attr("axis") % x.rank
    return math.prod(x.shape[axis + 1 :]) == 1 and x.elements > 0


class SoftmaxColumns(NativeKernel):
    """``softmax`` and ``log_softmax`` of an axis before others: x, y: float32[...], which may be
    one. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, y = views.input(), views.output()
        axis = call.int_attr("axis") % x.ndim
        sides = (math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :]))
        return native.softmax_columns(x.reshape(sides), y.reshape(sides), call.op == "log_softmax")


def _has_axis(call: OpCall) -> bool:
    return call.input(0).rank > 0


class LayerNormRows(NativeKernel):
    """``layer_norm``: x, y: float32[...], which may be one; scale and bias along the axes that are
    normalised. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        call = self._call
        length = _inner(call)
        x, y = views.input(), views.output()
        scale, bias = (views.optional(index) for index in (1, 2))
        return native.layer_norm(
            x.reshape(-1, length),
            None if scale is None else scale.reshape(length),
            None if bias is None else bias.reshape(length),
            y.reshape(-1, length),
            call.float_attr("epsilon"),
        )


def _inner(call: OpCall) -> int:
    x = call.input(0)
    return math.prod(x.shape[call.int_attr("axis") % x.rank :])


def _norms_rows(call: OpCall) -> bool:
    if call.output_count > 1 or call.input(0).elements == 0:
        return False
    return all(
        spec is None or (spec.dtype.name == "float32" and spec.elements == _inner(call))
        for spec in call.inputs[1:]
    )


class FoldEachRow(NativeKernel):
    """A reduction of the last axes: x: float32[...], y: without them. No workspace."""

    def _make(self, views: Views) -> Launch:
        call = self._call
        x, y = views.input(), views.output()
        kind = call.op.removeprefix("reduce_")
        return native.fold_each_row(kind, x.reshape(y.size, -1), y.reshape(-1))


def _folds_last(call: OpCall) -> bool:
    shape, folded = call.input(0).shape, folded_axes(call)
    long = [axis in folded for axis, dim in enumerate(shape) if dim != 1]
    return 0 not in shape and long == sorted(long)


class BatchMatmul(NativeKernel):
    """``matmul`` of batches: a: float32[..., m, k], b: float32[..., k, n], y: float32[..., m, n];
    workspace: every matrix of b, packed.
    """

    def __init__(self, call: OpCall) -> None:
        super().__init__(call)
        *_, columns = call.outputs[0].shape
        depth = call.input(0).shape[-1]
        matrices = math.prod(call.input(1).shape[:-2])
        self._panels = TensorSpec((matrices, panel_count(columns), depth, PANEL), "float32")

    def workspace_bytes(self) -> int:
        """The packed matrices."""
        return self._panels.nbytes

    def _make(self, views: Views) -> Launch:
        a, b = views.inputs()
        y = views.output()
        return native.batch_matmul(
            all_matrices(a),
            all_matrices(b),
            views.scratch(self._panels),
            all_matrices(y),
            places_of(a, y),
            places_of(b, y),
            self._call.flag_attr("transpose_b"),
        )


class FewRowMatmul(NativeKernel):
    """``matmul`` as ``BatchMatmul``, whose b is read as it lies. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        a, b = views.inputs()
        y, transposed = views.output(), self._call.flag_attr("transpose_b")
        places = places_of(a, y), places_of(b, y)
        return native.few_row_matmul(
            all_matrices(a), all_matrices(b), all_matrices(y), *places, transposed
        )


class VectorMatmul(NativeKernel):
    """``matmul`` of a vector and matrices, on either side: as of one row. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        a, b = views.inputs()
        if b.ndim == 1:  # each row of a is as a column of what it is multiplied by
            row, matrices, transposed = b, all_matrices(np.atleast_2d(a)), True
        else:
            row, matrices, transposed = a, all_matrices(b), self._call.flag_attr("transpose_b")
        count = matrices.shape[0]
        y = views.output().reshape(count, 1, -1)
        places = [0] * count, list(range(count))
        return native.few_row_matmul(row.reshape(1, 1, -1), matrices, y, *places, transposed)


class CouplePairs(NativeKernel):
    """``couple_pairs``. Needs no workspace."""

    def _make(self, views: Views) -> Launch:
        return native.couple_pairs(views.input(), views.output())


class IntegerMatmul(NativeKernel):
    """``matmul`` of batches: a: T[..., m, k], b: T[..., k, n], y: T[..., m, n], which wrap around.

    T is int32, int64 or unsigned. Needs no workspace.
    """

    def _make(self, views: Views) -> Launch:
        # Sums that wrap around are the same bits, whether they have a sign or not.
        dtype = f"i{views.output().itemsize}"
        a, b, y = (array.view(dtype) for array in (*views.inputs(), views.output()))
        places = places_of(a, y), places_of(b, y)
        return native.integer_batch_matmul(
            all_matrices(a), all_matrices(b), all_matrices(y), *places
        )


def _is_plain(call: OpCall) -> bool:
    turned = call.flag_attr("transpose_a") or call.flag_attr("transpose_b")
    return min(call.input(0).rank, call.input(1).rank) > 1 and not turned


def _is_batch(call: OpCall) -> bool:
    a, b = call.input(0), call.input(1)
    turned = call.flag_attr("transpose_a")
    return min(a.rank, b.rank) > 1 and not turned and 0 not in (*a.shape, *b.shape)


def _has_vector(call: OpCall) -> bool:
    a, b = call.input(0), call.input(1)
    is_turned = call.flag_attr("transpose_a")  # then b is the vector
    return min(a.rank, b.rank) == 1 and not is_turned and 0 not in (*a.shape, *b.shape)


def _has_few_rows(call: OpCall) -> bool:
    if not _is_batch(call):
        return False
    return call.input(0).shape[-2] < FEW_ROWS and math.prod(call.input(1).shape[-2:]) > SMALL_MATRIX


def row_entries(tag: str) -> Iterator[KernelEntry]:
    """The kernels of this module."""
    last = SomeCalls("the last axis", FLOAT32, _last_axis)
    axis = SomeCalls("an axis", FLOAT32, _has_axis)
    for op in ("softmax", "log_softmax"):
        yield KernelEntry(tag, op, SoftmaxRows, last, priority=1)
        yield KernelEntry(tag, op, SoftmaxColumns, axis)
    norms = SomeCalls("scale and bias of a row", FLOAT32, _norms_rows)
    yield KernelEntry(tag, "layer_norm", LayerNormRows, norms)
    yield KernelEntry(tag, "couple_pairs", CouplePairs, any_call)
    rows = SomeCalls("the last axes", FLOAT32, _folds_last)
    for op in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"):
        yield KernelEntry(tag, op, FoldEachRow, rows, priority=1)
    batches = SomeCalls("matrices as they lie", FLOAT32, _is_batch)
    yield KernelEntry(tag, "matmul", BatchMatmul, batches)
    few = SomeCalls("few rows by matrices as they lie", FLOAT32, _has_few_rows)
    yield KernelEntry(tag, "matmul", FewRowMatmul, few, priority=1)
    vectors = SomeCalls("a vector", FLOAT32, _has_vector)
    yield KernelEntry(tag, "matmul", VectorMatmul, vectors)
    integers = SomeCalls("matrices as they lie", INTEGERS, _is_plain)
    yield KernelEntry(tag, "matmul", IntegerMatmul, integers)
