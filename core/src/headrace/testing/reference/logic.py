"""Comparisons, logic, bits and choice: the oracle, one element at a time in Python's numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.tensor_spec import Array
from headrace.testing.reference.scalars import each


def _predicate(holds: Callable[..., bool]) -> Callable[..., Array]:
    return each(holds, np.bool_)


def _is_inf(x: float, *, detect_negative: bool, detect_positive: bool) -> bool:
    return math.isinf(x) and (detect_positive if x > 0 else detect_negative)


def _bit_shift(x: Array, count: Array, *, direction: str) -> Array:
    bits = 8 * x.dtype.itemsize

    def shifted(value: int, places: int) -> int:
        if not 0 <= places < bits:
            return -1 if direction == "right" and value < 0 else 0
        if direction == "left":
            return value * (1 << places)
        return value // (1 << places)  # rounds down, as filling with the sign does

    return each(shifted)(x, count)


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
    "bitwise_and": each(operator.and_),
    "bitwise_or": each(operator.or_),
    "bitwise_xor": each(operator.xor),
    "bitwise_not": each(lambda x: -x - 1),
    "bit_shift": _bit_shift,
    "where": _where,
}
