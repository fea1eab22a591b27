"""Running sums and products: against numpy's, on any threads."""

from __future__ import annotations

import numpy as np
import pytest

import headrace_cpu
from headrace_cpu import _native


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(3, 7, 1), (2, 50, 3), (1, 90, 700), (200, 100, 1), (1, 1, 5)])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_each_element_is_that_of_all_up_to_it(dtype, shape, exclusive, reverse):
    """Bit by bit: one element after the other, on one thread and three, and in place."""
    x = np.random.default_rng(0).choice([-1.1, 0.9, 1, 1.2, 3], shape).astype(dtype)
    for name, function, nothing in (("sum", np.add, 0), ("product", np.multiply, 1)):
        line = x[:, ::-1] if reverse else x
        with np.errstate(all="ignore"):
            wanted = function.accumulate(line, axis=1, dtype=x.dtype)
        if exclusive:
            first = np.full_like(wanted[:, :1], nothing)
            wanted = np.concatenate([first, wanted[:, :-1]], axis=1)
        wanted = wanted[:, ::-1] if reverse else wanted
        for threads in (1, 3):
            headrace_cpu.set_threads(threads)
            y = np.full_like(x, 7)
            _native.cumulative(name, x, y, bool(exclusive), bool(reverse))()
            np.testing.assert_array_equal(y, wanted)
        if not exclusive:
            own = x.copy()
            _native.cumulative(name, own, own, False, bool(reverse))()
            np.testing.assert_array_equal(own, wanted)


def test_what_does_not_fit_is_refused():
    """Before anything is launched."""
    x = np.zeros((1, 2, 3), np.float32)
    with pytest.raises(ValueError, match="no reduction 'mean'"):
        _native.cumulative("mean", x, x, False, False)
    with pytest.raises(ValueError, match="3 axes"):
        _native.cumulative("sum", x[0], x[0], False, False)
