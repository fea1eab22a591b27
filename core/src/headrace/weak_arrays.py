"""``WeakArrays``: arrays by key, as long as somebody else holds them."""

from __future__ import annotations

from collections.abc import Hashable
from weakref import ref

from headrace.tensor_spec import Array

_LEAST_KEYS = 1 << 10
"""So many are there before any is dropped."""


class WeakArrays:
    """Arrays by key, as long as somebody holds them. For any thread.

    What ``WeakValueDictionary`` does for each value as it comes and goes is most of what it takes
    to make a small array, and a model has hundreds. Here keys of arrays that went are dropped by
    and by: there are at most three times as many as there were arrays at some time before. An array
    that another thread puts meanwhile may be forgotten, as if nobody held it.
    """

    __slots__ = ("_found", "_most")

    def __init__(self) -> None:
        self._found: dict[Hashable, ref[Array]] = {}
        self._most = _LEAST_KEYS

    def get(self, key: Hashable) -> Array | None:
        """The array that was put last, or None if nobody holds it."""
        found = self._found.get(key)
        return None if found is None else found()

    def put(self, key: Hashable, array: Array) -> None:
        """Have it found by ``key``."""
        if len(self._found) >= self._most:
            found = tuple(self._found.items())  # in one step, for other threads
            self._found = {key: array for key, array in found if array() is not None}
            self._most = _LEAST_KEYS + 2 * len(self._found)
        self._found[key] = ref(array)

    def __len__(self) -> int:
        """How many keys there are, also of arrays that went."""
        return len(self._found)
