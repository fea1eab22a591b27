"""Numbers as small integers, on a device."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from headrace.dtypes import FLOATS, DType, bfloat16, float16, float32, float64, int8, int32, uint8
from headrace.ops.quantize import QUANTIZED
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case

_X = (np.arange(-30, 30) * 1.375).astype(np.float32).reshape(3, 4, 5)
# With a scale of 0.5: every number is half way between two integers.
_TIES = (np.arange(-9, 9) / 2 + 0.25).astype(np.float32)
_EXTREMES = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, 0, -0.0], np.float32)


def _f(*values: object) -> Array:
    return np.array(values, np.float32)


def _one(value: float, dtype: DType = float32) -> Array:
    return np.array(value, dtype.numpy)


def _of(dtype: DType, values: object) -> Array:
    return np.array(values).astype(dtype.numpy)


_quantize = partial(Case, rtol=0.0, atol=0.0)
_BLOCKS = np.linspace(0.25, 2, 3 * 2 * 5).astype(np.float32).reshape(3, 2, 5)

_QUANTIZES = (
    _quantize("whole", "quantize", (_X, _one(0.5))),
    _quantize("whole-of-one-element", "quantize", (_X, _f(0.5), _of(uint8, [7]))),
    _quantize("shapes-of-one-element-mix", "quantize", (_X, _one(0.5), _of(uint8, [7]))),
    _quantize("scalar", "quantize", (_one(2.5), _one(1.0), _one(3, uint8))),
    _quantize("axis", "quantize", (_X, _f(0.25, 1, 2, 4), _of(uint8, [0, 128, 255, 9]))),
    _quantize("axis-0", "quantize", (_X, _f(0.25, 1, 2), None), {"axis": 0, "dtype": "int8"}),
    _quantize("last-axis", "quantize", (_X, _f(1, 2, 3, 4, 5), None), {"axis": -1}),
    _quantize("axis-of-one", "quantize", (_X[:, :1], _f(0.5), _of(uint8, [3]))),
    _quantize("rank-1-by-element", "quantize", (_f(1, 2, 3), _f(1, 0.5, 0.25)), {"axis": 0}),
    _quantize("blocks", "quantize", (_X, _BLOCKS), {"block_size": 2}),
    _quantize("blocks-and-zeros", "quantize", (
        _X, _BLOCKS, _of(int8, np.arange(30).reshape(3, 2, 5))
    ), {"block_size": 2, "dtype": "int8"}),
    _quantize("last-block-shorter", "quantize", (_X, _BLOCKS), {"block_size": 3}),
    _quantize("one-block", "quantize", (_X, _BLOCKS[:, :1]), {"block_size": 100}),
    _quantize("blocks-on-the-last-axis", "quantize", (_X, _BLOCKS[..., :1].repeat(2, 1)), {
        "block_size": 5, "axis": -1}),
    _quantize("blocks-of-rank-1", "quantize", (_f(1, 2, 3, 4, 5), _f(1, 0.5, 0.25)), {
        "block_size": 2, "axis": 0}),
    _quantize("ties-to-even", "quantize", (_TIES, _one(0.5)), {"dtype": "int8"}),
    _quantize("extremes", "quantize", (_EXTREMES, _one(0.5), _one(9, uint8))),
    _quantize("extremes-signed", "quantize", (_EXTREMES, _one(0.5), _one(-9, int8)), {
        "dtype": "int8"}),
    _quantize("scale-zero", "quantize", (_f(1, -1, 0), _one(0.0), _one(9, uint8))),
    _quantize("integers", "quantize", (np.arange(-9, 9, dtype=np.int32), _one(2.0)), {
        "dtype": "int8"}),
    _quantize("integers-that-float32-rounds", "quantize", (
        np.array([2**24 + 1, -(2**24) - 3, 2**31 - 1], np.int32), _one(2.0**17)
    ), {"dtype": "int8"}),
    _quantize("halves-of-half-floats", "quantize", (_of(float16, _TIES), _one(0.5)), {
        "dtype": "int8"}),
    # In float16, 2047 / 3 would round to a tie that it is not.
    _quantize("quotients-are-not-half-floats", "quantize", (
        _of(float16, [2047, 1151, 1153]), _one(2.0, float16)), {"dtype": "int16"}),
    _quantize("empty", "quantize", (np.zeros((2, 0, 3), np.float32), _one(0.5))),
    _quantize("empty-axis", "quantize", (np.zeros((2, 0), np.float32), _f())),
    *(
        _quantize(f"{x}-by-{scale}", "quantize", (_of(x, _X), _of(scale, 0.75), _one(5, uint8)))
        for x in sorted(FLOATS | {int32})
        for scale in (float16, bfloat16, float32, float64)
    ),
    *(
        _quantize(f"to-{dtype}", "quantize", (_X * 17, _one(0.75), _of(dtype, 1)), {
            "dtype": dtype})
        for dtype in sorted(QUANTIZED)
    ),
    *(
        _quantize(f"to-{dtype}-saturate-{saturate}", "quantize", (_EXTREMES, _one(1.0)), {
            "dtype": dtype, "saturate": saturate})
        for dtype in sorted(QUANTIZED)
        if dtype.is_float
        for saturate in (False, True)
    ),
)  # fmt: skip

_BYTES = np.arange(60, dtype=np.uint8).reshape(3, 4, 5) * 4

_DEQUANTIZES = (
    Case("whole", "dequantize", (_BYTES, _one(0.5))),
    Case("zero", "dequantize", (_BYTES, _one(0.5), _one(200, uint8))),
    Case("scalar", "dequantize", (_one(200, uint8), _one(0.5), _one(201, uint8))),
    Case("axis", "dequantize", (_BYTES, _f(0.25, 1, 2, 4), _of(uint8, [0, 128, 255, 9]))),
    Case("last-axis", "dequantize", (_BYTES, _f(1, 2, 3, 4, 5)), {"axis": -1}),
    Case("blocks", "dequantize", (
        _BYTES, _BLOCKS, _of(uint8, np.arange(30).reshape(3, 2, 5))
    ), {"block_size": 2}),
    Case("last-block-shorter", "dequantize", (_BYTES, _BLOCKS), {"block_size": 3}),
    Case("differences-do-not-wrap", "dequantize", (
        np.array([-128, 127], np.int8), _one(1.0), _one(127, int8))),
    Case("differences-of-int32-do-not-wrap", "dequantize", (
        np.array([-(2**31), 2**31 - 1], np.int32), _one(0.5), np.array(2**31 - 1, np.int32))),
    Case("near-a-large-zero", "dequantize", (
        np.array([2**30 + 1, 2**30 + 2], np.int32), _one(0.5), np.array(2**30, np.int32))),
    Case("scale-infinite", "dequantize", (np.array([1, 0], np.int8), _one(np.inf))),
    Case("empty", "dequantize", (np.zeros((2, 0), np.int8), _one(0.5))),
    *(
        Case(f"{dtype}", "dequantize", (_of(dtype, [0, 1, 5, 7]), _one(0.75), _of(dtype, 2)))
        for dtype in sorted(QUANTIZED | {int32})
    ),
    *(
        Case(f"{scale}-to-{dtype}", "dequantize", (
            _BYTES, _of(scale, 0.75), _one(100, uint8)), {"dtype": dtype})
        for scale in sorted(FLOATS)
        for dtype in sorted(FLOATS)
    ),
)  # fmt: skip

_DYNAMIC = tuple(
    Case(name, "dynamic_quantize", (x,), outputs=3, rtol=1e-6)
    for name, x in (
        ("both-signs", _X),
        ("above-zero", np.abs(_X) + 1),
        ("below-zero", -np.abs(_X) - 1),
        ("scalar", _one(2.5)),
        ("zeros", np.zeros((2, 3), np.float32)),
        ("nothing", np.zeros((0, 3), np.float32)),
        ("many", np.sin(np.arange(70_001, dtype=np.float32))),
    )
)

_PACKED = (np.arange(2 * 3 * 5) * 37 % 256).astype(np.uint8).reshape(2, 3, 5)
_UNPACKS = (
    Case("bits-1", "unpack_bits", (_PACKED,), {"bits": 1, "count": 40}),
    Case("bits-2", "unpack_bits", (_PACKED,), {"bits": 2, "count": 20}),
    Case("bits-4", "unpack_bits", (_PACKED,), {"bits": 4, "count": 10}),
    Case("last-byte-not-full", "unpack_bits", (_PACKED,), {"bits": 2, "count": 18}),
    Case("bytes-left-over", "unpack_bits", (_PACKED,), {"bits": 4, "count": 7}),
    Case("rank-1", "unpack_bits", (_PACKED[0, 0],), {"bits": 4, "count": 9}),
    Case("one-number", "unpack_bits", (_PACKED,), {"bits": 4, "count": 1}),
    Case("no-numbers", "unpack_bits", (_PACKED,), {"bits": 4, "count": 0}),
    Case("no-rows", "unpack_bits", (_PACKED[:0],), {"bits": 4, "count": 10}),
)

CASES: tuple[Case, ...] = _QUANTIZES + _DEQUANTIZES + _DYNAMIC + _UNPACKS


@pytest.mark.parametrize("case", CASES, ids=str)
def test_quantize(device: str, case: Case) -> None:
    """Rounding, zero points and limits are those of the oracle, for every granularity; so are
    the numbers that share bytes."""
    check_case(device, case)
