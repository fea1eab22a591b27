"""Windows that slide over space, on a device."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.dtypes import FLOATS, NUMBERS
from headrace.tensor_spec import Array
from headrace.testing.arrays import normal
from headrace.testing.case import Case, channels_last
from headrace.testing.run import check_case

_PLANE = normal(2, 3, 7, 8)
_NAN = normal(1, 2, 4, 4)
_NAN[0, 0, 1, 2] = np.nan
_NAN[0, 1, 2, 2] = -np.inf

# id, x, attributes
_GEOMETRIES: tuple[tuple[str, Array, dict[str, object]], ...] = (
    ("plain", _PLANE, {"kernel": (2, 3)}),
    ("whole", _PLANE, {"kernel": (7, 8)}),
    ("one", _PLANE, {"kernel": (1, 1), "strides": (2, 1)}),
    ("strides", _PLANE, {"kernel": (2, 2), "strides": (2, 3)}),
    ("strides-larger-than-kernel", _PLANE, {"kernel": (1, 2), "strides": (3, 4)}),
    ("pads", _PLANE, {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}),
    ("asymmetric-pads", _PLANE, {"kernel": (3, 4), "pads": (0, 3, 2, 1), "strides": (1, 2)}),
    ("dilations", _PLANE, {"kernel": (2, 3), "dilations": (3, 2), "pads": (1, 0, 0, 1)}),
    ("ceil", _PLANE, {"kernel": (3, 3), "strides": (2, 2), "ceil_mode": True}),
    ("ceil-exact", _PLANE, {"kernel": (3, 2), "strides": (2, 2), "ceil_mode": True}),
    # The window that would begin in the end padding is left out.
    ("ceil-not-in-the-padding", _PLANE, {
        "kernel": (2, 1), "strides": (4, 2), "pads": (0, 0, 1, 0), "ceil_mode": True}),
    ("ceil-pads", _PLANE, {
        "kernel": (4, 3), "strides": (3, 2), "pads": (1, 0, 2, 1), "ceil_mode": True}),
    ("ceil-dilated", _PLANE, {
        "kernel": (2, 3), "strides": (3, 2), "dilations": (2, 3), "ceil_mode": True}),
    ("ceil-kernel-larger-than-input", normal(1, 1, 1), {
        "kernel": (2,), "strides": (2,), "ceil_mode": True}),
    ("windows-on-padding-alone", normal(1, 1, 2, 2), {
        "kernel": (2, 2), "pads": (2, 0, 0, 3), "strides": (1, 2)}),
    ("rank-1", normal(2, 2, 9), {"kernel": (3,), "strides": (2,), "pads": (1, 0)}),
    ("rank-3", normal(1, 2, 4, 5, 4), {
        "kernel": (2, 3, 2), "strides": (1, 2, 2), "pads": (1, 0, 1, 0, 1, 0)}),
    ("empty-batch", normal(0, 2, 4, 4), {"kernel": (2, 2)}),
    ("no-channels", normal(1, 0, 4, 4), {"kernel": (2, 2)}),
    ("nan-and-inf", _NAN, {"kernel": (2, 2)}),
)  # fmt: skip

_MAX = tuple(Case(id, "max_pool", (x,), attrs) for id, x, attrs in _GEOMETRIES)

_INDICES = tuple(
    Case(f"indices-{order}-{id}", "max_pool", (x,), {**attrs, "storage_order": order}, outputs=2)
    for id, x, attrs in _GEOMETRIES
    for order in ("row", "column")
)

_SPECIAL = (
    Case("negative-with-pads", "max_pool", (-np.abs(_PLANE),), {
        "kernel": (3, 3), "pads": (1, 1, 1, 1)}),
    # Of equal elements the first wins.
    Case("indices-ties", "max_pool", (np.zeros((1, 2, 4, 4), np.float32),), {
        "kernel": (2, 2), "pads": (1, 1, 0, 0)}, outputs=2),
)  # fmt: skip

_AVERAGES = tuple(
    Case(f"{id}{'-count-pad' if count else ''}", "avg_pool", (x,), {
        **attrs, "count_include_pad": count})
    for id, x, attrs in _GEOMETRIES
    for count in (False, True)
)  # fmt: skip

_SMALL = np.arange(48).reshape(1, 2, 4, 6) * 37 % 100
_WINDOW: dict[str, object] = {"kernel": (3, 2), "strides": (2, 2), "pads": (1, 1, 0, 1)}
_DTYPES = (
    tuple(
        Case(f"{dtype}-{outputs}", "max_pool", (_SMALL.astype(dtype.numpy),), _WINDOW, outputs)
        for dtype in sorted(NUMBERS)
        for outputs in (1, 2)
    )
    + tuple(
        # Below zero everywhere: padding that read as 0 would win.
        Case(f"{dtype}-negative", "max_pool", ((_SMALL - 101).astype(dtype.numpy),), _WINDOW)
        for dtype in sorted(NUMBERS)
        if dtype.kind != "u"
    )
    + tuple(
        Case(f"{dtype}", "avg_pool", (_SMALL.astype(dtype.numpy),), _WINDOW)
        for dtype in sorted(FLOATS)
    )
)

_FIRST = _MAX + _INDICES + _SPECIAL + _AVERAGES + _DTYPES

CASES: tuple[Case, ...] = _FIRST + tuple(map(channels_last, _FIRST))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pool(device: str, case: Case) -> None:
    """Windows stand where the oracle has them, padding never counts as an element."""
    check_case(device, case)
