"""``FakeContext``: one stream of one device: copies, events, waits."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.device import Buffer, Device, DeviceContext, Event, HostBuffer
from headrace.errors import DeviceError
from headrace_fakedevice.device import FakeDevice
from headrace_fakedevice.experiment import Line, current
from headrace_fakedevice.host import host_range
from headrace_fakedevice.memory import (
    FakeBuffer,
    MemoryFault,
    device_index_of,
    memory_of,
    open_buffer,
)
from headrace_fakedevice.pinned import PAGEABLE_VARIABLE, PinnedBuffer, refuses_pageable
from headrace_fakedevice.stream import FakeEvent, Stream, Work


class FakeContext(DeviceContext):
    """Everything is queued on a ``Stream``; copies read and write when they run, not before."""

    host_synchronous = False

    def __init__(self, device: Device, stream_index: int) -> None:
        super().__init__(device, stream_index)
        assert isinstance(device, FakeDevice)
        self.counters = device.counters
        self._stream = Stream(Line(device.index, stream_index))
        self._is_closed = False
        self._refuses_pageable = refuses_pageable()

    def enqueue(
        self,
        work: Work,
        kind: str = "launch",
        name: str = "",
        nbytes: int = 0,
        used: Sequence[FakeBuffer] = (),
    ) -> None:
        """Queue ``work``; kernels come through here.

        Args:
            work: what the stream shall do.
            kind: what it is, as a ``Span`` of an experiment says it.
            name: of the op.
            nbytes: how much a copy copies.
            used: the memory it uses, which is not to be freed until then.

        Raises:
            DeviceError: the context is closed.
            InjectedFault: an experiment says so.
        """
        self._check_open()
        experiment = current()
        if experiment is None:
            self._stream.enqueue(work, used)
            return
        work = experiment.ask(self._stream.line, kind, name, nbytes, self, work)
        self._stream.enqueue(work, used)
        experiment.stir(self._stream)

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        """Queue a copy from host memory."""
        _check_sizes(destination, source)
        self._notice_pageable("copy_h2d", source)
        there = host_range(source)

        def work() -> None:
            open_buffer(destination, self.device.index)[:] = there()
            self.counters.copies_h2d += 1

        self.enqueue(work, "h2d", nbytes=source.nbytes, used=memory_of(destination, source))

    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None:
        """Queue a copy to host memory."""
        _check_sizes(destination, source)
        self._notice_pageable("copy_d2h", destination)
        there = host_range(destination)

        def work() -> None:
            there()[:] = open_buffer(source, self.device.index)
            self.counters.copies_d2h += 1

        self.enqueue(work, "d2h", nbytes=source.nbytes, used=memory_of(destination, source))

    def copy_d2d(self, destination: Buffer, source: Buffer) -> None:
        """Queue a copy within the device."""
        _check_sizes(destination, source)

        def work() -> None:
            index = self.device.index
            open_buffer(destination, index)[:] = open_buffer(source, index)
            self.counters.copies_d2d += 1

        self.enqueue(work, "d2d", nbytes=source.nbytes, used=memory_of(destination, source))

    def copy_peer(self, destination: Buffer, source: Buffer) -> None:
        """Queue a copy from another fake device."""
        _check_sizes(destination, source)

        def work() -> None:
            there = device_index_of(source)
            if there == self.device.index:
                raise MemoryFault(f"{self} was asked for a peer copy from its own device")
            open_buffer(destination, self.device.index)[:] = open_buffer(source, there)
            self.counters.copies_peer += 1

        self.enqueue(work, "peer", nbytes=source.nbytes, used=memory_of(destination, source))

    def synchronize(self) -> None:
        """Do everything queued; raises the first error of it, once."""
        experiment = current()
        if experiment is None:
            self._stream.synchronize()
            return
        self._stream.line.begin(experiment)
        experiment.wait(0.0)  # others may go on before
        experiment.stir(self._stream)
        fault = experiment.fault("synchronize", self, "synchronize")
        try:
            self._stream.synchronize()
        finally:
            experiment.wait(self._stream.line.end)
        if fault is not None:
            raise fault

    def record_event(self) -> Event:
        """Mark this point of the stream."""
        self._check_open()
        experiment = current()
        if experiment is not None and (fault := experiment.fault("event", self, "an event")):
            error = fault

            def fail() -> None:
                raise error

            self._stream.enqueue(fail)
        return self._stream.record()

    def wait_event(self, event: Event) -> None:
        """Let the stream come to ``event`` before it goes on.

        An event of another backend is waited for at once: work of ours must not sit behind a lock
        while a foreign thread, which may need it, gets there.
        """
        self._check_open()
        if isinstance(event, FakeEvent):
            self._stream.wait(event)
        else:
            event.synchronize()

    def close(self) -> None:
        """Close the stream.

        Raises:
            DeviceError: work is still queued, or an error was never raised.
        """
        self._is_closed = True
        if not self._stream.is_idle:
            raise DeviceError(f"{self} is closed before it was synchronised: work of it is lost")

    def _check_open(self) -> None:
        if self._is_closed:
            raise DeviceError(f"{self} is used after it was closed")

    def _notice_pageable(self, copy: str, host: HostBuffer) -> None:
        """Count a copy that a driver could not make by itself, or refuse it."""
        if isinstance(host, PinnedBuffer) or host.nbytes == 0:
            return
        self.counters.copies_pageable += 1
        if self._refuses_pageable:
            raise MemoryFault(
                f"{copy} on {self} of {host.nbytes} bytes at {host.address:#x}, which are "
                f"pageable: the host would wait for it. Allocate them with create_pinned of the "
                f"AllocatorEntry, or allow it with {PAGEABLE_VARIABLE}=count"
            )

    def __str__(self) -> str:
        return f"stream {self.stream_index} of {self.device}"


def _check_sizes(destination: Buffer, source: Buffer) -> None:
    if destination.nbytes != source.nbytes:
        raise MemoryFault(
            f"a copy needs two ranges of one size; from {source.nbytes} bytes at "
            f"{source.address:#x} to {destination.nbytes} bytes at {destination.address:#x}"
        )
