"""Critical sections: which calls begin when. Requests and releases in, grants out."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headrace.plan import CriticalSection
from headrace.runtime.sections import Sections

READS = CriticalSection(0, reads=(0,), writes=(), arena=0)
ALSO_READS = CriticalSection(1, reads=(0,), writes=(), arena=1)
WRITES = CriticalSection(2, reads=(), writes=(0,), arena=2)
APART = CriticalSection(3, reads=(1,), writes=(), arena=3)
SAME_ARENA = CriticalSection(4, reads=(), writes=(), arena=3)
ALL = (READS, ALSO_READS, WRITES, APART, SAME_ARENA)


def test_readers_overlap() -> None:
    """Jobs that read the same variable begin at once, also twice each."""
    sections = Sections(ALL)
    assert all(sections.request(job) for job in (0, 1, 0, 1))


def test_a_writer_waits_for_readers_and_they_for_it() -> None:
    """It begins when the last reader is over; a reader that comes meanwhile waits for it."""
    sections = Sections(ALL)
    assert sections.request(0)
    assert not sections.request(2)
    assert not sections.request(1)  # or writers would starve
    assert sections.release(0) == (2,)
    assert sections.release(2) == (1,)


def test_calls_of_one_job_do_not_wait_for_each_other() -> None:
    """Also of one that writes: its registers keep them in order."""
    sections = Sections(ALL)
    assert sections.request(2)
    assert sections.request(2)
    assert not sections.request(0)
    assert sections.release(2) == ()
    assert sections.release(2) == (0,)


def test_jobs_of_one_arena_wait_for_each_other() -> None:
    """They share nothing but bytes, and that is enough."""
    sections = Sections(ALL)
    assert sections.request(3)
    assert not sections.request(4)
    assert sections.release(3) == (4,)


def test_who_shares_nothing_overtakes() -> None:
    """A call that excludes nobody does not wait behind calls that do."""
    sections = Sections(ALL)
    assert sections.request(0)
    assert not sections.request(2)
    assert sections.request(3)


def test_calls_of_one_job_keep_their_order() -> None:
    """A second call does not pass the first one, which waits."""
    sections = Sections(ALL)
    assert sections.request(0)
    assert not sections.request(2)
    assert not sections.request(2)
    assert sections.release(0) == (2, 2)


variables = st.sets(st.integers(0, 2)).map(lambda numbers: tuple(sorted(numbers)))
plans = st.lists(st.tuples(variables, variables, st.integers(0, 3)), min_size=1, max_size=5).map(
    lambda jobs: [CriticalSection(n, r, w, a) for n, (r, w, a) in enumerate(jobs)]
)


@given(plan=plans, data=st.data())
def test_nobody_meets_and_nobody_is_forgotten(
    plan: list[CriticalSection], data: st.DataObject
) -> None:
    """Whatever is asked and released: no two inside exclude each other, and all get their turn."""
    sections = Sections(plan)
    inside: Counter[int] = Counter()
    asked: Counter[int] = Counter()
    began: Counter[int] = Counter()

    def begin(jobs: tuple[int, ...]) -> None:
        for job in jobs:
            began[job] += 1
            inside[job] += 1
        there = [plan[job] for job in inside if inside[job]]
        assert not any(one.excludes(other) for one in there for other in there)

    for job in data.draw(st.lists(st.integers(0, len(plan) - 1), max_size=12)):
        asked[job] += 1
        begin((job,) if sections.request(job) else ())
        if data.draw(st.booleans()) and +inside:
            over = data.draw(st.sampled_from(sorted(+inside)))
            inside[over] -= 1
            begin(sections.release(over))
    while +inside:
        over = min(+inside)
        inside[over] -= 1
        begin(sections.release(over))
    assert began == asked
