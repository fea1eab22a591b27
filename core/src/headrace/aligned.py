"""Host memory that begins at a cache line, as devices that read it in place want their weights."""

from __future__ import annotations

import ctypes
import math
import mmap
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
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
    # As `address_of`, in a tenth of the time: models have hundreds of small constants.
    address = ctypes.addressof(ctypes.c_char.from_buffer(raw.data))
    return np.ndarray(shape, dtype, raw, -address % ALIGNMENT_BYTES)


Empty = Callable[[tuple[int, ...], np.dtype[Any]], Array]
"""Gives arrays as ``aligned_empty`` does."""


class Region:
    """Memory for large arrays that are made one after another, in the pages of those that are gone.

    To be given a page costs more than to fill it, and most of what is read is read only to be
    packed. So what an array had is there for the next ones when the array is gone, and is given
    back with the region. What no array was made in is not there. Used by one thread; arrays may go
    in any.

    Large pages were turned down: where the host has taken free ones away meanwhile, as those of
    virtual machines do, each takes milliseconds, and calls are no faster for them.
    """

    LEAST_BYTES = MAPPED_BYTES
    """Arrays of smaller regions, and smaller arrays, are made as ``aligned_empty`` does."""

    KEPT_BYTES = 1 << 23
    """The pages of a larger array are given back at once."""

    def __init__(self, nbytes: int) -> None:
        """Room for so many bytes, as near as that can be told; arrays of more are made outside."""
        self._size = nbytes if nbytes >= self.LEAST_BYTES else 0
        self._places: _Places | None = None

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """As ``aligned_empty``; raises as that."""
        nbytes = math.prod(shape) * dtype.itemsize
        room = -(-nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        if nbytes < self.LEAST_BYTES or room > self._size:
            return aligned_empty(shape, dtype)
        places = self._places
        if places is None:
            places = self._places = _Places(self._size, self.KEPT_BYTES)
            weakref.finalize(self, places.rest).atexit = False
        begin = places.take(room)
        if begin is None:
            return aligned_empty(shape, dtype)
        array = np.ndarray(shape, dtype, places.pages, begin)
        # Views have the array as their base, not the pages: when it is gone, they are. Arrays stay
        # longer than the region, which they must not keep.
        weakref.finalize(array, places.is_gone, begin, begin + room).atexit = False
        return array


class _Places:
    """The ``pages`` of a region, and which part of them is whose."""

    def __init__(self, nbytes: int, kept_bytes: int) -> None:
        self.pages = _pages(nbytes)
        self._most_kept = kept_bytes
        self._free = [(0, nbytes)]  # in order, apart
        # Arrays may go between any two steps of ``take``, which therefore alone changes the others.
        self._gone: deque[tuple[int, int]] = deque()
        self._rests = False

    def take(self, nbytes: int) -> int | None:
        """Where a place of so many bytes begins, the first; None where there is no room for it."""
        self._take_gone()
        for index, (begin, end) in enumerate(self._free):
            if end - begin >= nbytes:
                self._free[index] = begin + nbytes, end
                return begin
        return None

    def is_gone(self, begin: int, end: int) -> None:
        """The array from ``begin`` to ``end`` is."""
        if end - begin > self._most_kept:
            self._give_back(begin, end)
        self._gone.append((begin, end))  # from here on another array may be made there
        if self._rests:
            self._give_back(begin, end)

    def rest(self) -> None:
        """No more is taken: all that no array has is given back, from now on at once."""
        self._rests = True
        self._take_gone()
        for begin, end in self._free:
            self._give_back(begin, end)

    def _take_gone(self) -> None:
        if not self._gone:
            return
        places = [place for place in self._free if place[0] < place[1]]
        while self._gone:
            places.append(self._gone.popleft())
        self._free = []
        for begin, end in sorted(places):
            if self._free and self._free[-1][1] == begin:
                begin, _ = self._free.pop()
            self._free.append((begin, end))

    def _give_back(self, begin: int, end: int) -> None:
        first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
        length = end // mmap.PAGESIZE * mmap.PAGESIZE - first
        if length > 0 and hasattr(mmap, "MADV_DONTNEED"):
            self.pages.madvise(mmap.MADV_DONTNEED, first, length)


def _pages(nbytes: int) -> mmap.mmap:
    """Memory that is this process's alone."""
    private: dict[str, int] = {}
    if hasattr(mmap, "MAP_ANONYMOUS"):
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    try:
        return mmap.mmap(-1, nbytes, **private)
    except (OSError, OverflowError, ValueError) as error:
        raise MemoryError(f"there is no memory for {nbytes} bytes: {error}") from None


def together(arrays: Sequence[Array]) -> list[Array]:
    """Copies of arrays, each aligned, in one memory that lasts as long as any of them.

    Nobody can write to them. Hundreds of small ones are made so in a third of the time.
    """
    sizes = [-(-array.nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES for array in arrays]
    pieces = [array.tobytes().ljust(size, b"\0") for array, size in zip(arrays, sizes, strict=True)]
    memory = aligned_empty((sum(sizes),), np.dtype(np.uint8))
    memory.data[:] = b"".join(pieces)
    memory.flags.writeable = False
    places = accumulate(sizes, initial=0)
    return [
        np.ndarray(array.shape, array.dtype, memory, place)
        for array, place in zip(arrays, places, strict=False)
    ]


def aligned(array: Array) -> Array:
    """``array`` row by row at a multiple of ``ALIGNMENT_BYTES``: itself, or a copy."""
    return array if is_aligned(array) else _copy(array)


def whole(array: Array) -> Array:
    """``array``, or a copy of a part of other memory, all of which it would keep."""
    base = array.base
    if not isinstance(base, np.ndarray) or base.nbytes <= array.nbytes + ALIGNMENT_BYTES:
        return array
    return _copy(array)


def _copy(array: Array) -> Array:
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def is_aligned(array: Array) -> bool:
    """True when it lies row by row, and its first element at a multiple of ``ALIGNMENT_BYTES``."""
    return aligned_address(array) is not None


def aligned_address(array: Array) -> int | None:
    """Where its first element is, if it ``is_aligned``; else None."""
    address = address_of(array)
    return address if array.flags.c_contiguous and not address % ALIGNMENT_BYTES else None


def address_of(array: Array) -> int:
    """Where its first element is."""
    address: int = array.__array_interface__["data"][0]  # in a third of the time of `ctypes`
    return address
