"""Activations and limits: the oracle, in Python's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.scalars import NAN, each, exp


def _clip(x: Array, low: Array | None, high: Array | None) -> Array:
    y = x.copy()
    for index in np.ndindex(*x.shape):
        if low is not None and y[index] < low.item():
            y[index] = low.item()
        if high is not None and y[index] > high.item():
            y[index] = high.item()
    return y


def _hard_sigmoid(x: float, *, alpha: float, beta: float) -> float:
    line = alpha * x + beta
    return NAN if math.isnan(line) else sorted((0.0, line, 1.0))[1]


def _hard_swish(x: float) -> float:
    return x * _hard_sigmoid(x, alpha=1 / 6, beta=1 / 2)


def _swish(x: float, *, alpha: float) -> float:
    return x / (1 + exp(-alpha * x))


def _leaky_relu(x: float, *, alpha: float) -> float:
    return alpha * x if x < 0 else x


def _thresholded_relu(x: float, *, alpha: float) -> float:
    return x if x > alpha else 0.0


def _elu(x: float, *, alpha: float) -> float:
    return alpha * (math.exp(x) - 1) if x < 0 else x


def _celu(x: float, *, alpha: float) -> float:
    return max(0.0, x) + min(0.0, alpha * (exp(x / alpha) - 1))


def _selu(x: float, *, alpha: float, gamma: float) -> float:
    return gamma * x if x > 0 else gamma * (alpha * math.exp(x) - alpha)


def _softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def _softsign(x: float) -> float:
    return x / (1 + abs(x))


def _mish(x: float) -> float:
    return x * math.tanh(_softplus(x))


def _gelu(x: float, *, approximate: str) -> float:
    if approximate == "tanh":
        return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * math.erfc(-x / math.sqrt(2))


def _prelu(x: Any, slope: Any) -> Any:
    return slope * x if x < 0 else x


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "clip": _clip,
    "hard_sigmoid": each(_hard_sigmoid),
    "hard_swish": each(_hard_swish),
    "swish": each(_swish),
    "leaky_relu": each(_leaky_relu),
    "thresholded_relu": each(_thresholded_relu),
    "elu": each(_elu),
    "celu": each(_celu),
    "selu": each(_selu),
    "softplus": each(_softplus),
    "softsign": each(_softsign),
    "mish": each(_mish),
    "gelu": each(_gelu),
    "prelu": each(_prelu),
}
