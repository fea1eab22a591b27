"""Elementwise functions of one tensor, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import DType
from headrace.ops import get_op
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case

_LINE = np.array([-3.0, -2.5, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.875, 1.0, 1.5, 2.5])
_SPECIAL = np.array([-np.inf, np.inf, np.nan, -0.0, 0.0])
_FAR = np.array([-1e4, -800.0, -90.0, -30.0, 30.0, 90.0, 800.0, 1e4])

_EVERYWHERE = (
    "relu", "negative", "abs", "sign", "floor", "ceil", "round", "sqrt", "reciprocal", "exp", "log",
    "erf", "sigmoid", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh",
)  # fmt: skip
_GROWING = ("relu", "abs", "sqrt", "exp", "log", "erf", "sigmoid", "atan", "sinh", "cosh", "tanh")


def _values(dtype: DType) -> Array:
    if dtype.is_float:
        return _LINE.astype(dtype.numpy)
    limits = np.iinfo(dtype.numpy)
    return np.array([limits.min, limits.max, 0, 1, 2, limits.max - 1], dtype.numpy)


_DTYPES = tuple(
    Case(str(dtype), op, (_values(dtype),))
    for op in _EVERYWHERE
    for dtype in sorted(get_op(op).inputs[0].dtypes)
)
_SPECIALS = tuple(
    Case(f"special-{dtype}", op, (_SPECIAL.astype(dtype),))
    for op in _EVERYWHERE
    for dtype in ("float32", "float16")
)
_FARS = tuple(Case("far", op, (_FAR.astype(np.float32),)) for op in _GROWING)
_TIES = tuple(
    Case("ties", op, (np.arange(-4.5, 5.0, 0.5, dtype=np.float32),))
    for op in ("round", "floor", "ceil")
)
_SHAPES = tuple(
    Case(id, op, (np.ones(shape, np.float32) / 3,))
    for op in ("relu", "erf", "sigmoid", "tanh")
    for id, shape in (("scalar", ()), ("empty", (2, 0, 3)), ("rank-5", (1, 2, 1, 3, 2)))
)
_SMALL = tuple(
    Case("near-zero", op, (np.array([1e-30, -1e-20, 1e-8, -1e-4], np.float32),), atol=0.0)
    for op in ("erf", "sinh", "tanh", "asinh", "atanh", "sin", "atan")
)

CASES: tuple[Case, ...] = _DTYPES + _SPECIALS + _FARS + _TIES + _SHAPES + _SMALL


@pytest.mark.parametrize("case", CASES, ids=str)
def test_unary(device: str, case: Case) -> None:
    """Each element becomes what the function says, at the ends of its domain too."""
    check_case(device, case)
