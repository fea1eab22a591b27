"""Elementwise arithmetic of two or more tensors: the oracle, in Python's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.scalars import INF, NAN, each, quotient


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return quotient(a, b)
    if b == 0:
        return 0
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _maximum(a: Any, b: Any) -> Any:
    return NAN if a != a or b != b else max(a, b)


def _minimum(a: Any, b: Any) -> Any:
    return NAN if a != a or b != b else min(a, b)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int):
        if b >= 0:
            return pow(a, b, 1 << 64)  # the low bits are all that is kept
        return {1: 1, -1: (-1) ** -b}.get(a, 0)
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.copysign(INF, a) if b % 2 == 1 else INF
    except ValueError:  # zero to a negative power, or a negative base to a broken one
        if a != 0:
            return NAN
        return math.copysign(INF, a) if b % 2 == 1 else INF


def _mod(a: Any, b: Any, *, fmod: bool) -> Any:
    if isinstance(a, int):
        if b == 0:
            return 0
        return a - b * _divide(a, b) if fmod else a % b
    if b == 0 or math.isinf(a) or math.isnan(a) or math.isnan(b):
        return NAN
    return math.fmod(a, b) if fmod else a % b


def _add_n(*xs: Array) -> Array:
    return each(lambda *numbers: sum(numbers))(*xs)


def _bias_add(x: Array, bias: Array, *, axis: int) -> Array:
    spread = np.empty(x.shape, x.dtype)
    for index in np.ndindex(*x.shape):
        spread[index] = bias[index[axis]]
    return each(lambda a, b: a + b)(x, spread)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": each(lambda a, b: a + b),
    "subtract": each(lambda a, b: a - b),
    "multiply": each(lambda a, b: a * b),
    "divide": each(_divide),
    "maximum": each(_maximum),
    "minimum": each(_minimum),
    "power": each(_power),
    "mod": each(_mod),
    "add_n": _add_n,
    "bias_add": _bias_add,
}
