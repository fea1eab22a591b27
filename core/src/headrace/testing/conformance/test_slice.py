"""Parts of tensors and tensors from parts, on a device."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from headrace.dtypes import ALL
from headrace.testing.case import Case
from headrace.testing.run import check_case

_exact = partial(Case, rtol=0.0, atol=0.0)
_X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
_LINE = np.array([1, 2, 3, 4], np.float32)
_EMPTY = np.zeros((3, 0), np.float32)
_FAR = 2**63 - 1  # "to the end", as exporters write it


def _cut(id: str, starts: object, ends: object, axes: object = (), steps: object = ()) -> Case:
    attrs = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    return _exact(id, "slice", (_X,), attrs)


def _padded(id: str, mode: str, *pads: int) -> Case:
    return _exact(f"{mode}-{id}", "pad", (_LINE,), {"pads": pads, "mode": mode})


_SLICES = (
    _cut("first-axes", (1, 0), (3, 2)),
    _cut("named-axes", (1, 0), (4, 2), (2, 0)),
    _cut("negative-axes", (1,), (4,), (-1,)),
    _cut("negative-bounds", (-3,), (-1,), (2,)),
    _cut("clamped", (-100, 1), (100, _FAR), (0, 1)),
    _cut("steps", (0, 1), (3, 5), (0, 2), (2, 3)),
    _cut("backwards", (3,), (0,), (1,), (-1,)),
    _cut("backwards-to-the-start", (_FAR,), (-_FAR - 1,), (1,), (-1,)),
    _cut("backwards-steps", (-1, -1), (-100, 0), (1, 2), (-2, -3)),
    _cut("nothing", (2,), (2,), (1,)),
    _cut("nothing-crossed", (3,), (1,), (1,)),
    _cut("nothing-backwards", (0,), (3,), (1,), (-1,)),
    _cut("nothing-before-the-start", (-_FAR, -6), (-_FAR - 1, -_FAR), (0, 1), (-1, -2)),
    _cut("nothing-beyond", (7,), (9,), (1,)),
    _cut("everything", (), ()),
    _exact("empty", "slice", (_EMPTY,), {"starts": (1, 0), "ends": (3, 5)}),
)

_CONCATS = (
    _exact("first-axis", "concat", (_X, _X[:1] + 100), {"axis": 0}),
    _exact("last-axis", "concat", (_X, _X[:, :, :2], _X), {"axis": -1}),
    _exact("middle-axis", "concat", (_X[:, :1], _X, _X[:, 2:]), {"axis": 1}),
    _exact("one", "concat", (_X,), {"axis": 1}),
    _exact("empty-parts", "concat", (_EMPTY, _X[:, 0, :2], _EMPTY), {"axis": -1}),
    _exact("all-empty", "concat", (_EMPTY, _EMPTY), {"axis": 0}),
    _exact("many", "concat", tuple(_LINE[:k] for k in range(5)), {"axis": 0}),
)

_PADS = (
    _exact("zero", "pad", (_X,), {"pads": (0, 1, 2, 0, 3, 0)}),
    _exact("value", "pad", (_LINE, np.array(-1.5, np.float32)), {"pads": (2, 1)}),
    _exact("value-of-rank-1", "pad", (_LINE, np.array([np.inf], np.float32)), {"pads": (0, 1)}),
    _exact("empty", "pad", (_EMPTY, np.array(9, np.float32)), {"pads": (0, 1, 0, 1)}),
    _exact("scalar", "pad", (np.array(5, np.float32),), {"pads": ()}),
    _padded("crop", "constant", -1, -2),
    _padded("crop-and-grow", "constant", -2, 3),
    _padded("crop-past-the-end", "constant", -6, 5),
    _padded("crop-past-the-start", "constant", 6, -5),
    _padded("crop-to-nothing", "constant", -3, -1),
    _padded("full", "reflect", 3, 3),  # as far as a mirror reaches at once
    _padded("further", "reflect", 8, 5),
    _padded("crop-first", "reflect", 1, -2),
    _padded("one-side", "reflect", 0, 2),
    _padded("plain", "edge", 2, 3),
    _padded("crop-first", "edge", -2, 2),
    _padded("plain", "wrap", 2, 1),
    _padded("further", "wrap", 6, 9),
    _padded("crop-first", "wrap", 1, -1),
    *(
        _exact(f"{mode}-{name}", "pad", (x,), {"pads": pads, "mode": mode})
        for mode in ("reflect", "edge", "wrap")
        for name, x, pads in (
            ("corners", _X, (1, 2, 2, 1, 1, 3)),
            ("image", _X[None, :1], (0, 0, 1, 2, 0, 0, 2, 1)),
            ("single-element", _LINE[:1], (2, 1)),
            ("nothing-to-do", _X, (0, 0, 0, 0, 0, 0)),
            ("empty-axis-unpadded", _EMPTY, (1, 0, 1, 0)),
            ("crop-to-nothing", _LINE, (-2, -2)),
        )
    ),
)

_TILES = (
    _exact("plain", "tile", (_X,), {"repeats": (2, 1, 3)}),
    _exact("nothing", "tile", (_X,), {"repeats": (1, 0, 1)}),
    _exact("once", "tile", (_LINE,), {"repeats": (1,)}),
    _exact("empty", "tile", (_EMPTY,), {"repeats": (2, 2)}),
    _exact("scalar", "tile", (np.array(5, np.float32),), {"repeats": ()}),
)

_ROW = np.array([[0, 1, 2], [3, 1, 0]])
_DTYPES = tuple(
    _exact(f"{id}{dtype}", op, (_ROW.astype(dtype.numpy),) * count, attrs)
    for dtype in sorted(ALL)
    for id, op, count, attrs in (
        ("", "slice", 1, {"starts": (2,), "ends": (0,), "axes": (1,), "steps": (-1,)}),
        ("", "concat", 2, {"axis": 1}),
        ("", "pad", 1, {"pads": (1, 0, 0, 2)}),
        ("reflect-", "pad", 1, {"pads": (0, 2, 0, 1), "mode": "reflect"}),
        ("", "tile", 1, {"repeats": (2, 2)}),
    )
)

CASES: tuple[Case, ...] = _SLICES + _CONCATS + _PADS + _TILES + _DTYPES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_slice(device: str, case: Case) -> None:
    """Elements keep their bits and come out where the oracle has them."""
    check_case(device, case)
