"""The same elements in another shape or order, on a device."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from headrace.dtypes import ALL
from headrace.testing.case import Case
from headrace.testing.run import check_case

_exact = partial(Case, rtol=0.0, atol=0.0)
_X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
_SCALAR = np.array(7, np.float32)
_EMPTY = np.zeros((2, 0, 3), np.float32)
_SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-42], np.float32)


def _of(dtype: np.dtype[np.generic]) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Six numbers that every dtype holds, as a matrix."""
    return np.array([[0, 1, 2], [3, 1, 0]]).astype(dtype)


CASES: tuple[Case, ...] = (
    _exact("vector", "identity", (_SPECIAL,)),
    _exact("scalar", "identity", (_SCALAR,)),
    _exact("empty", "identity", (_EMPTY,)),
    _exact("plain", "reshape", (_X,), {"shape": (4, 6)}),
    _exact("inferred", "reshape", (_X,), {"shape": (2, -1, 2)}),
    _exact("scalar-to-matrix", "reshape", (_SCALAR,), {"shape": (1, 1)}),
    _exact("to-scalar", "reshape", (_SCALAR.reshape(1),), {"shape": ()}),
    _exact("empty", "reshape", (_EMPTY,), {"shape": (0, 5)}),
    _exact("empty-inferred", "reshape", (_EMPTY,), {"shape": (3, -1)}),
    _exact("special-values", "reshape", (_SPECIAL,), {"shape": (5, 1)}),
    _exact("reversed", "transpose", (_X,)),
    _exact("cycle", "transpose", (_X,), {"perm": (1, 2, 0)}),  # not its own inverse
    _exact("other-cycle", "transpose", (_X,), {"perm": (2, 0, 1)}),
    _exact("negative", "transpose", (_X,), {"perm": (0, -1, -2)}),
    _exact("identity", "transpose", (_X,), {"perm": (0, 1, 2)}),
    _exact("nhwc", "transpose", (_X.reshape(2, 3, 2, 2),), {"perm": (0, 2, 3, 1)}),
    _exact("rank-6", "transpose", (_X.reshape(2, 1, 3, 2, 1, 2),), {"perm": (5, 3, 0, 4, 2, 1)}),
    _exact("empty", "transpose", (_EMPTY,), {"perm": (2, 0, 1)}),
    _exact("scalar", "transpose", (_SCALAR,)),
    _exact("leading", "expand", (_X[0],), {"shape": (2, 3, 4)}),
    _exact("middle", "expand", (_X[:, :1],), {"shape": (2, 3, 4)}),
    _exact("both", "expand", (_X[0, :, :1],), {"shape": (2, 3, 4)}),
    _exact("scalar", "expand", (_SCALAR,), {"shape": (2, 3)}),
    _exact("to-nothing", "expand", (_X[0, :, :1],), {"shape": (3, 0)}),
    _exact("same", "expand", (_X,), {"shape": (2, 3, 4)}),
    *(
        _exact(f"{dtype}", op, (_of(dtype.numpy),), attrs)
        for dtype in sorted(ALL)
        for op, attrs in (
            ("identity", {}),
            ("reshape", {"shape": (3, 2)}),
            ("transpose", {"perm": (1, 0)}),
            ("expand", {"shape": (2, 2, 3)}),
        )
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shape(device: str, case: Case) -> None:
    """Elements keep their bits and come out where the oracle has them."""
    check_case(device, case)
