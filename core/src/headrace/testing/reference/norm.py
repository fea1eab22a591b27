"""Normalisations: the oracle, in Python's floats with exact sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.data_format import either_format


def _normalization(
    x: Array,
    mean: Array,
    variance: Array,
    gamma: Array,
    beta: Array,
    *,
    axis: int,
    epsilon: float,
) -> Array:
    y = np.empty(x.shape, np.float64)
    for at in np.ndindex(*x.shape):
        c = at[axis]
        deviation = math.sqrt(float(variance[c]) + epsilon)
        centred = float(x[at]) - float(mean[c])
        y[at] = _divide(float(gamma[c]) * centred, deviation) + float(beta[c])
    return y.astype(x.dtype)


def _instance_norm(x: Array, gamma: Array, beta: Array, *, epsilon: float) -> Array:
    return _group_norm(x, gamma, beta, groups=x.shape[1], epsilon=epsilon)


def _group_norm(x: Array, gamma: Array, beta: Array, *, groups: int, epsilon: float) -> Array:
    y = np.empty(x.shape, np.float64)
    places = list(np.ndindex(*x.shape[2:]))
    size = x.shape[1] // groups if groups else 0
    for n in range(x.shape[0]):
        for group in range(groups):
            members = [
                (n, c, *place) for c in range(group * size, group * size + size) for place in places
            ]
            mean, variance = _moments([float(x[at]) for at in members])
            for at in members:
                normal = _divide(float(x[at]) - mean, math.sqrt(variance + epsilon))
                y[at] = normal * float(gamma[at[1]]) + float(beta[at[1]])
    return y.astype(x.dtype)


def _layer_norm(
    x: Array, scale: Array | None, bias: Array | None, *, axis: int, epsilon: float
) -> tuple[Array, Array, Array]:
    outer = x.ndim + axis if axis < 0 else axis
    y = np.empty(x.shape, np.float64)
    ones = (1,) * (x.ndim - outer)
    kept = np.float64 if x.dtype == np.float64 else np.float32
    means = np.empty((*x.shape[:outer], *ones), kept)
    factors = np.empty(means.shape, kept)
    factor = np.ones(x.shape) if scale is None else np.broadcast_to(scale, x.shape)
    shift = np.zeros(x.shape) if bias is None else np.broadcast_to(bias, x.shape)
    for row in np.ndindex(*x.shape[:outer]):
        members = [(*row, *inner) for inner in np.ndindex(*x.shape[outer:])]
        mean, variance = _moments([float(x[at]) for at in members])
        inverse = _divide(1.0, math.sqrt(variance + epsilon))
        means[(*row, *(0,) * len(ones))] = mean
        factors[(*row, *(0,) * len(ones))] = inverse
        for at in members:
            y[at] = (float(x[at]) - mean) * inverse * float(factor[at]) + float(shift[at])
    return y.astype(x.dtype), means, factors


def _lrn(x: Array, *, size: int, alpha: float, beta: float, bias: float) -> Array:
    y = np.empty(x.shape, np.float64)
    for n, c, *place in np.ndindex(*x.shape):
        first, last = c - math.floor((size - 1) / 2), c + math.ceil((size - 1) / 2)
        near = [k for k in range(first, last + 1) if 0 <= k < x.shape[1]]
        total = math.fsum(float(x[(n, k, *place)]) ** 2 for k in near)
        y[(n, c, *place)] = float(x[(n, c, *place)]) / (bias + alpha / size * total) ** beta
    return y.astype(x.dtype)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean and biased variance."""
    if not values:
        return math.nan, math.nan
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / len(values)


def _divide(a: float, b: float) -> float:
    """Division as IEEE 754 has it, where Python raises."""
    return float(np.divide(a, b)) if b else (math.copysign(math.inf, a) if a else math.nan)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "normalization": _normalization,
    "instance_norm": either_format(_instance_norm),
    "group_norm": either_format(_group_norm),
    "layer_norm": _layer_norm,
    "lrn": either_format(_lrn),
}
