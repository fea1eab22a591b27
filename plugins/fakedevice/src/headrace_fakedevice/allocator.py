"""``FakeAllocator``: memory of one device, in an address space of its own."""

from __future__ import annotations

from headrace.device import Allocator, Buffer, Device
from headrace.errors import OutOfMemoryError
from headrace_fakedevice.device import BYTES_VARIABLE, FakeDevice
from headrace_fakedevice.experiment import current
from headrace_fakedevice.memory import (
    ALIGNMENT_BYTES,
    EDGE_BYTES,
    Block,
    FakeBuffer,
    MemoryFault,
    block_of,
)


class FakeAllocator(Allocator):
    """Gives blocks of the device; there may be several allocators of one device."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        assert isinstance(device, FakeDevice)
        self._device = device

    def allocate(self, nbytes: int) -> FakeBuffer:
        """Return ``nbytes`` bytes of poison at a multiple of ``ALIGNMENT_BYTES``.

        Raises:
            OutOfMemoryError: the device has not so much left, or an experiment says so.
        """
        check_allocation(self.device, nbytes)
        device, used = self._device, self._device.counters.live_bytes
        if nbytes < 0:
            raise MemoryFault(f"{device} was asked for {nbytes} bytes")
        if used + nbytes > device.total_bytes:
            raise OutOfMemoryError(
                f"{device} cannot give {nbytes} bytes: {used} of its {device.total_bytes} are in "
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

    def recycle(self, buffer: Buffer) -> None:
        """Check the block's ends and poison the part, which others are to have.

        Raises:
            MemoryFault: queued work is about to use it, or the block is damaged or was freed.
        """
        block = block_of(buffer, self.device.index)
        begin = buffer.address - block.address
        block.recycle(begin, begin + buffer.nbytes)


def check_allocation(device: Device, nbytes: int) -> None:
    """Ask the experiment, if there is one, whether an allocation shall fail.

    Raises:
        OutOfMemoryError: it shall.
    """
    experiment = current()
    if experiment is not None and experiment.fault("allocation", device, "allocating"):
        raise OutOfMemoryError(
            f"{device} gives no {nbytes} bytes: allocation "
            f"{experiment.counts['allocation']} was told to fail"
        )
