"""Bugs planted in the fake device, as backends have them, each by replacing one function of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from runtime_mutants import Patches

from headrace.device import Buffer, HostBuffer
from headrace_fakedevice.allocator import FakeAllocator
from headrace_fakedevice.context import FakeContext
from headrace_fakedevice.kernels import FakeKernel, array_of
from headrace_fakedevice.memory import device_index_of, open_buffer
from headrace_fakedevice.stream import FakeEvent, Stream


def events_are_reused() -> Patches:
    """Events come from a ring of two for each device, whether or not they were reached."""
    original = Stream.record
    rings: dict[int, list[FakeEvent]] = {}

    def record(self: Any) -> FakeEvent:
        ring = rings.setdefault(self.line.device, [])
        if len(ring) < 2:
            ring.append(original(self))
            return ring[-1]
        event = ring.pop(0)
        ring.append(event)
        event._stream, event.error, event.reached, event.time = self, None, False, self.line.end
        self._queue.append(event)
        return event

    return [(Stream, "record", record)]


def waits_are_dropped() -> Patches:
    """A stream that shall wait for an event goes on at once."""
    return [(Stream, "wait", lambda self, event: None)]


def other_devices_are_not_waited_for() -> Patches:
    """An event of another device is taken for one that was reached."""
    original = Stream.wait

    def wait(self: Any, event: Any) -> None:
        if event._stream.line.device == self.line.device:
            original(self, event)

    return [(Stream, "wait", wait)]


def recorded_is_reached() -> Patches:
    """The host takes an event for reached as soon as it is recorded."""
    return [(FakeEvent, "synchronize", lambda self: None)]


def event_before_its_work() -> Patches:
    """An event is put before the last piece of work that it stands for."""
    original = Stream.record

    def record(self: Any) -> FakeEvent:
        event = original(self)
        if len(self._queue) > 1:
            self._queue[-1], self._queue[-2] = self._queue[-2], self._queue[-1]
        return event

    return [(Stream, "record", record)]


def all_but_the_last() -> Patches:
    """``synchronize`` returns while the last piece of work is under way."""
    original = Stream.synchronize

    def synchronize(self: Any) -> None:
        last = self._queue.pop() if self._queue else None
        original(self)
        if last is not None:
            self._queue.append(last)

    return [(Stream, "synchronize", synchronize)]


def errors_are_swallowed() -> Patches:
    """Events forget what the work before them raised."""

    def arrive(self: Any) -> None:
        self._stream.run(until=self)

    return [(FakeEvent, "arrive", arrive)]


def stays_broken() -> Patches:
    """A stream that failed once fails for good."""

    def synchronize(self: Any) -> None:
        self.run()
        if self._error is not None:
            raise self._error

    return [(Stream, "synchronize", synchronize)]


def reads_when_asked() -> Patches:
    """A copy to the host reads when it is asked for, not when the stream comes to it."""

    def copy_d2h(self: Any, destination: HostBuffer, source: Buffer) -> None:
        data = open_buffer(source, self.device.index).copy()
        self.enqueue(partial(np.copyto, destination.memory, data), "d2h")

    return [(FakeContext, "copy_d2h", copy_d2h)]


def peers_read_when_asked() -> Patches:
    """A copy from another device reads when it is asked for, before its source is written."""

    def copy_peer(self: Any, destination: Buffer, source: Buffer) -> None:
        data = open_buffer(source, device_index_of(source)).copy()
        self.enqueue(lambda: np.copyto(open_buffer(destination, self.device.index), data), "peer")

    return [(FakeContext, "copy_peer", copy_peer)]


def writes_when_asked() -> Patches:
    """A copy to the device writes when it is asked for, under queued kernels that read there."""

    def copy_h2d(self: Any, destination: Buffer, source: HostBuffer) -> None:
        open_buffer(destination, self.device.index)[:] = source.memory
        self.enqueue(lambda: None, "h2d")

    return [(FakeContext, "copy_h2d", copy_h2d)]


def newest_first() -> Patches:
    """Work that was queued last is done first."""
    original = Stream.enqueue

    def enqueue(self: Any, work: Callable[[], None]) -> None:
        original(self, work)
        if len(self._queue) > 1 and not isinstance(self._queue[-2], FakeEvent):
            self._queue.rotate(1)

    return [(Stream, "enqueue", enqueue)]


def capture_is_stale() -> Patches:
    """A captured sequence repeats what its first run made."""

    def bind(self: Any, context: Any, inputs: Any, outputs: Any, workspace: Any) -> object:
        kept: list[Any] = []
        index, written = context.device.index, tuple(zip(outputs, self.call.outputs, strict=True))
        launch = original(self, context, inputs, outputs, workspace)

        def replay() -> None:
            if kept:
                for (buffer, spec), array in zip(written, kept, strict=True):
                    array_of(buffer, spec, index)[...] = array
            else:
                kept.extend(array_of(buffer, spec, index).copy() for buffer, spec in written)

        def both() -> None:
            if not kept:
                launch()
            context.enqueue(replay)

        return both

    original = FakeKernel.bind
    return [(FakeKernel, "bind", bind)]


def capture_forgets() -> Patches:
    """A captured sequence leaves its last launch out when it is repeated."""

    def capture(self: Any, launches: Any) -> Callable[[], None]:
        left = list(launches)

        def run() -> None:
            for launch in tuple(left):
                launch()
            del left[-1:]

        return run

    return [(FakeContext, "capture", capture)]


def memory_is_given_twice() -> Patches:
    """An allocation gives the block that the one before gave, if it is long enough."""
    original = FakeAllocator.allocate
    last: list[Any] = []

    def allocate(self: Any, nbytes: int) -> Any:
        for kept in last:
            if (
                kept._block._live
                and kept.nbytes >= nbytes
                and kept._block.device_index == (self.device.index)
            ):
                return kept.view(0, nbytes)
        made = original(self, nbytes)
        last.append(made)
        return made

    return [(FakeAllocator, "allocate", allocate)]


def frees_nothing() -> Patches:
    """Memory that is freed is kept."""
    return [(FakeAllocator, "free", lambda self, buffer: None)]


def offsets_are_ignored() -> Patches:
    """A copy to the device begins where its allocation does."""
    original = FakeContext.copy_h2d

    def copy_h2d(self: Any, destination: Any, source: HostBuffer) -> None:
        whole = type(destination)(
            destination._block, destination._block.address, destination.nbytes
        )
        original(self, whole, source)

    return [(FakeContext, "copy_h2d", copy_h2d)]


def writes_to_its_input() -> Patches:
    """A kernel works in its input when that is an integer tensor."""

    def bind(self: Any, context: Any, inputs: Any, outputs: Any, workspace: Any) -> object:
        call, function, index = self.call, self.function, context.device.index
        read = [(b, s) for b, s in zip(inputs, call.inputs, strict=True) if b is not None]
        written = tuple(zip(outputs, call.outputs, strict=True))

        def work() -> None:
            sources = [array_of(buffer, spec, index) for buffer, spec in read]
            results = [array_of(buffer, spec, index) for buffer, spec in written]
            function(call, sources, results)
            sources[0][...] = 0

        return partial(context.enqueue, work)

    return [(FakeKernel, "bind", bind)]
