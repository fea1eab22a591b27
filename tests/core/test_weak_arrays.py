"""Arrays that are found as long as somebody else holds them."""

from __future__ import annotations

import numpy as np

from headrace.weak_arrays import WeakArrays


def test_an_array_is_found_while_somebody_holds_it() -> None:
    """The array itself and no copy; nothing when it is gone, or was never there."""
    arrays = WeakArrays()
    held = np.zeros(3)
    arrays.put("held", held)
    arrays.put("gone", np.zeros(3))
    assert arrays.get("held") is held
    assert arrays.get("gone") is None and arrays.get("other") is None


def test_the_last_one_put_is_found() -> None:
    """One that is still held by others gives way to it."""
    arrays = WeakArrays()
    first, second = np.zeros(3), np.ones(3)
    arrays.put("key", first)
    arrays.put("key", second)
    assert arrays.get("key") is second


def test_keys_of_arrays_that_went_do_not_pile_up() -> None:
    """There are never many more than there were arrays alive, and those are all found."""
    arrays = WeakArrays()
    held = [np.full(1, index) for index in range(2000)]
    for index, array in enumerate(held):
        arrays.put(index, array)
    for index in range(50_000):
        arrays.put(("gone", index), np.zeros(1))
    assert len(arrays) <= 4 * len(held)
    assert all(arrays.get(index) is array for index, array in enumerate(held))
