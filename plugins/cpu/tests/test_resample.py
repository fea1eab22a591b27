"""Weighted sums along an axis, in floats and in integers, against exact ones; on any threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace_cpu import _native

SHAPES = {
    "outer": st.sampled_from([1, 2, 3, 15, 16, 17, 40]),
    "inner": st.sampled_from([1, 2, 3, 7, 8, 16, 50, 130]),
    "length": st.integers(1, 80),
    "count": st.sampled_from([1, 2, 30, 63, 64, 65, 130]),
    "taps": st.integers(1, 4),
}


def resampled(x, sources, weights, dtype):
    """What the extension makes; the same, bit by bit, on one thread and three."""
    made = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.full((x.shape[0], len(sources), x.shape[2]), 77, dtype)
        _native.resample(x, y, sources, weights)()
        made.append(y)
    np.testing.assert_array_equal(*made)
    return made[0]


def summed(x, sources, weights):
    return np.einsum("oitj,it->oij", x.astype(np.float64)[:, sources], weights)


@settings(max_examples=100)
@given(**SHAPES, dtype=st.sampled_from(["float32", "float64"]))
def test_floats_are_resampled(outer, inner, length, count, taps, dtype):
    """Weighted sums of any elements of the axis, the last one too."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((outer, length, inner)).astype(dtype)
    sources = rng.integers(0, length, (count, taps), np.int32)
    weights = rng.standard_normal((count, taps)).astype(dtype)
    near = 1e-5 if dtype == "float32" else 1e-13
    got = resampled(x, sources, weights, dtype)
    np.testing.assert_allclose(got, summed(x, sources, weights), rtol=near, atol=near)


@settings(max_examples=150)
@given(
    **SHAPES,
    dtype=st.sampled_from(["int8", "uint8", "int32"]),
    ends=st.sampled_from([(True, True), (True, False), (False, True)]),
)
def test_integers_are_resampled(outer, inner, length, count, taps, dtype, ends):
    """Cut towards zero and kept within range; weights are eighths, so that sums are exact."""
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (outer, length, inner), endpoint=True).astype(dtype)
    x = x if ends[0] else x.astype(np.float64)
    sources = rng.integers(0, length, (count, taps), np.int32)
    weights = rng.integers(-8, 9, (count, taps)) / 8
    want = summed(x, sources, weights)
    if ends[1]:
        want = np.clip(np.trunc(want), info.min, info.max).astype(dtype)
    got = resampled(x, sources, weights, dtype if ends[1] else np.float64)
    np.testing.assert_array_equal(got, want)


def test_a_sum_that_rounding_made_smaller_is_its_integer():
    """Ten tenths of a number are that number, on either side of zero."""
    x = np.array([7, -7, 1], np.int32).reshape(3, 1, 1)
    sources, weights = np.zeros((1, 10), np.int32), np.full((1, 10), 0.1)
    assert np.cumsum(weights)[-1] < 1  # `sum` loses nothing from Python 3.12 on
    np.testing.assert_array_equal(resampled(x, sources, weights, np.int32), x)


def test_pairs_of_dtypes_that_are_not_made_are_refused():
    """Neither bytes of float32, nor weights of another dtype than the sums."""
    sources, weights = np.zeros((1, 1), np.int32), np.ones((1, 1))
    bytes_of = np.zeros((1, 1, 1), np.uint8)
    with pytest.raises(TypeError):
        _native.resample(bytes_of, np.zeros((1, 1, 1), np.float32), sources, weights)
    with pytest.raises(TypeError):
        _native.resample(bytes_of, bytes_of.copy(), sources, weights.astype(np.float32))
