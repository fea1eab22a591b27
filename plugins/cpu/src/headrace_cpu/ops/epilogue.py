"""What follows a product before it is stored: a bias, an addend, an activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from headrace.dtypes import DType, bfloat16, float16, float32
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op
from headrace.ops.failure import fail
from headrace.tensor_spec import Array
from headrace_cpu.ops.places import ADDEND, BIAS

FLOAT32 = frozenset({float32})

WEIGHTS = frozenset({float32, float16, bfloat16})
"""Of packed weights; those of 16 bits are float32 from where they are loaded on."""

Activation = Callable[[Array, float, float], Array]

ACTIVATIONS: Mapping[str, Activation] = {
    "none": lambda x, alpha, beta: x,
    "clamp": lambda x, alpha, beta: np.minimum(np.maximum(x, alpha), beta),
    "leaky": lambda x, alpha, beta: np.where(x < 0, x * alpha, x),
    "sigmoid": lambda x, alpha, beta: 1 / (1 + np.exp(-x)),
    "silu": lambda x, alpha, beta: x / (1 + np.exp(-x)),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(x * alpha + beta, 0, 1),
    "hard_swish": lambda x, alpha, beta: x * np.clip(x * alpha + beta, 0, 1),
}
"""Of ``x``, with the attributes ``alpha`` and ``beta``; as ``gemm.h`` has them."""


def product_inputs(weights: frozenset[DType]) -> tuple[Input, ...]:
    """The inputs of a product whose packed weights may have these dtypes."""
    return (
        Input("x", FLOAT32),
        Input("panels", weights, group=""),
        Input("bias", FLOAT32, optional=True),
        Input("addend", FLOAT32, optional=True),
    )


class Product(Op):
    """A product with packed weights: ``y = activation(product + bias + addend)``.

    Inputs: what is multiplied, T[..., depth]; the weights as ``cpu.pack`` makes them; ``bias``,
    one number for each column, in any shape that has them last; ``addend``, of the shape of y.
    With ``addend_last`` it is ``activation(product + bias) + addend``. ``clamp`` is between
    ``alpha`` and ``beta``; the hard activations are of the line ``alpha * x + beta``.
    """

    inputs: ClassVar[tuple[Input, ...]] = product_inputs(FLOAT32)
    attrs: ClassVar[tuple[Attr, ...]] = (
        Attr("columns", "int"),
        Attr("activation", "str", "none", choices=tuple(ACTIVATIONS)),
        Attr("alpha", "float", 0.0),
        Attr("beta", "float", 0.0),
        Attr("addend_last", "bool", False),
    )

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((ADDEND, 0),) if call.has_input(ADDEND) else ()


def check_epilogue(call: OpCall, shape: tuple[int, ...]) -> None:
    """Raise ShapeError unless bias and addend fit what is made, of ``shape``."""
    columns = call.int_attr("columns")
    if call.has_input(BIAS):
        bias = call.input(BIAS).shape
        if bias[-1:] != (columns,) or set(bias[:-1]) - {1}:
            fail(
                call,
                f"bias is {call.input(BIAS)}; it must have {columns} numbers, on its last axis",
            )
    if call.has_input(ADDEND) and call.input(ADDEND).shape != shape:
        fail(call, f"addend is {call.input(ADDEND)}; it must have the shape of the result, {shape}")


def finish(call: OpCall, sums: Array, bias: Array | None, addend: Array | None, y: Array) -> None:
    """Compute what follows ``sums`` into ``y``; all of float32."""
    if bias is not None:
        sums = sums + bias.reshape(-1)
    last = call.flag_attr("addend_last")
    if addend is not None and not last:
        sums = sums + addend
    activate = ACTIVATIONS[call.str_attr("activation")]
    result = activate(sums, call.float_attr("alpha"), call.float_attr("beta"))
    y[...] = result + addend if addend is not None and last else result
