"""Products of bytes with packed weights, and what follows them: cpu.integer_matmul and _conv."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import ClassVar

import numpy as np

from headrace.dtypes import DType, float32, int8, int32
from headrace.errors import DTypeError
from headrace.numpy_ops.function import given
from headrace.op_call import OpCall
from headrace.ops import Attr, Input, Op
from headrace.ops.failure import fail
from headrace.ops.quantize import limits
from headrace.ops.window import slide, window_of
from headrace.tensor_spec import Array, TensorSpec
from headrace_cpu.ops.conv import PackedConv, conv_sums
from headrace_cpu.ops.epilogue import FLOAT32, Product, check_epilogue, finish
from headrace_cpu.ops.pack_integers import BYTES, panels_shape, unpack_integers
from headrace_cpu.ops.places import ADDEND, BIAS, packed_window

SUMS, SCALE, X_ZERO, WEIGHT_ZEROS, SHIFT, Y_SCALE, Y_ZERO = range(4, 11)
"""Places among the inputs, after those that all products have."""

_INT32 = frozenset({int32})


class IntegerProduct(Op):
    """``(x - x_zero)`` times ``(weight - weight_zeros)``, summed in int32, which wraps around.

    Inputs: x, int8 or uint8; panels and sums, as ``cpu.pack_integers`` makes them; x_zero, one
    number of the dtype of x, which is also what padding reads as; weight_zeros and shift,
    int32[columns], of which the first is for the weights as they are packed and the second is
    added to the sums.

    With ``scale``, float32 of one element or [columns], ``y = activation(sums * scale + bias +
    addend)``, float32, as ``cpu.matmul`` has it. With ``y_scale`` and ``y_zero``, of one element,
    this is then quantized to ``dtype``. Without a scale, y is int32.
    """

    inputs: ClassVar[tuple[Input, ...]] = (
        Input("x", BYTES, group="X"),
        Input("panels", frozenset({int8}), group=""),
        Input("bias", FLOAT32, group="", optional=True),
        Input("addend", FLOAT32, group="", optional=True),
        Input("sums", _INT32, group=""),
        Input("scale", FLOAT32, group="", optional=True),
        Input("x_zero", BYTES, group="X", optional=True),
        Input("weight_zeros", _INT32, group="", optional=True),
        Input("shift", _INT32, group="", optional=True),
        Input("y_scale", FLOAT32, group="", optional=True),
        Input("y_zero", BYTES, group="", optional=True),
    )
    attrs: ClassVar[tuple[Attr, ...]] = (*Product.attrs, Attr("dtype", "dtype", int32))

    @classmethod
    def in_place(cls, call: OpCall) -> tuple[tuple[int, int], ...]:
        return ((ADDEND, 0),) if call.has_input(ADDEND) and not call.has_input(Y_SCALE) else ()


def made_of(
    call: OpCall, shape: tuple[int, ...], zeros: Collection[int] = ()
) -> tuple[TensorSpec, ...]:
    """What is made, of ``shape``; raises unless everything after x and the panels fits.

    Args:
        call: the call.
        shape: what is made has it.
        zeros: how many zero points of the weights there may be, if not one for each column.
    """
    columns, dtype = call.int_attr("columns"), call.dtype_attr("dtype")
    wanted: DType | None = int32
    if call.has_input(SCALE):
        wanted = None if call.has_input(Y_SCALE) else float32
    if dtype != wanted and (wanted is not None or dtype not in BYTES):
        fail(call, f"makes {wanted or 'bytes'} and not {dtype}", DTypeError)
    if call.has_input(Y_ZERO) and call.input(Y_ZERO).dtype != dtype:
        fail(call, f"y_zero is {call.input(Y_ZERO)}; it must be {dtype}", DTypeError)
    if not call.has_input(SCALE) and any(map(call.has_input, (BIAS, ADDEND, Y_SCALE))):
        fail(call, "has a bias, an addend or a y_scale, but no scale")
    check_epilogue(call, shape)
    for index, allowed in (
        (SUMS, {columns}),
        (WEIGHT_ZEROS, zeros or {columns}),
        (SHIFT, {columns}),
        (SCALE, {1, columns}),
        (X_ZERO, {1}),
        (Y_SCALE, {1}),
        (Y_ZERO, {1}),
    ):
        if call.has_input(index) and call.input(index).elements not in allowed:
            name = IntegerProduct.inputs[index].name
            fail(call, f"{name} is {call.input(index)}; it must have {allowed} elements")
    return (TensorSpec(shape, dtype),)


class IntegerMatmul(IntegerProduct):
    """``x[..., depth]`` times packed ``[depth, columns]``."""

    name = "cpu.integer_matmul"

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, columns = call.input(0), call.int_attr("columns")
        if x.rank < 1:
            fail(call, f"x is {x}; it must have an axis")
        panels = panels_shape(x.shape[-1], columns)
        if call.input(1).shape != panels:
            fail(call, f"panels are {call.input(1)}; they must be {list(panels)}")
        return made_of(call, (*x.shape[:-1], columns))


class IntegerConv(IntegerProduct):
    """Convolution over an image whose channels are last.

    x: [n, *spatial, c]; panels: the weight ``[m, *kernel, c / groups]``, packed transposed;
    y: [n, *windows, m], where m is ``columns``.
    """

    name = "cpu.integer_conv"
    attrs: ClassVar[tuple[Attr, ...]] = (
        *IntegerProduct.attrs,
        *PackedConv.attrs[len(Product.attrs) :],
    )

    @classmethod
    def infer(cls, call: OpCall) -> tuple[TensorSpec, ...]:
        x, groups, columns = call.input(0), call.int_attr("groups"), call.int_attr("columns")
        window = window_of(call, call.ints_attr("kernel"))
        if x.rank != len(window.kernel) + 2 or not 3 <= x.rank <= 5:
            fail(call, f"x is {x}; it must be [n, *spatial, c] for kernel {window.kernel}")
        if groups < 1 or x.shape[-1] % groups or columns % groups:
            fail(call, f"groups={groups} must divide {columns} columns and the channels of x {x}")
        depth = math.prod(window.kernel) * x.shape[-1] // groups
        panels = panels_shape(depth, columns, groups)
        if call.input(1).shape != panels:
            fail(call, f"panels are {call.input(1)}; they must be {list(panels)}")
        return made_of(call, (x.shape[0], *slide(call, window, x.shape[1:-1]), columns))


def integer_matmul(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.integer_matmul``: exactly, in doubles."""
    x = without_zero(inputs)
    weight = _weights(call, inputs, x.shape[-1], 1)[0]
    finish_sums(call, np.matmul(x, weight), inputs, outputs[0])


def integer_conv(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    """Compute ``cpu.integer_conv``: exactly, in doubles."""
    x, window, groups = without_zero(inputs), packed_window(call), call.int_attr("groups")
    weights = _weights(call, inputs, math.prod(window.kernel) * x.shape[-1] // groups, groups)
    finish_sums(call, conv_sums(window, x, weights, outputs[0].shape), inputs, outputs[0])


def without_zero(inputs: Sequence[Array | None]) -> Array:
    """x less its zero point, float64."""
    x, zero = given(inputs, 0).astype(np.float64), inputs[X_ZERO]
    return x if zero is None else x - float(zero.reshape(()))


def _weights(call: OpCall, inputs: Sequence[Array | None], depth: int, groups: int) -> Array:
    columns, zeros = call.int_attr("columns"), inputs[WEIGHT_ZEROS]
    packed = unpack_integers(given(inputs, 1), depth, columns, groups).astype(np.float64)
    return packed if zeros is None else packed - zeros.reshape(groups, 1, columns // groups)


def finish_sums(call: OpCall, exact: Array, inputs: Sequence[Array | None], y: Array) -> None:
    """Compute what follows ``exact`` sums into ``y``."""
    sums, shift, scale = exact.astype(np.int64), inputs[SHIFT], inputs[SCALE]
    wrapped = (sums if shift is None else sums + shift).astype(np.int32)
    if scale is None:
        y[...] = wrapped
        return
    floats = wrapped.astype(np.float32) * scale.reshape(-1)
    made = np.empty(y.shape, np.float32)
    finish(call, floats, inputs[BIAS], inputs[ADDEND], made)
    if inputs[Y_SCALE] is None:
        y[...] = made
        return
    zero = inputs[Y_ZERO]
    rounded = np.rint(made / given(inputs, Y_SCALE).reshape(()))
    shifted = rounded + (0 if zero is None else zero.reshape(()).astype(np.float32))
    y[...] = np.nan_to_num(np.clip(shifted, *limits(call.dtype_attr("dtype"))), nan=0)
