"""Memory that is kept for the next job: against a model that knows bytes alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.device import Allocator, Buffer, Device, HostAllocator, HostBuffer
from headrace.errors import OutOfMemoryError
from headrace.memory_case import MemoryCase
from headrace.runtime.blocks import SMALL_BYTES, Block, Part
from headrace.runtime.memories import STEP_BYTES, Memories, MemoryStatistics
from headrace.tensor_spec import Array

CASE = MemoryCase("far")
CAPACITY = 8 * SMALL_BYTES
SIZES = st.one_of(
    st.integers(1, 4 * STEP_BYTES), st.integers(1, SMALL_BYTES), st.integers(1, CAPACITY + 1)
)


class Plugin(Allocator):
    """Little memory, and an account of it."""

    def __init__(self) -> None:
        super().__init__(Device(0))
        self.live: dict[int, HostBuffer] = {}
        self.recycled: list[tuple[int, int]] = []
        self.refuses = False

    @property
    def used(self) -> int:
        """Bytes that were not given back."""
        return sum(buffer.nbytes for buffer in self.live.values())

    def allocate(self, nbytes: int) -> HostBuffer:
        if self.refuses or self.used + nbytes > CAPACITY:
            raise OutOfMemoryError(f"{CAPACITY - self.used} bytes are left")
        buffer = HostAllocator(self.device).allocate(nbytes)
        self.live[buffer.address] = buffer
        return buffer

    def free(self, buffer: Buffer) -> None:
        assert self.live.pop(buffer.address) is buffer, "given back twice, or not from here"

    def recycle(self, buffer: Buffer) -> None:
        self.recycled.append((buffer.address, buffer.nbytes))


@dataclass(eq=False)
class Held:
    """What a job has, full of a number of its own."""

    part: Part
    job: str
    memory: Array
    number: int


class Jobs(RuleBasedStateMachine):
    """Jobs take and give memory; the plugin refuses now and then, and what is kept is released."""

    def __init__(self) -> None:
        super().__init__()
        self.memories, self.plugin = Memories(), Plugin()
        self.living: list[Held] = []
        self.spoilt: list[Block] = []
        self.taken = 0
        self.memories.give(CASE, self.memories.take(CASE, 1, "a", self.plugin, 16, None), "a")

    @property
    def told(self) -> MemoryStatistics:
        """Of the one memory there is."""
        (told,) = self.memories.statistics()
        return told

    def bytes_of_blocks_in_use(self) -> int:
        """What nobody can give back now."""
        return sum(block.nbytes for block in {one.part.block for one in self.living})

    @rule(nbytes=SIZES, job=st.sampled_from("abc"), limit=st.none() | SIZES)
    def take(self, nbytes: int, job: str, limit: int | None) -> None:
        """Somebody gets memory that nobody else has, or there really is none."""
        before = self.told
        try:
            part = self.memories.take(CASE, nbytes, job, self.plugin, 16, limit)
        except OutOfMemoryError:
            needed = self.bytes_of_blocks_in_use() + nbytes
            limits = [CAPACITY] if limit is None else [CAPACITY, limit]
            assert self.plugin.refuses or needed > min(limits)
            return
        now = self.told
        made = now.allocations - before.allocations
        assert made + now.hits - before.hits == 1
        assert part.nbytes >= nbytes
        assert part.offset % STEP_BYTES == 0
        assert part.block not in self.spoilt
        assert nbytes >= SMALL_BYTES or part.block.nbytes < SMALL_BYTES
        assert not made or limit is None or self.plugin.used <= limit
        view = part.view()
        assert isinstance(view, HostBuffer)
        self.taken += 1
        one = Held(part, job, view.memory, self.taken % 251)
        one.memory[:] = one.number
        self.living.append(one)

    @precondition(lambda self: self.living)
    @rule(which=st.integers(0, 99), spoilt=st.integers(0, 3).map(lambda number: number == 3))
    def give(self, which: int, spoilt: bool) -> None:
        """A job lets go of something; the plugin is told that it is kept, or has it back."""
        one = self.living.pop(which % len(self.living))
        told, range_ = len(self.plugin.recycled), (one.part.view().address, one.part.nbytes)
        self.memories.give(CASE, one.part, one.job, spoilt=spoilt)
        assert self.plugin.recycled[told:] == ([] if spoilt else [range_])
        if spoilt:
            self.spoilt.append(one.part.block)

    @rule()
    def release(self) -> None:
        """Only what lies in one piece with something that is used is kept afterwards."""
        used = self.plugin.used
        assert self.memories.release() == used - self.plugin.used
        assert self.plugin.used == self.bytes_of_blocks_in_use()

    @rule(refuses=st.booleans())
    def somebody_else(self, refuses: bool) -> None:
        """Another program takes all that is left of the device, or lets go of it."""
        self.plugin.refuses = refuses

    @invariant()
    def all_is_accounted_for(self) -> None:
        """Jobs and what is kept are what the plugin gave, and every job finds what it wrote."""
        told, users = self.told, Counter[str]()
        for one in self.living:
            users[one.job] += one.part.nbytes
            assert (one.memory == one.number).all()
        assert dict(told.users) == dict(users)
        assert told.in_use_bytes == users.total()
        assert told.in_use_bytes + told.cached_bytes == self.plugin.used <= told.peak_bytes

    def teardown(self) -> None:
        """When all jobs have gone, the last user of the device leaves nothing on it."""
        while self.living:
            self.give(0, spoilt=False)
        self.memories.release("far", 1)
        assert self.told.cached_bytes == self.plugin.used
        self.memories.release("far", 0)
        assert not self.plugin.live


TestJobs = Jobs.TestCase
TestJobs.settings = settings(max_examples=100, stateful_step_count=40)
