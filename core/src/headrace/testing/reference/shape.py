"""The same elements in another shape or order: the oracle, one element at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _identity(x: Array) -> Array:
    return np.array(x.tolist(), x.dtype).reshape(x.shape)


def _reshape(x: Array, *, shape: tuple[int, ...]) -> Array:
    known = math.prod(dim for dim in shape if dim >= 0)
    y = np.empty([dim if dim >= 0 else x.size // known for dim in shape], x.dtype)
    for target, source in zip(np.ndindex(*y.shape), np.ndindex(*x.shape), strict=True):
        y[target] = x[source]
    return y


def _transpose(x: Array, *, perm: tuple[int, ...]) -> Array:
    order = [axis % x.ndim for axis in perm] or list(range(x.ndim))[::-1]
    y = np.empty([x.shape[axis] for axis in order], x.dtype)
    for target in np.ndindex(*y.shape):
        source = [0] * x.ndim
        for position, axis in zip(target, order, strict=True):
            source[axis] = position
        y[target] = x[tuple(source)]
    return y


def _expand(x: Array, *, shape: tuple[int, ...]) -> Array:
    y = np.empty(shape, x.dtype)
    for target in np.ndindex(*shape):
        tail = target[len(shape) - x.ndim :]
        y[target] = x[tuple(0 if dim == 1 else at for at, dim in zip(tail, x.shape, strict=True))]
    return y


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "identity": _identity,
    "reshape": _reshape,
    "transpose": _transpose,
    "expand": _expand,
}
