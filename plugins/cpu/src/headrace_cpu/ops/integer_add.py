"""cpu.integer_add: quantized numbers that are added and quantized again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import uint8
from headrace.errors import DTypeError
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op
from headrace.ops.failure import fail
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.pack_integers import BYTES


class IntegerAdd(Op):
    """``y = round(clip(a * a_factor + b * b_factor + offset, low, high)) + zero``.

    a, b: int8 or uint8 of one shape; y: ``dtype``, of that shape. Computed in float32, halves to
    even; a product and a sum may be rounded as one.
    """

    name = "cpu.integer_add"
    inputs = (Input("a", BYTES, group="A"), Input("b", BYTES, group="B"))
    attrs = (
        Attr("a_factor", "float"),
        Attr("b_factor", "float"),
        Attr("offset", "float"),
        Attr("low", "float"),
        Attr("high", "float"),
        Attr("zero", "int", 0),
        Attr("dtype", "dtype", uint8),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        a, b, dtype = call.input(0), call.input(1), call.dtype_attr("dtype")
        if a.shape != b.shape:
            fail(call, f"a is {a} and b is {b}; they must have one shape")
        if dtype not in BYTES:
            fail(call, f"dtype is {dtype}; it must be int8 or uint8", DTypeError)
        return (a.with_dtype(dtype),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0), (1, 0))


def integer_add(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.integer_add``."""
    a, b = (given(inputs, index).astype(np.float32) for index in (0, 1))
    factor = [np.float32(call.float_attr(name)) for name in ("a_factor", "b_factor", "offset")]
    sums = a * factor[0] + (b * factor[1] + factor[2])
    kept = np.clip(sums, np.float32(call.float_attr("low")), np.float32(call.float_attr("high")))
    outputs[0][...] = np.rint(kept) + call.int_attr("zero")
