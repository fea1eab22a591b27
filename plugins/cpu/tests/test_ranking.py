"""The best along an axis, and where the extreme stands: against numpy, on any threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import headrace_cpu
from headrace.tensor_spec import Array
from headrace_cpu import _native

DTYPES = ["float32", "float64", "int8", "uint8", "int32", "int64"]
SHAPES = [
    (3, 700, 1),
    (2, 9, 5),
    (1, 21, 333),
    (1, 9000, 1),
    (2, 40, 1),
    (1, 543, 2),
    (70, 85, 1),
    (33, 511, 1),
]


def drawn(shape: tuple[int, ...], dtype: str, nans: bool = False) -> Array:
    """Elements of which many are equal, with both signs of zero, and NaN if asked for."""
    draw = np.random.default_rng(2)
    x = draw.integers(0, 127, shape).astype(dtype)
    x *= draw.choice([-1, 1], shape).astype(dtype)  # of unsigned ones great numbers
    if nans:
        x[draw.random(shape) < 0.02] = np.nan
    return x


def on_any_threads(run: Callable[[], tuple[Array, ...]]) -> tuple[Array, ...]:
    """What it gives on one thread; the same on three."""
    headrace_cpu.set_threads(1)
    made = run()
    headrace_cpu.set_threads(3)
    for one, other in zip(made, run(), strict=True):
        np.testing.assert_array_equal(one, other)
    return made


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("largest", [True, False])
def test_the_best_come_first(dtype, shape, largest):
    """One, some and all of them; of equal ones the first."""
    x = drawn(shape, dtype)
    ordered = x if x.dtype.kind == "f" else x.astype(np.int64)
    order = np.argsort(-ordered if largest else ordered, axis=1, kind="stable")
    for count in sorted({1, min(5, shape[1]), shape[1]}):

        def run(count: int = count) -> tuple[Array, ...]:
            values = np.zeros((shape[0], count, shape[2]), dtype)
            indices = np.zeros(values.shape, np.int64)
            _native.top_k(x, values, indices, largest)()
            return values, indices

        values, indices = on_any_threads(run)
        np.testing.assert_array_equal(indices, order[:, :count])
        np.testing.assert_array_equal(values, np.take_along_axis(x, order[:, :count], axis=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
@pytest.mark.parametrize("largest", [True, False])
def test_nan_is_larger_than_all_numbers(dtype, share, largest):
    """Also where most elements are NaN, which are in the order of their places."""
    x = drawn((3, 700, 1), dtype)
    x[np.random.default_rng(3).random(x.shape) < share] = np.nan
    ascending = np.argsort(x, axis=1, kind="stable")  # NaN last
    descending = np.lexsort((-x, ~np.isnan(x)), axis=1)
    order = descending if largest else ascending
    for count in (1, 40, 700):
        values, indices = np.zeros((3, count, 1), dtype), np.zeros((3, count, 1), np.int64)
        _native.top_k(x, values, indices, largest)()
        np.testing.assert_array_equal(indices, order[:, :count])
        np.testing.assert_array_equal(values, np.take_along_axis(x, order[:, :count], axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("nans", [False, True])
def test_the_extreme_is_found(dtype, shape, nans):
    """The first or the last of equal ones; NaN is the extreme of both."""
    x = drawn(shape, dtype, nans and dtype.startswith("float"))
    for largest, find in ((True, np.argmax), (False, np.argmin)):
        for last in (False, True):

            def run(largest: bool = largest, last: bool = last) -> tuple[Array, ...]:
                y = np.zeros((shape[0], shape[2]), np.int64)
                _native.arg_extreme(x, y, largest, last)()
                return (y,)

            (y,) = on_any_threads(run)
            wanted = shape[1] - 1 - find(x[:, ::-1], axis=1) if last else find(x, axis=1)
            np.testing.assert_array_equal(y, wanted)


def test_what_does_not_fit_is_refused():
    """More than there are, and an empty axis."""
    x = np.zeros((1, 3, 1), np.float32)
    values, indices = np.zeros((1, 4, 1), np.float32), np.zeros((1, 4, 1), np.int64)
    with pytest.raises(ValueError, match="4 of 3"):
        _native.top_k(x, values, indices, True)
    with pytest.raises(ValueError, match="empty axis"):
        _native.arg_extreme(x[:, :0], np.zeros((1, 1), np.int64), True, False)
