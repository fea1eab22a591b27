"""Comparisons, logic, bits and choice: the oracle, one element at a time in Python's numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.integers import bits_of, wrapped


def _predicate(holds: Callable[..., bool]) -> Callable[..., Array]:
    def run(*xs: Array, **attrs: Any) -> Array:
        return _each(lambda *values: holds(*values, **attrs), np.dtype(np.bool_), *xs)

    return run


def _bits(combine: Callable[..., int]) -> Callable[..., Array]:
    def run(*xs: Array) -> Array:
        return _each(lambda *values: wrapped(combine(*values), xs[0]), xs[0].dtype, *xs)

    return run


def _each(function: Callable[..., Any], dtype: np.dtype[Any], *xs: Array) -> Array:
    """``function`` of the elements at each place of the broadcast inputs."""
    y = np.empty(np.broadcast_shapes(*(x.shape for x in xs)), dtype)
    wide = [np.broadcast_to(x, y.shape) for x in xs]
    for at in np.ndindex(*y.shape):
        y[at] = function(*(int(x[at]) if x.dtype.kind in "iub" else float(x[at]) for x in wide))
    return y


def _is_inf(x: float, *, detect_negative: bool, detect_positive: bool) -> bool:
    return math.isinf(x) and (detect_positive if x > 0 else detect_negative)


def _bit_shift(x: Array, count: Array, *, direction: str) -> Array:
    bits = bits_of(x)

    def shifted(value: int, places: int) -> int:
        if not 0 <= places < bits:
            return -1 if direction == "right" and value < 0 else 0
        if direction == "left":
            return wrapped(value * (1 << places), x)
        return value // (1 << places)  # rounds down, as filling with the sign does

    return _each(shifted, x.dtype, x, count)


def _where(condition: Array, x: Array, y: Array) -> Array:
    chosen = np.empty(np.broadcast_shapes(condition.shape, x.shape, y.shape), x.dtype)
    wide = [np.broadcast_to(array, chosen.shape) for array in (condition, x, y)]
    for at in np.ndindex(*chosen.shape):
        chosen[at] = wide[1][at] if wide[0][at] else wide[2][at]
    return chosen


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "equal": _predicate(operator.eq),
    "greater": _predicate(operator.gt),
    "less": _predicate(operator.lt),
    "greater_equal": _predicate(operator.ge),
    "less_equal": _predicate(operator.le),
    "logical_and": _predicate(lambda a, b: a + b == 2),
    "logical_or": _predicate(lambda a, b: a + b > 0),
    "logical_xor": _predicate(lambda a, b: a + b == 1),
    "logical_not": _predicate(lambda x: x == 0),
    "is_nan": _predicate(math.isnan),
    "is_inf": _predicate(_is_inf),
    "bitwise_and": _bits(operator.and_),
    "bitwise_or": _bits(operator.or_),
    "bitwise_xor": _bits(operator.xor),
    "bitwise_not": _bits(lambda x: -x - 1),
    "bit_shift": _bit_shift,
    "where": _where,
}
