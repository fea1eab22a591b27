"""Changes of dtype: the oracle, in fractions, which are exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from headrace.dtypes import DType, dtype_of, int32
from headrace.tensor_spec import Array


def _cast(x: Array, *, dtype: DType, saturate: bool) -> Array:
    source, y = dtype_of(x.dtype), np.empty(x.shape, dtype.numpy)
    for at in np.ndindex(*x.shape):
        value: Any = float(x[at]) if source.is_float else int(x[at])
        if source == dtype:
            y[at] = x[at]
        elif dtype.kind == "b":
            y[at] = value != 0
        elif dtype.is_float:
            y[at] = _to_float(value, y, saturate and dtype.itemsize == 1)
        else:
            bits = int(dtype.name.lstrip("uint"))
            limits = _limits(int32, 32) if bits == 4 else _limits(dtype, bits)
            whole = _cut(value, *limits) if source.is_float else value
            y[at] = _low_bits(whole, dtype, bits)
    return y


def _low_bits(value: int, dtype: DType, bits: int) -> int:
    low, high = _limits(dtype, bits)
    return (value - low) % (high - low + 1) + low


def _cut(value: float, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def _limits(dtype: DType, bits: int) -> tuple[int, int]:
    return (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _to_float(value: float, y: Array, saturate: bool) -> float:
    """The float of the dtype of ``y`` that is nearest to ``value``; on a tie, the even one."""
    info: Any = ml_dtypes.finfo(y.dtype)
    greatest = float(info.max)
    if math.isnan(value):
        return math.nan
    if not math.isinf(value):
        exact = Fraction(value)
        step = _step(exact, int(info.nmant), int(info.minexp))
        nearest = round(exact / step) * step  # Python rounds halves to even
        if abs(nearest) <= greatest:
            return math.copysign(float(nearest), value)
    beyond = greatest if saturate else math.inf if _has_infinity(y) else math.nan
    return math.copysign(beyond, value)


def _step(exact: Fraction, mantissa_bits: int, least_exponent: int) -> Fraction:
    """The distance of neighbouring floats around ``exact``, whose denominator is a power of two."""
    above, below = exact.numerator, exact.denominator
    exponent = max(above.bit_length() - below.bit_length(), least_exponent)
    return Fraction(2) ** (exponent - mantissa_bits)


def _has_infinity(y: Array) -> bool:
    return not dtype_of(y.dtype).name.startswith(("float8_e4m3", "float8_e5m2fnuz"))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"cast": _cast}
