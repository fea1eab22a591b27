"""Changes of dtype, on a device."""

from __future__ import annotations

import itertools
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from headrace.dtypes import ALL, FLOATS, INTS, DType, bfloat16, bool_, dtype_of, storage_only
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case

_exact = partial(Case, rtol=0.0, atol=0.0)  # a cast rounds once: there is one right answer
_EVERY = sorted(ALL)
_FLOAT8 = [dtype for dtype in _EVERY if storage_only(dtype) and dtype.is_float]
_INT4 = [dtype for dtype in _EVERY if storage_only(dtype) and dtype.is_int]


def _to(id: str, x: Array, dtype: DType, **attrs: object) -> Case:
    source = dtype_of(x.dtype)
    return _exact(f"{source}-to-{dtype}-{id}", "cast", (x,), {"dtype": dtype, **attrs})


def _as(values: object, dtype: object) -> Array:
    """``values`` in ``dtype``, with infinity for what is beyond its range."""
    with np.errstate(over="ignore"):
        return np.array(values).astype(dtype)  # type: ignore[call-overload, no-any-return]


def _bounds(dtype: DType) -> list[int]:
    """Integers at the ends of the range, and those around zero."""
    info = ml_dtypes.iinfo(dtype.numpy)
    low, high = int(info.min), int(info.max)
    return [low, low + 1, max(low, -1), 0, 1, high - 1, high]


_PAIRS = tuple(
    _to("plain", np.array([[0, 1, 2], [3, 1, 0]]).astype(source.numpy), target)
    for source, target in itertools.product(_EVERY, _EVERY)
)

_SHAPES = tuple(
    _exact(id, "cast", (np.full(shape, 2.75, np.float32),), {"dtype": target})
    for target in ("int32", "float16")
    for id, shape in (
        (f"scalar-to-{target}", ()),
        (f"empty-to-{target}", (2, 0)),
        (f"rank-5-to-{target}", (2, 1, 3, 1, 2)),
    )
)

_INTEGERS = tuple(
    _to("low-bits", np.array(_bounds(source), source.numpy), target)
    for source, target in itertools.product(sorted(INTS), [*sorted(INTS), *_INT4])
)
_FOUR_BITS = tuple(
    _to("every-value", np.arange(16, dtype=np.uint8).astype(source.numpy), target)
    for source, target in itertools.product(_INT4, _EVERY)
)

_FRACTIONS = np.array([0.0, -0.0, 0.5, -0.5, 0.999, -0.999, 1.5, 2.5, -1.5, 7.75, -7.25])
_CUTS = tuple(
    _to("cut", _FRACTIONS.astype(source.numpy), target)
    for source, target in itertools.product(sorted(FLOATS), [*sorted(INTS), *_INT4])
)
_BEYOND = tuple(
    _to("beyond", _as([np.nan, np.inf, -np.inf, 3e4, -3e4], source.numpy), target)
    for source, target in itertools.product(sorted(FLOATS), sorted(INTS))
)
_ENDS = tuple(
    # Just inside, at, and just outside the range: 2**63 is a float64 and 2**63 - 1 is none.
    _to("ends", np.array([np.nextafter(end, 0), end, np.nextafter(end, end * 2), -end]), target)
    for target in sorted(INTS)
    for end in (np.float64(2.0 ** int(np.iinfo(target.numpy).max).bit_length()),)
)

_TRUTH = tuple(
    _to("truth", np.array([0.0, -0.0, 0.25, -3.0, np.nan, np.inf]).astype(source.numpy), bool_)
    for source in sorted(FLOATS)
)
_LOW_BYTE_ZERO = tuple(
    # Whoever takes the low byte for the truth is wrong here.
    _to("truth", np.array([0, 256, 1]).astype(source.numpy), bool_)
    for source in sorted(INTS)
    if source.itemsize > 1
)

# Ties between neighbours of bfloat16, float16 and float32, and values a little beside them.
_TIES = np.array(
    [1 + step * (k + beside) for step in (2**-7, 2**-10, 2**-23) for k in (0.5, 1.5)
     for beside in (-2**-10, 0, 2**-10)]
)  # fmt: skip
_ROUNDED = tuple(
    _to("rounded", np.concatenate([_TIES, -_TIES]).astype(source), target)
    for source in (np.float32, np.float64)
    for target in sorted(FLOATS)
)
_TO_FLOATS = tuple(
    _to(f"rounded-{values[0]}", np.array(values, source), target)
    for target in sorted(FLOATS)
    for source, values in (
        (np.int16, [257, 259, 2049, 2051, -2049, 32767]),
        (np.int32, [2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**31 - 1, 65519, 65520]),
        (np.int64, [2**53 + 1, 2**53 + 3, 2**63 - 1, -(2**63)]),
        # Beside a tie of bfloat16, by less than float64 can tell.
        (np.int64, [2**62 + 2**54 + 1, 2**62 + 3 * 2**54 - 1, -(2**62) - 2**54 - 1]),
        (np.uint64, [2**53 + 1, 2**63, 2**64 - 1]),
    )
)
_RANGE = np.array([np.inf, -np.inf, np.nan, 65504, 65519, 65520, -70000, 3.39e38, 1e39, 6e-8, 3e-8,
                   2e-8, -1e-7, 1e-40, 1e-45, 0.0])  # fmt: skip
_OVER = tuple(
    _to("range", _as(_RANGE, source), target)
    for source in (np.float32, np.float64)
    for target in sorted(FLOATS)
)

_EIGHT_BITS = tuple(
    _to(f"{'' if saturate else 'not-'}saturated", _as(values, source), target, saturate=saturate)
    for values in (
        np.array(
            [np.nan, np.inf, -np.inf, 0.0, 1.0625, 1.1875, 1.3, 0.3, -17, 19, 240, 247, 249, 440,
             463, 465, 500, -1000, 57344, 61000, 62000, -1e6, 0.002, 0.001, 0.0004, 1e-5, -7e-6]
        ),
    )
    for source in (np.float32, np.float16, bfloat16.numpy)
    for target in _FLOAT8
    for saturate in (True, False)
)  # fmt: skip
_FROM_EIGHT_BITS = tuple(
    _to("every-value", np.arange(256, dtype=np.uint8).view(source.numpy), target)
    for source in _FLOAT8
    for target in sorted(FLOATS)
)

CASES: tuple[Case, ...] = (
    *_PAIRS, *_SHAPES, *_INTEGERS, *_FOUR_BITS, *_CUTS, *_BEYOND, *_ENDS, *_TRUTH, *_LOW_BYTE_ZERO,
    *_ROUNDED, *_TO_FLOATS, *_OVER, *_EIGHT_BITS, *_FROM_EIGHT_BITS,
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_cast(device: str, case: Case) -> None:
    """Floats are rounded once, to even on ties, integers keep low bits, fractions are cut."""
    check_case(device, case)
