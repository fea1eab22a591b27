"""Packing intervals: nothing alive at once overlaps, and little is wasted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.compiler.memory.place import (
    ALIGNMENT_BYTES,
    Interval,
    _largest_first,
    _timeline,
    aligned,
    place,
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


@given(intervals)
def test_no_two_intervals_alive_at_once_share_a_byte(items: list[Interval]) -> None:
    """Each algorithm, and the better of them, keeps live intervals apart and aligned."""
    for placed in (_largest_first(items), _timeline(items), place(items)):
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
    assert live <= place(items).nbytes <= sum(aligned(i.nbytes) for i in items)


def test_a_chain_needs_two_tensors_at_a_time() -> None:
    """In a chain each tensor lives while it is made and read: two slots serve any length."""
    chain = [Interval(i, i + 1, 4096) for i in range(100)]
    assert place(chain).nbytes == 2 * 4096
