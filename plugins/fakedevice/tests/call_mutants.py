"""Bugs planted in what the runtime does for calls: their errors, threads, devices and locks."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from runtime_mutants import Patches

from headrace.runtime import failure, launcher, threaded
from headrace.runtime.bus import Call, CallTable
from headrace.runtime.devices import DevicePool
from headrace.runtime.resources import Resources
from headrace.runtime.sections import Sections
from headrace.runtime.threaded_calls import ThreadedCalls

# --- calls -----------------------------------------------------------------------------------


def first_feed_is_kept() -> Patches:
    """What the first call was fed is fed to all that follow."""
    original = CallTable.get
    first: dict[int, Any] = {}

    def get(self: CallTable, job: int, number: int) -> Call:
        call = original(self, job, number)
        call.feeds = first.setdefault(id(self), call.feeds)
        return call

    return [(CallTable, "get", get)]


def call_of_another_number() -> Patches:
    """Acts work for the call that began last, not for the one of their number."""

    def get(self: Any, job: int, number: int) -> Call:
        calls = self._calls[job]
        return calls[max(calls)]

    return [(CallTable, "get", get)]


def over_with_the_first_result() -> Patches:
    """A call is over when its first result is there."""

    def sink_done(self: Any, job: int, number: int) -> bool:
        with self._lock:
            call = self._calls[job].pop(number, None)
        if call is None:
            return False
        call.finish()
        return True

    return [(CallTable, "sink_done", sink_done)]


def one_caller_is_told() -> Patches:
    """An error ends the first call in flight; the others wait on."""
    original = CallTable.fail

    def fail(self: Any, error: BaseException) -> None:
        for calls in self._calls.values():
            for number in sorted(calls)[1:]:
                del calls[number]
        original(self, error)

    return [(CallTable, "fail", fail)]


def engine_survives_its_error() -> Patches:
    """After an error calls go on with actors that are out of step."""
    original = ThreadedCalls._restart

    def restart(self: Any) -> None:
        if self._engine is None:
            original(self)
        else:
            self._calls.error = None

    return [(ThreadedCalls, "_restart", restart)]


def restarts_at_once() -> Patches:
    """After an error the next call begins while work of the failed one is still queued."""
    return [(Resources, "settle", lambda self: None)]


def error_is_dropped() -> Patches:
    """What a wait raises is taken for a hiccup."""

    def wait_for(event: Any) -> None:
        with suppress(Exception):
            event.synchronize()

    return [(launcher, "wait_for", wait_for)]


def cause_is_lost() -> Patches:
    """The error of a run does not say why."""
    original = failure.thread_error

    def described(*facts: Any) -> BaseException:
        made = original(*facts)
        made.__cause__ = None
        return made

    return [(failure, "thread_error", described)]


def sections_are_open() -> Patches:
    """Jobs that write the same variable run at once."""

    def request(self: Any, job: int) -> bool:
        self._entered[job] += 1
        return True

    return [(Sections, "request", request)]


def section_is_never_left() -> Patches:
    """Nobody gets a section that another job was in."""
    return [(Sections, "release", lambda self, job: ())]


# --- threads and devices ---------------------------------------------------------------------


def threads_go_on() -> Patches:
    """Closing does not stop the workers."""
    return [(threaded.ThreadedEngine, "stop", lambda self: None)]


def callers_wait_for_a_closed_job() -> Patches:
    """Closing does not end the calls that are in flight."""
    original = CallTable.fail

    def fail(self: CallTable, error: BaseException) -> None:
        if "closed while it ran" not in str(error):
            original(self, error)

    return [(CallTable, "fail", fail)]


def closes_for_all() -> Patches:
    """A device is closed when the first of its users closes."""

    def release(self: Any, tag: str, index: int) -> None:
        with self._lock:
            device, users = self._open[tag, index]
            self._open[tag, index] = (device, users - 1)
            device.close()

    return [(DevicePool, "release", release)]


def never_closes() -> Patches:
    """Devices are not closed."""
    return [(DevicePool, "release", lambda self, tag, index: None)]


def opened_twice() -> Patches:
    """Each user of a device opens it again."""
    original = DevicePool.acquire

    def acquire(self: Any, tag: str, index: int) -> object:
        kept = self._open.pop((tag, index), None)
        device = original(self, tag, index)
        if kept is not None:
            self._open[tag, index] = (device, kept[1] + 1)
        return device

    return [(DevicePool, "acquire", acquire)]
