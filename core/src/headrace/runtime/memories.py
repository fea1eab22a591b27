"""``Memories``: what jobs hold of the memories of a process, and what is kept for the next job.

Memory of devices, and host memory that is pinned for them, is not given back to its plugin when a
job lets go of it: the next job takes it from here. It goes back when the last user of its device
lets go of that, when it is asked for, and before a request is refused. Pageable memory is not kept:
the C library does that.

Whoever gives memory back has waited for all work that uses it, on every stream, so that whatever
takes it next need not wait for anything. Where that went wrong the memory is *spoilt*: nobody gets
it, and it goes back to its plugin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from headrace.collector import held
from headrace.device import Allocator, Buffer
from headrace.errors import OutOfMemoryError
from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple
from headrace.memory_case import MemoryCase
from headrace.runtime.blocks import Block, BlockPool, Part
from headrace.runtime.bus import new_lock

SHOWN = 3
"""How many jobs a message names."""

STEP_BYTES = 512
"""Parts begin at multiples of it, as registers in a chunk do, or of what a plugin aligns to."""


class MemoryStatistics(NamedTuple):
    """One memory of this process, at one moment.

    Attributes:
        memory: which it is; prints as ``device memory of TAG:0``.
        in_use_bytes: what jobs hold.
        cached_bytes: what is kept for the next job.
        peak_bytes: the most that was in use and kept together, since the process began.
        allocations: requests that the plugin was asked for.
        hits: requests that were answered with what was kept.
        users: the bytes that each job holds, the largest first.
    """

    memory: MemoryCase
    in_use_bytes: int
    cached_bytes: int
    peak_bytes: int
    allocations: int
    hits: int
    users: Mapping[str, int]


@dataclass(slots=True, eq=False)
class _Memory:
    """One memory: its blocks, and the bytes that each job holds."""

    case: MemoryCase
    pool: BlockPool
    users: Counter[str] = field(default_factory=Counter)
    peak_bytes: int = 0
    allocations: int = 0
    hits: int = 0

    @property
    def is_kept(self) -> bool:
        return not self.case.is_host or bool(self.case.pinned_for)

    def held_bytes(self) -> int:
        """In use and kept."""
        return self.users.total() + self.pool.idle_bytes()

    def statistics(self) -> MemoryStatistics:
        return MemoryStatistics(
            self.case,
            self.users.total(),
            self.pool.idle_bytes(),
            self.peak_bytes,
            self.allocations,
            self.hits,
            MappingProxyType(dict(self.users.most_common())),
        )


class Memories:
    """All memories that executors of one registry have allocated from. Callable from any thread.

    Memory is taken, given and released within a ``Shelter``.

    Attributes:
        allocating: held while an allocator is called, which plugins are promised one call of at a
            time, and while anything here is looked at.
    """

    def __init__(self) -> None:
        self.allocating = new_lock()
        self._memories: dict[MemoryCase, _Memory] = {}

    def take(
        self,
        case: MemoryCase,
        nbytes: int,
        job: str,
        allocator: Allocator,
        alignment_bytes: int,
        limit: int | None,
    ) -> Part:
        """At least ``nbytes`` bytes for a job, until ``give``.

        Args:
            case: of which memory.
            nbytes: how many; at least one.
            job: its name, for messages and statistics.
            allocator: where they come from if nothing fits that is kept.
            alignment_bytes: what its plugin promises of an address.
            limit: what this process may hold of the device's memory, or of the host's; None: all.

        Raises:
            OutOfMemoryError: there is not enough, though all that was kept was given back to the
                plugin; says what was asked for, by whom, and who holds what there is.
        """
        with held(self.allocating):
            memory = self._memories.get(case)
            if memory is None:
                pool = BlockPool(max(alignment_bytes, STEP_BYTES))
                memory = self._memories[case] = _Memory(case, pool)
            part = memory.pool.find(nbytes)
            if part is not None:
                memory.hits += 1
            else:
                buffer = self._allocate(memory, nbytes, job, allocator, limit)
                memory.allocations += 1
                part = memory.pool.add(buffer, allocator, nbytes)
            memory.users[job] += part.nbytes
            memory.peak_bytes = max(memory.peak_bytes, memory.held_bytes())
        return part

    def give(self, case: MemoryCase, part: Part, job: str, *, spoilt: bool = False) -> None:
        """Take back what ``take`` gave. No queued work uses it any more, unless it is spoilt.

        Raises:
            Exception: what the plugin raised; the memory is given back all the same.
        """
        with held(self.allocating):
            memory = self._memories[case]
            memory.users[job] -= part.nbytes
            if not memory.users[job]:
                del memory.users[job]
            given = part.view() if memory.is_kept and not spoilt else None
            memory.pool.give(part, spoilt=spoilt)
            if given is not None:
                part.block.allocator.recycle(given)
            else:
                _free(memory.pool.drain(spoilt_only=memory.is_kept))

    def release(self, tag: str | None = None, index: int = 0) -> int:
        """Give what is kept back to the plugins; returns how many bytes that were.

        Args:
            tag, index: the device that is meant, with what is pinned for it; default: all of them.

        Raises:
            Exception: what a plugin raised; all is given back all the same.
        """

        def is_meant(case: MemoryCase) -> bool:
            return tag is None or (case.pinned_for or case.tag, case.device_index) == (tag, index)

        with held(self.allocating):
            return self._release(is_meant)

    def kept_bytes(self, tag: str, index: int) -> int:
        """What is kept of the memory of a device, which counts as free for whoever allocates."""
        with held(self.allocating):
            memory = self._memories.get(MemoryCase(tag, index))
            return 0 if memory is None else memory.pool.idle_bytes()

    def used_bytes(self, place: str) -> int:
        """What jobs hold in a place, see ``MemoryCase.place``."""
        with held(self.allocating):
            return sum(m.users.total() for c, m in self._memories.items() if c.place == place)

    def largest_users(self, place: str) -> str:
        """The jobs that hold most in a place, in words; empty if none holds any of it."""
        with held(self.allocating):
            users = (m.users for c, m in self._memories.items() if c.place == place)
            return _largest(sum(users, Counter[str]()))

    def statistics(self) -> tuple[MemoryStatistics, ...]:
        """Of each memory that was ever allocated from, in a fixed order."""
        with held(self.allocating):
            return tuple(self._memories[case].statistics() for case in sorted(self._memories))

    def _allocate(
        self, memory: _Memory, nbytes: int, job: str, allocator: Allocator, limit: int | None
    ) -> Buffer:
        """A new block; what is kept in the same place goes if there is no room beside it."""
        place = memory.case.place
        beside = [m for case, m in self._memories.items() if case.place == place]

        def fits() -> bool:
            return limit is None or sum(m.held_bytes() for m in beside) + nbytes <= limit

        def release() -> int:
            return self._release(lambda case: case.place == place)

        if not fits():
            release()
        if not fits():
            why = f"HEADRACE_MEMORY_LIMIT lets this process have {limit:,} bytes of {place}"
            raise OutOfMemoryError(_refusal(memory, nbytes, job, why, beside))
        try:
            return allocator.allocate(nbytes)
        except OutOfMemoryError as error:
            refused = error
        if release():
            try:
                return allocator.allocate(nbytes)
            except OutOfMemoryError as error:
                refused = error
        raise OutOfMemoryError(_refusal(memory, nbytes, job, str(refused), [memory])) from refused

    def _release(self, is_meant: Callable[[MemoryCase], bool]) -> int:
        blocks = [
            block
            for case, memory in self._memories.items()
            if is_meant(case)
            for block in memory.pool.drain()
        ]
        _free(blocks)
        return sum(block.nbytes for block in blocks)


def _free(blocks: Iterable[Block]) -> None:
    """Give blocks back to their plugins.

    Raises:
        Exception: the first that an allocator raised, when all are given back.
    """
    failed: Exception | None = None
    for block in blocks:
        try:
            block.allocator.free(block.buffer)
        except Exception as error:  # noqa: BLE001 - the others are given back all the same
            failed = failed or error
    if failed is not None:
        raise failed


def _largest(users: Counter[str]) -> str:
    return "; ".join(f"{name!r} {nbytes:,}" for name, nbytes in users.most_common(SHOWN))


def _refusal(memory: _Memory, nbytes: int, job: str, why: str, asked: Sequence[_Memory]) -> str:
    users = sum((one.users for one in asked), Counter[str]())
    kept = sum(one.pool.idle_bytes() for one in asked)
    held = "no job of this process holds any of it"
    if users:
        held = f"jobs of this process hold {users.total():,} bytes of it ({_largest(users)})"
    if kept:
        largest = max(one.pool.largest_idle_bytes() for one in asked)
        held += f", and {kept:,} between theirs are free, at most {largest:,} in one piece"
    return (
        f"job {job!r} needs {nbytes:,} bytes of {memory.case} in one piece: {why}; {held}. Close "
        "jobs or models that are not needed, or make the inputs smaller"
    )
