"""Windows that slide over space: the oracle, one window at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.dtypes import dtype_of
from headrace.tensor_spec import Array
from headrace.testing.reference.data_format import either_format


def _max_pool(
    x: Array,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    ceil_mode: bool,
    storage_order: str,
) -> tuple[Array, Array]:
    reads = _windows(x.shape[2:], kernel, strides, dilations, pads, ceil_mode)
    y = np.empty((*x.shape[:2], *(len(axis) for axis in reads)), x.dtype)
    indices = np.full(y.shape, -1, np.int64)
    spatial = x.shape[2:]
    for n, c, *place in np.ndindex(*y.shape):
        best: Any = -math.inf if dtype_of(x.dtype).is_float else np.iinfo(x.dtype).min
        winner = None
        for source in _real(reads, place, spatial):
            value = x[(n, c, *source)]
            if winner is None or value > best or (value != value and best == best):
                best, winner = value, source
        y[(n, c, *place)] = best
        if winner is not None:
            counted = list(zip(winner, spatial, strict=True))
            inner = 0
            for at, size in counted if storage_order == "row" else reversed(counted):
                inner = inner * size + at
            indices[(n, c, *place)] = (n * x.shape[1] + c) * math.prod(spatial) + inner
    return y, indices


def _avg_pool(
    x: Array,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    ceil_mode: bool,
    count_include_pad: bool,
) -> Array:
    spatial = x.shape[2:]
    reads = _windows(spatial, kernel, strides, dilations, pads, ceil_mode)
    y = np.zeros((*x.shape[:2], *(len(axis) for axis in reads)), np.float64)
    ends = pads[len(spatial) :] or (0,) * len(spatial)
    padded = [size + end for size, end in zip(spatial, ends, strict=True)]
    for n, c, *place in np.ndindex(*y.shape):
        values = [float(x[(n, c, *source)]) for source in _real(reads, place, spatial)]
        count = len(values)
        if count_include_pad:
            counted = [
                [at for at in axis[where] if at < limit]
                for axis, where, limit in zip(reads, place, padded, strict=True)
            ]
            count = math.prod(map(len, counted))
        y[(n, c, *place)] = math.fsum(values) / count if count else 0.0
    return y.astype(x.dtype)


def _windows(
    spatial: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    ceil_mode: bool,
) -> list[list[list[int]]]:
    """For each axis and each window along it, the positions that its taps read."""
    rank, reads = len(spatial), []
    for axis, size in enumerate(spatial):
        stride = strides[axis] if strides else 1
        dilation = dilations[axis] if dilations else 1
        begin, end = (pads[axis], pads[axis + rank]) if pads else (0, 0)
        windows: list[list[int]] = []
        start = -begin
        while True:
            taps = [start + k * dilation for k in range(kernel[axis])]
            fits = taps[-1] < size + end
            overhangs = ceil_mode and start < size and _misses(taps[-1], size + end, stride)
            if not fits and not overhangs:
                break
            windows.append(taps)
            start += stride
        reads.append(windows)
    return reads


def _misses(last: int, limit: int, stride: int) -> bool:
    """Whether a window that ends at ``last`` is the first of its row that does not fit."""
    return last - stride < limit - 1


def _real(
    reads: list[list[list[int]]], place: list[int], spatial: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """The elements of x under the window at ``place``, in row-major order."""
    axes = [axis[where] for axis, where in zip(reads, place, strict=True)]
    return [
        source
        for source in itertools.product(*axes)
        if all(0 <= at < size for at, size in zip(source, spatial, strict=True))
    ]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "max_pool": either_format(_max_pool),
    "avg_pool": either_format(_avg_pool),
}
