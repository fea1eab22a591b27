"""Elementwise functions of one tensor."""

from __future__ import annotations

from headrace.dtypes import NUMBERS, SIGNED
from headrace.op_call import OpCall
from headrace.ops.schema import Input, Op
from headrace.tensor_spec import TensorSpec


class Unary(Op):
    """``y`` has the shape and dtype of ``x``."""

    inputs = (Input("x", NUMBERS),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        return (call.input(0),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)


class Relu(Unary):
    """``y = max(x, 0)``; NaN stays NaN."""

    name = "relu"
    inputs = (Input("x", SIGNED),)


OPS: tuple[type[Op], ...] = (Relu,)
