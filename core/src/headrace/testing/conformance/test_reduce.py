"""Axes folded into one element, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS, INTS
from headrace.ops import get_op
from headrace.tensor_spec import Array
from headrace.testing.arrays import floats
from headrace.testing.case import Case
from headrace.testing.run import check_case

_FOLDS = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
_X = np.random.default_rng(11).uniform(-1.5, 1.5, (2, 3, 4, 5)).astype(np.float32)
_TIES = np.array([[3, 1, 3, 1], [0, 2, 2, 0], [5, 5, 5, 5]], np.int32)


def _axes(id: str, x: Array, axes: tuple[int, ...]) -> tuple[Case, ...]:
    return tuple(
        Case(f"{id}{'-kept' if keep else ''}", op, (x,), {"axes": axes, "keep_dims": keep})
        for op in _FOLDS
        for keep in (False, True)
    )


_AXES = (
    *_axes("all", _X, ()),
    *_axes("first", _X, (0,)),
    *_axes("last", _X, (3,)),
    *_axes("middle", _X, (1,)),
    *_axes("spatial", _X, (2, 3)),
    *_axes("apart", _X, (0, 2)),
    *_axes("negative", _X, (-1, 1)),
    *_axes("unordered", _X, (3, 0)),
    *_axes("every-one-named", _X, (0, 1, 2, 3)),
    *_axes("scalar", _X[0, 0, 0, 0], ()),
    *_axes("of-one", _X[:, :1], (1,)),
    *_axes("of-nothing", np.zeros((2, 0, 3), np.float32), (1,)),
    *_axes("around-nothing", np.zeros((2, 0, 3), np.float32), (0,)),
    *_axes("ints-of-nothing", np.zeros((2, 0), np.int32), (1,)),
)
_DTYPES = tuple(
    Case(str(dtype), op, (np.array([[1, 2, 3], [7, 5, 1]]).astype(dtype.numpy),), {"axes": (1,)})
    for op in _FOLDS
    for dtype in sorted(get_op(op).inputs[0].dtypes)
)
_WRAPS = tuple(
    Case(f"ends-{dtype}", op, (np.array([limits.max, limits.max, limits.min, 3, 2], dtype.numpy),))
    for op in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
    for dtype in sorted(INTS)
    for limits in [np.iinfo(dtype.numpy)]
)
_MEANS = (
    Case(
        "cut-towards-zero", "reduce_mean", (np.array([[-7, 2], [7, -2]], np.int32),), {"axes": (1,)}
    ),
    Case("of-great-float16", "reduce_mean", (np.full(64, 60000, np.float16),)),
    Case("of-many-int8", "reduce_mean", (np.full(300, 127, np.int8),)),
    Case("of-great-int32", "reduce_mean", (np.full(4, 2**31 - 1, np.int32),)),
)
_WIDE = tuple(
    # 4096 terms of 1: a sum in float16 would stop at 2048, in bfloat16 at 256.
    Case(f"sums-in-float32-{dtype}", op, (np.ones(4096, dtype.numpy),))
    for op in ("reduce_sum", "reduce_mean")
    for dtype in sorted(FLOATS)
)
_SPECIALS = tuple(
    Case(id, op, (floats(line),))
    for op in _FOLDS
    for id, line in (
        ("nan", [1, np.nan, 3]),
        ("inf", [1, np.inf, 3]),
        ("both-inf", [np.inf, -np.inf]),
        ("all-below", [-np.inf, -np.inf]),
    )
)
_BOOLS = tuple(
    Case(id, op, (np.array(rows, bool).reshape(2, -1),), {"axes": (1,)})
    for op in ("reduce_max", "reduce_min")
    for id, rows in (("mixed", [[0, 1], [0, 0]]), ("true", [[1, 1], [1, 0]]), ("empty", []))
)
_PLACES = tuple(
    Case(f"{id}{'-last' if last else ''}", op, (x,), {**attrs, "select_last_index": last})
    for op in ("argmax", "argmin")
    for last in (False, True)
    for id, x, attrs in (
        ("first-axis", _TIES, {"axis": 0}),
        ("last-axis", _TIES, {"axis": -1}),
        ("kept", _TIES, {"axis": 1, "keep_dims": True}),
        ("rank-4", _X, {"axis": 2}),
        ("vector", _TIES[0], {"axis": 0, "keep_dims": True}),
        ("nan", floats([[1, np.nan, 3, np.nan], [4, 2, 4, 2]]), {"axis": 1}),
        ("inf", floats([np.inf, -np.inf, np.inf, -np.inf]), {"axis": 0}),
        ("around-nothing", np.zeros((0, 3), "f"), {"axis": 1}),
    )
) + tuple(
    Case(str(dtype), op, (_TIES.astype(dtype.numpy),), {"axis": 1})
    for op in ("argmax", "argmin")
    for dtype in sorted(get_op(op).inputs[0].dtypes)
)

CASES: tuple[Case, ...] = (
    *_AXES,
    *_DTYPES,
    *_WRAPS,
    *_MEANS,
    *_WIDE,
    *_SPECIALS,
    *_BOOLS,
    *_PLACES,
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reduce(device: str, case: Case) -> None:
    """Any axes fold, none of them by accident; nothing at all folds to the neutral element."""
    check_case(device, case)
