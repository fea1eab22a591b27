"""Host memory that begins at a cache line: arrays alone, and beside each other in a region."""

from __future__ import annotations

import gc
import mmap

import numpy as np

from headrace.aligned import (
    Region,
    address_of,
    aligned_empty,
    is_aligned,
    together,
    whole,
)
from headrace.tensor_spec import Array

SIZES = (1, 5, 3000, 20_000, 300_000, 700_000)
FLOATS = np.dtype(np.float32)
ROOM = 8 * Region.LEAST_BYTES


def filled(region: Region) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """An array of each size, which holds its index."""
    arrays = [region.empty((size,), FLOATS) for size in SIZES]
    for index, array in enumerate(arrays):
        array[...] = index
    return arrays


def pages_of(array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> tuple[mmap.mmap, int]:
    """The pages that an array lies in, and where in them it begins."""
    pages = array.base
    assert isinstance(pages, mmap.mmap)
    return pages, address_of(array) - address_of(np.frombuffer(pages, np.uint8))


def test_arrays_of_a_region_are_aligned_and_do_not_meet() -> None:
    """Each holds what was written into it, whatever was written into those beside it."""
    arrays = filled(Region(4 * sum(SIZES) + 64 * len(SIZES)))
    for index, (size, array) in enumerate(zip(SIZES, arrays, strict=True)):
        assert array.shape == (size,)
        assert is_aligned(array)
        assert (array == index).all()


def test_a_region_has_room_for_any_array() -> None:
    """Those that it was not told of, empty ones, and all of a small region lie outside."""
    for region in (Region(0), Region(1000), Region(Region.LEAST_BYTES), Region(ROOM)):
        arrays = [*filled(region), region.empty((3, 0), FLOATS)]
        assert [array.size for array in arrays] == [*SIZES, 0]
        assert all(map(is_aligned, arrays))


def test_what_is_dropped_is_given_back_and_views_are_not_dropped() -> None:
    """The pages of an array are empty when it, all views of it and the region are gone."""
    region = Region(ROOM)
    first, second = (region.empty((1 << 18,), FLOATS) for _ in range(2))
    first[...], second[...] = 1, 2
    pages, begin = pages_of(first)
    view = first[10:20].reshape(2, 5)
    view.flags.writeable = False
    kept = view.view()
    del first, view, region
    gc.collect()
    assert (kept == 1).all()
    assert pages[begin : begin + 4] != bytes(4)
    del kept
    gc.collect()
    assert pages[begin : begin + (1 << 20)] == bytes(1 << 20)
    assert (second == 2).all()


def test_the_next_array_is_made_in_the_place_of_those_that_are_gone() -> None:
    """In the first that is large enough: those of several that lay beside each other are one."""
    region = Region(ROOM)
    first, second, third = (region.empty((1 << 16,), FLOATS) for _ in range(3))
    third[...] = 3
    place = address_of(first)
    del first, second
    fourth = region.empty((1 << 17,), FLOATS)
    fourth[...] = 4
    assert address_of(fourth) == place
    assert address_of(region.empty((1 << 16,), FLOATS)) > address_of(third)
    assert (third == 3).all()


def test_what_was_kept_for_the_next_array_is_given_back_with_the_region() -> None:
    """Also what goes later; what an array has is not."""
    region = Region(2 * ROOM)
    small, large = (region.empty((size,), FLOATS) for size in (1 << 16, 1 << 18))
    small[...], large[...] = 1, 2
    pages, begin = pages_of(large)
    del large
    last = region.empty((1 << 16,), FLOATS)  # in a part of its place
    last[...] = 3
    assert pages[begin + (1 << 19) : begin + (1 << 19) + 4] != bytes(4)
    del region
    assert pages[begin + (1 << 19) : begin + (1 << 20)] == bytes(1 << 19)
    assert (small == 1).all()
    assert (last == 3).all()
    end = begin + last.nbytes // 2
    del last
    assert pages[end : end + 4] == bytes(4)
    assert (small == 1).all()


def test_a_region_has_what_would_have_pages_of_its_own() -> None:
    """One after another in the same place; what is smaller lies in memory that is there already."""
    region = Region(Region.LEAST_BYTES)
    places = set()
    for _ in range(3):
        large, small = (region.empty((size,), FLOATS) for size in (Region.LEAST_BYTES // 4, 100))
        places.add((pages_of(large)[1], address_of(large)))
        assert not isinstance(small.base, mmap.mmap)
        del large
    assert len(places) == 1


def test_arrays_do_not_meet_whichever_go_before() -> None:
    """Each that is left holds what was written into it."""
    random = np.random.default_rng(0)
    region = Region(8 * ROOM)
    left: dict[int, np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = {}
    for number in range(300):
        left[number] = region.empty((int(random.integers(50_000, 200_000)),), FLOATS)
        left[number][...] = number
        for _ in range(int(random.integers(0, 3))):
            left.pop(int(random.choice([*left])) if left else number, None)
    assert left
    assert all((array == number).all() for number, array in left.items())


def test_a_large_place_is_not_kept() -> None:
    """Its pages are given back at once."""
    region = Region(Region.KEPT_BYTES + mmap.PAGESIZE)
    array = region.empty((Region.KEPT_BYTES // 4 + 1,), FLOATS)
    array[...] = 1
    pages, begin = pages_of(array)
    del array
    assert pages[begin : begin + mmap.PAGESIZE] == bytes(mmap.PAGESIZE)


def test_a_copy_of_many_rows_is_aligned() -> None:
    """What is made alone is aligned as well, in small pages or in its own."""
    assert all(is_aligned(aligned_empty((size,), FLOATS)) for size in SIZES)


def test_a_part_is_copied_where_it_would_keep_more_than_itself() -> None:
    """A view of all of an array keeps no more than is looked at, however its axes are turned."""
    array = aligned_empty((4, 64), FLOATS)
    array[...] = np.arange(256).reshape(4, 64)
    for view in (array, array.T, array.reshape(-1)):
        assert whole(view) is view
    part = whole(array[1:3])
    assert not np.shares_memory(part, array)
    assert is_aligned(part)
    np.testing.assert_array_equal(part, np.arange(64, 192).reshape(2, 64))


def test_copies_beside_each_other_are_aligned_and_do_not_meet() -> None:
    """Of any shape and dtype, also without elements; nobody can write to them."""
    arrays: list[Array] = [
        np.arange(5, dtype=np.float32),
        np.zeros((0, 3), np.int64),
        np.array(7, np.uint8),
        np.arange(64, dtype=np.int16).reshape(4, 16).T,
    ]
    copies = together(arrays)
    for copy, array in zip(copies, arrays, strict=True):
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)
        assert is_aligned(copy)
        assert not copy.flags.writeable
    assert together([]) == []
