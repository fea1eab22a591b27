"""The largest bytes of windows, channels last, against numpy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace_cpu
from headrace_cpu import _native


def slow_max(x, kernel, strides, dilations, pads):
    """x [n, *spatial, c] of integers; what is beyond the image never wins."""
    rank, least = x.ndim - 2, np.iinfo(x.dtype).min
    around = ((0, 0), *zip(pads[:rank], pads[rank:], strict=True), (0, 0))
    x = np.pad(x, around, constant_values=least)
    out = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[1:-1], kernel, strides, dilations, strict=True)
    ]
    y = np.full((x.shape[0], *out, x.shape[-1]), least, x.dtype)
    for tap in itertools.product(*map(range, kernel)):
        axes = zip(tap, dilations, out, strides, strict=True)
        places = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in axes)
        y = np.maximum(y, x[(slice(None), *places)])
    return y


@settings(max_examples=60)
@given(
    dtype=st.sampled_from([np.int8, np.uint8]),
    rank=st.integers(1, 3),
    channels=st.sampled_from([1, 3, 16, 63, 64, 65, 130]),
    data=st.data(),
)
def test_windows_of_any_geometry(dtype, rank, channels, data):
    """On any number of threads; windows of padding alone give the least number there is."""
    draw = data.draw
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    strides = [draw(st.integers(1, 2)) for _ in range(rank)]
    dilations = [draw(st.integers(1, 2)) for _ in range(rank)]
    pads = [draw(st.integers(0, 4)) for _ in range(2 * rank)]
    spatial = [draw(st.integers(5, 9)) for _ in range(rank)]
    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(
        limits.min, limits.max, (2, *spatial, channels), dtype, endpoint=True
    )
    want = slow_max(x, kernel, strides, dilations, pads)
    window = _native.Window(kernel, strides, dilations, pads[:rank])
    for threads in (1, 3):
        headrace_cpu.set_threads(threads)
        y = np.zeros_like(want)
        _native.max_pool_bytes(x, y, window)()
        np.testing.assert_array_equal(y, want)


def test_one_dtype_is_asked_for():
    """Bytes of both signs are not compared."""
    with pytest.raises(TypeError, match="both int8 or both uint8"):
        _native.max_pool_bytes(
            np.zeros((1, 4, 4), np.int8),
            np.zeros((1, 4, 4), np.uint8),
            _native.Window([1], [1], [1], [0]),
        )
