"""Comparisons, logic, bits, and the choice between two tensors, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import ALL, FLOATS, INTS, NUMBERS, DType
from headrace.tensor_spec import Array
from headrace.testing.arrays import floats
from headrace.testing.case import Case
from headrace.testing.run import check_case

_COMPARISONS = ("equal", "greater", "less", "greater_equal", "less_equal")
_SPECIAL = np.array([-np.inf, np.inf, np.nan, -0.0, 0.0, 1.5, -2.0])
_BITS = np.array([False, True])


def _values(dtype: DType) -> Array:
    if dtype.is_float:
        return _SPECIAL.astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    return np.array([limits.min, limits.max, 0, 1, limits.max // 3], dtype.numpy)


_COMPARED = tuple(
    Case(str(dtype), op, (_values(dtype)[:, None], _values(dtype)))
    for op in _COMPARISONS
    for dtype in sorted(NUMBERS)
)
_NEIGHBOURS = tuple(
    # float32 has no 2**53 + 1 and float64 has no 2**63 - 1: comparing in a float would say equal.
    Case(
        f"neighbours-{dtype}",
        op,
        (np.array([2**53, limit], dtype), np.array([2**53 + 1, limit - 1], dtype)),
    )
    for op in _COMPARISONS
    for dtype, limit in (("int64", 2**63 - 1), ("uint64", 2**64 - 1))
)
_LOGIC = (
    *(
        Case("table", op, (_BITS[:, None], _BITS))
        for op in ("equal", "logical_and", "logical_or", "logical_xor")
    ),
    Case("table", "logical_not", (_BITS,)),
    Case("empty", "logical_not", (_BITS[:0],)),
    Case("scalar", "logical_and", (_BITS[1:].reshape(()), _BITS)),
)
_CLASSES = tuple(
    Case(f"{id}{dtype}", op, (_SPECIAL.astype(dtype.numpy),), attrs)
    for dtype in sorted(FLOATS)
    for id, op, attrs in (
        ("", "is_nan", {}),
        ("", "is_inf", {}),
        ("positive-", "is_inf", {"detect_negative": False}),
        ("negative-", "is_inf", {"detect_positive": False}),
        ("neither-", "is_inf", {"detect_negative": False, "detect_positive": False}),
    )
)
_BITWISE = tuple(
    Case(str(dtype), op, (_values(dtype)[:, None], _values(dtype)))
    for op in ("bitwise_and", "bitwise_or", "bitwise_xor")
    for dtype in sorted(INTS)
) + tuple(Case(str(dtype), "bitwise_not", (_values(dtype),)) for dtype in sorted(INTS))


def _counts(dtype: DType) -> Array:
    """Places to shift by: inside the number of bits, at its end, beyond, and negative."""
    bits = 8 * dtype.itemsize
    outside = [-1, -bits] if dtype.kind == "i" else [bits * 3]
    return np.array([0, 1, 3, bits - 1, bits, bits + 1, *outside], dtype.numpy)


_SHIFTS = tuple(
    Case(f"{way}-{dtype}", "bit_shift", (_shifted[:, None], _counts(dtype)), {"direction": way})
    for way in ("left", "right")
    for dtype in sorted(INTS)
    for _shifted in [np.append(_values(dtype), dtype.numpy.type(5))]
)
_PICK = np.array([[True, False, True], [False, False, True]])
_LEFT, _RIGHT = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[7, 6, 5], [4, 3, 2]])
_CHOICES = (
    *(
        Case(str(d), "where", (_PICK, _LEFT.astype(d.numpy), _RIGHT.astype(d.numpy)))
        for d in sorted(ALL)
    ),
    Case(
        "nan-is-not-looked-into",
        "where",
        (_PICK[0], floats([1, np.nan, 3]), floats([np.nan, 2, np.nan])),
    ),
    Case("wide-condition", "where", (_PICK, floats(1), floats(2))),
    Case("scalar-condition", "where", (np.array(False), floats(1), floats([2, 3]))),
    Case("all-broadcast", "where", (_PICK[:, None, :1], np.ones((4, 1), "f"), np.zeros(3, "f"))),
    Case("empty", "where", (_PICK[:0], floats(1), floats(2))),
)

CASES: tuple[Case, ...] = (
    *_COMPARED,
    *_NEIGHBOURS,
    *_LOGIC,
    *_CLASSES,
    *_BITWISE,
    *_SHIFTS,
    *_CHOICES,
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_logic(device: str, case: Case) -> None:
    """Nothing is rounded on the way, and NaN compares with nothing."""
    check_case(device, case)
