"""Products of matrices: the oracle, one sum of products for each element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.scalars import number, store


def _matmul(
    a: Array, b: Array, *, transpose_a: bool, transpose_b: bool, rounds_a: int = 0
) -> Array:
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    rows, depth = left.shape[-2:][::-1] if transpose_a else left.shape[-2:]
    columns = right.shape[-2] if transpose_b else right.shape[-1]
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = np.broadcast_to(left, batch + left.shape[-2:])
    right = np.broadcast_to(right, batch + right.shape[-2:])
    y = np.empty((*batch, rows, columns), a.dtype)
    for *at, row, column in np.ndindex(*y.shape):
        total: Any = 0
        for k in range(depth):
            one = left[(*at, k, row) if transpose_a else (*at, row, k)]
            other = right[(*at, column, k) if transpose_b else (*at, k, column)]
            total += number(one) * number(other)
        store(y, (*at, row, column), total)
    y = y[..., 0] if b.ndim == 1 else y
    if a.ndim == 1:
        y = y[..., 0] if b.ndim == 1 else y[..., 0, :]
    return y


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"matmul": _matmul}
