"""Products of 8-bit integers, in numpy: exactly, in floats, for which there are fast products."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.dtypes import DType
from headrace.numpy_ops.conv import convolve
from headrace.numpy_ops.data_format import either_format
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.ops.integer import ConvInteger, exact_float
from headrace.tensor_spec import Array


def _matmul_integer(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    a, b = given(inputs, 0), given(inputs, 1)
    depth = a.shape[-2 if call.flag_attr("transpose_a") and a.ndim > 1 else -1]
    dtype = exact_float(depth)
    left, right = _less(a, inputs[2], dtype), _less(b, inputs[3], dtype)
    if call.flag_attr("transpose_a"):
        left = left.swapaxes(-1, -2)
    if call.flag_attr("transpose_b"):
        right = right.swapaxes(-1, -2)
    outputs[0][...] = _wrapped(np.asarray(np.matmul(left, right)))


def _conv_integer(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, weight, bias, zero = given(inputs, 0), given(inputs, 1), inputs[2], inputs[4]
    dtype = exact_float(math.prod(weight.shape[1:]))
    if zero is not None:
        zero = zero.reshape(-1, *(1,) * (weight.ndim - 1))
    sums = np.empty(outputs[0].shape, dtype.numpy)
    convolve(call, _less(x, inputs[3], dtype), _less(weight, zero, dtype), None, sums)
    outputs[0][...] = _wrapped(sums)
    if bias is not None:
        outputs[0][...] += bias.reshape(-1, *(1,) * (x.ndim - 2))


def _less(x: Array, zero: Array | None, dtype: DType) -> Array:
    wide: Array = x.astype(dtype.numpy)
    if zero is not None:
        wide -= zero.reshape(()) if zero.size == 1 else zero
    return wide


def _wrapped(sums: Array) -> Array:
    """Whole floats as int32, of which the low bits are kept."""
    return sums.astype(np.int64).astype(np.int32)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "matmul_integer": _matmul_integer,
    "conv_integer": either_format(ConvInteger, _conv_integer),
}
