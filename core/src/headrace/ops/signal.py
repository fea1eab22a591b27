"""Spectra: what frequencies a signal has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import FLOATS
from headrace.errors import OpError
from headrace.op_call import OpCall
from headrace.ops.elementwise import split_along
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, SbpSignature, Tensor
from headrace.ops.shapes import addressable
from headrace.tensor_spec import Array, TensorSpec

MATRIX_ELEMENTS = 1 << 26
"""A larger matrix of cosines and sines would be larger than the model: it is not made."""


class Dft(Op):
    """The discrete Fourier transform of ``x`` along its last axis but one.

    ``x`` is ``[..., points, parts]`` and ``y`` ``[..., bins, parts]``: a part is the real one, or
    there are two, the real and the imaginary one. What is missing of ``length`` points is 0, and
    what is more is left out. ``y`` has ``length`` bins and two parts, unless ``onesided``.

    Attributes:
        length: of the transform.
        inverse: the inverse transform, which divides by the length.
        onesided: the first ``length // 2 + 1`` bins alone are made; the inverse is made of these,
            of which all but the first and the middle one stand for their mirror image as well, and
            has the real part alone.
    """

    name = "dft"
    inputs = (Input("x", FLOATS),)
    attrs = (Attr("length", "int"), Attr("inverse", "bool", False), Attr("onesided", "bool", False))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, length = call.input(0), call.int_attr("length")
        if x.rank < 2 or x.shape[-1] not in (1, 2):
            fail(call, f"x is [..., points, 1 or 2]; it is {x}")
        if length < 1:
            fail(call, f"a transform is of 1 point at least, not {length}", OpError)
        bins, parts = length, 2
        if call.flag_attr("onesided"):
            bins, parts = (length, 1) if call.flag_attr("inverse") else (length // 2 + 1, 2)
        return (addressable(call, x.with_shape((*x.shape[:-2], bins, parts))),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        outer = call.input(0).shape[:-2]
        return split_along(*(((axis,), axis) for axis, size in enumerate(outer) if size > 1))

    @classmethod
    def products(cls, call: OpCall) -> int:
        return call.outputs[0].elements * call.int_attr("length").bit_length()

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...] | None:
        made = _matrix(call)
        if made is None:
            return None
        f = Formula(call, builder)
        x = f.take(inputs[0])
        *outer, points, parts = x.spec.shape
        used = min(points, made.shape[0])
        if used < points:
            x = f.op("slice", x, starts=(0,), ends=(used,), axes=(x.spec.rank - 2,))
        flat = f.op("reshape", x, shape=(*outer, used * parts))
        columns = made.shape[2] * made.shape[3]
        weights = made[:used, :parts].reshape(used * parts, columns).astype(x.spec.dtype.numpy)
        y = f.op("matmul", flat, builder.constant(weights))
        return f.give(f.op("reshape", y, shape=call.outputs[0].shape))


def _matrix(call: OpCall) -> Array | None:
    """[point, its part, bin, its part]: what each adds to each; None if it would be too large."""
    length, inverse = call.int_attr("length"), call.flag_attr("inverse")
    onesided = call.flag_attr("onesided")
    half = length // 2 + 1
    points, bins = (half if onesided and inverse else length), call.outputs[0].shape[-2]
    if points * bins > MATRIX_ELEMENTS:
        return None
    # The product is taken modulo the length before it is an angle, or long ones lose digits.
    turns = np.outer(np.arange(points), np.arange(bins)) % length / length
    angle = 2 * np.pi * (turns if inverse else -turns)
    real, imaginary = np.cos(angle), np.sin(angle)
    matrix = np.stack([np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)], axis=1)
    if inverse:
        matrix /= length
    if inverse and onesided:
        matrix = matrix[..., :1]
        matrix[1 : (length + 1) // 2] *= 2
    return np.asarray(matrix)


class Stft(Op):
    """The transforms of frames of a signal: of each, which frequencies it has.

    ``x`` is ``[batch, samples, parts]`` with one part, the real one, or two. A frame of ``length``
    samples begins at the first sample, and another one ``step`` samples after it, as long as they
    fit. Each is multiplied by ``window``, ``[length]``, if there is one, and transformed as by
    ``dft``. ``y`` is ``[batch, frames, bins, 2]``.

    Attributes:
        length: of a frame.
        step: from the beginning of a frame to that of the next one.
        onesided: the first ``length // 2 + 1`` bins alone are made, of a real signal.
    """

    name = "stft"
    inputs = (Input("x", FLOATS), Input("window", FLOATS, optional=True))
    attrs = (Attr("length", "int"), Attr("step", "int"), Attr("onesided", "bool", True))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, length, step = call.input(0), call.int_attr("length"), call.int_attr("step")
        if x.rank != 3 or x.shape[-1] not in (1, 2):
            fail(call, f"x is [batch, samples, 1 or 2]; it is {x}")
        if step < 1 or not 1 <= length <= x.shape[1]:
            fail(call, f"frames of {length} samples, {step} apart, do not fit {x}", OpError)
        if call.has_input(1) and call.input(1).shape != (length,):
            fail(call, f"the window {call.input(1)} is not as long as a frame, {length}")
        if call.flag_attr("onesided") and x.shape[-1] != 1:
            fail(call, f"a spectrum from one side is that of a real signal; {x} is complex")
        bins = length // 2 + 1 if call.flag_attr("onesided") else length
        frames = (x.shape[1] - length) // step + 1
        return (addressable(call, x.with_shape((x.shape[0], frames, bins, 2))),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return split_along(((0, None), 0)) if call.input(0).shape[0] > 1 else ()

    @classmethod
    def products(cls, call: OpCall) -> int:
        return call.outputs[0].elements * call.int_attr("length").bit_length()

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        length = call.int_attr("length")
        f = Formula(call, builder)
        starts = np.arange(call.outputs[0].shape[1]) * call.int_attr("step")
        at = builder.constant(starts[:, np.newaxis] + np.arange(length))
        framed = f.op("gather", f.take(inputs[0]), at, axis=1)  # [batch, frames, length, parts]
        if call.has_input(1):
            column = f.op("reshape", f.take(inputs[1]), shape=(length, 1))
            framed = f.op("multiply", framed, column)
        return f.give(f.op("dft", framed, length=length, onesided=call.flag_attr("onesided")))


OPS: tuple[type[Op], ...] = (Dft, Stft)
