"""``Stream``: a queue of work on which nothing happens until somebody waits.

A real device may be done with queued work at once or much later. This one is as late as can be:
work runs, on the waiting thread, when its stream is synchronised, when an event recorded behind it
is, or when another stream comes to a wait for such an event. Whoever forgot a wait reads poison.
In an experiment (``experiment.py``) streams may also run ahead, as far as a seed says.

Work that raises stops its stream: what is queued behind it is dropped, events behind it carry the
error, and streams that wait for such an event stop with it too. ``synchronize`` raises the error
and sets the stream going again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock  # waits come from several threads; this package starts none

from headrace.device import Event
from headrace.errors import DeviceError
from headrace_fakedevice.experiment import Line, current
from headrace_fakedevice.memory import FakeBuffer

Work = Callable[[], None]


class Piece:
    """A piece of work, and the memory that it uses until it is done.

    Attributes:
        reached: the stream has come here, and the work is done.
        error: what stopped it.
    """

    __slots__ = ("error", "reached", "used", "work")

    def __init__(self, work: Work, used: Sequence[FakeBuffer] = ()) -> None:
        self.work = work
        self.used = used
        self.error: Exception | None = None
        self.reached = False


# One lock for all devices: a wait may lead from any stream to any other, also of another device.
_RUNNING = RLock()


class FakeEvent(Event):
    """A point in a stream; once reached, it knows whether all work before it went well.

    Attributes:
        reached: the stream has come here.
        error: what stopped it before.
        time: when it does, in virtual seconds.
    """

    def __init__(self, stream: Stream, time: float) -> None:
        self.time = time
        self._stream = stream
        self.error: Exception | None = None
        self.reached = False

    def synchronize(self) -> None:
        """Do the work recorded before the event.

        Raises:
            Exception: what that work raised; every time.
        """
        try:
            self.arrive()
        finally:
            if (experiment := current()) is not None:
                experiment.wait(self.time)

    def arrive(self) -> None:
        """As ``synchronize``, for a stream that waits: the host does not."""
        self._stream.run(until=self)
        if self.error is not None:
            raise self.error


class Stream:
    """Work in the order in which it was enqueued. One thread enqueues; any thread may wait.

    Attributes:
        line: its virtual time.
    """

    def __init__(self, line: Line) -> None:
        self.line = line
        self._queue: deque[Piece | FakeEvent] = deque()
        self._error: Exception | None = None

    @property
    def is_idle(self) -> bool:
        """True when nothing is queued and no error is waiting to be raised."""
        return not self._queue and self._error is None

    def enqueue(self, work: Work, used: Sequence[FakeBuffer] = ()) -> None:
        """Do ``work``, which uses memory, after all that was enqueued before."""
        piece = Piece(work, used)
        with _RUNNING:
            self._queue.append(piece)
            for buffer in used:
                buffer.enter(piece)

    def record(self) -> FakeEvent:
        """Mark the point that all work enqueued so far leads to."""
        self.line.begin(current())
        event = FakeEvent(self, self.line.end)
        self._queue.append(event)
        return event

    def wait(self, event: FakeEvent) -> None:
        """Do what is enqueued from now on after ``event``, which may be of another stream."""
        self.line.begin(current())
        self.line.end = max(self.line.end, event.time)
        self._queue.append(Piece(event.arrive))

    def step(self) -> None:
        """Do the next piece of work, if there is one; an error is kept, not raised."""
        with _RUNNING:
            if self._queue:
                self._do(self._queue[0])

    def run(self, until: FakeEvent | None = None) -> None:
        """Do what is queued up to ``until``, or all of it; errors are kept, not raised."""
        with _RUNNING:
            while self._queue and not (until is not None and until.reached):
                self._do(self._queue[0])

    def _do(self, first: Piece | FakeEvent) -> None:
        """Do what is first in the queue; whoever does it may be stopped by Ctrl-C anywhere."""
        try:
            self._queue.popleft()
            if isinstance(first, Piece) and self._error is None:
                first.work()
        except Exception as error:  # noqa: BLE001 - synchronize raises it
            self._error = error
        except BaseException as error:
            self._error = DeviceError(f"queued work was interrupted: {error!r}")
            raise
        finally:
            first.error, first.reached = self._error, True  # before any call, which may be stopped
            if isinstance(first, Piece):
                for buffer in first.used:
                    buffer.leave(first)

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
