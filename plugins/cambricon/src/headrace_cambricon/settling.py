"""What became of queued work: which events and streams have failed.

CNRT says that work of a queue failed when it is asked about the queue, once, and does not say where
in the queue. headrace wants to know it of every event, of streams that waited for one, and as often
as somebody asks. So streams are *settled*: waited for, and what they say kept with the events that
were recorded in them since they were settled before. An event that was recorded before the work
that failed, and not waited for until then, counts as failed too.
"""

from __future__ import annotations

import itertools
import weakref
from threading import Lock
from typing import TYPE_CHECKING

from headrace.device import Event
from headrace_cambricon.errors import CambriconError

if TYPE_CHECKING:
    from headrace_cambricon import _native

_marking = Lock()
_order = itertools.count()


class CambriconEvent(Event):
    """A notifier placed in a queue.

    Attributes:
        fate: of its stream.
        notifier: for streams that wait for it.
        is_settled: it is known what became of the work before it.
        error: that failure, if it failed.
        number: later events have greater ones.
        waited: events that its stream had waited for, while it is not settled.
    """

    def __init__(self, fate: StreamFate, notifier: _native.Event) -> None:
        self.fate = fate
        self.notifier = notifier
        self.is_settled = False
        self.error: Exception | None = None
        self.number = next(_order)
        self.waited: tuple[CambriconEvent, ...] = ()

    def synchronize(self) -> None:
        """Block until the work before it is done.

        Raises:
            Exception: what that work raised; every time.
        """
        self.notifier.synchronize()
        if not self.is_settled:
            settle(self.fate)
        if self.error is not None:
            raise self.error

    def is_reached(self) -> bool:
        """Whether the work before it is done, or has failed, which ``synchronize`` tells."""
        try:
            return self.is_settled or self.notifier.is_reached()
        except CambriconError:
            return True


class StreamFate:
    """The events of one stream that are not settled, and its errors that were not told."""

    def __init__(self, stream: _native.Stream) -> None:
        self._stream = stream
        self._draining = Lock()
        self._found: Exception | None = None
        self._untold: Exception | None = None
        self.recorded: list[weakref.ref[CambriconEvent]] = []
        self.waited: list[CambriconEvent] = []

    def record(self) -> CambriconEvent:
        """A new event behind what is enqueued."""
        event = CambriconEvent(self, self._stream.record())
        event.waited = tuple(self.waited)
        self.recorded.append(weakref.ref(event))
        return event

    def wait(self, event: CambriconEvent) -> None:
        """Let what is enqueued from now on wait for an event of the same device."""
        self._stream.wait_for(event.notifier)
        self.waited.append(event)

    def take_error(self) -> Exception | None:
        """The error that nobody was told of; from now on somebody was."""
        with _marking:
            error, self._untold = self._untold, None
        return error

    def drain(self) -> tuple[list[CambriconEvent], list[CambriconEvent]]:
        """Wait for the queue. Returns the events recorded and waited for, of which it speaks."""
        with self._draining:
            recorded, waited = list(self.recorded), list(self.waited)
            try:
                self._stream.synchronize()
            except CambriconError as error:
                self._found = self._found or error
                recorded = list(self.recorded)
        return [event for r in recorded if (event := r()) is not None], waited

    def close_window(self, waited: list[CambriconEvent]) -> None:
        """What was found is with the events now; what comes is about later ones."""
        error = self._found or next((e.error for e in waited if e.error is not None), None)
        self._found, self._untold = None, self._untold or error
        self.recorded = [r for r in self.recorded if (e := r()) is not None and not e.is_settled]
        self.waited = [event for event in self.waited if event not in waited]

    @property
    def found(self) -> Exception | None:
        """What the queue said when it was drained, as long as no event knows."""
        return self._found


def settle(first: StreamFate) -> None:
    """Wait for a stream, and for those that it waited for; keep what became of them.

    Callable from any thread: one learns of the errors of another stream here, and that stream still
    raises them itself.
    """
    drained: dict[int, tuple[StreamFate, list[CambriconEvent], list[CambriconEvent]]] = {}
    todo = [first]
    while todo:
        fate = todo.pop()
        if id(fate) in drained:
            continue
        recorded, waited = fate.drain()
        drained[id(fate)] = fate, recorded, waited
        todo += [event.fate for event in waited if not event.is_settled]
    with _marking:
        events = [(event, fate) for fate, recorded, _ in drained.values() for event in recorded]
        # Events wait for earlier ones only, so that these have their answer already.
        for event, fate in sorted(events, key=lambda pair: pair[0].number):
            if not event.is_settled:
                of_others = (e.error for e in event.waited if e.error is not None)
                event.error = fate.found or next(of_others, None)
                event.is_settled, event.waited = True, ()
        for fate, _, waited in drained.values():
            fate.close_window(waited)
