"""Indices as the library takes them: int32, and counted from the beginning.

One that is outside fails when an element is gathered or scattered with it; how a card says so is
its own affair. Several that make one must not land inside by chance: they are checked before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headrace_cambricon.kernels import vendor
from headrace_cambricon.kernels.kernel import Operand, Recorder, between_bytes

Places = NDArray[np.int32]

_CLIPPED = "CNNL_ACTIVATION_CLIPPED_RELU"
UPWARD = (
    *vendor.OP_TENSOR,
    *(f"{name}|cnnlActivationForward" for name in (*vendor.LOGIC, *vendor.SELECT)),
    "cnnlCastDataType",
    "cnnlExpand",
)
UPWARD_ENUMS = (f"CNNL_LOGIC_OP_LT|{_CLIPPED}", "CNNL_CAST_INT64_TO_INT32")
LINEAR = (*UPWARD, *vendor.LOGIC, *vendor.SELECT, *vendor.SLICE)
LINEAR_ENUMS = (
    *UPWARD_ENUMS,
    "CNNL_LOGIC_OP_LT",
    "CNNL_LOGIC_OP_GE",
    "CNNL_LOGIC_OP_OR",
    "CNNL_OP_TENSOR_MUL",
)


def known(r: Recorder, places: Places) -> Operand:
    """Numbers that are the same on every launch, on the device."""
    return r.tensor(r.context.constant(places.tobytes()), places.shape, "int32")


def number(r: Recorder, value: int) -> Operand:
    """One number, to broadcast."""
    return known(r, np.array([value], np.int32))


def given(r: Recorder, index: int) -> Operand:
    """An input of indices as a vector."""
    spec = r.call.input(index)
    return r.tensor(r.input(index), (spec.elements,), spec.dtype)


def upward_bytes(dtype: str, count: int) -> int:
    """What ``upward`` takes of the workspace at most."""
    return (5 if dtype == "int32" else 6) * between_bytes((count,), "int32")


def upward(r: Recorder, indices: Operand, length: int) -> Operand:
    """A vector of indices as int32, those that count from the end turned into the others."""
    count = indices.shape
    if indices.dtype != "int32":
        narrow = r.between(count, "int32")
        vendor.cast(r, indices, narrow)
        indices = narrow
    if not (r.has("cnnlLogicOp") and r.has("cnnlSelectV2")):
        return _raised(r, indices, length)
    turned, below = r.between(count, "int32"), r.between(count, "bool")
    chosen = r.between(count, "int32")
    vendor.op_tensor(r, "CNNL_OP_TENSOR_ADD", indices, number(r, length), turned)
    vendor.logic(r, "LT", indices, number(r, 0), below)
    vendor.select(r, below, turned, indices, chosen)
    return chosen


def _raised(r: Recorder, indices: Operand, length: int) -> Operand:
    """The same where nothing compares: ``i + length * min(max(-i, 0), 1)``."""
    count = indices.shape
    given, turned, clipped = (r.between(count, "float32") for _ in range(3))
    below, raised = r.between(count, "int32"), r.between(count, "int32")
    zero = r.tensor(r.context.constant(bytes(4)), (1,), "float32")
    vendor.cast(r, indices, given)  # may be rounded, but not across zero
    vendor.op_tensor(r, "CNNL_OP_TENSOR_ADD", zero, given, turned, -1)
    vendor.activation(r, _CLIPPED, turned, clipped)  # at its coefficient, which is 1
    vendor.cast(r, clipped, below)
    vendor.op_tensor(r, "CNNL_OP_TENSOR_ADD", indices, below, raised, length)
    return raised


def linear_bytes(dtype: str, count: int, depth: int) -> int:
    """What ``linear`` takes of the workspace."""
    of_column = between_bytes((count,), dtype) + upward_bytes(dtype, count)
    of_column += 2 * between_bytes((count,), "int32") + 4 * between_bytes((count,), "bool")
    return depth * of_column + between_bytes((count,), "int32")


def linear(r: Recorder, index: int, lengths: Sequence[int], before: Places) -> Operand:
    """The rows that indices of several axes name, as a vector of int32.

    Args:
        index: of the input; its last axis has one index for each of ``lengths``.
        lengths: of the axes that are indexed.
        before: what is added to each: where the batch begins that it is of.

    Returns:
        What is no row, far behind the last, where an index is outside its axis.
    """
    count, depth = len(before), len(lengths)
    spec = r.call.input(index)
    table = r.tensor(r.input(index), (count, depth), spec.dtype)
    total, outside = known(r, before), None
    for axis, length in enumerate(lengths):
        column = r.between((count, 1), spec.dtype)
        vendor.strided_slice(r, [0, axis], [count, axis + 1], [1, 1], table, column)
        vector = r.tensor(column.address, (count,), spec.dtype)
        places = upward(r, vector, length)
        outside = _outside(r, places, length, outside)
        step = math.prod(lengths[axis + 1 :])
        moved, summed = r.between((count,), "int32"), r.between((count,), "int32")
        vendor.op_tensor(r, "CNNL_OP_TENSOR_MUL", places, number(r, step), moved)
        vendor.op_tensor(r, "CNNL_OP_TENSOR_ADD", total, moved, summed)
        total = summed
    if outside is None:
        return total
    checked = r.between((count,), "int32")
    vendor.select(r, outside, number(r, np.iinfo(np.int32).max), total, checked)
    return checked


def _outside(r: Recorder, places: Operand, length: int, others: Operand | None) -> Operand:
    """Where an index is outside its axis, or one before it was."""
    shape = places.shape
    below, beyond, either = (r.between(shape, "bool") for _ in range(3))
    vendor.logic(r, "LT", places, number(r, 0), below)
    vendor.logic(r, "GE", places, number(r, length), beyond)
    vendor.logic(r, "OR", below, beyond, either)
    if others is None:
        return either
    both = r.between(shape, "bool")
    vendor.logic(r, "OR", either, others, both)
    return both


def spread(r: Recorder, rows: Operand, shape: tuple[int, int, int]) -> Operand:
    """A vector along the middle of three axes, repeated along the others: one index an element."""
    flat = r.tensor(rows.address, (1, shape[1], 1), "int32")
    wide = r.between(shape, "int32")
    r.add("cnnlExpand", *flat.both, *wide.both)
    return wide
