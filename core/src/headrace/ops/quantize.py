"""Numbers as small integers: to them and from them, by a scale and a zero point.

A scale and its zero point are for the whole tensor (one element), for each index of ``axis`` (one
axis of its length), or, when ``block_size`` is given, for each block of so many elements along
``axis`` (the rank of x, and ``ceil(length / block_size)`` in place of the length).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.data_format import Order
from headrace.dtypes import (
    ALL,
    FLOATS,
    DType,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    storage_only,
    uint8,
    uint16,
)
from headrace.errors import DTypeError, OpError
from headrace.op_call import OpCall
from headrace.ops.axes import per_tensor
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
from headrace.ops.shapes import normal_axis
from headrace.sbp import Broadcast, Sbp, Split
from headrace.tensor_spec import Array, TensorSpec

QUANTIZED = frozenset({int8, uint8, int16, uint16, *filter(storage_only, ALL)})
"""What numbers are quantized to; 8-bit floats among them are rounded to nearest by themselves."""

_SCALE = Input("scale", FLOATS, group="")
_ATTRS = (Attr("axis", "int", 1), Attr("block_size", "int", 0))


class Linear(Op):
    """What ``quantize`` and ``dequantize`` share: x, scale, zero_point, and how these fit."""

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, scale, dtype = call.input(0), call.input(1), call.dtype_attr("dtype")
        wanted = () if per_tensor(call) else _granular_shape(call)
        if scale.shape != wanted and not per_tensor(call):
            fail(call, f"scale is {scale}; to fit x {x} it must have one element or {list(wanted)}")
        if call.has_input(2):
            zero = call.input(2)
            if zero.shape != scale.shape and not (per_tensor(call) and zero.shape in ((), (1,))):
                fail(call, f"zero_point is {zero}; it must have the shape of scale {scale}")
        return (x.with_dtype(dtype),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        x = call.input(0)
        found = []
        for axis in range(x.rank):
            along = not per_tensor(call) and axis == call.int_attr("axis") % x.rank
            if x.shape[axis] < 2 or (along and call.int_attr("block_size")):
                continue
            whole = per_tensor(call) or (call.input(1).rank == 1 and not along)
            granular: Sbp = Broadcast() if whole else Split(axis if call.input(1).rank > 1 else 0)
            found.append(SbpSignature((Split(axis), granular, granular), (Split(axis),)))
        return tuple(found)

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        if per_tensor(call):
            return Reordered(call.attrs, (order, None, None), (order,))
        if not call.int_attr("block_size"):
            return along_axis(call, order)
        given = (order, order, order if call.has_input(2) else None)
        axis = order.index(call.int_attr("axis") % len(order))
        return Reordered(call.attrs | {"axis": axis}, given, (order,))


class Quantize(Linear):
    """``y = round(x / scale) + zero_point``, halves to even, kept within the range of ``dtype``.

    To an 8-bit float, ``x / scale + zero_point`` is cast, as ``saturate`` says. The quotient has
    the precision of float32, or of float64 if x or scale has it. NaN becomes the integer 0.

    Attributes:
        dtype: of y and zero_point.
        saturate: as in ``cast``.
    """

    name = "quantize"
    inputs = (
        Input("x", FLOATS | {int32}, group=""),
        _SCALE,
        Input("zero_point", QUANTIZED, group="", optional=True),
    )
    attrs = (*_ATTRS, Attr("dtype", "dtype", uint8), Attr("saturate", "bool", True))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        dtype = call.dtype_attr("dtype")
        if dtype not in QUANTIZED:
            names = ", ".join(map(str, sorted(QUANTIZED)))
            fail(call, f"dtype {dtype} is not one of {names}", DTypeError)
        if call.has_input(2) and call.input(2).dtype != dtype:
            fail(call, f"zero_point is {call.input(2)} and dtype {dtype}", DTypeError)
        return super().infer(call)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder, computed_in(call))
        dtype = call.dtype_attr("dtype")
        y = f.op("divide", f.take(inputs[0]), _spread(f, call, builder, inputs[1]))
        if not dtype.is_float:
            y = f.op("round", y)
        if call.has_input(2):
            y = f.op("add", y, _spread(f, call, builder, inputs[2]))
        if dtype.is_float:
            return (f.op("cast", y, dtype=dtype, saturate=call.flag_attr("saturate")),)
        low, high = limits(dtype)
        return (f.op("cast", f.op("clip", y, f.scalar(low), f.scalar(high)), dtype=dtype),)


class Dequantize(Linear):
    """``y = (x - zero_point) * scale``, in float32 or, when y or scale is, in float64.

    Attributes:
        dtype: of y.
    """

    name = "dequantize"
    inputs = (
        Input("x", QUANTIZED | {int32}),
        _SCALE,
        Input("zero_point", QUANTIZED | {int32}, optional=True),
    )
    attrs = (*_ATTRS, Attr("dtype", "dtype", float32))
    folds_late = True

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        if call.dtype_attr("dtype") not in FLOATS:
            fail(call, f"dtype {call.dtype_attr('dtype')} is no float to compute with", DTypeError)
        return super().infer(call)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder, computed_in(call))
        assert inputs[0] is not None
        x = inputs[0]
        if call.has_input(2):
            # Differences of integers are taken where none wraps around, before any is rounded.
            exact = _difference(call.input(0).dtype, computed_in(call))
            zero = _spread(f, call, builder, inputs[2], exact)
            x = f.op("subtract", f.op("cast", x, dtype=exact), zero)
        y = f.op("multiply", f.take(x), _spread(f, call, builder, inputs[1]))
        dtype = call.dtype_attr("dtype")
        return (y if y.spec.dtype == dtype else f.op("cast", y, dtype=dtype),)


def _difference(dtype: DType, computed: DType) -> DType:
    """What holds every difference of two numbers of ``dtype``; of floats, what is computed in."""
    if dtype.is_float:
        return computed
    return int32 if dtype.itemsize < int32.itemsize else int64


class DynamicQuantize(Op):
    """``quantize`` to uint8 by the range of x itself, which is made to hold 0.

    ``scale = (max - min) / 255``, ``zero_point = round(clip(-min / scale, 0, 255))`` and
    ``y = quantize(x, scale, zero_point)``, where min and max are those of x and of 0. Scale and
    zero point are scalars. Where all of x is 0, or there is nothing of it, so is the scale, and
    everything else is 0.
    """

    name = "dynamic_quantize"
    inputs = (Input("x", frozenset({float32})),)
    outputs = (Output("y"), Output("scale"), Output("zero_point"))

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x = call.input(0)
        return (x.with_dtype(uint8), TensorSpec((), float32), TensorSpec((), uint8))

    @classmethod
    def reordered(cls, call: OpCall, order: Order) -> Reordered | None:
        return Reordered(call.attrs, (order,), (order, (), ()))

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f = Formula(call, builder, float32)
        x, zero, most = f.take(inputs[0]), f.scalar(0), f.scalar(255)
        low, high = (
            f.op(limit, f.op(fold, x), zero) if x.spec.elements else zero
            for fold, limit in (("reduce_min", "minimum"), ("reduce_max", "maximum"))
        )
        scale = f.op("divide", f.op("subtract", high, low), most)
        point = f.op("subtract", zero, f.op("divide", low, scale))
        rounded = f.op("round", f.op("clip", point, zero, most))
        zero_point = f.op("cast", rounded, dtype=uint8)
        (y,) = builder.op("quantize", [x, scale, zero_point])
        return (y, scale, zero_point)


class UnpackBits(Op):
    """Numbers that share bytes along the last axis, one by one; the first is in the lowest bits.

    x: uint8[..., n]; y: uint8[..., count].

    Attributes:
        bits: of a number: 1, 2 or 4.
        count: how many numbers the bytes of a row begin with; what is left of them is no number.
    """

    name = "unpack_bits"
    inputs = (Input("x", frozenset({uint8})),)
    attrs = (Attr("bits", "int"), Attr("count", "int"))
    folds_late = True

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, bits, count = call.input(0), call.int_attr("bits"), call.int_attr("count")
        if bits not in (1, 2, 4):
            fail(call, f"bits={bits} must be 1, 2 or 4")
        if x.rank == 0 or not 0 <= count <= x.shape[-1] * (8 // bits):
            fail(call, f"x is {x}; its rows do not hold {count} numbers of {bits} bits")
        return (x.with_shape((*x.shape[:-1], count)),)

    @classmethod
    def sbp_signatures(cls, call: OpCall) -> tuple[SbpSignature, ...]:
        rows = call.input(0).shape[:-1]
        splits = (Split(axis) for axis, size in enumerate(rows) if size > 1)
        return tuple(SbpSignature((split,), (split,)) for split in splits)

    @classmethod
    def decompose(
        cls, call: OpCall, inputs: Sequence[Tensor | None], builder: GraphBuilder
    ) -> tuple[Tensor, ...]:
        f, bits = Formula(call, builder, uint8), call.int_attr("bits")
        x, mask = f.take(inputs[0]), f.scalar((1 << bits) - 1)
        rows, places = x.spec.shape[:-1], x.spec.shape[-1] * (8 // bits)
        columns = []
        for shift in range(0, 8, bits):
            moved = f.op("bit_shift", x, f.scalar(shift), direction="right")
            column = f.op("bitwise_and", moved, mask)
            columns.append(f.op("reshape", column, shape=(*x.spec.shape, 1)))
        y = f.op("concat", *columns, axis=len(x.spec.shape))
        y = f.op("reshape", y, shape=(*rows, places))
        if call.int_attr("count") < places:
            y = f.op("slice", y, starts=(0,), ends=(call.int_attr("count"),), axes=(len(rows),))
        return (y,)


def computed_in(call: OpCall) -> DType:
    """The dtype that a ``quantize`` or ``dequantize`` is computed in."""
    met = (call.input(0).dtype, call.input(1).dtype, call.dtype_attr("dtype"))
    return float64 if float64 in met else float32


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest number of an integer dtype, those of 4 bits included."""
    bits = 4 if storage_only(dtype) else 8 * dtype.itemsize
    return (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def spread_shape(call: OpCall) -> tuple[int, ...]:
    """The shape in which scale and zero point broadcast to x, blocks not yet repeated."""
    if per_tensor(call):
        return ()
    if call.int_attr("block_size"):
        return call.input(1).shape
    shape = [1] * call.input(0).rank
    shape[call.int_attr("axis")] = call.input(1).elements
    return tuple(shape)


def block_index(call: OpCall) -> Array | None:
    """For each index of ``axis`` the block that it is in; None when there are no blocks."""
    if not call.int_attr("block_size"):
        return None
    return np.arange(call.input(0).shape[call.int_attr("axis")]) // call.int_attr("block_size")


def _granular_shape(call: OpCall) -> tuple[int, ...]:
    x, size = call.input(0), call.int_attr("block_size")
    axis = normal_axis(call, call.int_attr("axis"), x.rank)
    if size < 0:
        fail(call, f"block_size={size} must not be negative", OpError)
    if not size:
        return (x.shape[axis],)
    return (*x.shape[:axis], -(-x.shape[axis] // size), *x.shape[axis + 1 :])


def _spread(
    f: Formula,
    call: OpCall,
    builder: GraphBuilder,
    tensor: Tensor | None,
    dtype: DType | None = None,
) -> Tensor:
    """A scale or zero point, so that it broadcasts to x; in ``dtype`` or that of the formula."""
    assert tensor is not None
    wide = f.take(tensor) if dtype is None else f.op("cast", tensor, dtype=dtype)
    shape, index = spread_shape(call), block_index(call)
    if wide.spec.shape != shape:
        wide = f.op("reshape", wide, shape=shape)
    if index is None:
        return wide
    axis = call.int_attr("axis")
    return f.op("gather", wide, builder.constant(index), axis=axis)


OPS: tuple[type[Op], ...] = (Quantize, Dequantize, DynamicQuantize, UnpackBits)
