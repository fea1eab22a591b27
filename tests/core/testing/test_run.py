"""``compare``: the test of the tests. Right results pass, every kind of wrong one does not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from headrace.dtypes import ALL, FLOATS
from headrace.testing.case import Case
from headrace.testing.run import compare
from headrace.testing.tolerances import EXACT, tolerance_of


def case(x: Any, **more: Any) -> Case:
    """A case whose right result is ``x``."""
    return Case("case", "identity", (np.asarray(x),), **more)


def check(x: Any, result: Any, **more: Any) -> None:
    compare(case(x, **more), (np.asarray(result),), "on a device")


def test_equal_results_pass() -> None:
    """NaN equals NaN, and each infinity itself."""
    x = np.array([1.5, np.nan, np.inf, -np.inf], np.float32)
    check(x, x.copy())
    check(x[:0], x[:0].copy())


def test_the_worst_element_is_named_with_both_values() -> None:
    """A message that lets a kernel be mended without running again."""
    want = np.ones((2, 3), np.float32)
    got = want.copy()
    got[0, 1], got[1, 2] = 1.01, 1.5
    with pytest.raises(AssertionError, match=r"identity-case.*2 of 6.*\[1, 2\].*1\.5.*1\.0"):
        check(want, got)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1.01])
def test_one_wrong_float_fails(wrong: float) -> None:
    """Neither NaN nor infinity hides in a comparison."""
    with pytest.raises(AssertionError, match=r"1 of 2"):
        check(np.array([1, 2], np.float32), np.array([wrong, 2], np.float32))


def test_a_number_for_an_infinity_fails() -> None:
    """The relative tolerance of infinity is not infinite."""
    with pytest.raises(AssertionError, match="1 of 1"):
        check(np.array([np.inf], np.float32), np.array([1.0], np.float32))


def test_integers_are_exact_even_in_a_loose_case() -> None:
    """A tolerance is for floats: indices beside them stay exact, also beyond 2**53."""
    with pytest.raises(AssertionError, match="1 of 1"):
        check(np.array([2**60 + 1]), np.array([2**60]), rtol=0.5, atol=10.0)


def test_a_case_may_set_its_tolerance() -> None:
    """Tighter than the default of the dtype, or looser."""
    want, got = np.array([1.0], np.float32), np.array([1.000001], np.float32)
    check(want, got)
    check(want, np.array([1.4], np.float32), atol=0.5)
    with pytest.raises(AssertionError, match="rtol 0"):
        check(want, got, rtol=0.0, atol=0.0)


@pytest.mark.parametrize(
    "result", [np.ones(2, np.float64), np.ones((2, 1), np.float32), np.ones(1, np.float32)]
)
def test_another_shape_or_dtype_fails(result: np.ndarray[Any, Any]) -> None:
    """Also when the values would broadcast or convert."""
    with pytest.raises(AssertionError, match=r"should be float32\[2\]; it gives"):
        check(np.ones(2, np.float32), result)


def test_a_missing_output_fails() -> None:
    """An op must give as many outputs as were asked for."""
    with pytest.raises(AssertionError, match="0 outputs"):
        compare(case([1.0]), (), "on a device")


def test_storage_dtypes_compare_exactly() -> None:
    """Their neighbours differ."""
    x = np.array([1, 2]).astype(ml_dtypes.float8_e4m3fn)
    check(x, x.copy())
    with pytest.raises(AssertionError, match="1 of 2"):
        check(x, np.array([1, 2.25]).astype(ml_dtypes.float8_e4m3fn))


def test_only_computed_floats_have_a_tolerance() -> None:
    """And every one of these has more than one rounding of its own."""
    for dtype in sorted(ALL):
        tolerance = tolerance_of(dtype)
        if dtype in FLOATS:
            assert tolerance.rtol > float(ml_dtypes.finfo(dtype.numpy).eps)
        else:
            assert tolerance == EXACT
