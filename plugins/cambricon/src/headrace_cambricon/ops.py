"""Ops of this backend: products whose weights are integers from the time when a job is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from headrace.dtypes import float32, int8, int16
from headrace.op_call import OpCall
from headrace.ops import Attr, GraphBuilder, Input, Op, Tensor
from headrace.ops.conv import Conv
from headrace.ops.formula import Formula
from headrace.ops.matmul import Matmul
from headrace_cambricon.quantization import Quantization

_FLOAT, _WHOLE = frozenset({float32}), frozenset({int8, int16})
_MEANING = (Attr("position", "int"), Attr("scale", "float"))


def quantization(call: OpCall) -> Quantization:
    """How the weight of a call is meant."""
    return Quantization(call.int_attr("position"), call.float_attr("scale"))


def _with_floats(
    op: type[Op], call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
) -> tuple[Tensor, ...]:
    """Core's op, with the weight as the floats that it stands for."""
    f = Formula(call, builder)
    x, whole, *rest = inputs
    weight = f.op("multiply", f.take(whole), f.scalar(quantization(call).unit))
    attrs: dict[str, Any] = {attr.name: call.attrs[attr.name] for attr in op.attrs}
    return builder.op(op.name, [x, weight, *rest], **attrs)


class QuantizedConv(Conv):
    """``conv`` in float32, but for a weight of integers.

    Attributes:
        position, scale: ``weight * 2**position / scale`` is the weight of ``conv``.
    """

    name = "cambricon.conv"
    inputs: ClassVar[tuple[Input, ...]] = (
        Input("x", _FLOAT),
        Input("weight", _WHOLE, group="W"),
        Input("bias", _FLOAT, optional=True),
    )
    attrs = (*Conv.attrs, *_MEANING)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        return _with_floats(Conv, call, inputs, builder)


class QuantizedMatmul(Matmul):
    """``matmul`` in float32, but for integers on its right; their meaning is a convolution's."""

    name = "cambricon.matmul"
    inputs: ClassVar[tuple[Input, ...]] = (Input("a", _FLOAT), Input("b", _WHOLE, group="B"))
    attrs = (*Matmul.attrs, *_MEANING)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        return _with_floats(Matmul, call, inputs, builder)
