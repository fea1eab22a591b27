"""Numbers as small integers: the oracle, one number at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.dtypes import DType, dtype_of
from headrace.tensor_spec import Array
from headrace.testing.reference import cast
from headrace.testing.reference.scalars import quotient, store


def _quantize(
    x: Array,
    scale: Array,
    zero_point: Array | None,
    *,
    axis: int,
    block_size: int,
    dtype: DType,
    saturate: bool,
) -> Array:
    y = np.empty(x.shape, dtype.numpy)
    computed = np.float64 if np.float64 in (x.dtype, scale.dtype) else np.float32
    for at in np.ndindex(*x.shape):
        place = _place(at, x, scale, axis, block_size)
        # In float64 the quotient of two float32 is near enough to round to float32 as itself.
        exact = quotient(_rounded(x[at], computed), float(scale.reshape(-1)[place]))
        ratio = _rounded(exact, computed)
        zero = 0 if zero_point is None else zero_point.reshape(-1)[place]
        if dtype.is_float:
            total = np.array(_rounded(ratio + float(zero), computed))
            y[at] = cast.FUNCTIONS["cast"](total, dtype=dtype, saturate=saturate)
        else:
            y[at] = _whole(ratio, int(zero), dtype)
    return y


def _rounded(value: Any, dtype: Any) -> float:
    y = np.empty(1, dtype)
    store(y, (0,), value)
    return float(y[0])


def _whole(ratio: float, zero: int, dtype: DType) -> int:
    bits = int(dtype.name.lstrip("uint"))
    low = 0 if dtype.kind == "u" else -(1 << bits - 1)
    high = low + (1 << bits) - 1
    if ratio != ratio:
        return 0
    if abs(ratio) > 2**40:  # infinite or nearly: Python would count every digit
        return high if ratio > 0 else low
    return min(max(round(ratio) + zero, low), high)


def _dequantize(
    x: Array,
    scale: Array,
    zero_point: Array | None,
    *,
    axis: int,
    block_size: int,
    dtype: DType,
) -> Array:
    y = np.empty(x.shape, np.float64)
    number: Callable[[Any], Any] = float if dtype_of(x.dtype).is_float else int
    for at in np.ndindex(*x.shape):
        place = _place(at, x, scale, axis, block_size)
        zero = 0 if zero_point is None else number(zero_point.reshape(-1)[place])
        y[at] = float(number(x[at]) - zero) * float(scale.reshape(-1)[place])
    return y.astype(dtype.numpy)


def _dynamic_quantize(x: Array) -> tuple[Array, Array, Array]:
    low, high = float(x.min(initial=0)), float(x.max(initial=0))
    scale = np.array(np.float32(np.float32(high - low) / np.float32(255)))
    exact = quotient(-low, float(scale))
    whole = 0 if exact != exact else round(min(max(_rounded(exact, np.float32), 0.0), 255.0))
    zero_point = np.array(whole, np.uint8)
    y = _quantize(
        x, scale, zero_point, axis=1, block_size=0, dtype=dtype_of(np.uint8), saturate=True
    )
    return y, scale, zero_point


def _place(at: tuple[int, ...], x: Array, scale: Array, axis: int, block_size: int) -> int:
    """Which element of ``scale``, counted in row-major order, is for the element ``at`` of x."""
    if block_size:
        axis %= x.ndim
        block = (*at[:axis], at[axis] // block_size, *at[axis + 1 :])
        return int(np.ravel_multi_index(block, scale.shape))
    return 0 if scale.size == 1 and scale.ndim < 2 else at[axis]


def _unpack_bits(x: Array, *, bits: int, count: int) -> Array:
    y = np.empty((*x.shape[:-1], count), np.uint8)
    for at in np.ndindex(*y.shape):
        byte, place = divmod(at[-1] * bits, 8)
        y[at] = int(x[(*at[:-1], byte)]) // 2**place % 2**bits
    return y


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "quantize": _quantize,
    "dequantize": _dequantize,
    "dynamic_quantize": _dynamic_quantize,
    "unpack_bits": _unpack_bits,
}
