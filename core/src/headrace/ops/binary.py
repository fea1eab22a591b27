"""Elementwise arithmetic of two or more tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.data_format import Order
from headrace.dtypes import NUMBERS
from headrace.op_call import OpCall
from headrace.ops.elementwise import Elementwise, along_axis, partial, split_everywhere
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Reordered, SbpSignature, Tensor
from headrace.ops.shapes import normal_axis
from headrace.sbp import Broadcast, Sbp, Split
from headrace.tensor_spec import TensorSpec


class Binary(Elementwise):
    """``y`` has the broadcast shape and the dtype of ``a`` and ``b``."""

    inputs = (Input("a", NUMBERS), Input("b", NUMBERS))

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return True


class Add(Binary):
    """``y = a + b``; integers wrap around."""

    name = "add"

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call) + partial("sum", (0, 1), count=2)


class Subtract(Binary):
    """``y = a - b``; integers wrap around."""

    name = "subtract"

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call) + partial("sum", (0, 1), count=2)


class Multiply(Binary):
    """``y = a * b``; integers wrap around."""

    name = "multiply"

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call) + partial("sum", (0,), (1,), count=2)


class Divide(Binary):
    """``y = a / b``; integers are cut towards zero, and an integer divided by zero is 0."""

    name = "divide"

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        # Terms of ``a`` are not divided apart: by 0 a term of 0 is NaN, whatever the others are,
        # and of integers each would be cut.
        return split_everywhere(call)


class Maximum(Binary):
    """The greater of ``a`` and ``b``; NaN where either is NaN."""

    name = "maximum"

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call) + partial("max", (0, 1), count=2)


class Minimum(Binary):
    """The lesser of ``a`` and ``b``; NaN where either is NaN."""

    name = "minimum"

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call) + partial("min", (0, 1), count=2)


class Power(Binary):
    """``y = a ** b``.

    Integers wrap around; with a negative exponent they are cut towards zero, and ``0 ** -n`` is 0.
    """

    name = "power"


class Mod(Binary):
    """The remainder of ``a / b``; of an integer divided by zero, 0.

    Attributes:
        fmod: True cuts the quotient towards zero, so that ``y`` has the sign of ``a``; False
            rounds it down, so that ``y`` has the sign of ``b``.
    """

    name = "mod"
    attrs = (Attr("fmod", "bool", False),)


class AddN(Elementwise):
    """The sum of one or more tensors."""

    name = "add_n"
    inputs = (Input("xs", NUMBERS, variadic=True),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        # Sums grow in the output: only what is read first may lie there.
        return ((0, 0),) if call.input(0) == call.outputs[0] else ()

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        count = len(call.inputs)
        return split_everywhere(call) + partial("sum", tuple(range(count)), count=count)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        total = f.take(inputs[0])
        for x in inputs[1:]:
            total = f.op("add", total, f.take(x))
        return f.give(f.op("identity", total) if len(inputs) == 1 else total)


class BiasAdd(Op):
    """``bias`` of rank 1 added along one axis of ``x``."""

    name = "bias_add"
    inputs = (Input("x", NUMBERS), Input("bias", NUMBERS))
    attrs = (Attr("axis", "int", 1),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, bias = call.input(0), call.input(1)
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        if bias.shape != (x.shape[axis],):
            fail(
                call, f"bias must be {x.dtype}[{x.shape[axis]}] for axis {axis} of {x}, not {bias}"
            )
        return (x,)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x = call.input(0)
        channel = call.int_attr("axis") % x.rank
        signatures = []
        for axis, dim in enumerate(x.shape):
            if dim < 2:
                continue
            bias: Sbp = Split(0) if axis == channel else Broadcast()
            signatures.append(SbpSignature((Split(axis), bias), (Split(axis),)))
        return tuple(signatures) + partial("sum", (0, 1), count=2)

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        return along_axis(call, order)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x, bias = f.take(inputs[0]), f.take(inputs[1])
        trailing = x.spec.rank - 1 - call.int_attr("axis") % x.spec.rank
        if trailing:
            bias = f.op("reshape", bias, shape=(-1,) + (1,) * trailing)
        return f.give(f.op("add", x, bias))


OPS: tuple[type[Op], ...] = (
    Add,
    Subtract,
    Multiply,
    Divide,
    Maximum,
    Minimum,
    Power,
    Mod,
    AddN,
    BiasAdd,
)
