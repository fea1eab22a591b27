"""Elementwise arithmetic of two tensors, with broadcasting."""

from __future__ import annotations

from headrace.dtypes import NUMBERS
from headrace.op_call import OpCall
from headrace.ops.schema import Input, Op
from headrace.ops.shapes import broadcast
from headrace.tensor_spec import TensorSpec


class Binary(Op):
    """``y`` has the broadcast shape and the dtype of ``a`` and ``b``."""

    inputs = (Input("a", NUMBERS), Input("b", NUMBERS))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        a, b = call.input(0), call.input(1)
        return (a.with_shape(broadcast(call, a.shape, b.shape)),)


class Add(Binary):
    """``y = a + b``; integers wrap around."""

    name = "add"


OPS: tuple[type[Op], ...] = (Add,)
