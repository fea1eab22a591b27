"""Convolutions, plain and transposed, over one to three spatial axes."""

from __future__ import annotations

from headrace.dtypes import FLOATS
from headrace.op_call import OpCall
from headrace.ops.schema import Attr, Input, Op, SbpSignature, fail
from headrace.ops.shapes import addressable
from headrace.ops.window import WINDOW_ATTRS, Window, slide, spatial_shape, window_of
from headrace.sbp import Broadcast, PartialSum, Split
from headrace.tensor_spec import TensorSpec

_INPUTS = (Input("x", FLOATS), Input("weight", FLOATS), Input("bias", FLOATS, optional=True))


class Conv(Op):
    """Convolution: ``y[n, m] = bias[m] + sum over c, taps of weight[m, c, tap] * x[n, c, tap]``.

    x ``[n, c, *spatial]``, weight ``[m, c / groups, *kernel]``, bias ``[m]``. Padding reads as 0.
    Group ``g`` of the output channels reads group ``g`` of the input channels. 16-bit floats are
    accumulated in float32.
    """

    name = "conv"
    inputs = _INPUTS
    attrs = (*WINDOW_ATTRS, Attr("groups", "int", 1))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        spatial = spatial_shape(call)
        x, weight = call.input(0), call.input(1)
        groups = _groups(call)
        out_channels, group_channels = weight.shape[:2]
        if group_channels * groups != x.shape[1]:
            fail(
                call,
                f"x has {x.shape[1]} channels but weight {weight} with groups={groups} reads "
                f"{group_channels * groups}",
            )
        if out_channels % groups:
            fail(call, f"groups={groups} does not divide the {out_channels} channels of {weight}")
        _check_bias(call, out_channels)
        windows = slide(call, conv_window(call), spatial)
        return (addressable(call, x.with_shape((x.shape[0], out_channels, *windows))),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return _signatures(call, weight_out=0, weight_in=1)


class ConvTranspose(Op):
    """Transposed convolution: the adjoint of ``conv`` on its input, with its own bias.

    x ``[n, c, *spatial]``, weight ``[c, m / groups, *kernel]``, bias ``[m]``. On each axis the
    result has ``(in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - pads`` elements:
    ``pads`` crops it, ``output_padding`` lengthens its end.
    """

    name = "conv_transpose"
    inputs = _INPUTS
    attrs = (*WINDOW_ATTRS, Attr("output_padding", "ints", ()), Attr("groups", "int", 1))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        spatial = spatial_shape(call)
        x, weight = call.input(0), call.input(1)
        groups = _groups(call)
        if weight.shape[0] != x.shape[1]:
            fail(call, f"x has {x.shape[1]} channels but weight {weight} reads {weight.shape[0]}")
        if x.shape[1] % groups:
            fail(call, f"groups={groups} does not divide the {x.shape[1]} channels of x")
        out_channels = weight.shape[1] * groups
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
        return (addressable(call, x.with_shape((x.shape[0], out_channels, *out))),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return _signatures(call, weight_out=1, weight_in=0)


def conv_window(call: OpCall) -> Window:
    """The window of a ``conv`` or ``conv_transpose``; its taps are those of the weight."""
    return window_of(call, call.input(1).shape[2:])


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
    whole, (n, channels) = Broadcast(), call.input(0).shape[:2]
    result = []
    if n > 1:
        result.append(SbpSignature((Split(0), whole, whole), (Split(0),)))
    if call.int_attr("groups") > 1:
        return tuple(result)  # a split of channels need not fall between two groups
    if call.input(1).shape[weight_out] > 1:
        result.append(SbpSignature((whole, Split(weight_out), Split(0)), (Split(1),)))
    if channels > 1:
        inputs = (Split(1), Split(weight_in), PartialSum())
        result.append(SbpSignature(inputs, (PartialSum(),)))
    return tuple(result)


OPS: tuple[type[Op], ...] = (Conv, ConvTranspose)
