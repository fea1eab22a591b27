"""Which device did the work: evidence from the records of the backends, not from plans.

The registry that tests run with is replaced by one whose backends note when a device is opened, a
context or an allocator made for it, and a kernel bound to one of its contexts. A job that ran
elsewhere, or not at all, leaves no such trace on the device under test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from headrace.device import (
    Allocator,
    AllocatorEntry,
    Buffer,
    Device,
    DeviceContext,
    DeviceContextEntry,
    Kernel,
    KernelEntry,
    Launch,
    OpCall,
)
from headrace.registry import Backend, BackendRecord, BackendRegistry, Driver, KernelTable


@dataclass(slots=True)
class Evidence:
    """Devices, as ``TAG:INDEX``, that were seen at work since the last ``clear``.

    Attributes:
        used: an allocator or a context was made for them.
        computed: a kernel was bound to a context of theirs.
    """

    used: set[str] = field(default_factory=set)
    computed: set[str] = field(default_factory=set)

    def clear(self) -> None:
        """Forget everything: a new test begins."""
        self.used.clear()
        self.computed.clear()


class WitnessedRegistry(BackendRegistry):
    """A registry that answers as another one does, with backends that leave evidence."""

    def __init__(self, registry: BackendRegistry, evidence: Evidence) -> None:
        super().__init__(installed=())
        self._registry = registry
        self._evidence = evidence
        self._backends: dict[str, Backend] = {}

    def records(self) -> tuple[BackendRecord, ...]:
        """As the registry behind it."""
        return self._registry.records()

    def driver(self, tag: str) -> Driver:
        """A part of the backend."""
        return self.backend(tag)

    def backend(self, tag: str) -> Backend:
        """As the registry behind it, with evidence."""
        if tag not in self._backends:
            self._backends[tag] = _watched(self._registry.backend(tag), self._evidence)
        return self._backends[tag]

    def device_count(self, tag: str) -> int:
        """As the registry behind it."""
        return self._registry.device_count(tag)

    def check_index(self, tag: str, index: int) -> None:
        """As the registry behind it."""
        self._registry.check_index(tag, index)


def _watched(backend: Backend, evidence: Evidence) -> Backend:
    tag = backend.tag

    def allocator(entry: AllocatorEntry) -> AllocatorEntry:
        def create(device: Device) -> Allocator:
            evidence.used.add(f"{tag}:{device.index}")
            return entry.create(device)

        return replace(entry, create=create)

    def context(entry: DeviceContextEntry) -> DeviceContextEntry:
        def create(device: Device, stream_index: int) -> DeviceContext:
            evidence.used.add(f"{tag}:{device.index}")
            return entry.create(device, stream_index)

        return replace(entry, create=create)

    def kernel(entry: KernelEntry) -> KernelEntry:
        def create(call: OpCall) -> Kernel:
            return _WatchedKernel(entry.create(call), tag, evidence)

        return replace(entry, create=create)

    kernels = backend.kernels
    return replace(
        backend,
        allocator=allocator(backend.allocator),
        context=context(backend.context),
        named=backend.named.seen_by(kernel),
        kernels=KernelTable(kernel(e) for op in kernels.ops() for e in kernels.entries(op)),
    )


class _WatchedKernel(Kernel):
    """A kernel of the backend; the launch that it binds is handed on as it is."""

    def __init__(self, kernel: Kernel, tag: str, evidence: Evidence) -> None:
        self._kernel = kernel
        self._tag = tag
        self._evidence = evidence

    def workspace_bytes(self) -> int:
        return self._kernel.workspace_bytes()

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        self._evidence.computed.add(f"{self._tag}:{context.device.index}")
        return self._kernel.bind(context, inputs, outputs, workspace)
