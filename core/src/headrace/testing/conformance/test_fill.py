"""Tensors made from a few values, on a device."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.typing import DTypeLike

from headrace.dtypes import ALL, BOOL, NUMBERS
from headrace.testing.case import Case
from headrace.testing.run import check_case

_exact = partial(Case, rtol=0.0, atol=0.0)
_OFF_ON = np.array([-1, 2], np.float32)


_FILLS = (
    _exact("default", "fill", (), {"shape": (2, 3)}),
    _exact("value", "fill", (), {"shape": (5,), "value": -2.5}),
    _exact("infinite", "fill", (), {"shape": (2,), "value": float("-inf")}),
    _exact("nan", "fill", (), {"shape": (2,), "value": float("nan")}),
    _exact("scalar", "fill", (), {"shape": (), "value": 3.0}),
    _exact("empty", "fill", (), {"shape": (3, 0), "value": 1.0}),
    _exact("large-int", "fill", (), {"shape": (2,), "value": -(2.0**53), "dtype": "int64"}),
    *(
        _exact(f"{dtype}", "fill", (), {"shape": (2, 2), "value": 1.0, "dtype": dtype})
        for dtype in sorted(NUMBERS | BOOL)
    ),
)


def _counted(id: str, start: float, step: float, size: int, dtype: DTypeLike = np.float32) -> Case:
    scalars = tuple(np.array(number).astype(dtype) for number in (start, step))
    return Case(id, "arange", scalars, {"size": size})


_RANGES = (
    _counted("up", 2, 1.5, 5),
    _counted("down", 1, -0.25, 7),
    _counted("still", 3, 0, 3),
    _counted("nothing", 3, 1, 0),
    _counted("fine-steps", 0, 0.1, 100),  # adding steps one by one drifts
    _counted("wraps", 120, 5, 4, np.int8),
    _counted("large-int64", 2**62, -(2**61), 4, np.int64),
    *(_counted(f"{dtype}", 1, 3, 6, dtype.numpy) for dtype in sorted(NUMBERS)),
)


def _marked(id: str, indices: object, dtype: DTypeLike = np.int64, **attrs: int) -> Case:
    return _exact(id, "one_hot", (np.array(indices).astype(dtype), _OFF_ON), {"depth": 3} | attrs)


_ONE_HOTS = (
    _marked("last-axis", [0, 2, 1]),
    _marked("first-axis", [[0, 2], [1, 1]], axis=0),
    _marked("middle-axis", [[0, 2], [1, 1]], axis=-2),
    _marked("negative", [-1, -3, -4]),
    _marked("outside", [3, -4, 100, 0]),
    _marked("scalar", 1),
    _marked("no-index", []),
    _marked("no-depth", [0, -1], depth=0),
    _marked("fractions", [0.9, -0.5, 2.999, -3.9, 3.0], np.float32),
    *(_marked(f"{dtype}-indices", [0, 2, 3], dtype.numpy) for dtype in sorted(NUMBERS)),
    *(
        _exact(
            f"{dtype}-values",
            "one_hot",
            (np.array([1, 0]), np.array([0, 1]).astype(dtype.numpy)),
            {"depth": 2},
        )
        for dtype in sorted(ALL)
    ),
)

CASES: tuple[Case, ...] = _FILLS + _RANGES + _ONE_HOTS


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fill(device: str, case: Case) -> None:
    """Every element has the value that the oracle gives it."""
    check_case(device, case)
