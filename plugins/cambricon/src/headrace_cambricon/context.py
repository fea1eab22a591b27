"""``CambriconContext``: one stream: a queue of CNRT and the CNNL handle that ops go through."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from headrace.device import Buffer, Device, DeviceContext, Event, HostBuffer, Launch
from headrace.errors import DeviceError, LaunchError
from headrace_cambricon.device import CambriconDevice
from headrace_cambricon.errors import CambriconError

if TYPE_CHECKING:
    from headrace_cambricon import _native


class CambriconEvent(Event):
    """A notifier placed in a queue, and what became of the work before it.

    CNRT says that work of a queue failed when it is asked about the queue, once, and does not say
    where in the queue. So an event is *settled* when its stream is next asked: it has failed when
    the stream failed since it was asked before. An event that was recorded before the work that
    failed, and was not waited for until then, counts as failed too.
    """

    def __init__(self, context: CambriconContext, notifier: _native.Event) -> None:
        self.context = context
        self.notifier = notifier
        self.is_settled = False
        self.error: Exception | None = None

    def settle(self, error: Exception | None) -> None:
        """Keep what became of the work before this point; the first answer stays."""
        if not self.is_settled:
            self.is_settled, self.error = True, error

    def synchronize(self) -> None:
        """Block until the work before it is done.

        Raises:
            Exception: what that work raised; every time.
        """
        self.notifier.synchronize()
        if not self.is_settled:
            self.context.settle()
        if self.error is not None:
            raise self.error


class CambriconContext(DeviceContext):
    """Everything is enqueued; copies of pageable memory may wait in the driver."""

    host_synchronous = False

    def __init__(self, device: Device, stream_index: int) -> None:
        from headrace_cambricon import _native

        super().__init__(device, stream_index)
        assert isinstance(device, CambriconDevice)
        device.check_process()
        self.library = device.library
        self.stream = _native.Stream(device.library, device.index)
        self._settling = Lock()
        self._recorded: list[weakref.ref[CambriconEvent]] = []
        self._waited: list[CambriconEvent] = []
        self._untold: Exception | None = None
        self._scratch: list[tuple[int, int]] = []  # address and size, the largest last

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        """Enqueue a copy from the host."""
        self.stream.copy_h2d(destination.address, source.address, _size(destination, source))

    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None:
        """Enqueue a copy to the host."""
        self.stream.copy_d2h(destination.address, source.address, _size(destination, source))

    def copy_d2d(self, destination: Buffer, source: Buffer) -> None:
        """Enqueue a copy within the device."""
        self.stream.copy_d2d(destination.address, source.address, _size(destination, source))

    def synchronize(self) -> None:
        """Wait for everything that was enqueued; raises the first error of it, once."""
        self.settle()
        error, self._untold = self._untold, None
        if error is not None:
            raise error

    def settle(self) -> None:
        """Wait for everything, and keep what became of it for whoever asks next.

        Called by any thread: whoever waits for an event of this stream learns of its errors here,
        and the stream still raises them itself.
        """
        with self._settling:
            recorded, waited = list(self._recorded), list(self._waited)
            error: Exception | None = None
            try:
                self.stream.synchronize()
            except CambriconError as failed:
                error = failed
                recorded = list(self._recorded)
        # Not under the lock: other streams may be on their way to this one.
        for event in waited:
            if not event.is_settled:
                event.context.settle()
            error = error or event.error
        with self._settling:
            for reference in recorded:
                event_there = reference()
                if event_there is not None:
                    event_there.settle(error)
            self._recorded = [r for r in self._recorded if (e := r()) and not e.is_settled]
            self._waited = [event for event in self._waited if event not in waited]
            self._untold = self._untold or error

    def record_event(self) -> CambriconEvent:
        """Place a notifier."""
        event = CambriconEvent(self, self.stream.record())
        self._recorded.append(weakref.ref(event))
        return event

    def wait_event(self, event: Event) -> None:
        """Let the queue wait for a notifier of this device; for anything else the host waits."""
        if isinstance(event, CambriconEvent) and event.context.device.index == self.device.index:
            self.stream.wait_for(event.notifier)
            self._waited.append(event)
        else:
            event.synchronize()

    def capture(self, launches: Sequence[Launch]) -> Launch:
        """One call for ``launches``: neighbours that are vendor calls go out without Python."""
        from headrace_cambricon import _native

        steps: list[tuple[int, Launch]] = []  # position of the first launch, and the call
        run: list[_native.Launch] = []

        def end_of_run(position: int) -> None:
            if run:
                steps.append((position - len(run), self.stream.join(run)))
                run.clear()

        for position, launch in enumerate(launches):
            if isinstance(launch, _native.Launch):
                run.append(launch)
            else:
                end_of_run(position)
                steps.append((position, launch))
        end_of_run(len(launches))

        def call() -> None:
            index = 0
            try:
                for index, launch in steps:  # noqa: B007 - `except` reads it
                    launch()
            except CambriconError as error:
                raise LaunchError(index + max(error.part, 0)) from error
            except Exception as error:
                raise LaunchError(index) from error

        return call

    def scratch(self, nbytes: int) -> int:
        """Memory of this stream for kernels whose library asks for more than was planned.

        One block for all of them, since a queue works in order. For ``bind``: it may allocate, which
        a launch must not.
        """
        if not self._scratch or self._scratch[-1][1] < nbytes:
            # Launches that were bound before keep the older, smaller one.
            address = self.library.allocate(self.device.index, nbytes)
            self._scratch.append((address, nbytes))
        return self._scratch[-1][0]

    def close(self) -> None:
        """Free what the stream owns, and destroy its handle, then its queue."""
        scratch, self._scratch = self._scratch, []
        for address, _ in scratch:
            self.library.free(self.device.index, address)
        self.stream.close()

    def __str__(self) -> str:
        return f"stream {self.stream_index} of {self.device}"


def _size(destination: Buffer, source: Buffer) -> int:
    if destination.nbytes != source.nbytes:
        raise DeviceError(
            f"a copy needs two ranges of one size; from {source.nbytes} bytes at "
            f"{source.address:#x} to {destination.nbytes} bytes at {destination.address:#x}"
        )
    return source.nbytes
