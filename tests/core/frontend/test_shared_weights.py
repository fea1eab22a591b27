"""Weights of several jobs: equal ones are in memory once, others are left alone."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.frontend.shared_weights import SharedWeights

SIZE = 5000


def weight(dtype: object = np.float32) -> np.ndarray:
    """The same numbers, in memory of its own at each call."""
    return np.random.default_rng(0).normal(size=(SIZE, 2)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, ml_dtypes.bfloat16])
def test_equal_weights_are_shared_whatever_their_names(dtype: object) -> None:
    """The second job gets the arrays of the first."""
    shared = SharedWeights()
    first, second = shared.of({"w": weight(dtype)}), shared.of({"v": weight(dtype)})
    assert second["v"] is first["w"]


@given(st.integers(0, SIZE * 2 - 1))
def test_one_element_makes_another_weight(index: int) -> None:
    """Wherever it is, and if only its sign differs, which numpy takes for equal."""
    shared = SharedWeights()
    zeros, other = np.zeros(SIZE * 2), np.zeros(SIZE * 2)
    other[index] = -0.0
    shared.of({"w": zeros})
    assert shared.of({"w": other})["w"] is other


def test_not_a_number_is_equal_to_itself() -> None:
    """Bits are compared, so a weight with NaN is shared as well."""
    shared = SharedWeights()
    first, second = weight(), weight()
    first[7] = second[7] = np.nan
    assert shared.of({"w": first})["w"] is shared.of({"w": second})["w"]


def test_shapes_and_dtypes_are_told_apart() -> None:
    """Zeros are of equal bytes whatever they are of."""
    made = [np.zeros(shape, dtype) for shape in ((64, 128), (128, 64)) for dtype in "fi"]
    shared = SharedWeights()
    for zeros in made:
        assert shared.of({"w": zeros})["w"] is zeros


def test_nothing_is_held() -> None:
    """A weight goes with the last job that has it."""
    shared = SharedWeights()
    first = shared.of({"w": weight()})
    gone = weakref.ref(first["w"])
    first.clear()
    gc.collect()
    assert gone() is None
    again = weight()
    assert shared.of({"w": again})["w"] is again
