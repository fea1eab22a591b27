"""Two backends made for tests of core, so that these need no installed plugin.

``near`` works in host memory and returns when the work is done. ``far`` has memory of its own and a
stream that does nothing until it is synchronised, so a missing wait shows as wrong numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import RLock
from types import SimpleNamespace

import numpy as np

from headrace.device import (
    Allocator,
    AllocatorEntry,
    Buffer,
    Device,
    DeviceContext,
    DeviceContextEntry,
    DeviceEntry,
    Event,
    HostAllocator,
    HostBuffer,
    KernelEntry,
    Launch,
    MemoryKind,
    OpCall,
)
from headrace.hookspecs import hookimpl
from headrace.ids import HOST_TAG
from headrace.numpy_ops import NumpyKernel, kernel_entries
from headrace.tensor_spec import Array, TensorSpec

OPS = ("add", "relu", "identity", "pad", "reshape")

CLAIMS = frozenset({"in-place"})  # which numpy's functions are


def _two() -> int:
    return 2


def _module(**hooks: Callable[[], object]) -> SimpleNamespace:
    return SimpleNamespace(**{name: hookimpl(hook) for name, hook in hooks.items()})


def near(
    ops: tuple[str, ...] = OPS,
    kernel: Callable[[OpCall], NumpyKernel] = NumpyKernel,
    more: Iterable[KernelEntry] = (),
) -> object:
    """The plugin module of backend ``near``; ``more`` kernels stand beside those of ``ops``."""

    def headrace_devices() -> object:
        yield DeviceEntry("near", _two, capabilities=CLAIMS)

    def headrace_allocators() -> object:
        yield AllocatorEntry("near", MemoryKind.HOST, 64, HostAllocator)

    def headrace_kernels() -> object:
        return [*(KernelEntry("near", op, kernel) for op in ops), *more]

    return _module(
        headrace_devices=headrace_devices,
        headrace_allocators=headrace_allocators,
        headrace_kernels=headrace_kernels,
    )


class FarBuffer(Buffer):
    """Memory that only ``FarContext`` opens."""

    __slots__ = ("hidden",)

    def __init__(self, hidden: Array) -> None:
        super().__init__(id(hidden), hidden.nbytes)
        self.hidden = hidden

    def view(self, offset: int, nbytes: int) -> FarBuffer:
        return FarBuffer(self.hidden[offset : offset + nbytes])


class FarAllocator(Allocator):
    """Counts what is live in ``live``; fresh memory is full of 0xAB."""

    live = 0

    def allocate(self, nbytes: int) -> FarBuffer:
        type(self).live += 1
        return FarBuffer(np.full(nbytes, 0xAB, np.uint8))

    def free(self, buffer: Buffer) -> None:
        type(self).live -= 1


class FarEvent(Event):
    """Reached when its stream comes to it, which waiting for it brings about; keeps its error."""

    def __init__(self, context: FarContext) -> None:
        self._context = context
        self.reached = False
        self.error: Exception | None = None

    def reach(self, error: Exception | None) -> None:
        self.reached, self.error = True, error

    def synchronize(self) -> None:
        self._context.run(self)
        if self.error is not None:
            raise self.error


class FarContext(DeviceContext):
    """Queues work; does it when synchronised."""

    host_synchronous = False

    def __init__(self, device: Device, stream_index: int) -> None:
        super().__init__(device, stream_index)
        self.queue: list[Callable[[], None] | FarEvent] = []
        self._error: Exception | None = None
        self._running = RLock()  # the host may wait for an event on any thread

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        assert isinstance(destination, FarBuffer)
        self.queue.append(lambda: np.copyto(destination.hidden, source.memory))

    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None:
        assert isinstance(source, FarBuffer)
        self.queue.append(lambda: np.copyto(destination.memory, source.hidden))

    def copy_d2d(self, destination: Buffer, source: Buffer) -> None:
        assert isinstance(destination, FarBuffer)
        assert isinstance(source, FarBuffer)
        self.queue.append(lambda: np.copyto(destination.hidden, source.hidden))

    def record_event(self) -> FarEvent:
        event = FarEvent(self)
        self.queue.append(event)
        return event

    def run(self, until: FarEvent | None = None) -> None:
        """Do what is queued, up to an event; an error stops all but events, and is kept."""
        with self._running:
            while self.queue and not (until is not None and until.reached):
                item = self.queue.pop(0)
                if isinstance(item, FarEvent):
                    item.reach(self._error)
                elif self._error is None:
                    try:
                        item()
                    except Exception as error:  # noqa: BLE001 - told by whoever waits
                        self._error = error

    def synchronize(self) -> None:
        with self._running:
            self.run()
            error, self._error = self._error, None
        if error is not None:
            raise error


class FarKernel(NumpyKernel):
    """A numpy op on far memory, queued."""

    def array_of(self, buffer: Buffer, spec: TensorSpec) -> Array:
        assert isinstance(buffer, FarBuffer)
        return buffer.hidden[: spec.nbytes].view(spec.dtype.numpy).reshape(spec.shape)

    def enqueue(self, context: DeviceContext, work: Callable[[], None]) -> Launch:
        assert isinstance(context, FarContext)
        return lambda: context.queue.append(work)


def far(ops: tuple[str, ...] = OPS, kernel: Callable[[OpCall], NumpyKernel] = FarKernel) -> object:
    """The plugin module of backend ``far``."""

    def headrace_devices() -> object:
        yield DeviceEntry("far", _two, capabilities=CLAIMS)

    def headrace_allocators() -> object:
        yield AllocatorEntry("far", MemoryKind.DEVICE, 16, FarAllocator)

    def headrace_kernels() -> object:
        return [KernelEntry("far", op, kernel) for op in ops]

    def headrace_device_contexts() -> object:
        yield DeviceContextEntry("far", FarContext)

    return _module(
        headrace_devices=headrace_devices,
        headrace_allocators=headrace_allocators,
        headrace_kernels=headrace_kernels,
        headrace_device_contexts=headrace_device_contexts,
    )


def host() -> object:
    """A plugin module for the host's tag, with a kernel for every op that numpy computes."""

    def headrace_devices() -> object:
        yield DeviceEntry(HOST_TAG)

    def headrace_allocators() -> object:
        yield AllocatorEntry(HOST_TAG, MemoryKind.HOST, 64, HostAllocator)

    def headrace_kernels() -> object:
        return kernel_entries(HOST_TAG)

    return _module(
        headrace_devices=headrace_devices,
        headrace_allocators=headrace_allocators,
        headrace_kernels=headrace_kernels,
    )
