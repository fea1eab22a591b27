"""Running sums and products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.data_format import Order
from headrace.dtypes import NUMBERS
from headrace.op_call import OpCall
from headrace.ops.elementwise import split_along
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Reordered, SbpSignature, Tensor
from headrace.tensor_spec import TensorSpec

NOTHING: Mapping[str, int] = {"sum": 0, "product": 1}
"""Way to combine elements -> what no element gives."""


class Cumulative(Op):
    """``y[i]``: the sum or the product of ``x[0]`` to ``x[i]`` along an axis. Integers wrap around.

    Attributes:
        axis: along which.
        reduction: how elements are combined.
        exclusive: ``x[i]`` itself is left out.
        reverse: from the last element to ``x[i]`` instead.
    """

    name = "cumulative"
    inputs = (Input("x", NUMBERS),)
    attrs = (
        Attr("axis", "int"),
        Attr("reduction", "str", "sum", tuple(NOTHING)),
        Attr("exclusive", "bool", False),
        Attr("reverse", "bool", False),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, axis = call.input(0), call.int_attr("axis")
        if not -x.rank <= axis < x.rank:
            fail(call, f"axis {axis} is not one of {x}")
        return (x,)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return () if call.flag_attr("exclusive") else ((0, 0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x = call.input(0)
        own = call.int_attr("axis") % x.rank
        return split_along(
            *(((axis,), axis) for axis, size in enumerate(x.shape) if axis != own and size > 1)
        )

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        axis = call.int_attr("axis") % call.input(0).rank
        return Reordered(call.attrs | {"axis": order.index(axis)}, (order,), (order,))

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        # Over 1, 2, 4, ... elements, each made from two of the one before: on devices that run
        # along an axis one element at a time this is faster, and it rounds less.
        f = Formula(call, builder)
        y, reduction = f.take(inputs[0]), call.str_attr("reduction")
        axis, rank = call.int_attr("axis") % y.spec.rank, y.spec.rank
        nothing = builder.constant(np.array(NOTHING[reduction]).astype(y.spec.dtype.numpy))
        length, backwards = y.spec.shape[axis], call.flag_attr("reverse")

        def shifted(x: Tensor, by: int) -> Tensor:
            pads = [0] * (2 * rank)
            by = min(by, length)
            pads[axis], pads[axis + rank] = (-by, by) if backwards else (by, -by)
            return f.op("pad", x, nothing, pads=tuple(pads))

        if call.flag_attr("exclusive"):
            y = shifted(y, 1)
        reach = 1
        while reach < length:
            y = f.op("add" if reduction == "sum" else "multiply", y, shifted(y, reach))
            reach *= 2
        return f.give(y)


OPS: tuple[type[Op], ...] = (Cumulative,)
