"""``DeviceContext``: one stream of one device; what kernels launch on and copies go through."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.device.allocator import Buffer, HostBuffer
from headrace.device.device import Device
from headrace.device.kernel import Launch
from headrace.errors import LaunchError


class Event:
    """A point in a stream's work. The default is a point that has been reached."""

    def synchronize(self) -> None:
        """Block until the work recorded before the event is done. Callable from any thread.

        Raises:
            Exception: what that work raised. An event keeps its error: each call raises it, and
                the stream that it came from still raises it once itself.
        """

    def is_reached(self) -> bool | None:
        """Whether ``synchronize`` would come back at once. Callable from any thread. Since 1.5.

        Ctrl-C does not interrupt a wait inside a driver. So the thread that it is meant for asks
        first, until this says True, and then synchronises. None, the default, means that the device
        cannot be asked: then ``synchronize`` itself should let Ctrl-C through, as waits of Python
        do. It must become True without anybody waiting.
        """
        return None


class DeviceContext:
    """One in-order stream of work on one device.

    The defaults describe a device that works in host memory and returns from every call when the
    work is done (``host_synchronous``). A device with real streams overrides the copies,
    ``synchronize``, ``record_event`` and ``wait_event``; work is done in the order in which it was
    enqueued. One thread at a time uses a context; several contexts of a device, also of one stream
    index, are used at once by several threads.

    Source and destination of a copy have equal ``nbytes``. Until a copy is done both stay alive,
    the source is not written and the destination not read; a context need not hold on to them.

    Queued work that raises stops its stream: work behind it is dropped, or done with what memory
    holds, but its error is not lost. ``synchronize`` raises the first one, once, and the stream is
    clean again. A stream that waits for an event behind the failure has failed as well, so that
    who waits for the last stream of a chain learns of it.

    Core launches ahead of the work: what reads another stream's results is enqueued behind a wait
    for the event that was recorded behind them, and so is what writes over them. Only the end of a
    chain is waited for by the host. Core owns events: it never records one twice, and lets go of
    it when the work before it is done, or after the stream was synchronised. A wait that was
    enqueued for it may not have been come to by then.
    """

    host_synchronous: bool = True
    """Every launch and copy returns after its work is done. Then plans run on one thread.

    Core takes it at its word: it reads results and reuses memory without ``synchronize``, and no
    event is waited for. A context that says True and works later gives wrong numbers, which no look
    at its class can tell; the conformance suite (tag ``streams``) does. When in doubt say False,
    which costs an event for each sequence of launches.
    """

    def __init__(self, device: Device, stream_index: int) -> None:
        self.device = device
        self.stream_index = stream_index

    def copy_h2d(self, destination: Buffer, source: HostBuffer) -> None:
        """Enqueue a copy from host memory to this device."""
        self._host(destination).memory[:] = source.memory

    def copy_d2h(self, destination: HostBuffer, source: Buffer) -> None:
        """Enqueue a copy from this device to host memory."""
        destination.memory[:] = self._host(source).memory

    def copy_d2d(self, destination: Buffer, source: Buffer) -> None:
        """Enqueue a copy within this device."""
        self._host(destination).memory[:] = self._host(source).memory

    def copy_peer(self, destination: Buffer, source: Buffer) -> None:
        """Enqueue a copy to this device from another one of its tag. Since 1.1.

        Called only if the ``DeviceEntry`` claims ``PEER_COPIES``; otherwise core copies through the
        host. The work that wrote ``source`` is done when the stream comes to the copy, which waits
        for an event behind it, but need not be when this is called. Between two devices whose
        hardware has no way to each other the plugin goes through the host itself.
        """
        raise NotImplementedError(f"{type(self).__name__} does not override copy_peer")

    def synchronize(self) -> None:
        """Block until everything enqueued so far is done.

        Raises:
            Exception: the first error that enqueued work raised since the last call.
        """

    def record_event(self) -> Event:
        """Mark this point of the stream."""
        return Event()

    def wait_event(self, event: Event) -> None:
        """Let work enqueued from now on wait for ``event``.

        Another context recorded it: of this device, of another index, or of another backend. The
        default blocks until it is reached, which is right for any event; override it for those
        that the device can wait for itself, and keep the default for the others.
        """
        event.synchronize()

    def capture(self, launches: Sequence[Launch]) -> Launch:
        """Bind a fixed sequence of launches into one call.

        The default calls them one after another; override it where the device can replay a
        sequence natively. The result is called many times, by one thread at a time. It should
        raise ``LaunchError(index)`` from what launch ``index`` raised, so that the op is named.
        """
        fixed = tuple(launches)

        def run() -> None:
            index = 0
            try:
                for index, launch in enumerate(fixed):  # noqa: B007 - `except` reads it
                    launch()
            except Exception as error:
                raise LaunchError(index) from error

        return run

    def close(self) -> None:
        """Release the stream. Called once, after ``synchronize``; nothing is queued any more."""

    def _host(self, buffer: Buffer) -> HostBuffer:
        if not isinstance(buffer, HostBuffer):
            raise NotImplementedError(
                f"{type(self).__name__} keeps the default copies, which need host memory; its "
                f"allocator gives {type(buffer).__name__}. Override copy_h2d, copy_d2h, copy_d2d"
            )
        return buffer
