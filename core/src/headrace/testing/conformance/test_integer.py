"""Products of 8-bit integers, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headrace.tensor_spec import Array
from headrace.testing.case import Case, channels_last
from headrace.testing.run import check_case

_RANDOM = np.random.default_rng(3)


def _bytes(dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return _RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _u8(*shape: int) -> Array:
    return _bytes(np.uint8, *shape)


def _i8(*shape: int) -> Array:
    return _bytes(np.int8, *shape)


def _full(value: int, dtype: Any, *shape: int) -> Array:
    return np.full(shape, value, dtype)


_U, _I = np.uint8, np.int8
_MATMULS = (
    Case("plain", "matmul_integer", (_u8(3, 4), _i8(4, 5))),
    Case("zeros", "matmul_integer", (_u8(3, 4), _i8(4, 5), _u8(), _i8())),
    Case("zeros-of-one-element", "matmul_integer", (_u8(3, 4), _i8(4, 5), _u8(1), _i8(1, 1))),
    Case("zeros-of-rows", "matmul_integer", (_u8(3, 4), _u8(4, 5), _u8(3, 1), None)),
    Case("zeros-of-columns", "matmul_integer", (_u8(3, 4), _u8(4, 5), None, _u8(5))),
    Case("zeros-of-both", "matmul_integer", (_u8(3, 4), _u8(4, 5), _u8(3, 1), _u8(1, 5))),
    Case("batch", "matmul_integer", (_i8(2, 3, 4), _u8(2, 4, 5), _i8(2, 3, 1), _u8(2, 1, 5))),
    Case("batches-broadcast", "matmul_integer", (_i8(2, 1, 3, 4), _i8(5, 4, 2), _i8(), _i8(2))),
    Case("vectors", "matmul_integer", (_u8(6), _i8(6), _u8(), _i8(1))),
    Case("vector-by-matrix", "matmul_integer", (_u8(4), _i8(4, 5), _u8(), _i8(5))),
    Case("matrix-by-vector", "matmul_integer", (_u8(3, 4), _i8(4), _u8(3, 1), _i8())),
    Case("transposed-a", "matmul_integer", (_u8(4, 3), _i8(4, 5), _u8(3), _i8(5)), {
        "transpose_a": True}),
    Case("transposed-b", "matmul_integer", (_u8(3, 4), _i8(5, 4), _u8(), _i8(5, 1)), {
        "transpose_b": True}),
    Case("nothing-summed", "matmul_integer", (_u8(2, 0), _i8(0, 3), _u8(), _i8(3))),
    Case("no-rows", "matmul_integer", (_u8(0, 4), _i8(4, 3))),
    # Odd sums beyond 2**24, which float32 does not hold.
    Case("sums-beyond-float32", "matmul_integer", (
        _full(255, _U, 2, 1001), _full(127, _I, 1001, 2), _full(0, _U), _full(-128, _I))),
    Case("sums-just-within-float32", "matmul_integer", (
        _full(255, _U, 1, 258), _full(127, _I, 258, 1), _full(0, _U), _full(-128, _I))),
    Case("sums-beyond-int32", "matmul_integer", (
        _full(255, _U, 1, 33027), _full(255, _U, 33027, 1))),
)  # fmt: skip

_IMAGES, _FILTERS = _u8(2, 4, 5, 6), _i8(6, 4, 3, 2)
_BIAS = _RANDOM.integers(-(2**20), 2**20, 6, np.int32)
_CONVS = (
    Case("plain", "conv_integer", (_IMAGES, _FILTERS)),
    Case("zeros", "conv_integer", (_IMAGES, _FILTERS, None, _u8(), _i8())),
    Case("zeros-of-one-element", "conv_integer", (_IMAGES, _FILTERS, None, _u8(1), _i8(1))),
    Case("zero-of-each-channel", "conv_integer", (_IMAGES, _FILTERS, None, _u8(), _i8(6))),
    Case("bias", "conv_integer", (_IMAGES, _FILTERS, _BIAS, _u8(), None)),
    Case("padding-reads-as-the-zero", "conv_integer", (
        _IMAGES, _FILTERS, None, _full(9, _U), _i8()), {"pads": (1, 2, 0, 3)}),
    Case("everything", "conv_integer", (_IMAGES, _i8(6, 2, 3, 2), _BIAS, _u8(), _i8(6)), {
        "strides": (2, 1), "dilations": (1, 2), "pads": (1, 1, 2, 0), "groups": 2}),
    Case("depthwise", "conv_integer", (_IMAGES, _i8(4, 1, 3, 3), _BIAS[:4], _u8(), None), {
        "groups": 4}),
    Case("rank-3", "conv_integer", (_i8(2, 3, 9), _u8(2, 3, 4), None, _i8(), _u8(2))),
    Case("rank-5", "conv_integer", (_u8(1, 2, 3, 3, 2), _u8(2, 2, 2, 2, 2), None, _u8(), _u8())),
    Case("empty-batch", "conv_integer", (_u8(0, 2, 3, 3), _i8(2, 2, 2, 2), _BIAS[:2])),
    Case("sums-beyond-float32", "conv_integer", (
        _full(255, _U, 1, 333, 3), _full(127, _I, 1, 333, 3), None, None, _full(-128, _I))),
    Case("bias-that-wraps-around", "conv_integer", (
        _full(2, _U, 1, 1, 1), _full(3, _I, 1, 1, 1), np.array([2**31 - 1], np.int32))),
)  # fmt: skip
_DTYPES = tuple(
    case
    for left in (np.int8, np.uint8)
    for right in (np.int8, np.uint8)
    for name in (f"{np.dtype(left)}-{np.dtype(right)}",)
    for case in (
        Case(name, "matmul_integer", (
            _bytes(left, 3, 4), _bytes(right, 4, 5), _bytes(left), _bytes(right))),
        Case(name, "conv_integer", (
            _bytes(left, 1, 2, 4, 4), _bytes(right, 3, 2, 2, 2), None, _bytes(left),
            _bytes(right))),
    )
)  # fmt: skip

_FIRST = _MATMULS + _CONVS + _DTYPES
_LAST = tuple(channels_last(case, images=2) for case in _FIRST if case.op == "conv_integer")

CASES: tuple[Case, ...] = _FIRST + _LAST


@pytest.mark.parametrize("case", CASES, ids=str)
def test_integer(device: str, case: Case) -> None:
    """Every bit of the sums is right, whatever they are computed in."""
    check_case(device, case)
