"""Rows put where indices say: against numpy, on any threads."""

from __future__ import annotations

import numpy as np
import pytest

import headrace_cpu
from headrace_cpu import _native


@pytest.mark.parametrize("dtype", ["bool", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("inner", "rows"), [(1, 40), (3, 7), (5000, 60)])
def test_the_last_row_replaces_and_all_are_added(dtype, index, inner, rows):
    """Places named twice, and from the end; also where y is x."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (rows, 5, inner)).astype(dtype)
    at = np.stack([rng.integers(-rows, rows, 33), rng.integers(-5, 5, 33)], 1).astype(index)
    update = rng.integers(0, 90, (33, inner)).astype(dtype)
    for reduction in ("none", "add"):
        if reduction == "add" and dtype in ("bool", "int16"):
            continue
        wanted = x.copy()
        for (row, column), values in zip(at, update, strict=True):
            wanted[row, column] = values if reduction == "none" else wanted[row, column] + values
        for threads in (1, 3):
            headrace_cpu.set_threads(threads)
            y, own = np.zeros_like(x), x.copy()
            _native.scatter_nd(reduction, x, at, update, y)()
            _native.scatter_nd(reduction, own, at, update, own)()
            np.testing.assert_array_equal(y, wanted)
            np.testing.assert_array_equal(own, wanted)


@pytest.mark.parametrize("index", [5, -6, 2**40])
def test_an_index_outside_writes_nothing(index):
    """The message has the index and the length; an index before it was good."""
    x = np.ones((5, 2), np.float32)
    at = np.array([[0], [index]])
    launch = _native.scatter_nd("none", x, at, np.full((2, 2), 7, np.float32), x)
    with pytest.raises(IndexError, match=f"index {index} is outside an axis of 5"):
        launch()
    np.testing.assert_array_equal(x, 1)


def test_what_does_not_fit_is_refused():
    """Before anything is launched."""
    x, at = np.ones((5, 2), np.float32), np.zeros((3, 1), np.int64)
    with pytest.raises(ValueError, match="update"):
        _native.scatter_nd("none", x, at, np.ones((2, 2), np.float32), x)
    with pytest.raises(ValueError, match="not of float32"):
        _native.scatter_nd("none", x, at, np.ones((3, 2), np.int32), x)
    with pytest.raises(ValueError, match="one axis more"):
        _native.scatter_nd("none", x, at[:, :0], np.ones((3, 2), np.float32), x)
    with pytest.raises(ValueError, match="'mean'"):
        _native.scatter_nd("mean", x, at, np.ones((3, 2), np.float32), x)
