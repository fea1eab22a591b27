"""``Replicas``: executors of one plan, so that calls of several threads run side by side."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar
from weakref import WeakSet

from headrace.collector import held
from headrace.errors import DeviceError, SessionError
from headrace.runtime import process
from headrace.runtime.bus import new_lock
from headrace.runtime.executor import Executor
from headrace.runtime.reentry import codes_of, is_within, reentry_error

T = TypeVar("T")

_FEW = 8
"""Executors of a plan on a machine of few processors: the system shares these out among callers
better than callers that wait for each other do."""

_MEETINGS = 100
"""After so many calls that met, another replica is tried where there was no memory for one."""


class Replicas:
    """Others than the first executor of a plan, for calls that would wait for it.

    One is made when a call finds all of them busy, as long as there are few (``_FEW``), or fewer
    than processors. So no more memory is held than was needed by as many calls as were under way at
    once. They use the weights of the first, and have memory of their own for everything else.

    There are none of a plan that keeps variables from call to call, nor where calls do not work on
    the caller's thread and in the host's memory: a device that works by itself has a queue, which
    is not faster for having two ends. May be used from any thread.
    """

    def __init__(self, first: Executor, name: str) -> None:
        """None is made yet; ``first`` of the job ``name`` stays its owner's, who closes it last."""
        self._first, self._name = first, name
        self._most = max(_FEW, processors()) - 1
        self._held: list[Executor] = []  # also one that is being opened, or could not be
        self._ready: list[Executor] = []  # grown and replaced under the lock, read without
        self._changing = new_lock()
        self._waiting = new_lock()
        self._tries_after = 0
        self._forks = process.forks

    def instead(self, call: Callable[[Executor], T]) -> T:
        """Have a call done that found the first executor busy: by one that is not, if it can be.

        Args:
            call: given the executor; again, if that was closed before it began.

        Raises:
            PlanError: the plan cannot be bound once more.
            SessionError: this thread makes or waits for a replica further out, as where a handler
                of a signal asks, and would wait for itself.
            BaseException: what ``call`` raises.
        """
        executor = self._one()
        try:
            return call(executor)
        except SessionError:
            if executor is self._first or not executor.is_closed:
                raise
        return call(self._first)  # a job wanted its memory

    def give_back(self, *, busy: bool) -> bool:
        """Close those that run no call, or others as well when theirs are over; True if any was.

        None of a call that this very thread is in, nor while it makes one or waits for one.
        """
        if process.forks != self._forks or self._is_within(sys._getframe(1)):
            return False
        with held(self._changing):
            given = [e for e in self._ready if not (e.is_here if busy else e.is_under_way)]
            self._ready = [executor for executor in self._ready if executor not in given]
            if given:
                self._tries_after = _MEETINGS
        for executor in given:  # no lock is held while calls are waited for
            executor.close()
        with held(self._changing):
            self._held = [executor for executor in self._held if executor not in given]
        return bool(given)

    def _one(self) -> Executor:
        first = self._first
        if process.forks != self._forks:
            return first  # which says so; locks that were held when it was forked stay held
        if not first.may_have_replicas or first.is_recorded:
            return first
        idle = self._idle()
        if idle is None:
            if self._is_within(sys._getframe(1)):
                raise reentry_error(f"job {self._name!r} was called")
            with held(self._changing):
                idle = self._idle() or self._make()
        return idle or self._wait()

    def _idle(self) -> Executor | None:
        return next((e for e in (self._first, *self._ready) if not e.is_under_way), None)

    def _make(self) -> Executor | None:
        """One more; None where there is no room."""
        self._tries_after -= 1
        if len(self._ready) < self._most and self._tries_after < 0:
            try:
                self._ready.append(self._first.replica(self._held.append))
            except DeviceError:  # there is no memory now: what there is must do
                self._held = [executor for executor in self._held if not executor.is_closed]
                self._tries_after = _MEETINGS
            else:
                with held(_adding):
                    _with_replicas.add(self)
                return self._ready[-1]
        return None

    def _wait(self) -> Executor:
        """The next that is idle. One caller looks for it, and the others wait behind that one.

        Nobody waits for the lock of an executor: the thread that had a lock last has it next, so
        that callers would wait for a busy one beside others that are idle.
        """
        with self._waiting:
            begin = time.monotonic()
            while (idle := self._idle()) is None:
                self._first.stand_back(waited=time.monotonic() - begin)
        return idle

    @property
    def held_bytes(self) -> int:
        """Memory that they hold, without the weights."""
        return sum(executor.held_bytes for executor in tuple(self._ready))

    @property
    def is_here(self) -> bool:
        """True further in on a thread that makes one, waits for one or gives one back."""
        return self._is_within(sys._getframe(1))

    def _is_within(self, frame: FrameType) -> bool:
        return is_within((self,), _HOLDING, frame)

    @property
    def is_under_way(self) -> bool:
        """True while one of them runs a call."""
        return any(executor.is_under_way for executor in tuple(self._ready))

    def close(self) -> None:
        """Close all and make no more. Idempotent; in a forked process all is the parent's."""
        if process.forks != self._forks:
            return
        with held(self._changing):
            self._most = 0
            for executor in self._held:
                executor.close()


_HOLDING = codes_of(Replicas._one, Replicas.give_back, Replicas.close)
_with_replicas: WeakSet[Replicas] = WeakSet()
_adding = new_lock()  # nobody may while the set is gone through


def give_back(*, busy: bool) -> bool:
    """Close all replicas of the process that run no call, or all; True if there was one.

    For whoever finds no memory for what cannot do without.

    Args:
        busy: wait for the calls of others.
    """
    with held(_adding):
        known = tuple(_with_replicas)
    given = [replicas.give_back(busy=busy) for replicas in known]
    return any(given)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
