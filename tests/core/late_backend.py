"""``late``: a small backend that keeps the whole contract, for tests of the conformance suite.

Two devices, each with one stretch of memory that addresses count from its beginning, so that an
address of one fits the other as well. Streams do nothing until somebody waits for them. It claims
the capability ``in-place``. ``late(...)`` makes its plugin module, with parts replaced.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
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
    HostBuffer,
    Launch,
    MemoryKind,
)
from headrace.errors import OutOfMemoryError
from headrace.hookspecs import hookimpl
from headrace.numpy_ops import NumpyKernel, kernel_entries
from headrace.tensor_spec import Array, TensorSpec

TAG = "late"
ALIGNMENT = 32
CAPACITY = 64 << 20
Work = Callable[[], object]
RUNNING = RLock()  # a wait may lead from any stream to any other


class LateDevice(Device):
    """One device: its bytes, and the length of what is allocated at each address."""

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self.cells = np.empty(CAPACITY, np.uint8)
        self.blocks: dict[int, int] = {}


class LateAllocator(Allocator):
    """Gives the first gap that is long enough, full of a byte that no test expects."""

    device: LateDevice

    def allocate(self, nbytes: int) -> Buffer:
        address, taken = 0, max(nbytes, 1)
        for start, length in sorted(self.device.blocks.items()):
            if start - address >= taken:
                break
            address = -(-(start + length) // ALIGNMENT) * ALIGNMENT
        if address + nbytes > CAPACITY:
            raise OutOfMemoryError(f"late has no {nbytes} bytes left")
        self.device.blocks[address] = taken
        self.device.cells[address : address + nbytes] = 0xCD
        return Buffer(address, nbytes)

    def free(self, buffer: Buffer) -> None:
        del self.device.blocks[buffer.address]


class LateEvent(Event):
    """A point of a stream; keeps the error of what was before it."""

    def __init__(self, context: LateContext) -> None:
        self.context = context
        self.error: Exception | None = None
        self.reached = False

    def synchronize(self) -> None:
        self.context.run(until=self)
        if self.error is not None:
            raise self.error


class LateContext(DeviceContext):
    """One stream: a queue of work and events."""

    host_synchronous = False
    device: LateDevice

    def __init__(self, device: Device, stream_index: int) -> None:
        super().__init__(device, stream_index)
        self.queue: deque[Work | LateEvent] = deque()
        self.error: Exception | None = None

    def cells(self, buffer: Buffer) -> Array:
        """The bytes of a buffer."""
        return self.device.cells[buffer.address : buffer.address + buffer.nbytes]

    def enqueue(self, work: Work) -> None:
        self.queue.append(work)

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        self.enqueue(lambda: np.copyto(self.cells(destination), source.memory))

    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None:
        self.enqueue(lambda: np.copyto(destination.memory, self.cells(source)))

    def copy_d2d(self, destination: Buffer, source: Buffer) -> None:
        self.enqueue(lambda: np.copyto(self.cells(destination), self.cells(source)))

    def record_event(self) -> Event:
        event = LateEvent(self)
        self.queue.append(event)
        return event

    def wait_event(self, event: Event) -> None:
        if isinstance(event, LateEvent):
            self.enqueue(event.synchronize)
        else:
            event.synchronize()

    def run(self, until: LateEvent | None = None) -> None:
        """Do what is queued, up to an event or all of it."""
        with RUNNING:
            while self.queue and not (until is not None and until.reached):
                work = self.queue.popleft()
                if isinstance(work, LateEvent):
                    work.error, work.reached = self.error, True
                elif self.error is None:
                    self.do(work)

    def do(self, work: Work) -> None:
        """Do one piece of work; its error stops the stream."""
        try:
            work()
        except Exception as error:  # noqa: BLE001 - synchronize raises it
            self.error = error

    def synchronize(self) -> None:
        with RUNNING:
            self.run()
            error, self.error = self.error, None
        if error is not None:
            raise error


class LateKernel(NumpyKernel):
    """A numpy op, queued."""

    def bind(
        self,
        context: DeviceContext,
        inputs: Sequence[Buffer | None],
        outputs: Sequence[Buffer],
        workspace: Buffer | None,
    ) -> Launch:
        assert isinstance(context, LateContext)
        call = self.call

        def tensor(buffer: Buffer, spec: TensorSpec) -> Array:
            cells = context.cells(buffer)[: spec.nbytes]
            return cells.view(spec.dtype.numpy).reshape(spec.shape)

        def work() -> None:
            sources = [
                None if buffer is None or spec is None else tensor(buffer, spec)
                for buffer, spec in zip(inputs, call.inputs, strict=True)
            ]
            results = [tensor(b, spec) for b, spec in zip(outputs, call.outputs, strict=True)]
            with np.errstate(all="ignore"):
                self.compute(sources, results)

        return partial(context.enqueue, work)

    def compute(self, sources: list[Array | None], results: list[Array]) -> None:
        self.function(self.call, sources, results)


def late(
    device: type[LateDevice] = LateDevice,
    allocator: type[LateAllocator] = LateAllocator,
    context: type[LateContext] = LateContext,
    kernel: type[LateKernel] = LateKernel,
    count: Callable[[], int] = lambda: 2,
) -> object:
    """The plugin module."""
    claims = frozenset({"in-place"})
    hooks = {
        "headrace_devices": [DeviceEntry(TAG, count, device, claims)],
        "headrace_allocators": [AllocatorEntry(TAG, MemoryKind.DEVICE, ALIGNMENT, allocator)],
        "headrace_device_contexts": [DeviceContextEntry(TAG, context)],
        "headrace_kernels": list(kernel_entries(TAG, kernel)),
    }
    answers = {name: hookimpl(_answer(records)) for name, records in hooks.items()}
    return SimpleNamespace(**answers)


def _answer(records: object) -> Callable[[], object]:
    return lambda: records
