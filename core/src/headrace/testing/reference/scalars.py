"""How a function of Python numbers becomes the oracle of an elementwise op."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.tensor_spec import Array

INF, NAN = math.inf, math.nan


def number(element: Any) -> Any:
    """An element of an array as a Python bool, int or float."""
    kind = np.dtype(element.dtype).kind
    if kind == "b":
        return bool(element)
    return int(element) if kind in "iu" else float(element)


def store(y: Array, index: tuple[int, ...], value: Any) -> None:
    """Put a Python number into ``y``: integers keep their low bits, floats are rounded."""
    if y.dtype.kind in "iu":
        bits = 8 * y.dtype.itemsize
        value = int(value) & ((1 << bits) - 1)
        if y.dtype.kind == "i" and value >> (bits - 1):
            value -= 1 << bits
    with np.errstate(over="ignore"):  # beyond the range is infinity
        y[index] = value


def each(function: Callable[..., Any], dtype: Any = None) -> Callable[..., Array]:
    """The oracle that applies ``function`` to the numbers at each index, after broadcasting.

    The result has ``dtype``, or the dtype of the first array.
    """

    def run(*arrays: Array, **attrs: Any) -> Array:
        spread = np.broadcast_arrays(*arrays)
        y = np.empty(spread[0].shape, dtype or arrays[0].dtype)
        for index in np.ndindex(*y.shape):
            store(y, index, function(*(number(array[index]) for array in spread), **attrs))
        return y

    return run


def total(function: Callable[[float], float]) -> Callable[[float], float]:
    """``function`` with NaN where Python raises ValueError, and infinity where it overflows."""

    def run(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return NAN
        except OverflowError:
            return INF

    return run


def quotient(a: float, b: float) -> float:
    """``a / b`` with infinity or NaN where Python refuses to divide by zero."""
    if b:
        return a / b
    if a == 0 or math.isnan(a):
        return NAN
    return math.copysign(INF, a) * math.copysign(1.0, b)


def exp(x: float) -> float:
    """``e ** x``, infinite where it overflows."""
    return INF if x > 709.7827128933840 else math.exp(x)
