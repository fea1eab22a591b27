"""cpu.attention: softmax of scaled and masked products of queries and keys, times values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.epilogue import FLOAT32

ROWS_FIRST = (0, 2, 1, 3)
"""The axes [batch, rows, heads, columns] as [batch, heads, rows, columns], and back."""

FEW_QUERIES = 8
"""So many read keys and values where they lie; the native kernel has the same number."""


class Attention(Op):
    """``softmax(scale * q k^T + mask) v`` over the last axis, for each batch and head.

    Inputs: q [batch, heads, queries, depth]; k [batch, heads, keys, depth], or [batch, heads,
    depth, keys] if ``k_transposed``; v [batch, heads, keys, columns]; mask, whose last axis has all
    keys and whose others may be 1. Each of ``rows_first``, out of q, k, v and y, has its rows
    before its heads. A row of scores that has no number gives 0 if ``nan_is_zero``, otherwise NaN.
    """

    name = "cpu.attention"
    inputs = (
        Input("q", FLOAT32),
        Input("k", FLOAT32),
        Input("v", FLOAT32),
        Input("mask", FLOAT32, optional=True),
    )
    attrs = (
        Attr("scale", "float", 1.0),
        Attr("k_transposed", "bool", False),
        Attr("rows_first", "str", ""),
        Attr("nan_is_zero", "bool", False),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        specs = [call.input(index) for index in range(3)]
        if any(spec.rank != 4 or 0 in spec.shape for spec in specs):
            fail(call, f"q, k and v are {specs}; each must have four axes that are not empty")
        first = call.str_attr("rows_first")
        q, k, v = (
            tuple(spec.shape[axis] for axis in ROWS_FIRST) if name in first else spec.shape
            for name, spec in zip("qkv", specs, strict=True)
        )
        if call.flag_attr("k_transposed"):
            k = (*k[:2], k[3], k[2])
        if k != (*q[:2], k[2], q[3]) or v != (*k[:3], v[3]):
            fail(call, f"q, k and v are {specs}, which do not fit")
        if call.has_input(3):
            wanted = (*q[:3], k[2])
            mask = call.input(3).shape
            fits = len(mask) == 4 and mask[3] == wanted[3]
            if not fits or any(m not in (1, w) for m, w in zip(mask, wanted, strict=True)):
                fail(call, f"mask is {call.input(3)}; it must broadcast to {wanted}, keys whole")
        made = (*q[:3], v[3])
        if "y" in first:
            made = tuple(made[axis] for axis in ROWS_FIRST)
        return (specs[0].with_shape(made),)


def attention(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.attention``."""
    first = call.str_attr("rows_first")
    q, k, v = (
        given(inputs, index).transpose(ROWS_FIRST) if name in first else given(inputs, index)
        for index, name in enumerate("qkv")
    )
    mask = inputs[3]
    scores = np.matmul(q, k if call.flag_attr("k_transposed") else k.swapaxes(2, 3))
    scores = scores * np.float32(call.float_attr("scale"))
    if mask is not None:
        scores = scores + mask
    grown = np.exp(scores - scores.max(-1, keepdims=True))
    shares = grown / grown.sum(-1, keepdims=True)
    if call.flag_attr("nan_is_zero"):
        shares = np.where(np.isnan(shares), np.float32(0), shares)
    y = np.matmul(shares, v)
    outputs[0][...] = y.transpose(ROWS_FIRST) if "y" in first else y
