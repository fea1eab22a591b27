"""Elementwise functions of one tensor."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.dtypes import FLOATS, NUMBERS, SIGNED
from headrace.op_call import OpCall
from headrace.ops.elementwise import Elementwise, partial, split_everywhere
from headrace.ops.formula import Formula
from headrace.ops.schema import GraphBuilder, Input, Op, SbpSignature, Tensor


class Unary(Elementwise):
    """``y`` has the shape and dtype of ``x``, which is a float unless an op says otherwise."""

    inputs = (Input("x", FLOATS),)


class Relu(Unary):
    """``y = max(x, 0)``; NaN stays NaN."""

    name = "relu"
    inputs = (Input("x", SIGNED),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x = f.take(inputs[0])
        return f.give(f.op("maximum", x, f.scalar(0)))


class Negative(Unary):
    """``y = -x``; the smallest integer stays itself."""

    name = "negative"
    inputs = (Input("x", SIGNED),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_everywhere(call) + partial("sum", (0,), count=1)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        return f.give(f.op("multiply", f.take(inputs[0]), f.scalar(-1)))


class Abs(Unary):
    """``y = |x|``; the smallest integer stays itself."""

    name = "abs"
    inputs = (Input("x", NUMBERS),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x = f.take(inputs[0])
        if call.input(0).dtype.kind == "u":
            return f.give(f.op("identity", x))
        return f.give(f.op("maximum", x, f.op("negative", x)))


class Sign(Unary):
    """-1, 0 or 1, as ``x`` is negative, zero or positive; NaN stays NaN."""

    name = "sign"
    inputs = (Input("x", NUMBERS),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x, zero, one = f.take(inputs[0]), f.scalar(0), f.scalar(1)
        y = f.op("where", f.op("greater", x, zero), one, f.op("minimum", x, zero))
        if call.input(0).dtype.kind != "u":
            y = f.op("where", f.op("less", x, zero), f.scalar(-1), y)
        return f.give(y)


class Floor(Unary):
    """The greatest integer that is not above ``x``."""

    name = "floor"


class Ceil(Unary):
    """The least integer that is not below ``x``."""

    name = "ceil"


class Round(Unary):
    """The nearest integer; of two that are equally near, the even one."""

    name = "round"


class Sqrt(Unary):
    """The square root; NaN below zero."""

    name = "sqrt"


class Reciprocal(Unary):
    """``y = 1 / x``."""

    name = "reciprocal"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        return f.give(f.op("divide", f.scalar(1), f.take(inputs[0])))


class Exp(Unary):
    """``e`` to the power of ``x``."""

    name = "exp"


class Log(Unary):
    """The natural logarithm; -inf at zero, NaN below."""

    name = "log"


class Erf(Unary):
    """The error function of Gauss."""

    name = "erf"


class Sigmoid(Unary):
    """``y = 1 / (1 + exp(-x))``."""

    name = "sigmoid"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        grown = f.op("exp", f.op("negative", f.take(inputs[0])))
        return f.give(f.op("reciprocal", f.op("add", grown, f.scalar(1))))


class Sin(Unary):
    """The sine of an angle in radians."""

    name = "sin"


class Cos(Unary):
    """The cosine of an angle in radians."""

    name = "cos"


class Tan(Unary):
    """The tangent of an angle in radians."""

    name = "tan"


class Asin(Unary):
    """The angle in -pi/2..pi/2 whose sine is ``x``; NaN outside -1..1."""

    name = "asin"


class Acos(Unary):
    """The angle in 0..pi whose cosine is ``x``; NaN outside -1..1."""

    name = "acos"


class Atan(Unary):
    """The angle in -pi/2..pi/2 whose tangent is ``x``."""

    name = "atan"


class Sinh(Unary):
    """The hyperbolic sine."""

    name = "sinh"


class Cosh(Unary):
    """The hyperbolic cosine."""

    name = "cosh"


class Tanh(Unary):
    """The hyperbolic tangent."""

    name = "tanh"


class Asinh(Unary):
    """The inverse of ``sinh``."""

    name = "asinh"


class Acosh(Unary):
    """The inverse of ``cosh``, not negative; NaN below 1."""

    name = "acosh"


class Atanh(Unary):
    """The inverse of ``tanh``; NaN outside -1..1."""

    name = "atanh"


OPS: tuple[type[Op], ...] = (
    Relu,
    Negative,
    Abs,
    Sign,
    Floor,
    Ceil,
    Round,
    Sqrt,
    Reciprocal,
    Exp,
    Log,
    Erf,
    Sigmoid,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
)
