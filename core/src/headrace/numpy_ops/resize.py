"""Interpolation in space, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.dtypes import dtype_of
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.numpy_ops.window import accumulator
from headrace.op_call import OpCall
from headrace.ops.resize_taps import Taps, resize_taps
from headrace.tensor_spec import Array


def _resize(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, y = given(inputs, 0), outputs[0]
    taps = resize_taps(call)
    result = x
    if call.str_attr("mode") == "nearest":
        for axis, part in taps.items():
            result = np.take(result, part.sources[:, 0], axis)
    else:
        dtype = accumulator(x.dtype) if dtype_of(x.dtype).is_float else np.dtype(np.float64)
        result = result.astype(dtype, copy=False)
        for axis, part in taps.items():
            result = _interpolate(result, part, axis)
    y[...] = _to_integers(result, y.dtype) if y.dtype.kind in "iu" else result
    for axis, part in taps.items():
        if part.outside.any():
            y[(slice(None),) * axis + (part.outside,)] = call.float_attr("extrapolation")


def _interpolate(x: Array, taps: Taps, axis: int) -> Array:
    shape = [1] * x.ndim
    shape[axis] = -1
    total = np.zeros(x.shape[:axis] + taps.sources.shape[:1] + x.shape[axis + 1 :], x.dtype)
    for sources, weights in zip(taps.sources.T, taps.weights.T.astype(x.dtype), strict=True):
        part = np.take(x, sources, axis)
        part *= weights.reshape(shape)
        total += part
    return total


def _to_integers(values: Array, dtype: np.dtype[Any]) -> Array:
    """Cut towards zero; a sum that is an integer but for rounding is that integer."""
    if values.dtype.kind in "iu":
        return values
    info = np.iinfo(dtype)
    whole = np.trunc(values + np.copysign(1e-6, values))
    return np.where(
        whole >= info.max, info.max, np.where(whole <= info.min, info.min, whole).astype(dtype)
    )


FUNCTIONS: Mapping[str, NumpyFunction] = {"resize": _resize}
