"""Which part of what is kept somebody gets, and what is said when nobody can have more."""

from __future__ import annotations

import pytest

from headrace.device import Allocator, Device, HostAllocator, HostBuffer
from headrace.errors import OutOfMemoryError
from headrace.memory_case import MemoryCase
from headrace.runtime.blocks import SMALL_BYTES, Part
from headrace.runtime.memories import Memories

CASE = MemoryCase("far", 1)
PINNED = MemoryCase.pinned("far", 1)
HOST = MemoryCase.host()


class Plugin(Allocator):
    """Notes what it is asked for; refuses when told to."""

    def __init__(self) -> None:
        super().__init__(Device(1))
        self.asked: list[int] = []
        self.freed = 0
        self.refusals = 0

    def allocate(self, nbytes: int) -> HostBuffer:
        self.asked.append(nbytes)
        if self.refusals:
            self.refusals -= 1
            raise OutOfMemoryError("far:1 is full")
        return HostAllocator(self.device).allocate(nbytes)

    def free(self, buffer: object) -> None:
        self.freed += 1


class Kept:
    """Memories with one plugin."""

    def __init__(self, alignment_bytes: int = 512) -> None:
        self.memories, self.plugin = Memories(), Plugin()
        self.alignment_bytes = alignment_bytes

    def take(
        self, nbytes: int, job: str = "a", case: MemoryCase = CASE, limit: int | None = None
    ) -> Part:
        """Memory for a job."""
        return self.memories.take(case, nbytes, job, self.plugin, self.alignment_bytes, limit)

    def give(self, *parts: Part, case: MemoryCase = CASE) -> None:
        """Job "a" lets go of it."""
        for part in parts:
            self.memories.give(case, part, "a")


def test_the_smallest_that_fits_is_taken() -> None:
    """Not the first, and not the largest, whose size somebody else may need."""
    kept = Kept()
    parts = {nbytes: kept.take(nbytes) for nbytes in (9000, 3000, 5000, 2000)}
    kept.give(*parts.values())
    again = kept.take(2500)
    assert again.block is parts[3000].block
    assert kept.take(9000).block is parts[9000].block
    assert kept.plugin.asked == [9000, 3000, 5000, 2000]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2)], ids=str)
def test_what_was_cut_is_one_piece_again(order: tuple[int, ...]) -> None:
    """In whichever order the parts come back."""
    kept = Kept()
    kept.give(kept.take(10_000))
    parts = [kept.take(nbytes) for nbytes in (100, 4000, 1)]
    assert [part.offset for part in parts] == [0, 512, 512 + 4096]
    kept.give(*(parts[number] for number in order))
    assert kept.take(10_000).offset == 0
    assert kept.plugin.asked == [10_000]


@pytest.mark.parametrize("alignment_bytes", [64, 4096])
def test_parts_begin_where_registers_may(alignment_bytes: int) -> None:
    """At what the plugin aligns to, and at least at the step of offsets in a chunk."""
    kept = Kept(alignment_bytes)
    kept.give(kept.take(20_000))
    kept.take(1)
    assert kept.take(1).offset == max(alignment_bytes, 512)


def test_a_few_bytes_keep_no_large_block() -> None:
    """What is small lies in a block of its own, so that the large one can be given back."""
    kept = Kept()
    kept.give(kept.take(4 * SMALL_BYTES))
    kept.take(100)
    assert kept.memories.release() == 4 * SMALL_BYTES
    assert kept.plugin.freed == 1


def test_what_is_kept_goes_back_before_memory_is_refused() -> None:
    """The plugin is asked once more; nobody hears of the first refusal."""
    kept = Kept()
    kept.give(kept.take(1000), kept.take(2000))
    kept.plugin.refusals = 1
    kept.take(5000)
    assert (kept.plugin.freed, kept.plugin.asked) == (2, [1000, 2000, 5000, 5000])


def test_the_refusal_names_what_there_is() -> None:
    """Asked, in use, free between others, the largest users; and the plugin's own words."""
    kept = Kept()
    kept.take(700_000, "large")
    kept.take(1000, "small")
    middle, _ = kept.take(600_000), kept.take(200, "tiny")
    kept.give(middle)
    kept.take(1000, "small")
    kept.plugin.refusals = 2
    with pytest.raises(OutOfMemoryError) as caught:
        kept.take(900_000, "huge")
    assert str(caught.value) == (
        "job 'huge' needs 900,000 bytes of device memory of far:1 in one piece: far:1 is full; "
        "jobs of this process hold 702,224 bytes of it ('large' 700,000; 'small' 2,024; 'tiny' "
        "200), and 598,976 between theirs are free, at most 598,976 in one piece. Close jobs or "
        "models that are not needed, or make the inputs smaller"
    )


def test_nothing_is_asked_twice_when_nothing_was_kept() -> None:
    """A refusal that nothing can change comes at once."""
    kept = Kept()
    kept.take(1000)
    kept.plugin.refusals = 1
    with pytest.raises(OutOfMemoryError, match="far:1 is full; jobs of this process hold 1,000"):
        kept.take(1000)
    assert kept.plugin.asked == [1000, 1000]


def test_a_limit_counts_what_is_kept_and_gives_it_back_first() -> None:
    """Of one device, in use and kept together; the host's is counted apart, pinned or not."""
    kept = Kept()
    kept.give(kept.take(6000))
    kept.take(3000, "b", limit=10_000)  # a part of what is kept
    kept.take(3500, "c", limit=10_000)
    kept.take(9000, "d", PINNED, limit=10_000)
    with pytest.raises(
        OutOfMemoryError,
        match=r"HEADRACE_MEMORY_LIMIT lets this process have 10,000 bytes of the memory of far:1; "
        r"jobs .* \('c' 3,500; 'b' 3,072\), and 2,928 between",
    ):
        kept.take(3000, "e", limit=10_000)
    with pytest.raises(OutOfMemoryError, match=r"10,000 bytes of the host's memory; .*'d' 9,000"):
        kept.take(2000, "e", HOST, limit=10_000)


def test_pageable_memory_is_not_kept() -> None:
    """It goes back at once: the C library keeps it."""
    kept = Kept()
    kept.give(kept.take(1000, case=HOST), case=HOST)
    assert kept.plugin.freed == 1
    (told,) = kept.memories.statistics()
    assert (told.in_use_bytes, told.cached_bytes, told.peak_bytes) == (0, 0, 1000)


def test_what_one_plugin_raises_keeps_no_other_block() -> None:
    """All is given back, then the error is raised; nothing is given back twice."""
    kept = Kept()

    def free(buffer: object) -> None:
        kept.plugin.freed += 1
        raise ZeroDivisionError("on purpose")

    kept.plugin.free = free  # type: ignore[method-assign]
    kept.give(kept.take(1000), kept.take(2000))
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        kept.memories.release()
    assert kept.plugin.freed == 2
    assert kept.memories.release() == 0
