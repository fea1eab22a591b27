"""Interpolation in space: a tensor resampled along any of its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.data_format import Order
from headrace.dtypes import ALL, NUMBERS, float64
from headrace.errors import DTypeError
from headrace.op_call import OpCall
from headrace.ops.failure import fail
from headrace.ops.formula import Formula
from headrace.ops.resize_axes import named_axes
from headrace.ops.resize_taps import Taps, resize_taps
from headrace.ops.schema import Attr, GraphBuilder, Input, Op, Reordered, SbpSignature, Tensor
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
        axes = named_axes(call)
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
        named = named_axes(call)
        return tuple(
            SbpSignature((Split(axis),), (Split(axis),))
            for axis, length in enumerate(call.input(0).shape)
            if axis not in named and length > 1
        )

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        axes = tuple(order.index(axis) for axis in named_axes(call))
        return Reordered(call.attrs | {"axes": axes}, (order,), (order,))

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        """What is read is known: elements are gathered, and weighed where several are."""
        (x,), taps = inputs, resize_taps(call)
        assert x is not None
        if not taps:
            return builder.op("identity", [x])
        if call.str_attr("mode") == "nearest":
            for axis, part in taps.items():
                (x,) = builder.op("gather", [x, _sources(builder, part, 0)], axis=axis)
            return (_extrapolated(call, x, taps, builder),)
        is_float = call.input(0).dtype.is_float
        f = Formula(call, builder, None if is_float else float64)
        y = f.take(x)
        for axis, part in taps.items():
            y = _weighed(f, y, part, axis, builder)
        if not is_float:  # a sum that is an integer but for rounding is that integer
            beside = f.op("where", f.op("less", y, f.scalar(0)), f.scalar(-1e-6), f.scalar(1e-6))
            y = f.op("add", y, beside)
        (y,) = f.give(y)
        return (_extrapolated(call, y, taps, builder),)


def _sources(builder: GraphBuilder, taps: Taps, tap: int) -> Tensor:
    return builder.constant(np.ascontiguousarray(taps.sources[:, tap]))


def _weighed(f: Formula, x: Tensor, taps: Taps, axis: int, builder: GraphBuilder) -> Tensor:
    """The sum, along an axis, of what each tap reads times what it weighs."""
    shape, terms = [1] * x.spec.rank, []
    shape[axis] = -1
    for tap in range(taps.sources.shape[1]):
        read = f.op("gather", x, _sources(builder, taps, tap), axis=axis)
        weights = taps.weights[:, tap].astype(x.spec.dtype.numpy).reshape(shape)
        terms.append(f.op("multiply", read, builder.constant(weights)))
    total, *others = terms
    for term in others:
        total = f.op("add", total, term)
    return total


def _extrapolated(
    call: OpCall, y: Tensor, taps: Mapping[int, Taps], builder: GraphBuilder
) -> Tensor:
    """``y`` with what lies beyond the input replaced."""
    value = np.array(call.float_attr("extrapolation")).astype(y.spec.dtype.numpy)
    made = y
    for axis, part in taps.items():
        if part.outside.any():
            beyond = part.outside.reshape([-1 if n == axis else 1 for n in range(y.spec.rank)])
            given = [builder.constant(beyond), builder.constant(value), made]
            (made,) = builder.op("where", given)
    return made


OPS: tuple[type[Op], ...] = (Resize,)
