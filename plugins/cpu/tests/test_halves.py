"""Floats of 16 bits in programs, against numpy and ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest

from headrace_cpu import _native

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
ALL = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
"""The bits of every number that there is."""


def floats_near(half):
    """Floats that are halves, that lie between two of them, and the neighbours of both."""
    whole = ALL.view(half).astype(np.float32)
    whole = whole[np.isfinite(whole)]
    order = np.sort(whole)
    with np.errstate(over="ignore"):
        ties = (order[1:].astype(np.float64) + order[:-1]).astype(np.float64) / 2
        here = np.concatenate([whole, ties.astype(np.float32)])
        up, down = (np.nextafter(here, np.float32(end)) for end in (np.inf, -np.inf))
    great = np.float32([65519.996, 65520, 65536, 3.4e38, np.inf, 1e-45, 1e-39])
    scattered = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return np.concatenate([here, up, down, great, -great, scattered])


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_every_half_is_the_float_it_stands_for(half):
    """Bit by bit; a NaN stays one."""
    x = ALL.view(half)
    y = np.empty(x.shape, np.float32)
    _native.program([("identity", [0])], [], [x], y)()
    right = x.astype(np.float32)
    assert np.array_equal(np.isnan(y), np.isnan(right))
    known = ~np.isnan(right)
    assert np.array_equal(y[known].view(np.uint32), right[known].view(np.uint32))


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("is_last", [True, False])
def test_floats_are_rounded_to_the_nearest_half(half, is_last):
    """Ties to even, denormal results included, in memory and on the way; a NaN stays one."""
    x = floats_near(half)
    y = np.empty(x.shape, half if is_last else np.float32)
    steps = [(half.name, [0])] + ([] if is_last else [("identity", [1])])
    _native.program(steps, [], [x], y)()
    with np.errstate(all="ignore"):
        right = x.astype(half).astype(np.float32)
    got = y.astype(np.float32)
    assert np.array_equal(np.isnan(got), np.isnan(right))
    known = ~np.isnan(right)
    assert np.array_equal(got[known].view(np.uint32), right[known].view(np.uint32))


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("shape", [(1,), (15,), (3, 17), (70, 33), (5, 128)])
def test_halves_of_any_shape_are_broadcast(half, shape):
    """A row and a number are added to rows whose ends are no whole vectors, also in place."""
    rng = np.random.default_rng(0)
    x, row, one = (rng.standard_normal(s).astype(half) for s in (shape, shape[-1:], (1,)))
    with np.errstate(all="ignore"):
        sums = x.astype(np.float32) + row.astype(np.float32) + one.astype(np.float32)
    steps = [("add", [0, 1]), ("add", [3, 2]), (half.name, [4])]
    y = np.empty(shape, half)
    _native.program(steps, [], [x, row, one], y)()
    assert np.array_equal(y, sums.astype(half))
    _native.program(steps, [], [x, row, one], x)()
    assert np.array_equal(x, y)


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sides", [(1, 1, 1), (7, 33, 40), (73, 130, 65), (2, 3000, 100)])
def test_a_matrix_of_halves_is_multiplied_in_float32(half, transposed, sides):
    """Its numbers are exact, whatever they are multiplied with: only sums are rounded."""
    rows, depth, columns = sides
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, depth)).astype(np.float32)
    matrix = rng.standard_normal((columns, depth) if transposed else (depth, columns)).astype(half)
    panels = np.empty((-(-columns // 16), depth, 16), half)
    _native.pack(matrix, panels, 1, transposed)()
    y = np.empty((rows, columns), np.float32)
    _native.matmul(x, panels, y)()
    weight = (matrix.T if transposed else matrix).astype(np.float64)
    bound = np.abs(x).astype(np.float64) @ np.abs(weight) * depth**0.5 * 2.0**-23
    assert (np.abs(y - x.astype(np.float64) @ weight) <= bound).all()


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_an_image_is_convolved_with_halves(half, groups):
    """Group by group, where the image lies and over a padded copy."""
    rng = np.random.default_rng(0)
    for channels in (4, 24):
        x = rng.standard_normal((1, 9, 11, channels)).astype(np.float32)
        weight = rng.standard_normal((20, 3, 3, channels // groups)).astype(half)
        panels = np.empty((groups * -(-20 // groups // 16), 9 * channels // groups, 16), half)
        _native.pack(weight, panels, groups, True)()
        y = np.empty((1, 9, 11, 20), np.float32)
        window = _native.Window([3, 3], [1, 1], [1, 1], [1, 1])
        _native.conv(x, panels, y, window, groups)()
        padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
        read = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
        read = read.reshape(1, 9, 11, groups, channels // groups, 3, 3)
        parts = weight.astype(np.float64).reshape(groups, 20 // groups, 3, 3, channels // groups)
        right = np.einsum("nhwgcij,gmijc->nhwgm", read, parts).reshape(y.shape)
        np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-4)


def test_panels_of_other_dtypes_are_refused():
    """Nothing is cast where it was not asked for."""
    x, y = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
    panels = np.zeros((1, 3, 16), np.float64)
    with pytest.raises(TypeError, match="float32, float16 or bfloat16"):
        _native.matmul(x, panels, y)
    with pytest.raises(TypeError, match="of one dtype"):
        _native.pack(np.zeros((3, 4), np.float16), np.zeros((1, 3, 16), np.float32), 1, False)
