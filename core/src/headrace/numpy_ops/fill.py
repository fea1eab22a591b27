"""Tensors made from a few values, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headrace.numpy_ops.function import NumpyFunction, given
from headrace.op_call import OpCall
from headrace.tensor_spec import Array


def _fill(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    outputs[0][...] = call.float_attr("value")


def _arange(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    out = outputs[0]
    exact = call.outputs[0].dtype.is_int
    # Integers wrap in their own width. Floats count in float64, as adding up float16 steps drifts.
    dtype = out.dtype if exact else np.dtype(np.float64)
    start, step = (given(inputs, index).reshape(()).astype(dtype) for index in (0, 1))
    # int64 counts wrap to the width of `dtype`, which is what multiplying in that width gives.
    out[...] = start + np.arange(out.size).astype(dtype) * step


def _one_hot(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    indices, values, out = given(inputs, 0), given(inputs, 1), outputs[0]
    depth, axis = call.int_attr("depth"), call.int_attr("axis") % out.ndim
    # Compare before changing dtypes: unsigned and floating indices may be beyond int64.
    inside = (indices > -depth - 1) & (indices < depth)
    cut = np.where(inside, indices, 0).astype(np.int64)
    positions = np.where(inside, np.where(cut < 0, cut + depth, cut), -1)
    places = np.arange(depth).reshape(depth, *(1,) * (out.ndim - axis - 1))
    out[...] = values[0]
    np.copyto(out, values[1:].reshape(()), where=np.expand_dims(positions, axis) == places)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "fill": _fill,
    "arange": _arange,
    "one_hot": _one_hot,
}
