"""Products of 8-bit integers: the oracle, in Python's integers, which do not overflow."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.data_format import either_format
from headrace.testing.reference.scalars import store


def _matmul_integer(
    a: Array,
    b: Array,
    a_zero_point: Array | None,
    b_zero_point: Array | None,
    *,
    transpose_a: bool,
    transpose_b: bool,
) -> Array:
    left, right = _less(a, a_zero_point), _less(b, b_zero_point)
    if transpose_a:
        left = np.moveaxis(left, -2, -1)
    if transpose_b:
        right = np.moveaxis(right, -2, -1)
    rows = left[None, :] if a.ndim == 1 else left
    columns = right[:, None] if b.ndim == 1 else right
    batch = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    rows = np.broadcast_to(rows, batch + rows.shape[-2:])
    columns = np.broadcast_to(columns, batch + columns.shape[-2:])
    y = np.empty((*batch, rows.shape[-2], columns.shape[-1]), np.int32)
    for *at, i, j in np.ndindex(*y.shape):
        pairs = zip(rows[(*at, i)], columns[(*at, slice(None), j)], strict=True)
        store(y, (*at, i, j), sum(one * other for one, other in pairs))
    y = y[..., 0] if b.ndim == 1 else y
    if a.ndim == 1:
        y = y[..., 0] if b.ndim == 1 else y[..., 0, :]
    return np.asarray(y)


def _conv_integer(
    x: Array,
    weight: Array,
    bias: Array | None,
    x_zero_point: Array | None,
    weight_zero_point: Array | None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    groups: int,
) -> Array:
    rank = x.ndim - 2
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    begins, ends = (pads or (0,) * 2 * rank)[:rank], (pads or (0,) * 2 * rank)[rank:]
    kernel, out = weight.shape[2:], []
    for size, k, stride, dilation, begin, end in zip(
        x.shape[2:], kernel, strides, dilations, begins, ends, strict=True
    ):
        out.append((size + begin + end - (k - 1) * dilation - 1) // stride + 1)
    pixels = _less(x, x_zero_point)
    per_filter = weight_zero_point
    if per_filter is not None and per_filter.size > 1:
        per_filter = per_filter.reshape(-1, *(1,) * (weight.ndim - 1))
    filters = _less(weight, per_filter)
    y = np.empty((x.shape[0], weight.shape[0], *out), np.int32)
    for n, m, *place in np.ndindex(*y.shape):
        first = m // (weight.shape[0] // groups) * weight.shape[1]
        total = 0 if bias is None else int(bias[m])
        for c, *tap in itertools.product(*map(range, weight.shape[1:])):
            source = [
                at * stride + k * dilation - begin
                for at, stride, k, dilation, begin in zip(
                    place, strides, tap, dilations, begins, strict=True
                )
            ]
            if all(0 <= at < size for at, size in zip(source, x.shape[2:], strict=True)):
                total += filters[(m, c, *tap)] * pixels[(n, first + c, *source)]
        store(y, (n, m, *place), total)
    return y


def _less(x: Array, zero: Array | None) -> Array:
    """Python's integers, less a zero point."""
    wide: Array = x.astype(object)
    if zero is not None:
        wide = wide - (int(zero.item()) if zero.size == 1 else zero.astype(object))
    return wide


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "matmul_integer": _matmul_integer,
    "conv_integer": either_format(_conv_integer, images=2),
}
