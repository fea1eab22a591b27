"""Distributions along an axis: the oracle, one line after another in Python's floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "softmax": _along_axis(_softmax),
    "log_softmax": _along_axis(_log_softmax),
}
