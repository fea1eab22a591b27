"""Reductions over an axis, of numbers of any type: against numpy's in wider ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace_cpu import _native

FOLDS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
DTYPES = ("float32", "float64", "int32", "int64", "int8", "uint8")


@settings(max_examples=200)
@given(
    st.sampled_from(sorted(FOLDS)),
    st.sampled_from(DTYPES),
    st.integers(1, 4),
    st.sampled_from([1, 2, 31, 63, 64, 65, 97, 700]),
    st.sampled_from([1, 2, 17, 300]),
)
def test_an_axis_is_folded(kind, dtype, outer, length, inner):
    """Integers wrap around; equal bits on one thread and on three."""
    rng = np.random.default_rng(0)
    is_float = dtype.startswith("float")
    if kind == "mean" and not is_float:
        return
    x = rng.integers(-3, 4, (outer, length, inner)).astype(dtype)
    if is_float:
        x = (1 + rng.standard_normal(x.shape) / 50).astype(dtype)
    right = FOLDS[kind](x.astype(np.float64) if is_float else x, axis=1)
    found = []
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.zeros((outer, inner), dtype)
        _native.fold_axis(kind, x, y)()
        found.append(y)
    np.testing.assert_array_equal(*found)
    rtol = {"float32": 1e-4, "float64": 1e-12}.get(dtype, 0)
    np.testing.assert_allclose(found[0], right.astype(dtype), rtol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 70, 1), (1, 5, 9)])
@pytest.mark.parametrize("place", [0, -1])
def test_a_nan_is_left(dtype, shape, place):
    """Wherever it stands, of the largest and of the smallest."""
    x = np.ones(shape, dtype)
    x[0, place, 0] = np.nan
    for kind in FOLDS:
        y = np.zeros((shape[0], shape[2]), dtype)
        _native.fold_axis(kind, x, y)()
        assert np.isnan(y[0, 0])
        assert not np.isnan(y[0, 1:]).any()


def test_what_cannot_be_folded_is_refused():
    """An empty axis, a mean of integers, a shape that does not fit."""
    x, y = np.ones((2, 3, 4), np.int32), np.ones((2, 4), np.int32)
    with pytest.raises(ValueError, match="no mean"):
        _native.fold_axis("mean", x, y)
    with pytest.raises(ValueError, match="empty"):
        _native.fold_axis("sum", x[:, :0].copy(), y)
    with pytest.raises(ValueError, match="'median'"):
        _native.fold_axis("median", x, y)
    with pytest.raises(ValueError, match="y"):
        _native.fold_axis("sum", x, y[:1].copy())
