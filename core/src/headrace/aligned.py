"""Host memory that begins at a cache line, as devices that read it in place want their weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.tensor_spec import Array

ALIGNMENT_BYTES = 64
"""A cache line, and the widest vector register."""


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array whose first element is at a multiple of ``ALIGNMENT_BYTES``; it holds anything.

    Raises:
        MemoryError: there is not enough.
    """
    raw = np.empty(math.prod(shape) * dtype.itemsize + ALIGNMENT_BYTES, np.uint8)
    return np.ndarray(shape, dtype, raw, -address_of(raw) % ALIGNMENT_BYTES)


def aligned(array: Array) -> Array:
    """``array`` row by row at a multiple of ``ALIGNMENT_BYTES``: itself, or a copy."""
    if is_aligned(array):
        return array
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def is_aligned(array: Array) -> bool:
    """True when it lies row by row, and its first element at a multiple of ``ALIGNMENT_BYTES``."""
    return array.flags.c_contiguous and not address_of(array) % ALIGNMENT_BYTES


def address_of(array: Array) -> int:
    """Where its first element is."""
    address: int = array.__array_interface__["data"][0]  # in a third of the time of `ctypes`
    return address
