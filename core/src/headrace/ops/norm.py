"""Normalisations: shift and scale by statistics that are given or taken from the input itself.

Variances are biased (divided by the count), ``epsilon`` is added to them inside the square root,
and statistics of 16-bit floats are taken in float32.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.data_format import Order
from headrace.dtypes import FLOATS, DType, bfloat16, float16, float32
from headrace.op_call import OpCall
from headrace.ops.channels import channel_axis, is_last
from headrace.ops.data_format import DATA_FORMAT, Imaged
from headrace.ops.elementwise import along_axis
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import (
    Attr,
    GraphBuilder,
    Input,
    Op,
    Output,
    Reordered,
    SbpSignature,
    Tensor,
)
from headrace.ops.shapes import broadcast, normal_axis
from headrace.ops.standardize import decompose_groups, deviation, standardize
from headrace.sbp import Broadcast, Split
from headrace.tensor_spec import TensorSpec

_EPSILON = Attr("epsilon", "float", 1e-5)


class Normalization(Op):
    """Batch norm: ``y = (x - mean) / sqrt(variance + epsilon) * gamma + beta``, all of them given.

    The four vectors have one number for each index of ``axis`` and one dtype, which may differ
    from that of x.
    """

    name = "normalization"
    inputs = (
        Input("x", FLOATS),
        *(Input(name, FLOATS, group="P") for name in ("mean", "variance", "gamma", "beta")),
    )
    attrs = (Attr("axis", "int", 1), _EPSILON)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        for index in range(1, 5):
            _check_vector(call, index, axis)
        _check_epsilon(call)
        return (x,)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        channel = call.int_attr("axis") % call.input(0).rank
        return tuple(
            SbpSignature(
                (Split(axis), *((Split(0) if axis == channel else Broadcast(),) * 4)),
                (Split(axis),),
            )
            for axis in _splittable(call, call.input(0).rank)
        )

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        return along_axis(call, order)

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((0, 0),)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        shape = [1] * call.input(0).rank
        shape[call.int_attr("axis")] = call.input(1).elements
        vectors = (f.op("reshape", f.take(vector), shape=shape) for vector in inputs[1:])
        mean, variance, gamma, beta = vectors
        factor = f.op("divide", gamma, deviation(f, call, variance))
        centred = f.op("subtract", f.take(inputs[0]), mean)
        return f.give(f.op("add", f.op("multiply", centred, factor), beta))


class InstanceNorm(Imaged):
    """Each channel of each image by its own mean and variance over space, then gamma and beta.

    x ``[n, c, *spatial]``, gamma and beta ``[c]``.
    """

    name = "instance_norm"
    inputs = (Input("x", FLOATS), Input("gamma", FLOATS), Input("beta", FLOATS))
    attrs = (_EPSILON, DATA_FORMAT)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        _check_channels(call)
        return (call.input(0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return tuple(
            SbpSignature((Split(axis), *((Split(0) if axis else Broadcast(),) * 2)), (Split(axis),))
            for axis in (0, channel_axis(call))
            if call.input(0).shape[axis] > 1
        )

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        return decompose_groups(call, inputs, builder, call.input(0).shape[1])


class GroupNorm(Imaged):
    """Each of ``groups`` equal runs of channels of each image by its mean and variance.

    x ``[n, c, *spatial]``, gamma and beta ``[c]``; they scale and shift each channel.
    """

    name = "group_norm"
    inputs = InstanceNorm.inputs
    attrs = (Attr("groups", "int"), _EPSILON, DATA_FORMAT)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        channels, groups = _check_channels(call), call.int_attr("groups")
        if groups < 1 or channels % groups:
            fail(call, f"groups={groups} does not divide the {channels} channels of x")
        return (call.input(0),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return tuple(
            SbpSignature((Split(axis), Broadcast(), Broadcast()), (Split(axis),))
            for axis in _splittable(call, 1)
        )

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        return decompose_groups(call, inputs, builder, call.int_attr("groups"))


class LayerNorm(Op):
    """The axes from ``axis`` on, together, by their mean and variance, then scale and bias.

    scale and bias broadcast to x. ``mean`` and ``inv_std`` have the shape of x with ones for the
    axes from ``axis`` on, and dtype float32, or float64 for a float64 input.
    """

    name = "layer_norm"
    inputs = (
        Input("x", FLOATS),
        Input("scale", FLOATS, optional=True),
        Input("bias", FLOATS, optional=True),
    )
    outputs = (Output("y"), Output("mean", optional=True), Output("inv_std", optional=True))
    attrs = (Attr("axis", "int", -1), _EPSILON)

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        axis = normal_axis(call, call.int_attr("axis"), x.rank)
        for index, name in ((1, "scale"), (2, "bias")):
            if call.has_input(index):
                shape = call.input(index).shape
                if broadcast(call, x.shape, shape) != x.shape:
                    fail(call, f"{name} {call.input(index)} does not broadcast to x {x}")
        _check_epsilon(call)
        stats = TensorSpec(x.shape[:axis] + (1,) * (x.rank - axis), statistics_dtype(x.dtype))
        return (x, stats, stats)[: call.output_count]

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        axis = call.int_attr("axis") % call.input(0).rank
        inner = call.input(0).rank - axis
        if any(call.has_input(i) and call.input(i).rank > inner for i in (1, 2)):
            return ()  # it may vary along the axis that would be split
        return tuple(
            SbpSignature((Split(i), Broadcast(), Broadcast()), (Split(i),) * call.output_count)
            for i in _splittable(call, axis)
        )

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x = f.take(inputs[0])
        axes = tuple(range(call.int_attr("axis") % x.spec.rank, x.spec.rank))
        y, mean, inv_std = standardize(f, call, x, axes)
        if call.has_input(1):
            y = f.op("multiply", y, f.take(inputs[1]))
        if call.has_input(2):
            y = f.op("add", y, f.take(inputs[2]))
        return (*f.give(y), mean, inv_std)[: call.output_count]


class Lrn(Imaged):
    """Local response normalisation: ``y = x / (bias + alpha / size * s) ** beta``.

    ``s`` is the sum of squares over ``size`` neighbouring channels, of which
    ``(size - 1) // 2`` come before; channels that do not exist count as 0.
    """

    name = "lrn"
    inputs = (Input("x", FLOATS),)
    attrs = (
        Attr("size", "int"),
        Attr("alpha", "float", 1e-4),
        Attr("beta", "float", 0.75),
        Attr("bias", "float", 1.0),
        DATA_FORMAT,
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        if x.rank < 2:
            fail(call, f"x is {x}; it needs an axis of channels")
        if call.int_attr("size") < 1:
            fail(call, f"size={call.int_attr('size')} must be at least 1")
        return (x,)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        axes = _splittable(call, call.input(0).rank)
        channels = channel_axis(call)
        return tuple(SbpSignature((Split(i),), (Split(i),)) for i in axes if i != channels)

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder)
        x, size, channels = f.take(inputs[0]), call.int_attr("size"), call.input(0).shape[1]
        before, inner = (size - 1) // 2, (0,) * (x.spec.rank - 2)
        pads = (0, before, *inner, 0, size - 1 - before, *inner)
        squares = f.op("pad", f.op("multiply", x, x), f.scalar(0), pads=pads)
        near = [
            f.op("slice", squares, starts=(i,), ends=(i + channels,), axes=(1,))
            for i in range(size)
        ]
        scaled = f.op("multiply", f.op("add_n", *near), f.scalar(call.float_attr("alpha") / size))
        base = f.op("add", scaled, f.scalar(call.float_attr("bias")))
        return f.give(f.op("divide", x, f.op("power", base, f.scalar(call.float_attr("beta")))))


def statistics_dtype(dtype: DType) -> DType:
    """The dtype in which statistics of tensors of ``dtype`` are taken."""
    return float32 if dtype in (float16, bfloat16) else dtype


def _splittable(call: OpCall, rank: int) -> list[int]:
    """Of the first ``rank`` axes of x, those with anything to share out."""
    return [axis for axis in range(rank) if call.input(0).shape[axis] > 1]


def _check_vector(call: OpCall, index: int, axis: int) -> None:
    x, spec = call.input(0), call.input(index)
    if spec.shape != (x.shape[axis],):
        name = ("x", "mean", "variance", "gamma", "beta")[index]
        fail(
            call,
            f"{name} is {spec}; it must have one number for each index of axis {axis} of x {x}: "
            f"[{x.shape[axis]}]",
        )


def _check_channels(call: OpCall) -> int:
    x = call.input(0)
    if x.rank < 2:
        axes = "[n, *spatial, c]" if is_last(call) else "[n, c, *spatial]"
        fail(call, f"x is {x}; it must be {axes}")
    channels = x.shape[channel_axis(call)]
    for index, name in ((1, "gamma"), (2, "beta")):
        if call.input(index).shape != (channels,):
            fail(call, f"{name} is {call.input(index)}; x has {channels} channels")
    _check_epsilon(call)
    return channels


def _check_epsilon(call: OpCall) -> None:
    if not call.float_attr("epsilon") >= 0:
        fail(call, f"epsilon={call.float_attr('epsilon')} must not be negative")


OPS: tuple[type[Op], ...] = (Normalization, InstanceNorm, GroupNorm, LayerNorm, Lrn)
