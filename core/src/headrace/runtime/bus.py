"""Calls in flight: the meeting point of the caller's thread and the threads that run the plan."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from headrace.tensor_spec import Array


class Call:
    """One run of a job: what was fed, what came out, and when it is over.

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
    """The calls in flight by job and number.

    Numbers count from 0 for each job and equal the act number of every actor of the job. The first
    error wins: it ends all calls in flight, and what arrives later is ignored.
    """

    def __init__(self, sink_counts: Mapping[int, int]) -> None:
        """An empty table; ``sink_counts`` says how many actors end a call, by job."""
        self._sink_counts = sink_counts
        self._lock = threading.Lock()
        self._calls: dict[int, dict[int, Call]] = {job: {} for job in sink_counts}
        self._next = dict.fromkeys(sink_counts, 0)
        self.error: BaseException | None = None

    def begin(self, job: int, feeds: Mapping[str, Array]) -> Call | None:
        """Number a new call; None when an error has ended all calls. Without sinks it is over."""
        sinks = self._sink_counts[job]
        call = Call(feeds, sinks)
        with self._lock:
            if self.error is not None:
                return None
            if sinks:
                self._calls[job][self._next[job]] = call
            self._next[job] += 1
        if not sinks:
            call.finish()
        return call

    def get(self, job: int, number: int) -> Call:
        """The call that act ``number`` works for."""
        return self._calls[job][number]

    def sink_done(self, job: int, number: int) -> bool:
        """A sink of ``job`` has finished act ``number``; True if it was the last, which ends it."""
        with self._lock:
            call = self._calls[job].get(number)
            if call is None:
                return False
            call.remaining_sinks -= 1
            if call.remaining_sinks:
                return False
            del self._calls[job][number]
        call.finish()
        return True

    def done(self, job: int, number: int) -> None:
        """Call ``number`` of ``job`` is over, with all its sinks."""
        with self._lock:
            call = self._calls[job].pop(number, None)
        if call is not None:
            call.finish()

    def fail(self, error: BaseException) -> None:
        """End every call in flight with ``error``, unless an earlier error has done so."""
        with self._lock:
            if self.error is not None:
                return
            self.error = error
            failed = [call for calls in self._calls.values() for call in calls.values()]
            for calls in self._calls.values():
                calls.clear()
        for call in failed:
            call.error = error
            call.finish()


def new_lock() -> threading.Lock:
    """A lock, for modules that need one and nothing else of ``threading``."""
    return threading.Lock()
