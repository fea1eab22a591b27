"""Host memory that begins at a cache line, as devices that read it in place want their weights."""

from __future__ import annotations

import contextlib
import math
import mmap
from typing import Any

import numpy as np

from headrace.tensor_spec import Array

ALIGNMENT_BYTES = 64
"""A cache line, and the widest vector register."""


MAPPED_BYTES = 1 << 18
"""Arrays from here on have pages of their own: among smaller ones, what is freed of them would not
go back to the system, and weights are freed as they are folded and packed."""


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array whose first element is at a multiple of ``ALIGNMENT_BYTES``; it holds anything.

    Raises:
        MemoryError: there is not enough.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes >= MAPPED_BYTES:
        return np.ndarray(shape, dtype, _pages(nbytes))
    raw = np.empty(nbytes + ALIGNMENT_BYTES, np.uint8)
    return np.ndarray(shape, dtype, raw, -address_of(raw) % ALIGNMENT_BYTES)


def _pages(nbytes: int) -> mmap.mmap:
    """Memory that is this process's alone, in large pages where the system has them."""
    private: dict[str, int] = {}
    if hasattr(mmap, "MAP_ANONYMOUS"):
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    try:
        pages = mmap.mmap(-1, nbytes, **private)
    except (OSError, OverflowError, ValueError) as error:
        raise MemoryError(f"there is no memory for {nbytes} bytes: {error}") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


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
