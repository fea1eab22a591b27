"""``FakeDevice``: one device, and how many there are."""

from __future__ import annotations

import os

from headrace.device import Device
from headrace.errors import SettingError
from headrace_fakedevice.memory import Block, MemoryFault
from headrace_fakedevice.statistics import counters

COUNT_VARIABLE = "HEADRACE_FAKEDEVICE_COUNT"
DEFAULT_COUNT = 4
BYTES_VARIABLE = "HEADRACE_FAKEDEVICE_BYTES"
DEFAULT_BYTES = 4 << 30
MAX_COUNT = 128  # a device index has 7 bits

# Processors have 48 or 57 bits of virtual address; nothing can be mapped at these numbers. They
# still fit into a signed 64-bit integer.
_FIRST_ADDRESS = 0x4641 << 48
_ADDRESSES = 1 << 41  # of one device


def device_count() -> int:
    """How many fake devices there are: ``HEADRACE_FAKEDEVICE_COUNT``, by default 4.

    Raises:
        SettingError: the variable is no number from 0 to 128.
    """
    text = os.environ.get(COUNT_VARIABLE) or str(DEFAULT_COUNT)
    if not (text.isascii() and text.isdecimal() and int(text) <= MAX_COUNT):
        raise SettingError(COUNT_VARIABLE, text, f"a number from 0 to {MAX_COUNT}")
    return int(text)


def memory_bytes() -> int:
    """How much memory each device has: ``HEADRACE_FAKEDEVICE_BYTES``, by default 4 GiB.

    Raises:
        SettingError: the variable is no number.
    """
    text = os.environ.get(BYTES_VARIABLE) or str(DEFAULT_BYTES)
    if not (text.isascii() and text.isdecimal()):
        raise SettingError(BYTES_VARIABLE, text, "a number of bytes")
    return int(text)


class FakeDevice(Device):
    """One opened device.

    Attributes:
        blocks: the memory that is in use on it, by address.
        pinned: lengths of the host memory that is pinned for it, by address.
        next_address: where the next block begins; none is used twice, so a stale one cannot fit.
        counters: what it did.
    """

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self.blocks: dict[int, Block] = {}
        self.pinned: dict[int, int] = {}
        self.total_bytes = memory_bytes()
        self.next_address = _FIRST_ADDRESS + index * _ADDRESSES
        self.counters = counters(index)
        self.counters.opened += 1

    def free_bytes(self) -> int:
        """What is left of ``HEADRACE_FAKEDEVICE_BYTES``."""
        return max(self.total_bytes - self.counters.live_bytes, 0)

    def close(self) -> None:
        """Close the device.

        Raises:
            MemoryFault: memory of it was never freed.
        """
        self.counters.closed += 1
        if self.blocks:
            first = next(iter(self.blocks.values()))
            leaked = sum(block.nbytes for block in self.blocks.values())
            raise MemoryFault(
                f"{self} was closed while {len(self.blocks)} allocations of {leaked} bytes were "
                f"not freed; the first is {first}. Free all buffers before the device is closed"
            )
        if self.pinned:
            raise MemoryFault(
                f"{self} was closed while {sum(self.pinned.values())} bytes of host memory were "
                "pinned for it. Free all buffers before the device is closed"
            )

    def __str__(self) -> str:
        return f"fakedevice:{self.index}"
