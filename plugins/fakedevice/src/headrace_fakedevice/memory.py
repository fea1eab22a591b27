"""Device memory that is closed to the host and checks itself.

A ``Block`` is one allocation. Its bytes lie between a header, which begins with a magic code, and
a trailer of guard bytes; both are checked whenever the block is opened and when it is freed. A new
block and a freed one are full of poison, so that what was never written or is no longer there
shows: as floating point numbers of any width the first poison is NaN.

Outside there are only ``FakeBuffer`` objects. Their addresses are numbers in a part of the address
space that no process can map, and they hold no array: kernels and copies of this package open them
with ``open_buffer``, and nothing else does.
"""

from __future__ import annotations

from typing import NoReturn, Protocol

import numpy as np

from headrace.device import Buffer
from headrace.errors import DeviceError
from headrace.tensor_spec import Array

MAGIC = 0x46414B45  # "FAKE"
ALIGNMENT_BYTES = 512

FRESH = 0xFF
FREED = 0xFE
_GUARD = 0xFA
_HEADER = MAGIC.to_bytes(4, "big") + bytes([_GUARD]) * (ALIGNMENT_BYTES - 4)
_TRAILER = bytes([_GUARD]) * ALIGNMENT_BYTES
EDGE_BYTES = len(_HEADER) + len(_TRAILER)


class MemoryFault(DeviceError):
    """Device memory was used in a way that a real device would answer with garbage or a crash."""


class User(Protocol):
    """A piece of work that uses memory."""

    reached: bool


class Block:
    """One allocation.

    Attributes:
        device_index: the device it is on.
        address: where its data begins, a multiple of ``ALIGNMENT_BYTES``.
        nbytes: length of the data.
        users: pieces of queued work that are about to use it, unless they are done, each with the
            range, begin and end in its data.
    """

    def __init__(self, device_index: int, address: int, nbytes: int) -> None:
        self.users: set[tuple[User, int, int]] = set()
        self.device_index = device_index
        self.address = address
        self.nbytes = nbytes
        self._live = True
        self._storage = np.full(nbytes + EDGE_BYTES, FRESH, np.uint8)
        self._storage[: len(_HEADER)] = np.frombuffer(_HEADER, np.uint8)
        self._storage[len(_HEADER) + nbytes :] = np.frombuffer(_TRAILER, np.uint8)

    def data(self) -> Array:
        """The bytes, uint8[nbytes], after all checks.

        Raises:
            MemoryFault: the block was freed, or something wrote over one of its ends.
        """
        if not self._live:
            raise MemoryFault(f"{self} is used after it was freed")
        end = len(_HEADER) + self.nbytes
        header = self._storage[: len(_HEADER)].tobytes()
        if header[:4] != _HEADER[:4]:
            raise MemoryFault(f"{self} has lost its magic code {MAGIC:#x}: {header[:4].hex()}")
        if header != _HEADER:
            raise MemoryFault(f"{self} was written to before its beginning")
        if self._storage[end:].tobytes() != _TRAILER:
            raise MemoryFault(f"{self} was written to behind its end")
        return self._storage[len(_HEADER) : end]

    def free(self) -> None:
        """Check the block a last time and poison it.

        Raises:
            MemoryFault: it was freed before, queued work is about to use it, or something wrote
                over one of its ends.
        """
        if not self._live:
            raise MemoryFault(f"{self} is freed a second time")
        try:
            self.data()[:] = FREED
        finally:
            self._live = False
        self._check_unused("freed", 0, self.nbytes)

    def recycle(self, begin: int, end: int) -> None:
        """Poison a range that core keeps for others: they find it as if it were fresh.

        Raises:
            MemoryFault: queued work is about to use it, or something wrote over one of the ends.
        """
        self.data()[begin:end] = FRESH
        self._check_unused("given to others", begin, end)

    def _check_unused(self, what: str, begin: int, end: int) -> None:
        users = sum(
            first < end and last > begin and not work.reached for work, first, last in self.users
        )
        if users:
            raise MemoryFault(f"{self} is {what} while {users} pieces of queued work use it")

    def __str__(self) -> str:
        return f"block {self.address:#x} of {self.nbytes} bytes on fakedevice:{self.device_index}"


class FakeBuffer(Buffer):
    """A range of one block. It knows where it is, and cannot be read."""

    __slots__ = ("_block",)

    def __init__(self, block: Block, address: int, nbytes: int) -> None:
        super().__init__(address, nbytes, block)
        self._block = block

    def view(self, offset: int, nbytes: int) -> FakeBuffer:
        """The part from ``offset`` on.

        Raises:
            MemoryFault: it reaches out of this buffer.
        """
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise MemoryFault(
                f"a view of {nbytes} bytes at offset {offset} reaches out of {self.nbytes} bytes "
                f"at {self.address:#x} in {self._block}"
            )
        return FakeBuffer(self._block, self.address + offset, nbytes)

    def enter(self, work: User) -> None:
        """A piece of work is about to use it, until it is done."""
        self._block.users.add((work, *self._range()))

    def leave(self, work: User) -> None:
        """Forget work that is done."""
        self._block.users.discard((work, *self._range()))

    def _range(self) -> tuple[int, int]:
        begin = self.address - self._block.address
        return begin, begin + self.nbytes

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise MemoryFault(f"the host cannot read {self._block}; copy it with copy_d2h")


def block_of(buffer: Buffer, device_index: int) -> Block:
    """The block that ``buffer`` is a range of.

    Raises:
        MemoryFault: it is memory of the host or of another device.
    """
    if not isinstance(buffer, FakeBuffer):
        raise MemoryFault(
            f"fakedevice:{device_index} was given a {type(buffer).__name__}, which is not its "
            "memory; copy it with copy_h2d"
        )
    if buffer._block.device_index != device_index:
        raise MemoryFault(f"fakedevice:{device_index} cannot reach {buffer._block}")
    return buffer._block


def memory_of(*buffers: Buffer | None) -> tuple[FakeBuffer, ...]:
    """Those of ``buffers`` which are memory of a fake device."""
    return tuple(buffer for buffer in buffers if isinstance(buffer, FakeBuffer))


def device_index_of(buffer: Buffer) -> int:
    """The fake device whose memory ``buffer`` is.

    Raises:
        MemoryFault: it is memory of no fake device.
    """
    if not isinstance(buffer, FakeBuffer):
        raise MemoryFault(f"{type(buffer).__name__} is no memory of a fake device")
    return buffer._block.device_index


def open_buffer(buffer: Buffer, device_index: int) -> Array:
    """The bytes of ``buffer``, for copies and kernels of ``device_index`` while they run.

    Raises:
        MemoryFault: the memory is not of this device, was freed, or is damaged.
    """
    block = block_of(buffer, device_index)
    start = buffer.address - block.address
    return block.data()[start : start + buffer.nbytes]
