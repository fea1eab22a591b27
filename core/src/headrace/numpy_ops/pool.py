"""Windows that slide over space, in numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.dtypes import dtype_of
from headrace.numpy_ops.data_format import either_format
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.numpy_ops.window import accumulator, taps
from headrace.op_call import OpCall
from headrace.ops.pool import AvgPool, MaxPool, spatial_indices, tap_counts
from headrace.ops.window import pool_window
from headrace.tensor_spec import Array


def _max_pool(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, y = given(inputs, 0), outputs[0]
    window = pool_window(call)
    lowest = -np.inf if dtype_of(x.dtype).is_float else np.iinfo(x.dtype).min
    if len(outputs) == 1:
        y[...] = lowest
        for _, read in taps(x, window, y.shape[2:], lowest):
            np.maximum(y, read, out=y)
        return
    indices = outputs[1]
    y[...], indices[...] = lowest, -1
    places = taps(_flat_indices(call), window, y.shape[2:], -1)
    for (_, read), (_, place) in zip(taps(x, window, y.shape[2:], lowest), places, strict=True):
        is_nan, has_nan = read != read, y != y
        wins = (indices < 0) | (read > y) | (is_nan & ~has_nan)
        wins &= place >= 0
        np.copyto(y, read, where=wins)
        np.copyto(indices, place, where=wins)


def _flat_indices(call: OpCall) -> Array:
    """int64[n, c, *spatial]: the number of each element in all of x."""
    shape = call.input(0).shape
    planes = np.arange(math.prod(shape[:2])).reshape(*shape[:2], *(1,) * len(shape[2:]))
    return planes * math.prod(shape[2:]) + spatial_indices(call)


def _avg_pool(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, y = given(inputs, 0), outputs[0]
    window = pool_window(call)
    total = np.zeros(y.shape, accumulator(x.dtype))
    for _, read in taps(x, window, y.shape[2:], 0):
        total += read
    y[...] = total / np.maximum(tap_counts(call), 1).astype(total.dtype)


FUNCTIONS: Mapping[str, NumpyFunction] = {
    "max_pool": either_format(MaxPool, _max_pool),
    "avg_pool": either_format(AvgPool, _avg_pool),
}
