"""Running sums and products, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import NUMBERS, dtype_of
from headrace.tensor_spec import Array
from headrace.testing.case import Case
from headrace.testing.run import check_case


def _drawn(*shape: int) -> Array:
    return np.random.default_rng(7).choice([-1.5, -1, -0.5, 0.5, 1, 2], shape).astype(np.float32)


def _case(name: str, x: Array, **attrs: object) -> Case:
    return Case(name, "cumulative", (x,), attrs)


_FEW = (np.arange(12) % 3).reshape(3, 4)

CASES: tuple[Case, ...] = (
    *(
        _case(
            f"{reduction}-along-{axis}" + "-exclusive" * exclusive + "-reverse" * reverse,
            _drawn(3, 5, 4),
            axis=axis,
            reduction=reduction,
            exclusive=exclusive,
            reverse=reverse,
        )
        for reduction in ("sum", "product")
        for axis in (0, 1, -1)
        for exclusive in (False, True)
        for reverse in (False, True)
    ),
    _case("one-axis", _drawn(9), axis=0),
    _case("one-element", _drawn(2, 1), axis=1, exclusive=True),
    _case("no-element", _drawn(2, 0), axis=1, exclusive=True),
    _case("no-row", _drawn(0, 3), axis=1),
    _case("long-rows", _drawn(2, 300), axis=1),
    _case("wide-columns", _drawn(7, 301), axis=0),
    _case("wraps", np.array([2**31 - 1, 1, 5], np.int32), axis=0),
    *(
        _case(f"{dtype}-along-{axis}", _FEW.astype(dtype_of(dtype).numpy), axis=axis)
        for dtype in sorted(map(str, NUMBERS))
        if dtype != "float32"
        for axis in (0, 1)
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_running(device: str, case: Case) -> None:
    """Every element is that of all up to it."""
    check_case(device, case)
