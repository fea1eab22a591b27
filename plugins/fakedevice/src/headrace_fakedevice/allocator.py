"""``FakeAllocator``: memory of one device, in an address space of its own."""

from __future__ import annotations

import os

from headrace.device import Allocator, Buffer, Device
from headrace.errors import DeviceError, OutOfMemoryError
from headrace_fakedevice.device import FakeDevice
from headrace_fakedevice.experiment import current
from headrace_fakedevice.memory import (
    ALIGNMENT_BYTES,
    EDGE_BYTES,
    Block,
    FakeBuffer,
    MemoryFault,
    block_of,
)

BYTES_VARIABLE = "HEADRACE_FAKEDEVICE_BYTES"
DEFAULT_BYTES = 4 << 30


def memory_bytes() -> int:
    """How much memory each device has: ``HEADRACE_FAKEDEVICE_BYTES``, by default 4 GiB.

    Raises:
        DeviceError: the variable is no number.
    """
    text = os.environ.get(BYTES_VARIABLE, str(DEFAULT_BYTES))
    if not (text.isascii() and text.isdecimal()):
        raise DeviceError(f"{BYTES_VARIABLE} must be a number of bytes; it is {text!r}")
    return int(text)


class FakeAllocator(Allocator):
    """Gives blocks of the device; there may be several allocators of one device."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        assert isinstance(device, FakeDevice)
        self._device = device
        self._limit = memory_bytes()

    def allocate(self, nbytes: int) -> FakeBuffer:
        """Return ``nbytes`` bytes of poison at a multiple of ``ALIGNMENT_BYTES``.

        Raises:
            OutOfMemoryError: the device has not so much left, or an experiment says so.
        """
        experiment = current()
        if experiment is not None and experiment.fault("allocation", self.device, "allocating"):
            raise OutOfMemoryError(
                f"{self.device} gives no {nbytes} bytes: allocation "
                f"{experiment.counts['allocation']} was told to fail"
            )
        device, used = self._device, self._device.counters.live_bytes
        if nbytes < 0:
            raise MemoryFault(f"{device} was asked for {nbytes} bytes")
        if used + nbytes > self._limit:
            raise OutOfMemoryError(
                f"{device} cannot give {nbytes} bytes: {used} of its {self._limit} are in "
                f"use. {BYTES_VARIABLE} sets how many it has"
            )
        block = Block(device.index, device.next_address, nbytes)
        device.next_address += -(-(nbytes + EDGE_BYTES) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        device.blocks[block.address] = block
        device.counters.allocated(nbytes)
        return FakeBuffer(block, block.address, nbytes)

    def free(self, buffer: Buffer) -> None:
        """Check the block's ends, poison it, and give it back.

        Raises:
            MemoryFault: the buffer is a view, was freed before, is damaged, or is not from here.
        """
        block = block_of(buffer, self.device.index)
        if (buffer.address, buffer.nbytes) != (block.address, block.nbytes):
            raise MemoryFault(f"a view cannot be freed, only all of {block}")
        if self._device.blocks.pop(block.address, None):  # a damaged block is given back as well
            self._device.counters.freed(block.nbytes)
        block.free()
