"""One opened device, its allocator, and streams of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.device import FakeDevice

INDEX = 3  # not 0, so that a mix-up of devices shows


@pytest.fixture
def device() -> FakeDevice:
    return FakeDevice(INDEX)


@pytest.fixture
def allocator(device: FakeDevice) -> Iterator[FakeAllocator]:
    """The allocator of ``device``; what a test left allocated is freed behind it."""
    allocator = FakeAllocator(device)
    yield allocator
    for block in tuple(device.blocks.values()):
        device.counters.freed(block.nbytes)
    device.blocks.clear()


@pytest.fixture
def stream(device: FakeDevice) -> Callable[[], FakeContext]:
    """Makes a new stream of ``device`` at each call."""
    return lambda: FakeContext(device, 0)
