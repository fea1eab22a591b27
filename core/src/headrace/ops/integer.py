"""Products of 8-bit integers less their zero points, summed in int32, which wraps around."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headrace.dtypes import DType, float32, float64, int8, int32, int64, uint8
from headrace.op_call import OpCall
from headrace.ops.conv import Conv
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.matmul import Matmul, matrix_axes
from headrace.ops.schema import GraphBuilder, Input, Op, SbpSignature, Tensor
from headrace.sbp import Broadcast, PartialSum, Split
from headrace.tensor_spec import TensorSpec

_SMALL = frozenset({int8, uint8})


class MatmulInteger(Matmul):
    """``matmul`` of ``a - a_zero_point`` and ``b - b_zero_point`` in int32.

    Zero points broadcast to a and b, as these are given; along the axis that is summed they have
    one element.
    """

    name = "matmul_integer"
    inputs = (
        Input("a", _SMALL, group="A"),
        Input("b", _SMALL, group="B"),
        Input("a_zero_point", _SMALL, group="A", optional=True),
        Input("b_zero_point", _SMALL, group="B", optional=True),
    )
    attrs = Matmul.attrs[:2]

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        (y,) = super().infer(call)
        for index, name in ((2, "a"), (3, "b")):
            if call.has_input(index):
                _check_zero_point(call, name, call.input(index - 2), call.input(index))
        return (y.with_dtype(int32),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        if any(call.has_input(i) and call.input(i).elements != 1 for i in (2, 3)):
            return ()  # they may vary along the axis that would be split
        whole = (Broadcast(), Broadcast())
        return tuple(
            SbpSignature((*signature.inputs, *whole), signature.outputs)
            for signature in super().sbp_signatures(call)
            if PartialSum() not in signature.inputs  # sums of 8 bits wrap around before they widen
        )

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        # Floats, where they are exact: for products of them there is hardware.
        exact = exact_float(call.input(0).shape[matrix_axes(call, 0)[1]]) == float32
        f = Formula(call, builder, float32 if exact else int32)
        a, b = (_less(f, inputs[i], inputs[i + 2]) for i in (0, 1))
        flags = {name: call.flag_attr(name) for name in ("transpose_a", "transpose_b")}
        y = f.op("matmul", a, b, **flags)
        return (f.op("cast", y, dtype=int32) if exact else y,)


class ConvInteger(Conv):
    """``conv`` of ``x - x_zero_point`` and ``weight - weight_zero_point`` in int32, plus bias.

    ``x_zero_point``, which is also what padding reads as, has one element;
    ``weight_zero_point`` has one, or one for each output channel.
    """

    name = "conv_integer"
    inputs = (
        Input("x", _SMALL, group="X"),
        Input("weight", _SMALL, group="W"),
        Input("bias", frozenset({int32}), group="", optional=True),
        Input("x_zero_point", _SMALL, group="X", optional=True),
        Input("weight_zero_point", _SMALL, group="W", optional=True),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        (y,) = super().infer(call)
        for index, allowed in ((3, ((), (1,))), (4, ((), (1,), call.input(1).shape[:1]))):
            if call.has_input(index) and call.input(index).shape not in allowed:
                texts = " or ".join(str(list(shape)) for shape in allowed)
                name = cls.inputs[index].name
                fail(call, f"{name} is {call.input(index)}; its shape may be {texts}")
        return (y.with_dtype(int32),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        varies = call.has_input(4) and call.input(4).elements > 1
        return tuple(
            SbpSignature(
                (
                    *signature.inputs,
                    Broadcast(),
                    Split(0) if varies and signature.inputs[1] == Split(0) else Broadcast(),
                ),
                signature.outputs,
            )
            for signature in super().sbp_signatures(call)
        )

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder, exact_float(math.prod(call.input(1).shape[1:])))
        zero = inputs[4]
        if zero is not None and zero.spec.elements > 1:
            rest = (1,) * (call.input(1).rank - 1)
            zero = f.op("reshape", zero, shape=(zero.spec.elements, *rest))
        x, weight = _less(f, inputs[0], inputs[3]), _less(f, inputs[1], zero)
        attrs = {attr.name: call.attrs[attr.name] for attr in cls.attrs}
        y = f.op("conv", x, weight, **attrs)
        # By way of int64: to int32 at once, what is beyond it would not wrap around.
        y = f.op("cast", f.op("cast", y, dtype=int64), dtype=int32)
        if inputs[2] is not None:
            rest = (1,) * (call.outputs[0].rank - 2)
            bias = f.op("reshape", inputs[2], shape=(call.input(2).elements, *rest))
            y = f.op("add", y, bias)
        return (y,)


def exact_float(terms: int) -> DType:
    """The smallest float in which sums of ``terms`` products, in any order, are exact.

    A product is of two differences of 8-bit integers: at most ``255 * 255``.
    """
    return float32 if terms * 255 * 255 <= 1 << 24 else float64


def _check_zero_point(call: OpCall, name: str, x: TensorSpec, zero: TensorSpec) -> None:
    _, summed = matrix_axes(call, 0 if name == "a" else 1)
    allowed = [{1, dim} for dim in x.shape]
    allowed[summed] = {1}
    ends = zip(reversed(zero.shape), reversed(allowed), strict=False)
    if zero.rank > x.rank or not all(dim in dims for dim, dims in ends):
        fail(
            call,
            f"{name}_zero_point is {zero}; it must broadcast to {name} {x} and have one element "
            f"along its summed axis {summed}",
        )


def _less(f: Formula, x: Tensor | None, zero: Tensor | None) -> Tensor:
    wide = f.take(x)
    if zero is None:
        return wide
    if zero.spec.elements == 1 and zero.spec.rank:
        zero = f.op("reshape", zero, shape=())
    return f.op("subtract", wide, f.take(zero))


OPS: tuple[type[Op], ...] = (MatmulInteger, ConvInteger)
