"""``BlockPool``: which parts of the blocks that a plugin gave are idle. Pure: it calls no plugin.

A *block* is one allocation of the plugin. It is cut into *parts*, each of which is somebody's or
idle; the next request takes the smallest idle part that it fits into, cuts off what it does not
need, and a part that becomes idle grows together with idle neighbours. Blocks are few and large,
since a plan asks for one piece of each memory, so parts are looked for one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from headrace.device import Allocator, Buffer
from headrace.light_dataclass import dataclass

SMALL_BYTES = 1 << 20
"""Requests below this take no part of a block that is not small itself: a few bytes that live long
would keep a large block from being given back."""


@dataclass(slots=True, eq=False)
class Block:
    """One allocation of a plugin.

    Attributes:
        buffer: what the plugin gave.
        allocator: what gave it, and takes it back.
        nbytes: what was asked for.
        parts: all of it, by offset; neighbours are never both idle.
        is_spoilt: work that uses it may still be queued somewhere: no part is given out again.
    """

    buffer: Buffer
    allocator: Allocator
    nbytes: int
    parts: list[Part] = field(default_factory=list)
    is_spoilt: bool = False

    @property
    def is_idle(self) -> bool:
        """True when all of it is."""
        return len(self.parts) == 1 and self.parts[0].is_idle


@dataclass(slots=True, eq=False)
class Part:
    """A range of a block, up to where the next part begins."""

    block: Block
    offset: int
    nbytes: int
    is_idle: bool

    def view(self) -> Buffer:
        """Its memory."""
        return self.block.buffer.view(self.offset, self.nbytes)


class BlockPool:
    """The blocks of one memory. Used by one thread at a time."""

    def __init__(self, alignment_bytes: int) -> None:
        """No block yet; parts begin at multiples of ``alignment_bytes`` from where blocks do."""
        self._alignment_bytes = alignment_bytes
        self._blocks: list[Block] = []

    def idle_bytes(self) -> int:
        """All that is idle."""
        return sum(part.nbytes for part in self._idle())

    def largest_idle_bytes(self) -> int:
        """The largest request that an idle part would do for."""
        return max((part.nbytes for part in self._idle() if not part.block.is_spoilt), default=0)

    def find(self, nbytes: int) -> Part | None:
        """A part of ``nbytes`` bytes or a few more, idle until now; None if none fits."""
        fitting = [part for part in self._idle() if _may_take(nbytes, part)]
        if not fitting:
            return None
        part = min(fitting, key=lambda part: part.nbytes)  # of equal ones the oldest
        part.is_idle = False
        self._cut(part, nbytes)
        return part

    def add(self, buffer: Buffer, allocator: Allocator, nbytes: int) -> Part:
        """A new block, all of it the caller's."""
        block = Block(buffer, allocator, nbytes)
        part = Part(block, 0, nbytes, is_idle=False)
        block.parts.append(part)
        self._blocks.append(block)
        return part

    def give(self, part: Part, *, spoilt: bool = False) -> None:
        """A part is idle from now on; ``spoilt`` if queued work may still use it."""
        block = part.block
        part.is_idle = True
        block.is_spoilt = block.is_spoilt or spoilt
        position = block.parts.index(part)
        for left in (position, position - 1):  # the right neighbour first: it moves nothing
            pair = block.parts[max(left, 0) : left + 2]
            if len(pair) == 2 and all(one.is_idle for one in pair):
                first, second = pair
                first.nbytes += second.nbytes
                block.parts.remove(second)

    def drain(self, *, spoilt_only: bool = False) -> list[Block]:
        """Take out the blocks that are idle as a whole; the caller frees them."""
        drained = [b for b in self._blocks if b.is_idle and (b.is_spoilt or not spoilt_only)]
        self._blocks = [block for block in self._blocks if block not in drained]
        for block in drained:
            block.parts.clear()  # which hold it, and its memory, until the collector comes
        return drained

    def _idle(self) -> Iterator[Part]:
        return (part for block in self._blocks for part in block.parts if part.is_idle)

    def _cut(self, part: Part, nbytes: int) -> None:
        """End ``part`` behind ``nbytes`` bytes, where a part may begin; the rest stays idle."""
        taken = -(-nbytes // self._alignment_bytes) * self._alignment_bytes
        rest = part.nbytes - taken
        if rest > 0:
            parts = part.block.parts
            behind = Part(part.block, part.offset + taken, rest, is_idle=True)
            parts.insert(parts.index(part) + 1, behind)
            part.nbytes = taken


def _may_take(nbytes: int, part: Part) -> bool:
    same_sort = nbytes >= SMALL_BYTES or part.block.nbytes < SMALL_BYTES
    return part.nbytes >= nbytes and same_sort and not part.block.is_spoilt
