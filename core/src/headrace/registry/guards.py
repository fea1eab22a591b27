"""Records whose functions look at what they make before they hand it on.

They stand between a plugin and everybody who opens a device or compiles a job; a launch does not
pass through here. A class was looked at when the plugin loaded, and stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NoReturn

from headrace.device import (
    Allocator,
    AllocatorEntry,
    Buffer,
    Device,
    DeviceContext,
    DeviceContextEntry,
    DeviceEntry,
    Kernel,
    KernelEntry,
    MemoryKind,
    OpCall,
    StreamIndexEntry,
    StreamIndexGenerator,
)
from headrace.errors import PluginError
from headrace.registry import check_classes as rules


class Guards:
    """Makes guarded records of one plugin.

    Args:
        origin: the plugin, for messages: ``headrace-toy 1.2``.
        memory: where its kernels work.
    """

    def __init__(self, origin: str, memory: MemoryKind) -> None:
        self._origin = origin
        self._memory = memory

    def device(self, entry: DeviceEntry) -> DeviceEntry:
        """``open`` returns a device of the index that was asked for."""
        if isinstance(entry.open, type):
            return entry

        def opened(index: int) -> Device:
            device = entry.open(index)
            self._check("open of its DeviceEntry", device, rules.fault_of_device(type(device)))
            if getattr(device, "index", None) != index:
                made = getattr(device, "index", None)
                self._refuse(f"open({index}) of its DeviceEntry returned a device of index {made}")
            return device

        return replace(entry, open=opened)

    def allocator(self, entry: AllocatorEntry) -> AllocatorEntry:
        """``create`` returns an allocator whose buffers can be used."""

        def create(device: Device) -> Allocator:
            made = entry.create(device)
            fault = rules.fault_of_allocator(type(made))
            self._check("create of its AllocatorEntry", made, fault)
            return _GuardedAllocator(made, self, device, entry.alignment_bytes)

        return replace(entry, create=create)

    def context(self, entry: DeviceContextEntry) -> DeviceContextEntry:
        """``create`` returns a context that does what it says, and whose events can be waited for.

        An event is recorded on the new, idle stream to look at it.
        """

        def create(device: Device, stream_index: int) -> DeviceContext:
            made = entry.create(device, stream_index)
            said = getattr(made, "host_synchronous", None)
            fault = rules.fault_of_context(type(made), self._memory, said)
            self._check("create of its DeviceContextEntry", made, fault)
            if not said:
                fault = rules.fault_of_event(made.record_event())
                if fault:
                    self._refuse(f"record_event of {describe(type(made))} {fault}")
            return made

        return replace(entry, create=create)

    def streams(self, entry: StreamIndexEntry) -> StreamIndexEntry:
        """``create`` returns a generator of stream indices."""
        if isinstance(entry.create, type):
            return entry

        def create(device_index: int) -> StreamIndexGenerator:
            made = entry.create(device_index)
            fault = rules.fault_of_streams(type(made))
            self._check("create of its StreamIndexEntry", made, fault)
            return made

        return replace(entry, create=create)

    def kernel(self, entry: KernelEntry) -> KernelEntry:
        """``create`` returns a kernel."""
        if isinstance(entry.create, type):
            return entry
        return replace(entry, create=partial(self._create_kernel, entry))

    def check_buffer(
        self, buffer: Buffer, allocator: Allocator, nbytes: int, alignment_bytes: int
    ) -> None:
        """Refuse what ``allocate(nbytes)`` must not return, and give it back."""
        fault = rules.fault_of_buffer(buffer, self._memory)
        fault = fault or rules.fault_of_range(buffer, nbytes, alignment_bytes)
        if fault:
            if buffer is not None:
                allocator.free(buffer)
            self._refuse(f"allocate of {describe(type(allocator))} {fault}")

    def _create_kernel(self, entry: KernelEntry, call: OpCall) -> Kernel:
        made = entry.create(call)
        what = f"create of its kernel for {entry.op}"
        self._check(what, made, rules.fault_of_kernel(type(made)))
        return made

    def _check(self, what: str, made: object, fault: str) -> None:
        if made is None:
            self._refuse(f"{what} returned None")
        if fault:
            self._refuse(f"{what} returned a {describe(type(made))}, which {fault}")

    def _refuse(self, text: str) -> NoReturn:
        raise PluginError(f"{self._origin}: {text}")


class _GuardedAllocator(Allocator):
    """An allocator of the plugin; what it gives is looked at."""

    def __init__(
        self, allocator: Allocator, guards: Guards, device: Device, alignment_bytes: int
    ) -> None:
        super().__init__(device)
        self._alignment_bytes = alignment_bytes
        self._allocator = allocator
        self._guards = guards

    def allocate(self, nbytes: int) -> Buffer:
        buffer = self._allocator.allocate(nbytes)
        self._guards.check_buffer(buffer, self._allocator, nbytes, self._alignment_bytes)
        return buffer

    def free(self, buffer: Buffer) -> None:
        self._allocator.free(buffer)


def describe(kind: type) -> str:
    """A type by the name that its author looks for."""
    return f"{kind.__module__}.{kind.__qualname__}"
