"""Streams with bugs that backends have, one class each: copies, waits, errors, sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from late_backend import LateContext, LateEvent, Work

from headrace.device import Buffer, Device, Event, HostBuffer, Launch

# --- copies ----------------------------------------------------------------------------------


class IgnoresOffsets(LateContext):
    """A copy to the device begins where the allocation does."""

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        start = max(block for block in self.device.blocks if block <= destination.address)
        super().copy_h2d(Buffer(start, destination.nbytes), source)


class CopiesWords(LateContext):
    """Copies within the device go by whole words of eight bytes."""

    def copy_d2d(self, destination: Buffer, source: Buffer) -> None:
        length = -(-destination.nbytes // 8) * 8
        super().copy_d2d(Buffer(destination.address, length), Buffer(source.address, length))


class ReadsTooSoon(LateContext):
    """A copy to the host reads when it is enqueued."""

    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None:
        data = self.cells(source).copy()
        self.enqueue(lambda: np.copyto(destination.memory, data))


class WritesTooSoon(LateContext):
    """A copy to the device writes when it is enqueued, under the feet of queued kernels."""

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        self.cells(destination)[:] = source.memory


# --- waits and events ------------------------------------------------------------------------


class NeverWaits(LateContext):
    """A stream goes on at once, whatever it was told to wait for."""

    def wait_event(self, event: Event) -> None:
        pass


class ReusesEvents(LateContext):
    """Events come from a ring of eight, shared by the streams of a device."""

    rings: dict[int, list[LateEvent]] = {}  # noqa: RUF012
    next = 0

    def record_event(self) -> Event:
        ring = self.rings.setdefault(id(self.device), [])
        event = LateEvent(self) if len(ring) < 8 else ring.pop(0)
        event.context, event.error, event.reached = self, None, False
        ring.append(event)
        self.queue.append(event)
        return event


class SynchronizesTooLittle(LateContext):
    """The last piece of work is still under way when ``synchronize`` returns."""

    def synchronize(self) -> None:
        last = self.queue.pop() if self.queue else None
        super().synchronize()
        if last is not None:
            self.queue.append(last)


class ForgetfulEvent(LateEvent):
    """Raises its error for whoever waits first."""

    def synchronize(self) -> None:
        try:
            super().synchronize()
        finally:
            self.error = None


class ForgetsErrors(LateContext):
    """Events raise their error once."""

    def record_event(self) -> Event:
        event = ForgetfulEvent(self)
        self.queue.append(event)
        return event


class KnowsNoOtherDevice(LateContext):
    """An event of another device is taken for one that has been reached."""

    def wait_event(self, event: Event) -> None:
        if isinstance(event, LateEvent) and event.context.device is self.device:
            super().wait_event(event)


class ClosesForAll(LateContext):
    """Closing a stream drops what every stream of the device has queued."""

    def __init__(self, device: Device, stream_index: int) -> None:
        super().__init__(device, stream_index)
        self.device.__dict__.setdefault("streams", []).append(self)

    def close(self) -> None:
        for stream in self.device.__dict__["streams"]:
            stream.queue.clear()


# --- errors ----------------------------------------------------------------------------------


class SwallowsErrors(LateContext):
    """Work that fails is as good as done."""

    def do(self, work: Work) -> None:
        super().do(work)
        self.error = None


class StaysBroken(LateContext):
    """An error is raised by every wait from then on."""

    def synchronize(self) -> None:
        self.run()
        if self.error is not None:
            raise self.error


class BreaksTheDevice(LateContext):
    """An error of one stream is raised by whichever is waited for next."""

    error: Exception | None

    def do(self, work: Work) -> None:
        super().do(work)
        self.device.__dict__.setdefault("errors", []).extend([self.error] if self.error else [])

    def synchronize(self) -> None:
        self.run()
        self.error = None
        errors = self.device.__dict__.pop("errors", [])
        if errors:
            raise errors[0]


class FailsOnlyItself(LateContext):
    """A stream that waits for a failure goes on as if nothing had happened."""

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, LateEvent)
        self.enqueue(lambda: event.context.run(until=event))


# --- sequences -------------------------------------------------------------------------------


class CapturesOnce(LateContext):
    """A captured sequence forgets its first launch once it was called."""

    def capture(self, launches: Sequence[Launch]) -> Launch:
        left = list(launches)

        def run() -> None:
            for launch in tuple(left):
                launch()
            del left[:1]

        return run
