"""Calls in flight: the meeting point of the caller's thread and the threads that run the plan."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from headrace.tensor_spec import Array


class Call:
    """One run of the plan: what was fed, what came out, and when it is over.

    ``feeds`` are read and ``results`` written by the threads that run the plan, until ``done``.
    """

    def __init__(self, feeds: Mapping[str, Array], sinks: int) -> None:
        self.feeds = feeds
        self.results: dict[str, Array] = {}
        self.remaining_sinks = sinks
        self.error: BaseException | None = None
        self._running = threading.Lock()  # held until the call is over; an Event costs ten of them
        self._running.acquire()

    def finish(self) -> None:
        """Wake whoever waits. Called once."""
        self._running.release()

    def wait(self) -> dict[str, Array]:
        """Block until the call is over; returns the results by name.

        Raises:
            RunError: the run stopped.
        """
        with self._running:  # whoever waits behind this thread comes next
            pass
        if self.error is not None:
            raise self.error
        return self.results


class CallTable:
    """The calls in flight by number. Numbers count from 0 and equal the act number of every actor.

    The first error wins: it ends all calls in flight, and what arrives later is ignored.
    """

    def __init__(self, sinks: int) -> None:
        self._sinks = sinks
        self._lock = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._next = 0
        self.error: BaseException | None = None

    def begin(self, feeds: Mapping[str, Array]) -> Call | None:
        """Number a new call; None when an error has ended all calls. Without sinks it is over."""
        call = Call(feeds, self._sinks)
        with self._lock:
            if self.error is not None:
                return None
            if self._sinks:
                self._calls[self._next] = call
            self._next += 1
        if not self._sinks:
            call.finish()
        return call

    def get(self, number: int) -> Call:
        """The call that act ``number`` works for."""
        return self._calls[number]

    def sink_done(self, number: int) -> None:
        """One of the plan's sinks has finished act ``number``; the last one ends the call."""
        with self._lock:
            call = self._calls.get(number)
            if call is None:
                return
            call.remaining_sinks -= 1
            if call.remaining_sinks:
                return
            del self._calls[number]
        call.finish()

    def done(self, number: int) -> None:
        """Call ``number`` is over, with all its sinks."""
        with self._lock:
            call = self._calls.pop(number, None)
        if call is not None:
            call.finish()

    def fail(self, error: BaseException) -> None:
        """End every call in flight with ``error``, unless an earlier error has done so."""
        with self._lock:
            if self.error is not None:
                return
            self.error = error
            failed = list(self._calls.values())
            self._calls.clear()
        for call in failed:
            call.error = error
            call.finish()


def new_lock() -> threading.Lock:
    """A lock, for modules that need one and nothing else of ``threading``."""
    return threading.Lock()
