"""Interpolation in space: a tensor resampled along any of its axes."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.data_format import Order
from headrace.dtypes import ALL, NUMBERS
from headrace.errors import DTypeError
from headrace.op_call import OpCall
from headrace.ops.schema import Attr, Input, Op, Reordered, SbpSignature, fail
from headrace.ops.shapes import addressable, normal_axes
from headrace.sbp import Split
from headrace.tensor_spec import TensorSpec

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


class Resize(Op):
    """Resample ``x`` along some axes, one after another.

    Where output element ``i`` of an axis of length ``n`` looks into the input of length ``m``
    (``s`` is the axis's scale):

    - half_pixel: ``(i + 0.5) / s - 0.5``; pytorch_half_pixel: the same, but 0 when ``n`` is 1
    - half_pixel_symmetric: the same about the middle of the input when ``s * m`` is no integer
    - align_corners: ``i * (m - 1) / (n - 1)``, but 0 when ``n`` is 1
    - asymmetric: ``i / s``; tf_half_pixel_for_nn: ``(i + 0.5) / s``
    - tf_crop_and_resize: ``i`` of ``n`` points spread evenly over the part of the axis that ``roi``
      names, its middle when ``n`` is 1. Points outside the input give ``extrapolation``.

    Nearest takes a place as close to a multiple of one half as the rounding of a float32 scale may
    leave it (``1e-6 + 1e-7 * place``) for that multiple: a scale of 0.6 is 0.60000002 in a file.
    Elements beyond an edge read as the edge, or not at all with ``exclude_outside`` (the other
    weights are then scaled up). An axis of equal length and scale 1 is copied, unless it is
    cropped. Integers are interpolated exactly and cut towards zero, into the range of their dtype.

    Attributes:
        sizes: the output length of each axis of ``axes``.
        axes: which axes are resampled; empty means all of them, in order.
        scales: one for each of them; empty means output length over input length.
        roi: for tf_crop_and_resize: all beginnings, then all ends, as fractions of each of them.
        mode: nearest, linear or cubic.
        coordinates: the rule above.
        rounding: for nearest: which neighbour is taken; the first two differ at halves only.
        cubic_coeff: for cubic: the parameter ``a`` of the Keys kernel.
        antialias: widen the kernel of linear and cubic by 1 / s where s is below 1.
    """

    name = "resize"
    inputs = (Input("x", ALL),)
    attrs = (
        Attr("sizes", "ints"),
        Attr("axes", "ints", ()),
        Attr("scales", "floats", ()),
        Attr("roi", "floats", ()),
        Attr("mode", "str", "nearest", choices=("nearest", "linear", "cubic")),
        Attr("coordinates", "str", "half_pixel", choices=COORDINATES),
        Attr(
            "rounding",
            "str",
            "prefer_floor",
            choices=("prefer_floor", "prefer_ceil", "floor", "ceil"),
        ),
        Attr("cubic_coeff", "float", -0.75),
        Attr("exclude_outside", "bool", False),
        Attr("extrapolation", "float", 0.0),
        Attr("antialias", "bool", False),
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, sizes = call.input(0), call.ints_attr("sizes")
        axes = _axes(call)
        if len(sizes) != len(axes) or any(size < 0 for size in sizes):
            fail(call, f"sizes {sizes} must be {len(axes)} numbers for x {x}, none negative")
        for axis, size in zip(axes, sizes, strict=True):
            if x.shape[axis] == 0 and size > 0:
                fail(call, f"axis {axis} of x {x} is empty and cannot be resized to {size}")
        scales = call.floats_attr("scales")
        if scales and (len(scales) != len(axes) or not all(0 < scale < 1e30 for scale in scales)):
            fail(call, f"scales {scales} must be {len(axes)} numbers for x {x}, all above 0")
        roi = call.floats_attr("roi")
        wanted = 2 * len(axes) if call.str_attr("coordinates") == "tf_crop_and_resize" else 0
        if len(roi) != wanted:
            fail(call, f"roi {roi} must be {wanted} numbers: with tf_crop_and_resize 2 an axis")
        if call.str_attr("mode") != "nearest" and x.dtype not in NUMBERS:
            fail(call, f"mode {call.str_attr('mode')} cannot interpolate {x.dtype}", DTypeError)
        shape = list(x.shape)
        for axis, size in zip(axes, sizes, strict=True):
            shape[axis] = size
        return (addressable(call, x.with_shape(tuple(shape))),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        named = _axes(call)
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),))
            for axis, length in enumerate(call.input(0).shape)
            if axis not in named and length > 1
        )

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        axes = tuple(order.index(axis) for axis in _axes(call))
        return Reordered({**call.attrs, "axes": axes}, (order,), (order,))


@dataclass(frozen=True, slots=True)
class ResampledAxis:
    """One axis that a ``resize`` changes: its number, lengths in and out, scale and crop."""

    axis: int
    length: int
    size: int
    scale: float
    begin: float
    end: float


def resampled_axes(call: OpCall) -> tuple[ResampledAxis, ...]:
    """The axes that a ``resize`` changes; it may name others that stay as they are."""
    x, sizes = call.input(0), call.ints_attr("sizes")
    scales, roi = call.floats_attr("scales"), call.floats_attr("roi")
    result = []
    for number, axis in enumerate(_axes(call)):
        length, size = x.shape[axis], sizes[number]
        scale = scales[number] if scales else size / max(length, 1)
        begin, end = (roi[number], roi[number + len(sizes)]) if roi else (0.0, 1.0)
        if (size, scale, begin, end) != (length, 1.0, 0.0, 1.0):
            result.append(ResampledAxis(axis, length, size, scale, begin, end))
    return tuple(result)


def _axes(call: OpCall) -> tuple[int, ...]:
    rank = call.input(0).rank
    return normal_axes(call, call.ints_attr("axes"), rank) or tuple(range(rank))


OPS: tuple[type[Op], ...] = (Resize,)
