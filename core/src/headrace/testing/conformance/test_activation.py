"""Activations and limits, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS, NUMBERS
from headrace.ops import get_op
from headrace.testing.arrays import floats
from headrace.testing.case import Case
from headrace.testing.run import check_case

_LINE = np.array([-6.0, -3.5, -3.0, -1.0, -0.5, -0.125, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0, 5.0, 7.0])
_FAR = np.array([-1e4, -200.0, -90.0, -20.0, 20.0, 90.0, 200.0, 1e4], np.float32)
_SETTINGS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("", "hard_sigmoid", {}),
    ("steep-", "hard_sigmoid", {"alpha": 0.75, "beta": 0.25}),
    ("", "hard_swish", {}),
    ("", "swish", {}),
    ("steep-", "swish", {"alpha": 1.702}),
    ("", "leaky_relu", {}),
    ("negative-", "leaky_relu", {"alpha": -0.5}),
    ("", "thresholded_relu", {}),
    ("low-", "thresholded_relu", {"alpha": -0.5}),
    ("", "elu", {}),
    ("steep-", "elu", {"alpha": 2.5}),
    ("", "celu", {}),
    ("steep-", "celu", {"alpha": 2.5}),
    ("negative-", "celu", {"alpha": -1.5}),
    ("", "selu", {}),
    ("other-", "selu", {"alpha": 2.0, "gamma": 3.0}),
    ("", "softplus", {}),
    ("", "softsign", {}),
    ("", "mish", {}),
    ("", "gelu", {}),
    ("tanh-", "gelu", {"approximate": "tanh"}),
)

_DTYPES = tuple(
    Case(f"{id}{dtype}", op, (_LINE.astype(dtype.numpy),), attrs)
    for id, op, attrs in _SETTINGS
    for dtype in sorted(FLOATS)
)
_FARS = tuple(
    Case(f"{id}far", op, (_FAR,), attrs)
    for id, op, attrs in _SETTINGS
    if id != "negative-"  # a negative alpha of celu grows without bound
)
_NANS = tuple(
    Case(f"{id}nan", op, (floats([np.nan, 1]),), attrs)
    for id, op, attrs in _SETTINGS
    if op not in ("celu", "thresholded_relu")  # a NaN is below no threshold and above none
)
_SHAPES = tuple(
    Case(f"{id}{name}", op, (np.full(shape, -0.75, np.float32),), attrs)
    for id, op, attrs in _SETTINGS
    if not id
    for name, shape in (("scalar", ()), ("empty", (0, 2)), ("rank-4", (2, 1, 3, 2)))
)

_GRID = np.array([[-3, -1, 0], [1, 4, 9]])
_LIMITS = (
    *(
        Case(f"{id}-{dtype}", "clip", (_LINE.astype(dtype.numpy), *limits))
        for dtype in sorted(FLOATS)
        for low, high in [(dtype.numpy.type(-1.5), dtype.numpy.type(3))]
        for id, limits in (
            ("both", (np.array(low), np.array(high))),
            ("low", (np.array(low),)),
            ("high", (None, np.array(high))),
            ("crossed", (np.array(high), np.array(low))),
        )
    ),
    *(
        Case(str(dtype), "clip", (np.arange(10, dtype=dtype.numpy), *limits))
        for dtype in sorted(NUMBERS)
        for limits in [(np.array(2, dtype.numpy), np.array(7, dtype.numpy))]
    ),
    Case("neither", "clip", (floats([-1, np.inf, np.nan]),)),
    Case("nan", "clip", (floats([np.nan, 5, np.inf, -np.inf]), floats(-1), floats(2))),
    Case("limits-of-rank-1", "clip", (_GRID.astype("f"), floats([-2]), floats([2]))),
    Case("scalar", "clip", (np.array(5, "f"), floats([-2]), floats([2]))),
    Case("empty", "clip", (np.zeros((0, 2), "f"), floats(-2), floats(2))),
)
_SLOPES = (
    *(
        Case(str(d), "prelu", (_GRID.astype(d.numpy), np.array([2, 3, 5], d.numpy)))
        for d in sorted(get_op("prelu").inputs[0].dtypes)
    ),
    Case("channel", "prelu", (-np.ones((2, 3, 2, 2), "f"), floats([1, 2, 3]).reshape(3, 1, 1))),
    Case("one", "prelu", (_GRID.astype("f"), floats([0.25]))),
    Case("scalar", "prelu", (np.array(-2, "f"), np.array(0.5, "f"))),
    Case("whole", "prelu", (_GRID.astype("f"), _GRID.astype("f"))),
    Case("empty", "prelu", (np.zeros((0, 3), "f"), floats([1, 2, 3]))),
    Case("nan", "prelu", (floats([np.nan, -1]), floats([2]))),
)

CASES: tuple[Case, ...] = (*_DTYPES, *_FARS, *_NANS, *_SHAPES, *_LIMITS, *_SLOPES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_activation(device: str, case: Case) -> None:
    """Far from zero nothing overflows, at zero the right branch is taken, NaN is not lost."""
    check_case(device, case)
