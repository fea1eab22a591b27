"""Images that are read at computed places: against sums written out in numpy, on any threads."""

from __future__ import annotations

import numpy as np
import pytest

import headrace_cpu
from headrace.tensor_spec import Array
from headrace_cpu import _native


def read(x: Array, grid: Array, **how: object) -> Array:
    """What the launch writes; the same, bit by bit, on one thread and three."""
    how = {"taps": 2, "padding": "zeros", "is_aligned": True, "is_normalized": True, **how}
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full((*x.shape[:2], grid.shape[1]), 7, np.float32)
        _native.grid_sample(x, grid, y, **how)()
        made.append(y)
    np.testing.assert_array_equal(*made)
    return made[0]


@pytest.mark.parametrize("taps", [1, 2, 4])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_elements_are_read_where_they_lie(taps, padding):
    """More points than are looked at at a time, and a part of a register at the end."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2, 3, 19, 23)).astype(np.float32)
    rows, columns = np.meshgrid(np.arange(19.0), np.arange(23.0), indexing="ij")
    grid = np.stack([columns, rows], axis=-1).reshape(1, -1, 2).repeat(2, 0).astype(np.float32)
    y = read(x, grid, taps=taps, padding=padding, is_normalized=False)
    np.testing.assert_array_equal(y, x.reshape(2, 3, -1))


def test_four_elements_are_weighed():
    """Inside of the image: the mean of what is around, by distance."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (1, 5, 30, 40)).astype(np.float32)
    places = rng.uniform(0, (38.9, 28.9), (1, 700, 2)).astype(np.float32)
    y = read(x, places, is_normalized=False)
    column, row = places[0].astype(np.float64).T
    left, top = np.floor(column).astype(int), np.floor(row).astype(int)
    across, down = column - left, row - top
    wanted = sum(
        x[0][:, top + i, left + j] * (down if i else 1 - down) * (across if j else 1 - across)
        for i in (0, 1)
        for j in (0, 1)
    )
    np.testing.assert_allclose(y[0], wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38, -1e20])
@pytest.mark.parametrize("taps", [1, 2, 4])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_a_place_that_is_none_reads_nothing_else(number, taps, padding):
    """Whatever comes of it: the memory around the image is not touched."""
    x = np.ones((1, 1, 2, 2), np.float32)
    grid = np.full((1, 5, 2), number, np.float32)
    y = read(x, grid, taps=taps, padding=padding)
    assert y.shape == (1, 1, 5)


@pytest.mark.parametrize(
    ("x", "grid", "taps", "message"),
    [
        ((1, 1, 2, 2), (1, 5, 3), 2, "grid"),
        ((1, 1, 2, 2, 2, 2), (1, 5, 4), 2, "3 to 5 axes"),
        ((1, 1, 2, 2), (1, 5, 2), 3, "taps"),
        ((1, 1, 0, 2), (1, 5, 2), 2, "not read"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(x, grid, taps, message):
    """Before anything is launched."""
    arrays = (np.zeros(shape, np.float32) for shape in (x, grid, (*x[:2], grid[1])))
    with pytest.raises(ValueError, match=message):
        _native.grid_sample(*arrays, taps, "zeros", False, True)
