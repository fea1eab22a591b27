"""Numbers as small integers, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.cast import to_float8
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.quantize import block_index, computed_in, limits, spread_shape
from headrace.tensor_spec import Array


def _quantize(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    computed, dtype = computed_in(call).numpy, call.outputs[0].dtype
    zero = inputs[2]
    scale = _spread(call, given(inputs, 1)).astype(computed)
    y = np.asarray(np.divide(given(inputs, 0).astype(computed, copy=False), scale))
    if not dtype.is_float:
        np.rint(y, out=y)
    if zero is not None:
        y += _spread(call, zero).astype(computed)
    if dtype.is_float:
        to_float8(y, outputs[0], call)
        return
    np.clip(y, *limits(dtype), out=y)
    np.copyto(y, 0, where=np.isnan(y))
    outputs[0][...] = y.astype(np.int32).astype(outputs[0].dtype)


def _dequantize(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, zero, computed = given(inputs, 0), inputs[2], computed_in(call).numpy
    if zero is not None:
        # Differences of integers are taken where none wraps around, before any is rounded.
        exact = computed if call.input(0).dtype.is_float else np.dtype(np.int64)
        if x.dtype.itemsize == 1 and exact != computed:
            exact = np.dtype(np.int16)
        x = x.astype(exact) - _spread(call, zero).astype(exact)
    scale = _spread(call, given(inputs, 1)).astype(computed)
    outputs[0][...] = (x.astype(computed) * scale).astype(outputs[0].dtype)


def _dynamic_quantize(
    call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]
) -> None:
    for made, y in zip(dynamic_quantized(given(inputs, 0)), outputs, strict=True):
        y[...] = made


def dynamic_quantized(x: Array) -> tuple[Array, Array, Array]:
    """``x`` as bytes by its own range, their scale, and their zero point."""
    low, high = x.min(initial=np.float32(0)), x.max(initial=np.float32(0))
    scale = np.asarray((high - low) / np.float32(255))
    zero_point = np.asarray(_byte(0 - np.divide(low, scale)))
    y = _byte(np.rint(np.divide(x, scale)) + zero_point.astype(np.float32))
    return y, scale, zero_point


def _unpack_bits(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, bits = given(inputs, 0), call.int_attr("bits")
    for place in range(8 // bits):
        column = outputs[0][..., place :: 8 // bits]
        np.right_shift(x[..., : column.shape[-1]], np.uint8(place * bits), out=column)
        column &= np.uint8((1 << bits) - 1)


def _byte(x: Array) -> Array:
    """Numbers as uint8; NaN is 0."""
    whole: Array = np.nan_to_num(np.clip(np.rint(x), 0, 255), nan=0).astype(np.uint8)
    return whole


def _spread(call: OpCall, array: Array) -> Array:
    """A scale or zero point, so that it broadcasts to x."""
    spread, index = array.reshape(spread_shape(call)), block_index(call)
    return spread if index is None else np.take(spread, index, axis=call.int_attr("axis"))


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "quantize": _quantize,
    "dequantize": _dequantize,
    "dynamic_quantize": _dynamic_quantize,
    "unpack_bits": _unpack_bits,
}
