"""Elementwise functions of one tensor: the oracle, in Python's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from headrace.testing.reference.scalars import INF, NAN, each, exp, quotient, total


def _relu(x: Any) -> Any:
    return x if x > 0 or x != x else type(x)(0)


def _sign(x: Any) -> Any:
    return x if x != x else (x > 0) - (x < 0)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Python's rounding gives an int, which infinity and NaN have none of."""
    return lambda x: float(function(x)) if math.isfinite(x) else x


def _log(x: float) -> float:
    return -INF if x == 0 else total(math.log)(x)


def _sinh(x: float) -> float:
    return math.copysign(total(math.sinh)(abs(x)), x)


def _atanh(x: float) -> float:
    return math.copysign(INF, x) if abs(x) == 1 else total(math.atanh)(x)


def _sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x)) if x >= 0 else exp(x) / (1 + exp(x)) if x < 0 else NAN


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "relu": each(_relu),
    "negative": each(lambda x: -x),
    "abs": each(abs),
    "sign": each(_sign),
    "floor": each(_whole(math.floor)),
    "ceil": each(_whole(math.ceil)),
    "round": each(_whole(round)),
    "sqrt": each(total(math.sqrt)),
    "reciprocal": each(lambda x: quotient(1.0, x)),
    "exp": each(exp),
    "log": each(_log),
    "erf": each(math.erf),
    "sigmoid": each(_sigmoid),
    "sin": each(total(math.sin)),
    "cos": each(total(math.cos)),
    "tan": each(total(math.tan)),
    "asin": each(total(math.asin)),
    "acos": each(total(math.acos)),
    "atan": each(math.atan),
    "sinh": each(_sinh),
    "cosh": each(total(math.cosh)),
    "tanh": each(math.tanh),
    "asinh": each(math.asinh),
    "acosh": each(total(math.acosh)),
    "atanh": each(_atanh),
}
