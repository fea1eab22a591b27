"""Packing intervals: nothing alive at once overlaps, and little is wasted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.compiler.memory.place import (
    ALIGNMENT_BYTES,
    SEARCH_PATIENCE,
    FirstFit,
    Interval,
    Placed,
    aligned,
    largest_live_set,
    place,
    timeline,
)

intervals = st.lists(
    st.builds(
        lambda first, length, nbytes, between: Interval(first, first + length, nbytes, between),
        st.integers(0, 20),
        st.integers(0, 10),
        st.integers(0, 5000),
        st.booleans(),
    ),
    max_size=25,
)


def placed_by_all(items: list[Interval]) -> list[Placed]:
    """What each algorithm gives, and the best of them."""
    tried = [timeline(items), place(items)]
    return tried + (list(FirstFit(items).attempts())[:20] if items else [])


@given(intervals)
def test_no_two_intervals_alive_at_once_share_a_byte(items: list[Interval]) -> None:
    """Each algorithm, and the best of them, keeps live intervals apart and aligned."""
    for placed in placed_by_all(items):
        for i, (a, at) in enumerate(zip(items, placed.offsets, strict=True)):
            assert at % ALIGNMENT_BYTES == 0
            assert at + a.nbytes <= placed.nbytes
            for b, bt in zip(items[:i], placed.offsets[:i], strict=True):
                alive_together = (a.first <= b.last and b.first <= a.last) or (
                    a.between and b.between  # others use them while the chain does not run
                )
                apart = at + a.nbytes <= bt or bt + b.nbytes <= at
                assert apart or not alive_together or 0 in (a.nbytes, b.nbytes)


@given(intervals)
def test_the_result_lies_between_the_largest_live_set_and_the_sum(items: list[Interval]) -> None:
    """No plan is smaller than what is alive at once, and none larger than everything together."""
    times = range(max((i.last for i in items), default=0) + 1)
    live = max(sum(aligned(i.nbytes) for i in items if i.first <= t <= i.last) for t in times)
    live = max(live, sum(aligned(i.nbytes) for i in items if i.between))
    assert live == largest_live_set(items)
    assert live <= place(items).nbytes <= sum(aligned(i.nbytes) for i in items)


@given(intervals)
def test_the_smallest_of_all_attempts_is_taken(items: list[Interval]) -> None:
    """No algorithm alone does better: forwards, backwards, each order, and the whole search."""
    backwards = [i._replace(first=-i.last, last=-i.first) for i in items]
    attempts = [timeline(items), timeline(backwards)]
    if items:
        attempts += FirstFit(items).attempts()
    assert place(items).nbytes == min(placed.nbytes for placed in attempts)


def test_random_lifetimes_are_packed_close_to_the_least_possible() -> None:
    """200 problems like those of models: most reach the bound, and none is 5 % above it."""
    random = np.random.default_rng(11)
    tight = 0
    for _ in range(200):
        first = random.integers(0, 60, 40)
        life = np.minimum(random.geometric(0.3, 40), 20)
        sizes = 512 * 2 ** random.integers(0, 6, 40)
        items = [
            Interval(int(begin), int(begin + length), int(size))
            for begin, length, size in zip(first, life, sizes, strict=True)
        ]
        placed, bound = place(items).nbytes, largest_live_set(items)
        assert placed <= 1.05 * bound
        tight += placed == bound
    assert tight >= 190


def test_a_chain_needs_two_tensors_at_a_time() -> None:
    """In a chain each tensor lives while it is made and read: two slots serve any length."""
    chain = [Interval(i, i + 1, 4096) for i in range(100)]
    assert place(chain).nbytes == 2 * 4096


def test_the_search_finds_what_no_order_does() -> None:
    """Some problems are packed tightly only after what lies on top was placed first."""
    tight = 0
    for seed in range(40):
        items = [
            Interval(first, first + 1 + seed * first % 5, 512 * (1 + first * (seed * 7 + 1) % 6))
            for first in range(14)
        ]
        attempts = list(FirstFit(items).attempts())
        orders = min(placed.nbytes for placed in attempts[:3])
        tight += min(placed.nbytes for placed in attempts) < orders
    assert tight > 0


def test_a_search_in_vain_ends_soon() -> None:
    """After so many rounds that found nothing smaller there is none, also far above the bound."""
    for seed in (4, 14, 36):
        random = np.random.default_rng(seed)
        numbers = (random.integers(*ends, 40).tolist() for ends in ((0, 30), (1, 20), (1, 12)))
        items = [
            Interval(begin, begin + life, 512 * size)
            for begin, life, size in zip(*numbers, strict=True)
        ]
        attempts = [placed.nbytes for placed in FirstFit(items).attempts()]
        orders = 3
        found = max(attempts.index(min(attempts)) + 1, orders)
        assert len(attempts) == found + SEARCH_PATIENCE


def test_equal_intervals_are_placed_equally() -> None:
    """Plans are equal byte for byte, so neither a clock nor chance may decide."""
    items = [Interval(i, i + i % 7, 512 * (1 + i * 13 % 11), i % 5 == 0) for i in range(60)]
    assert place(items) == place(list(items))
