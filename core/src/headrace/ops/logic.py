"""Comparisons, logic, bits, and the choice between two tensors; all elementwise."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.dtypes import ALL, BOOL, FLOATS, INTS, NUMBERS, DType, bool_
from headrace.op_call import OpCall
from headrace.ops.elementwise import Elementwise
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Tensor


class Predicate(Elementwise):
    """``y`` is bool."""

    @classmethod
    def result_dtype(cls, call: OpCall) -> DType:
        return bool_


class Comparison(Predicate):
    """``y`` says how ``a`` and ``b`` compare; with NaN, False."""

    inputs = (Input("a", NUMBERS), Input("b", NUMBERS))

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return True


class Equal(Comparison):
    """True where ``a == b``; NaN equals nothing."""

    name = "equal"
    inputs = (Input("a", NUMBERS | BOOL), Input("b", NUMBERS | BOOL))


class Greater(Comparison):
    """True where ``a > b``."""

    name = "greater"


class Less(Comparison):
    """True where ``a < b``."""

    name = "less"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        a, b = inputs
        return builder.op("greater", [b, a])


class GreaterEqual(Comparison):
    """True where ``a >= b``."""

    name = "greater_equal"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        # Not the contrary of `less`: both are False with NaN.
        (above,), (same,) = builder.op("greater", inputs), builder.op("equal", inputs)
        return builder.op("logical_or", [above, same])


class LessEqual(Comparison):
    """True where ``a <= b``."""

    name = "less_equal"

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        a, b = inputs
        return builder.op("greater_equal", [b, a])


class LogicalAnd(Elementwise):
    """True where both are True."""

    name = "logical_and"
    inputs = (Input("a", BOOL), Input("b", BOOL))


class LogicalOr(Elementwise):
    """True where at least one is True."""

    name = "logical_or"
    inputs = (Input("a", BOOL), Input("b", BOOL))


class LogicalXor(Elementwise):
    """True where exactly one is True."""

    name = "logical_xor"
    inputs = (Input("a", BOOL), Input("b", BOOL))


class LogicalNot(Elementwise):
    """True where ``x`` is False."""

    name = "logical_not"
    inputs = (Input("x", BOOL),)


class IsNan(Predicate):
    """True where ``x`` is NaN."""

    name = "is_nan"
    inputs = (Input("x", FLOATS),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        x = inputs[0]
        return builder.op("logical_not", builder.op("equal", [x, x]))


class IsInf(Predicate):
    """True where ``x`` is infinite.

    Attributes:
        detect_negative, detect_positive: which infinities count.
    """

    name = "is_inf"
    inputs = (Input("x", FLOATS),)
    attrs = (Attr("detect_negative", "bool", True), Attr("detect_positive", "bool", True))

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x = f.take(inputs[0])
        below = f.op("equal", x, f.scalar(float("-inf")))
        above = f.op("equal", x, f.scalar(float("inf")))
        if call.flag_attr("detect_negative") and call.flag_attr("detect_positive"):
            return (f.op("logical_or", below, above),)
        if call.flag_attr("detect_negative"):
            return (below,)
        if call.flag_attr("detect_positive"):
            return (above,)
        return (f.op("logical_and", below, above),)


class BitwiseAnd(Elementwise):
    """The bits that both have."""

    name = "bitwise_and"
    inputs = (Input("a", INTS), Input("b", INTS))


class BitwiseOr(Elementwise):
    """The bits that at least one has."""

    name = "bitwise_or"
    inputs = (Input("a", INTS), Input("b", INTS))


class BitwiseXor(Elementwise):
    """The bits that exactly one has."""

    name = "bitwise_xor"
    inputs = (Input("a", INTS), Input("b", INTS))


class BitwiseNot(Elementwise):
    """The bits that ``x`` has not."""

    name = "bitwise_not"
    inputs = (Input("x", INTS),)


class BitShift(Elementwise):
    """The bits of ``x`` moved by ``count`` places.

    A right shift fills with the sign. A count that is negative, or not less than the number of
    bits, leaves the fill alone: -1 for a negative ``x`` shifted right, 0 otherwise.

    Attributes:
        direction: ``left`` or ``right``.
    """

    name = "bit_shift"
    inputs = (Input("x", INTS), Input("count", INTS))
    attrs = (Attr("direction", "str", choices=("left", "right")),)

    @classmethod
    def widens(cls, call: OpCall) -> bool:
        return True  # places beyond the narrow dtype hold its sign, or are cut off


class Where(Elementwise):
    """``x`` where ``condition`` is True, ``y`` elsewhere; neither is looked into."""

    name = "where"
    inputs = (Input("condition", BOOL, group=""), Input("x", ALL), Input("y", ALL))

    @classmethod
    def result_dtype(cls, call: OpCall) -> DType:
        return call.input(1).dtype

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        # One of the two is laid down before the other is read.
        return ()


OPS: tuple[type[Op], ...] = (
    Equal,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    LogicalNot,
    IsNan,
    IsInf,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    BitwiseNot,
    BitShift,
    Where,
)
