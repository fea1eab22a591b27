"""``Driver``: what of one plugin runs plans; what compilers choose from is in ``tables.py``."""

from __future__ import annotations

from headrace.device import (
    AllocatorEntry,
    DeviceContextEntry,
    DeviceEntry,
    MemoryKind,
    StreamIndexEntry,
)
from headrace.light_dataclass import dataclass
from headrace.registry.named_kernels import NamedKernels


@dataclass(frozen=True, slots=True)
class Driver:
    """What of a plugin a plan needs that was compiled before, checked and filled with defaults.

    Attributes:
        distribution, version: of the installed package.
        origin: both, or the module where there is no package, for messages.
        device, allocator, context, streams: its records.
        named: its kernels, for those who know their names.
    """

    distribution: str
    version: str
    origin: str
    device: DeviceEntry
    allocator: AllocatorEntry
    context: DeviceContextEntry
    streams: StreamIndexEntry
    named: NamedKernels

    @property
    def tag(self) -> str:
        """The device tag."""
        return self.device.tag

    @property
    def works_in_host_memory(self) -> bool:
        """True when nothing has to be copied between the host and this device."""
        return self.allocator.memory_kind is MemoryKind.HOST

    @property
    def has_pinned_memory(self) -> bool:
        """True when what is copied between the host and this device is to lie in memory of its."""
        return self.allocator.create_pinned is not None
