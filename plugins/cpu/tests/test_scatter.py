"""Rows and elements put where indices say, and marks: against loops, on any threads."""

from __future__ import annotations

import numpy as np
import pytest
from geometry import element, named_elements
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace_cpu import _native

COMBINE = {
    "none": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@pytest.mark.parametrize("dtype", ["bool", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("inner", "rows"), [(1, 40), (3, 7), (5000, 60)])
def test_the_last_row_replaces_and_all_are_combined(dtype, index, inner, rows):
    """Places named twice, and from the end; also where y is x."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (rows, 5, inner)).astype(dtype)
    at = np.stack([rng.integers(-rows, rows, 33), rng.integers(-5, 5, 33)], 1).astype(index)
    update = rng.integers(0, 90, (33, inner)).astype(dtype)
    for reduction, combine in COMBINE.items():
        if reduction != "none" and dtype in ("bool", "int16"):
            continue
        wanted = x.copy()
        with np.errstate(all="ignore"):
            for (row, column), values in zip(at, update, strict=True):
                wanted[row, column] = combine(wanted[row, column], values)
        for threads in (1, 3):
            headrace_cpu.set_threads(threads)
            y, own = np.zeros_like(x), x.copy()
            _native.scatter_nd(reduction, x, at, update, y)()
            _native.scatter_nd(reduction, own, at, update, own)()
            np.testing.assert_array_equal(y, wanted)
            np.testing.assert_array_equal(own, wanted)


@settings(max_examples=60)
@given(
    named_elements(),
    st.sampled_from([np.float32, np.float64, np.int32, np.int64]),
    st.sampled_from(sorted(COMBINE)),
)
def test_elements_are_put_one_after_another(named, dtype, reduction):
    """Of every rank, along every axis; NaN is left before any number; also where y is x."""
    shape, axis, made = named
    rng = np.random.default_rng(0)
    x, update = (rng.integers(-9, 9, sides).astype(dtype) for sides in (shape, made))
    if np.dtype(dtype).kind == "f":
        x[x == 8], update[update == 8] = np.nan, np.nan
    indices = rng.integers(-shape[axis], shape[axis], made)
    wanted = x.copy()
    for place in np.ndindex(*made):
        put = element(place, indices, axis)
        wanted[put] = COMBINE[reduction](wanted[put], update[place])
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y, own = np.zeros_like(x), x.copy()
        _native.scatter_elements(reduction, x, indices, update, y, axis)()
        _native.scatter_elements(reduction, own, indices, update, own, axis)()
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(own, wanted)


@pytest.mark.parametrize("dtype", ["bool", "float16", "int32", "float64"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_marks_stand_where_indices_say(dtype, index):
    """From the end as well; an index outside marks nothing."""
    indices = np.array([[0, 4, -1], [-5, 5, -6]], index)
    values, y = np.array([0, 1], dtype), np.ones((2, 5, 3), dtype)
    _native.one_hot(indices, values, y)()
    wanted = np.zeros_like(y)
    for outer, position, inner in [(0, 0, 0), (0, 4, 1), (0, 4, 2), (1, 0, 0)]:
        wanted[outer, position, inner] = 1
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("index", [5, -6, 2**40])
def test_an_index_outside_writes_nothing(index):
    """The message has the index and the length; an index before it was good."""
    x = np.ones((5, 2), np.float32)
    at = np.array([[0], [index]])
    rows, elements = np.full((2, 2), 7, np.float32), np.full((2, 1), 7, np.float32)
    for launch in (
        _native.scatter_nd("none", x, at, rows, x),
        _native.scatter_elements("add", x, at, elements, x, 0),
    ):
        with pytest.raises(IndexError, match=f"index {index} is outside axis 0, which has 5"):
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
    with pytest.raises(ValueError, match="update"):
        _native.scatter_elements("none", x, at, np.ones((2, 1), np.float32), x, 0)
    with pytest.raises(ValueError, match="longer along axis 1 only"):
        _native.scatter_elements("none", x[:2].copy(), at, np.ones((3, 1), np.float32), x, 1)
    halves = np.ones((5, 2), np.float16)
    with pytest.raises(ValueError, match="elements of float16 are not combined"):
        _native.scatter_elements("add", halves, at, np.ones((3, 1), np.float16), halves, 0)
    with pytest.raises(ValueError, match="y must"):
        _native.one_hot(at, x[0], x)
