"""Distributions along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.data_format import Order
from headrace.dtypes import FLOATS
from headrace.op_call import OpCall
from headrace.ops.elementwise import along_axis
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Reordered, SbpSignature, Tensor
from headrace.ops.shapes import normal_axis
from headrace.sbp import Split
from headrace.tensor_spec import TensorSpec


class _AlongAxis(Op):
    """``y`` has the shape and dtype of ``x``, each line along ``axis`` for itself."""

    inputs = (Input("x", FLOATS),)
    attrs = (Attr("axis", "int", -1),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        normal_axis(call, call.int_attr("axis"), call.input(0).rank)
        return (call.input(0),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x = call.input(0)
        line = call.int_attr("axis") % x.rank  # needs all its elements on one device
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),))
            for axis, dim in enumerate(x.shape)
            if axis != line and dim > 1
        )

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        return along_axis(call, order)


class Softmax(_AlongAxis):
    """``exp(x)`` divided by its sum along ``axis``."""

    name = "softmax"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        grown = f.op("exp", _below_greatest(call, f, f.take(inputs[0])))
        return f.give(f.op("divide", grown, _sum(call, f, grown)))


class LogSoftmax(_AlongAxis):
    """The logarithm of ``softmax(x)``."""

    name = "log_softmax"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x = _below_greatest(call, f, f.take(inputs[0]))
        return f.give(f.op("subtract", x, f.op("log", _sum(call, f, f.op("exp", x)))))


def _below_greatest(call: OpCall, f: Formula, x: Tensor) -> Tensor:
    """``x`` less the greatest of its line: the same distribution, and ``exp`` cannot overflow."""
    axes = (call.int_attr("axis"),)
    return f.op("subtract", x, f.op("reduce_max", x, axes=axes, keep_dims=True))


def _sum(call: OpCall, f: Formula, x: Tensor) -> Tensor:
    return f.op("reduce_sum", x, axes=(call.int_attr("axis"),), keep_dims=True)


OPS: tuple[type[Op], ...] = (Softmax, LogSoftmax)
