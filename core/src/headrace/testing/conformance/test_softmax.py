"""Distributions along an axis, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS
from headrace.testing.arrays import floats
from headrace.testing.case import Case
from headrace.testing.run import check_case

_OPS = ("softmax", "log_softmax")
_X = np.random.default_rng(13).uniform(-4, 4, (2, 3, 4, 5)).astype(np.float32)
_ROW = np.array([[-2.0, 0.5, 1.0, 3.0], [0.0, 0.0, 0.0, 0.0]])

CASES: tuple[Case, ...] = tuple(
    Case(id, op, (x,), {"axis": axis})
    for op in _OPS
    for id, x, axis in (
        ("last-axis", _X, -1),
        ("first-axis", _X, 0),
        ("middle-axis", _X, 2),
        ("negative-axis", _X, -3),
        ("before-axes-of-one", _X[:, :, :1, :1], 1),
        ("vector", _X[0, 0, 0], 0),
        ("one-element", _X[:, :, :, :1], 3),
        ("empty-lines", np.zeros((2, 0), "f"), 1),
        ("no-lines", np.zeros((0, 3), "f"), 1),
        ("great", floats([[1000, 1001, 1002], [-1000, -1001, -1002]]), 1),
        ("minus-inf", floats([[-np.inf, 0, 1], [-np.inf, -np.inf, -np.inf]]), 1),
        ("inf", floats([[np.inf, 0, 1], [1, 2, 3]]), 1),
        ("nan", floats([[np.nan, 0, 1], [1, 2, 3]]), 1),
        *((str(dtype), _ROW.astype(dtype.numpy), 1) for dtype in sorted(FLOATS)),
    )
) + tuple(
    # 4096 equal elements: a sum in float16 would stop at 2048, in bfloat16 at 256.
    Case(f"sums-in-float32-{dtype}", op, (np.zeros(4096, dtype.numpy),))
    for op in _OPS
    for dtype in sorted(FLOATS)
)
PAIRS: tuple[Case, ...] = tuple(
    Case(id, "couple_pairs", (shares,), {"classes": classes}, rtol=1e-5)
    for id, classes, shares in (
        ("two-classes", 2, floats([[0.25], [0.5], [1e-7], [1 - 1e-7]])),
        ("certain", 3, floats([[1 - 1e-7, 1 - 1e-7, 0.5], [1e-7, 0.5, 1 - 1e-7]])),
        ("in-a-circle", 3, floats([[0.9, 0.1, 0.9], [0.5, 0.5, 0.5]])),
        ("many", 11, np.random.default_rng(5).uniform(0.01, 0.99, (9, 55)).astype(np.float32)),
        ("no-row", 3, np.zeros((0, 3), np.float32)),
        ("nan", 3, floats([[np.nan, 0.5, 0.5], [0.75, 0.5, 0.5]])),
    )
)
CASES += PAIRS


@pytest.mark.parametrize("case", CASES, ids=str)
def test_softmax(device: str, case: Case) -> None:
    """Each line sums to one, however great its elements; a line without a greatest is NaN.

    Of pairs of classes, rounds are made until they are near enough, in each row by itself.
    """
    check_case(device, case)
