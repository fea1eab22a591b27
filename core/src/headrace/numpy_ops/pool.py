"""Windows that slide over space, in numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.dtypes import dtype_of
from headrace.numpy_ops.function import NumpyFunction, given
from headrace.numpy_ops.window import accumulator, taps
from headrace.op_call import OpCall
from headrace.ops.pool import pool_window
from headrace.ops.window import Window
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
    places = taps(_flat_indices(x.shape, call.str_attr("storage_order")), window, y.shape[2:], -1)
    for (_, read), (_, place) in zip(taps(x, window, y.shape[2:], lowest), places, strict=True):
        is_nan, has_nan = read != read, y != y
        wins = (indices < 0) | (read > y) | (is_nan & ~has_nan)
        wins &= place >= 0
        np.copyto(y, read, where=wins)
        np.copyto(indices, place, where=wins)


def _flat_indices(shape: tuple[int, ...], storage_order: str) -> Array:
    """int64[*shape]: the number of each element in all of x, by the order of its spatial axes."""
    planes = np.arange(math.prod(shape[:2])).reshape(*shape[:2], *(1,) * len(shape[2:]))
    inner = np.arange(math.prod(shape[2:]), dtype=np.int64)
    order = inner.reshape(shape[2:], order="C" if storage_order == "row" else "F")
    return planes * math.prod(shape[2:]) + order


def _avg_pool(call: OpCall, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
    x, y = given(inputs, 0), outputs[0]
    window = pool_window(call)
    total = np.zeros(y.shape, accumulator(x.dtype))
    for _, read in taps(x, window, y.shape[2:], 0):
        total += read
    counts = _counts(x.shape[2:], y.shape[2:], window, call.flag_attr("count_include_pad"))
    y[...] = total / np.maximum(counts, 1).astype(total.dtype)


def _counts(
    spatial: tuple[int, ...], windows: tuple[int, ...], window: Window, include_pad: bool
) -> Array:
    """How many taps count at each position: the product of what counts on each axis."""
    counts: Array = np.ones((), np.int64)
    for axis, (size, length) in enumerate(zip(spatial, windows, strict=True)):
        starts = np.arange(length) * window.strides[axis] - window.pads_begin[axis]
        reads = starts[:, None] + np.arange(window.kernel[axis]) * window.dilations[axis]
        low = -window.pads_begin[axis] if include_pad else 0
        high = size + (window.pads_end[axis] if include_pad else 0)
        counts = counts[..., None] * np.count_nonzero((reads >= low) & (reads < high), axis=1)
    return counts


FUNCTIONS: Mapping[str, NumpyFunction] = {"max_pool": _max_pool, "avg_pool": _avg_pool}
