"""The six hooks. What they return is all that core learns about this device."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.device import (
    PEER_COPIES,
    AllocatorEntry,
    CollectiveEntry,
    DeviceContextEntry,
    DeviceEntry,
    KernelEntry,
    MemoryKind,
    StreamIndexEntry,
    StreamIndexGenerator,
)
from headrace.hookspecs import hookimpl
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.device import FakeDevice, device_count
from headrace_fakedevice.memory import ALIGNMENT_BYTES
from headrace_fakedevice.pinned import PinnedAllocator

TAG = "fakedevice"


@hookimpl
def headrace_devices() -> Iterable[DeviceEntry]:
    """Name the device type; how many there are is asked later."""
    yield DeviceEntry(TAG, device_count, FakeDevice, frozenset({"in-place", PEER_COPIES}))


@hookimpl
def headrace_allocators() -> Iterable[AllocatorEntry]:
    """Give device memory, which core copies everything into and out of, and pinned memory."""
    yield AllocatorEntry(TAG, MemoryKind.DEVICE, ALIGNMENT_BYTES, FakeAllocator, PinnedAllocator)


@hookimpl
def headrace_device_contexts() -> Iterable[DeviceContextEntry]:
    """Give streams that work later."""
    yield DeviceContextEntry(TAG, FakeContext)


@hookimpl
def headrace_stream_index_generators() -> Iterable[StreamIndexEntry]:
    """Number the streams: compute 0, host to device 1, device to host 2, which is the default."""
    yield StreamIndexEntry(TAG, StreamIndexGenerator)


@hookimpl
def headrace_kernels() -> Iterable[KernelEntry]:
    """Offer every op that numpy computes, in both formats of images."""
    from headrace_fakedevice.kernels import fake_kernels

    yield from fake_kernels(TAG)


@hookimpl
def headrace_collectives() -> Iterable[CollectiveEntry]:
    """Let the devices reduce and share out among themselves what they hold."""
    from headrace.numpy_ops import NUMPY_COLLECTIVES
    from headrace_fakedevice.collectives import FakeCollective

    for name in NUMPY_COLLECTIVES:
        yield CollectiveEntry(TAG, name, FakeCollective)
