"""Convolutions, plain and transposed, over one to three spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from headrace.dtypes import FLOATS
from headrace.op_call import OpCall
from headrace.ops.channels import channel_axis, first_shape, own_shape
from headrace.ops.data_format import Imaged
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, SbpSignature, Tensor
from headrace.ops.shapes import addressable
from headrace.ops.window import Window, conv_window, slide, spatial_shape
from headrace.ops.windowed import WINDOW_ATTRS, tap_tensors
from headrace.sbp import Broadcast, PartialSum, Split
from headrace.tensor_spec import TensorSpec

_INPUTS = (Input("x", FLOATS), Input("weight", FLOATS), Input("bias", FLOATS, optional=True))


class Conv(Imaged):
    """Convolution: ``y[n, m] = bias[m] + sum over c, taps of weight[m, c, tap] * x[n, c, tap]``.

    x ``[n, c, *spatial]``, weight ``[m, c / groups, *kernel]``, bias ``[m]``; channels last,
    x ``[n, *spatial, c]``, weight ``[m, *kernel, c / groups]``. Padding reads as 0. Group ``g`` of
    the output channels reads group ``g`` of the input channels. 16-bit floats are accumulated in
    float32.
    """

    name = "conv"
    images = (0, 1)
    inputs: ClassVar[tuple[Input, ...]] = _INPUTS
    attrs: ClassVar[tuple[Attr, ...]] = (*WINDOW_ATTRS, Attr("groups", "int", 1))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        spatial = spatial_shape(call)
        x, weight = call.input(0), call.input(1)
        groups, channels = _groups(call), x.shape[channel_axis(call)]
        out_channels, group_channels = first_shape(call, weight.shape)[:2]
        if group_channels * groups != channels:
            fail(
                call,
                f"x has {channels} channels but weight {weight} with groups={groups} reads "
                f"{group_channels * groups}",
            )
        if out_channels % groups:
            fail(call, f"groups={groups} does not divide the {out_channels} channels of {weight}")
        _check_bias(call, out_channels)
        windows = slide(call, conv_window(call), spatial)
        made = own_shape(call, (x.shape[0], out_channels, *windows))
        return (addressable(call, x.with_shape(made)),)

    @classmethod
    def products(cls, call: OpCall) -> int:
        return call.outputs[0].elements * math.prod(call.input(1).shape[1:])

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return _signatures(call, weight_out=0, weight_in=channel_axis(call))

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """A matrix product for each image and group, over what the taps read."""
        f = Formula(call, builder)
        x, weight, y = f.take(inputs[0]), f.take(inputs[1]), call.outputs[0]
        groups, window, positions = call.int_attr("groups"), conv_window(call), y.shape[2:]
        channels, per_group = x.spec.shape[1] // groups, y.shape[1] // groups
        rows, columns = channels * math.prod(window.kernel), math.prod(positions)
        reads = [
            f.op("reshape", read, shape=(y.shape[0], groups, channels, 1, columns))
            for read in tap_tensors(f, x, window, positions, f.scalar(0))
        ]
        gathered = f.op("concat", *reads, axis=3)
        gathered = f.op("reshape", gathered, shape=(y.shape[0], groups, rows, columns))
        kernels = f.op("reshape", weight, shape=(groups, per_group, rows))
        result = f.op("reshape", f.op("matmul", kernels, gathered), shape=y.shape)
        if call.has_input(2):
            bias = (y.shape[1], *(1,) * len(positions))
            result = f.op("add", result, f.op("reshape", f.take(inputs[2]), shape=bias))
        return f.give(result)


class ConvTranspose(Imaged):
    """Transposed convolution: the adjoint of ``conv`` on its input, with its own bias.

    x ``[n, c, *spatial]``, weight ``[c, m / groups, *kernel]``, bias ``[m]``; channels last,
    x ``[n, *spatial, c]``, weight ``[c, *kernel, m / groups]``. On each axis the
    result has ``(in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - pads`` elements:
    ``pads`` crops it, ``output_padding`` lengthens its end.
    """

    name = "conv_transpose"
    images = (0, 1)
    inputs = _INPUTS
    attrs = (*WINDOW_ATTRS, Attr("output_padding", "ints", ()), Attr("groups", "int", 1))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        spatial = spatial_shape(call)
        x, weight = call.input(0), call.input(1)
        groups, channels = _groups(call), x.shape[channel_axis(call)]
        if weight.shape[0] != channels:
            fail(call, f"x has {channels} channels but weight {weight} reads {weight.shape[0]}")
        if channels % groups:
            fail(call, f"groups={groups} does not divide the {channels} channels of x")
        out_channels = weight.shape[channel_axis(call)] * groups
        _check_bias(call, out_channels)
        window = conv_window(call)
        extra = call.ints_attr("output_padding") or (0,) * len(spatial)
        if len(extra) != len(spatial) or any(e < 0 for e in extra):
            fail(call, f"output_padding {extra} must be {len(spatial)} numbers, none negative")
        out = tuple(
            (size - 1) * window.strides[i]
            + window.extents[i]
            + extra[i]
            - window.pads_begin[i]
            - window.pads_end[i]
            for i, size in enumerate(spatial)
        )
        if any(size < 1 for size in out):
            fail(call, f"pads {call.ints_attr('pads')} leave nothing of the result: {out}")
        made = own_shape(call, (x.shape[0], out_channels, *out))
        return (addressable(call, x.with_shape(made)),)

    @classmethod
    def products(cls, call: OpCall) -> int:
        return call.input(0).elements * math.prod(call.input(1).shape[1:])

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return _signatures(call, weight_out=channel_axis(call), weight_in=0)

    @classmethod
    def formula(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """A convolution of x with zeros between its elements and the weight turned around."""
        f = Formula(call, builder)
        window, groups = conv_window(call), call.int_attr("groups")
        turned = [_turn_around(f, f.take(inputs[1]), groups)]
        if call.has_input(2):
            turned.append(f.take(inputs[2]))
        spread = _spread(f, f.take(inputs[0]), window, call.outputs[0].shape[2:])
        return f.give(f.op("conv", spread, *turned, dilations=window.dilations, groups=groups))


def _spread(f: Formula, x: Tensor, window: Window, out: tuple[int, ...]) -> Tensor:
    """``x`` with ``stride - 1`` zeros after each element, as long as a window needs for ``out``."""
    lead, spatial = x.spec.shape[:2], x.spec.shape[2:]
    gaps = [n for stride in window.strides for n in (0, stride - 1)]
    apart = f.op("reshape", x, shape=(*lead, *(n for size in spatial for n in (size, 1))))
    apart = f.op("pad", apart, f.scalar(0), pads=(*(0,) * len(gaps), 0, 0, 0, 0, *gaps))
    lengths = [size * stride for size, stride in zip(spatial, window.strides, strict=True)]
    apart = f.op("reshape", apart, shape=(*lead, *lengths))
    befores = [e - 1 - pad for e, pad in zip(window.extents, window.pads_begin, strict=True)]
    afters = [
        size + extent - 1 - length - before
        for size, extent, length, before in zip(out, window.extents, lengths, befores, strict=True)
    ]
    return f.op("pad", apart, f.scalar(0), pads=(0, 0, *befores, 0, 0, *afters))


def _turn_around(f: Formula, weight: Tensor, groups: int) -> Tensor:
    """T[c, m / groups, *kernel] as T[m, c / groups, *kernel], each kernel back to front."""
    (channels, per_group), kernel = weight.spec.shape[:2], weight.spec.shape[2:]
    rank = len(kernel)
    weight = f.op(
        "slice",
        weight,
        starts=(-1,) * rank,
        ends=tuple(-k - 1 for k in kernel),
        axes=tuple(range(2, 2 + rank)),
        steps=(-1,) * rank,
    )
    weight = f.op("reshape", weight, shape=(groups, channels // groups, per_group, *kernel))
    weight = f.op("transpose", weight, perm=(0, 2, 1, *range(3, 3 + rank)))
    return f.op("reshape", weight, shape=(groups * per_group, channels // groups, *kernel))


def _groups(call: OpCall) -> int:
    x, weight = call.input(0), call.input(1)
    if weight.rank != x.rank:
        fail(call, f"weight {weight} must have the rank of x {x}")
    groups = call.int_attr("groups")
    if groups < 1:
        fail(call, f"groups={groups} must be at least 1")
    return groups


def _check_bias(call: OpCall, channels: int) -> None:
    if call.has_input(2) and call.input(2).shape != (channels,):
        fail(
            call, f"bias is {call.input(2)}; it must have one number per output channel, {channels}"
        )


def _signatures(call: OpCall, weight_out: int, weight_in: int) -> tuple[SbpSignature, ...]:
    """``weight_out`` and ``weight_in`` are axes of the weight: 0, or that of its channels."""
    whole, channel = Broadcast(), channel_axis(call)
    n, channels = call.input(0).shape[0], call.input(0).shape[channel]
    result = []
    if n > 1:
        result.append(SbpSignature((Split(0), whole, whole), (Split(0),)))
    if call.int_attr("groups") > 1:
        return tuple(result)  # a split of channels need not fall between two groups
    if call.input(1).shape[weight_out] > 1:
        result.append(SbpSignature((whole, Split(weight_out), Split(0)), (Split(channel),)))
    if channels > 1:
        inputs = (Split(channel), Split(weight_in), PartialSum())
        result.append(SbpSignature(inputs, (PartialSum(),)))
    return tuple(result)


OPS: tuple[type[Op], ...] = (Conv, ConvTranspose)
