"""Host memory that is page-locked for the fake devices.

There is nothing to lock: memory is pinned because its buffer says so. It is counted, checked when
it is freed, and full of poison before and after, as memory of the device is.
"""

from __future__ import annotations

import os

from headrace.device import Allocator, Buffer, Device, HostAllocator, HostBuffer
from headrace.errors import SettingError
from headrace_fakedevice.allocator import check_allocation
from headrace_fakedevice.device import FakeDevice
from headrace_fakedevice.memory import ALIGNMENT_BYTES, FREED, FRESH, MemoryFault

PAGEABLE_VARIABLE = "HEADRACE_FAKEDEVICE_PAGEABLE"


class PinnedBuffer(HostBuffer):
    """A range of pinned memory; so are its parts."""

    __slots__ = ()

    def view(self, offset: int, nbytes: int) -> PinnedBuffer:
        """The part from ``offset`` on; shares memory with this buffer.

        Raises:
            DeviceError: it reaches out of this buffer.
        """
        return PinnedBuffer(super().view(offset, nbytes).memory, self.owner)


class PinnedAllocator(Allocator):
    """Gives pinned memory for a device; there may be several allocators of one."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        assert isinstance(device, FakeDevice)
        self._device = device

    def allocate(self, nbytes: int) -> PinnedBuffer:
        """Return ``nbytes`` bytes of poison at a multiple of ``ALIGNMENT_BYTES``.

        Raises:
            OutOfMemoryError: the host has not enough, or an experiment says so.
        """
        check_allocation(self.device, nbytes)
        raw = HostAllocator(self._device).allocate(nbytes + ALIGNMENT_BYTES)
        buffer = PinnedBuffer(raw.view(-raw.address % ALIGNMENT_BYTES, max(nbytes, 1)).memory)
        buffer.memory[:] = FRESH
        self._device.pinned[buffer.address] = buffer.nbytes
        self._device.counters.pinned(buffer.nbytes)
        return buffer

    def free(self, buffer: Buffer) -> None:
        """Poison the memory and give it back.

        Raises:
            MemoryFault: the buffer is a view, was freed before, or is not from here.
        """
        if not isinstance(buffer, PinnedBuffer) or (
            self._device.pinned.get(buffer.address) != buffer.nbytes
        ):
            raise MemoryFault(
                f"{self._device} has no {buffer.nbytes} bytes of pinned memory at "
                f"{buffer.address:#x}: they were freed before, are a view, or come from elsewhere"
            )
        buffer.memory[:] = FREED
        del self._device.pinned[buffer.address]
        self._device.counters.unpinned(buffer.nbytes)

    def recycle(self, buffer: Buffer) -> None:
        """Poison memory that others are to have."""
        assert isinstance(buffer, HostBuffer)
        buffer.memory[:] = FRESH


def refuses_pageable() -> bool:
    """Whether copies from and to pageable memory are errors: ``HEADRACE_FAKEDEVICE_PAGEABLE``.

    Any device must make them, and a real one is slow at it. ``count``, the default, only counts
    them; ``refuse`` shows who makes them.

    Raises:
        SettingError: the variable is neither.
    """
    text = os.environ.get(PAGEABLE_VARIABLE) or "count"
    if text not in ("count", "refuse"):
        raise SettingError(PAGEABLE_VARIABLE, text, "count or refuse")
    return text == "refuse"
