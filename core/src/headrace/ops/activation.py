"""Activations and limits: elementwise functions with parameters, decomposed into simpler ops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headrace.dtypes import FLOATS, NUMBERS, float64
from headrace.op_call import OpCall
from headrace.ops.elementwise import Elementwise
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Tensor
from headrace.tensor_spec import TensorSpec


class Activation(Elementwise):
    """``y`` has the shape and dtype of ``x``; ``formula`` says it in simpler ops."""

    inputs = (Input("x", FLOATS),)

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        """``y`` in simpler ops; half floats have become float32."""
        raise NotImplementedError(cls.name)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        return f.give(cls.formula(call, f, f.take(inputs[0])))


class Clip(Elementwise):
    """``y = minimum(maximum(x, min), max)``; an absent limit limits nothing.

    ``min`` and ``max`` hold one element. Where ``min > max``, ``y`` is ``max``.
    """

    name = "clip"
    inputs = (
        Input("x", NUMBERS),
        Input("min", NUMBERS, optional=True),
        Input("max", NUMBERS, optional=True),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        for name, spec in zip(("min", "max"), call.inputs[1:], strict=True):
            if spec is not None and spec.shape not in ((), (1,)):
                fail(call, f"{name} must hold one element; it is {spec}")
        return (call.input(0),)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        y = f.take(inputs[0])
        for op, limit in zip(("maximum", "minimum"), inputs[1:], strict=True):
            if limit is not None:
                one = f.take(limit)
                # A scalar x with a limit of shape (1,) must not gain an axis.
                one = f.op("reshape", one, shape=()) if one.spec.rank else one
                y = f.op(op, y, one)
        return f.give(f.op("identity", y) if inputs[1] is inputs[2] is None else y)


class HardSigmoid(Activation):
    """``alpha * x + beta``, limited to 0..1."""

    name = "hard_sigmoid"
    attrs = (Attr("alpha", "float", 0.2), Attr("beta", "float", 0.5))

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        line = f.op("multiply", x, f.scalar(call.float_attr("alpha")))
        line = f.op("add", line, f.scalar(call.float_attr("beta")))
        return f.op("clip", line, f.scalar(0), f.scalar(1))


class HardSwish(Activation):
    """``x * hard_sigmoid(x)`` with alpha 1/6 and beta 1/2."""

    name = "hard_swish"

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        return f.op("multiply", x, f.op("hard_sigmoid", x, alpha=1 / 6, beta=0.5))


class Swish(Activation):
    """``x * sigmoid(alpha * x)``."""

    name = "swish"
    attrs = (Attr("alpha", "float", 1.0),)

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        scaled = f.op("multiply", x, f.scalar(call.float_attr("alpha")))
        return f.op("multiply", x, f.op("sigmoid", scaled))


class LeakyRelu(Activation):
    """``x``, and ``alpha * x`` below zero."""

    name = "leaky_relu"
    attrs = (Attr("alpha", "float", 0.01),)

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        return _below_zero(f, x, f.op("multiply", x, f.scalar(call.float_attr("alpha"))))


class ThresholdedRelu(Activation):
    """``x`` where it is above ``alpha``, 0 elsewhere."""

    name = "thresholded_relu"
    attrs = (Attr("alpha", "float", 1.0),)

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        above = f.op("greater", x, f.scalar(call.float_attr("alpha")))
        return f.op("where", above, x, f.scalar(0))


class Elu(Activation):
    """``x``, and ``alpha * (exp(x) - 1)`` below zero."""

    name = "elu"
    attrs = (Attr("alpha", "float", 1.0),)

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        bend = f.op("subtract", f.op("exp", x), f.scalar(1))
        return _below_zero(f, x, f.op("multiply", bend, f.scalar(call.float_attr("alpha"))))


class Celu(Activation):
    """``x``, and ``alpha * (exp(x / alpha) - 1)`` below zero."""

    name = "celu"
    attrs = (Attr("alpha", "float", 1.0),)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        if call.float_attr("alpha") == 0:
            fail(call, "alpha must not be 0: x is divided by it")
        return super().infer(call)

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        alpha = f.scalar(call.float_attr("alpha"))
        bend = f.op("subtract", f.op("exp", f.op("divide", x, alpha)), f.scalar(1))
        above = f.op("maximum", x, f.scalar(0))
        return f.op("add", above, f.op("minimum", f.op("multiply", bend, alpha), f.scalar(0)))


class Selu(Activation):
    """``gamma * x``, and ``gamma * alpha * (exp(x) - 1)`` not above zero."""

    name = "selu"
    attrs = (
        Attr("alpha", "float", 1.67326319217681884765625),
        Attr("gamma", "float", 1.05070102214813232421875),
    )

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        y = f.op("elu", x, alpha=call.float_attr("alpha"))
        return f.op("multiply", y, f.scalar(call.float_attr("gamma")))


class Softplus(Activation):
    """``log(1 + exp(x))``."""

    name = "softplus"

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        # Of |x| only exp(-|x|) is taken, which cannot overflow. The quotient makes up for what
        # 1 + exp(-|x|) was rounded by, or a small result would have few digits or none.
        shrunk = f.op("exp", f.op("negative", f.op("abs", x)))
        above = f.op("add", shrunk, f.scalar(1))
        # No step between 1 and the next number of the dtype is as small: only 0 is replaced.
        least = f.scalar(2.0**-53 if x.spec.dtype == float64 else 2.0**-24)
        rounded = f.op("maximum", f.op("subtract", above, f.scalar(1)), least)
        quotient = f.op("divide", shrunk, rounded)
        exact = f.op("multiply", f.op("log", above), quotient)
        rest = f.op("where", f.op("equal", above, f.scalar(1)), shrunk, exact)
        return f.op("add", f.op("maximum", x, f.scalar(0)), rest)


class Softsign(Activation):
    """``x / (1 + |x|)``."""

    name = "softsign"

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        return f.op("divide", x, f.op("add", f.op("abs", x), f.scalar(1)))


class Mish(Activation):
    """``x * tanh(softplus(x))``."""

    name = "mish"

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        return f.op("multiply", x, f.op("tanh", f.op("softplus", x)))


class Gelu(Activation):
    """``x`` times the normal distribution function at ``x``.

    Attributes:
        approximate: ``none`` computes with ``erf``, ``tanh`` with the usual approximation by it.
    """

    name = "gelu"
    attrs = (Attr("approximate", "str", "none", choices=("none", "tanh")),)

    @classmethod
    def formula(cls, call: OpCall, f: Formula, x: Tensor) -> Tensor:
        if call.str_attr("approximate") == "none":
            bend = f.op("erf", f.op("multiply", x, f.scalar(math.sqrt(0.5))))
        else:
            cube = f.op("multiply", f.op("multiply", x, x), x)
            inner = f.op("add", x, f.op("multiply", cube, f.scalar(0.044715)))
            bend = f.op("tanh", f.op("multiply", inner, f.scalar(math.sqrt(2 / math.pi))))
        half = f.op("multiply", x, f.scalar(0.5))
        return f.op("multiply", half, f.op("add", bend, f.scalar(1)))


class Prelu(Elementwise):
    """``x``, and ``slope * x`` below zero; ``slope`` broadcasts to the shape of ``x``."""

    name = "prelu"
    inputs = (Input("x", NUMBERS), Input("slope", NUMBERS))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        (y,) = super().infer(call)
        x, slope = call.input(0), call.input(1)
        if y != x:
            fail(call, f"slope {slope} does not broadcast to the shape of x, {x}")
        return (y,)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x, slope = f.take(inputs[0]), f.take(inputs[1])
        return f.give(_below_zero(f, x, f.op("multiply", x, slope)))


def _below_zero(f: Formula, x: Tensor, y: Tensor) -> Tensor:
    """``y`` where ``x`` is below zero, ``x`` elsewhere."""
    return f.op("where", f.op("less", x, f.scalar(0)), y, x)


OPS: tuple[type[Op], ...] = (
    Clip,
    HardSigmoid,
    HardSwish,
    Swish,
    LeakyRelu,
    ThresholdedRelu,
    Elu,
    Celu,
    Selu,
    Softplus,
    Softsign,
    Mish,
    Gelu,
    Prelu,
)
