"""``SharedWeights``: weights that several jobs of one model have in common are in memory once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.tensor_spec import Array
from headrace.weak_arrays import WeakArrays

_LEAST_BYTES = 1 << 10
"""What is smaller is not worth the look."""

_SAMPLES = 64
"""Bytes of an array that tell most others from it."""

_PIECE_BYTES = 1 << 18
"""Compared at once, so that what comparing needs stays in a cache."""


class SharedWeights:
    """The weights of jobs that are alive. Used by one thread at a time.

    Jobs that differ in the shapes of their inputs are compiled one by one, each from weights that
    were read for it, and most of what becomes of these is the same. Names are not asked: what was
    made of a weight may be called otherwise in another job. Nobody may write to what is shared.
    """

    def __init__(self) -> None:
        self._known = WeakArrays()

    def of(self, constants: Mapping[str, Array]) -> dict[str, Array]:
        """Equal arrays by the same names: those of an earlier job, bit by bit, where it has them.

        Args:
            constants: each row by row; whoever calls this forgets them, so that they are freed.
        """
        return {name: self.one(value) for name, value in constants.items()}

    def one(self, value: Array) -> Array:
        """``of`` one array."""
        if value.nbytes < _LEAST_BYTES:
            return value
        raw = _bytes(value)
        key = (value.dtype, value.shape, raw[:: raw.size // _SAMPLES].tobytes())
        known = self._known.get(key)
        if known is not None and (known is value or _are_equal(_bytes(known), raw)):
            return known
        self._known.put(key, value)
        return value


def _bytes(value: Array) -> Array:
    return value.reshape(-1).view(np.uint8)


def _are_equal(a: Array, b: Array) -> bool:
    return all(
        np.array_equal(a[start : start + _PIECE_BYTES], b[start : start + _PIECE_BYTES])
        for start in range(0, a.size, _PIECE_BYTES)
    )
