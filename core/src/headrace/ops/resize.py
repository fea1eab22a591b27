"""Interpolation in space: a tensor resampled along any of its axes."""

from __future__ import annotations

from headrace.dtypes import ALL, NUMBERS
from headrace.errors import DTypeError
from headrace.op_call import OpCall
from headrace.ops.schema import Attr, Input, Op, SbpSignature, fail
from headrace.ops.shapes import addressable
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
    """Resample ``x`` to ``sizes``; axes are resampled one after another.

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
        sizes: the output shape.
        scales: one for each axis; empty means output length over input length.
        roi: for tf_crop_and_resize: all beginnings, then all ends, as fractions of each axis.
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
        if len(sizes) != x.rank or any(size < 0 for size in sizes):
            fail(call, f"sizes {sizes} must be {x.rank} numbers for x {x}, none negative")
        for axis, (length, size) in enumerate(zip(x.shape, sizes, strict=True)):
            if length == 0 and size > 0:
                fail(call, f"axis {axis} of x {x} is empty and cannot be resized to {size}")
        scales = call.floats_attr("scales")
        if scales and (len(scales) != x.rank or not all(0 < scale < 1e30 for scale in scales)):
            fail(call, f"scales {scales} must be {x.rank} numbers for x {x}, all above 0")
        roi = call.floats_attr("roi")
        cropped = call.str_attr("coordinates") == "tf_crop_and_resize"
        if len(roi) != (2 * x.rank if cropped else 0):
            fail(call, f"roi {roi} must be {2 * x.rank} numbers with tf_crop_and_resize, else none")
        if call.str_attr("mode") != "nearest" and x.dtype not in NUMBERS:
            fail(call, f"mode {call.str_attr('mode')} cannot interpolate {x.dtype}", DTypeError)
        return (addressable(call, x.with_shape(sizes)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),))
            for axis in range(call.input(0).rank)
            if not is_resampled(call, axis)
        )


def is_resampled(call: OpCall, axis: int) -> bool:
    """Whether ``axis`` of a ``resize`` changes at all."""
    length, size = call.input(0).shape[axis], call.ints_attr("sizes")[axis]
    if call.str_attr("coordinates") == "tf_crop_and_resize":
        roi = call.floats_attr("roi")
        if (roi[axis], roi[axis + len(roi) // 2]) != (0.0, 1.0):
            return True
    return length != size or axis_scale(call, axis) != 1.0


def axis_scale(call: OpCall, axis: int) -> float:
    """The scale of ``axis`` of a ``resize``: given, or output length over input length."""
    scales = call.floats_attr("scales")
    if scales:
        return scales[axis]
    return call.ints_attr("sizes")[axis] / max(call.input(0).shape[axis], 1)


OPS: tuple[type[Op], ...] = (Resize,)
