"""Distributions along an axis, and by pairs of classes: the oracle, in Python's floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from headrace.tensor_spec import Array


def _along_axis(line: Callable[[list[float]], list[float]]) -> Callable[..., Array]:
    def run(x: Array, *, axis: int) -> Array:
        axis %= x.ndim
        y = np.empty(x.shape, np.float64)
        for at in np.ndindex(*x.shape[:axis], 1, *x.shape[axis + 1 :]):
            places = [(*at[:axis], k, *at[axis + 1 :]) for k in range(x.shape[axis])]
            values = line([float(x[place]) for place in places])
            for place, value in zip(places, values, strict=True):
                y[place] = value
        return y.astype(x.dtype)

    return run


def _log_softmax(line: list[float]) -> list[float]:
    if not line:
        return []
    if any(math.isnan(value) for value in line) or math.isinf(max(line)):
        return [math.nan] * len(line)  # infinity over infinity, or 0 over 0
    greatest = max(line)
    total = math.fsum(math.exp(value - greatest) for value in line)
    return [value - greatest - math.log(total) for value in line]


def _softmax(line: list[float]) -> list[float]:
    return [math.exp(value) for value in _log_softmax(line)]


def _couple_pairs(shares: Array, *, classes: int) -> Array:
    return np.array([_coupled(row, classes) for row in shares.tolist()], np.float32).reshape(
        len(shares), classes
    )


def _coupled(shares: list[float], classes: int) -> list[float]:
    """One row: p @ Q @ p becomes less, one class after another, and p sums to 1."""
    r = dict(zip(combinations(range(classes), 2), shares, strict=True))
    r |= {(second, first): 1 - share for (first, second), share in r.items()}
    every = range(classes)
    q = [
        [
            math.fsum(r[k, i] ** 2 for k in every if k != i) if i == j else -r[j, i] * r[i, j]
            for j in every
        ]
        for i in every
    ]
    p = [1 / classes] * classes
    for _ in range(max(100, classes)):
        sums = [math.fsum(q[i][j] * p[j] for j in every) for i in every]
        total = math.fsum(p[i] * sums[i] for i in every)
        if not max(abs(number - total) for number in sums) >= 0.005 / classes:
            break
        for i in every:
            sums = [math.fsum(q[k][j] * p[j] for j in every) for k in every]
            total = math.fsum(p[k] * sums[k] for k in every)
            p[i] += (total - sums[i]) / q[i][i]
            whole = math.fsum(p)
            p = [number / whole for number in p]
    return p


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "softmax": _along_axis(_softmax),
    "log_softmax": _along_axis(_log_softmax),
    "couple_pairs": _couple_pairs,
}
