"""Tensors made from a few values: the oracle, one element at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.dtypes import DType
from headrace.tensor_spec import Array


def _fill(*, shape: tuple[int, ...], value: float, dtype: DType) -> Array:
    y = np.empty(shape, dtype.numpy)
    for at in np.ndindex(*shape):
        y[at] = value
    return y


def _arange(start: Array, step: Array, *, size: int) -> Array:
    first, stride, dtype = start.reshape(-1)[0].item(), step.reshape(-1)[0].item(), start.dtype
    values = [first + number * stride for number in range(size)]
    if isinstance(first, int):
        span, low = 1 << 8 * dtype.itemsize, int(np.iinfo(dtype).min)
        values = [(value - low) % span + low for value in values]
    return np.array(values, dtype)


def _one_hot(indices: Array, values: Array, *, depth: int, axis: int) -> Array:
    axis %= indices.ndim + 1
    shape = list(indices.shape)
    shape.insert(axis, depth)
    y = np.empty(shape, values.dtype)
    for target in np.ndindex(*shape):
        source = target[:axis] + target[axis + 1 :]
        index = int(indices[source].item())
        y[target] = values[1 if target[axis] in (index, index + depth) else 0]
    return y


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "fill": _fill,
    "arange": _arange,
    "one_hot": _one_hot,
}
