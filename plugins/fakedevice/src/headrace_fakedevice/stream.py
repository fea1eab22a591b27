"""``Stream``: a queue of work on which nothing happens until somebody waits.

A real device may be done with queued work at once or much later. This one is as late as can be:
work runs, on the waiting thread, when its stream is synchronised, when an event recorded behind it
is, or when another stream comes to a wait for such an event. Whoever forgot a wait reads poison.

Work that raises stops its stream: what is queued behind it is dropped, events behind it carry the
error, and streams that wait for such an event stop with it too. ``synchronize`` raises the error
and sets the stream going again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import RLock  # waits come from several threads; this package starts none

from headrace.device import Event

Work = Callable[[], None]

# One lock for all devices: a wait may lead from any stream to any other, also of another device.
_RUNNING = RLock()


class FakeEvent(Event):
    """A point in a stream; once reached, it knows whether all work before it went well."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._error: Exception | None = None
        self.reached = False

    def reach(self, error: Exception | None) -> None:
        """The stream has come here; ``error`` is what stopped it before."""
        self._error, self.reached = error, True

    def synchronize(self) -> None:
        """Do the work recorded before the event.

        Raises:
            Exception: what that work raised; every time.
        """
        self._stream.run(until=self)
        if self._error is not None:
            raise self._error


class Stream:
    """Work in the order in which it was enqueued. One thread enqueues; any thread may wait."""

    def __init__(self) -> None:
        self._queue: deque[Work | FakeEvent] = deque()
        self._error: Exception | None = None

    @property
    def is_idle(self) -> bool:
        """True when nothing is queued and no error is waiting to be raised."""
        return not self._queue and self._error is None

    def enqueue(self, work: Work) -> None:
        """Do ``work`` after all that was enqueued before, when somebody waits."""
        self._queue.append(work)

    def record(self) -> FakeEvent:
        """Mark the point that all work enqueued so far leads to."""
        event = FakeEvent(self)
        self._queue.append(event)
        return event

    def run(self, until: FakeEvent | None = None) -> None:
        """Do what is queued up to ``until``, or all of it; errors are kept, not raised."""
        with _RUNNING:
            while self._queue and not (until is not None and until.reached):
                work = self._queue.popleft()
                if isinstance(work, FakeEvent):
                    work.reach(self._error)
                elif self._error is None:
                    try:
                        work()
                    except Exception as error:  # noqa: BLE001 - synchronize raises it
                        self._error = error

    def synchronize(self) -> None:
        """Do all that is queued.

        Raises:
            Exception: the first error of the work since the last call; then the stream is clean.
        """
        with _RUNNING:
            self.run()
            error, self._error = self._error, None
        if error is not None:
            raise error
