"""Calls in flight: the meeting point of the caller's thread and the threads that run the plan.

Ctrl-C may stop a caller at any step of what follows. So whatever a caller does here can be done
again, by it or by somebody else, and locks are held by their own ``with`` statements.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from headrace.tensor_spec import Array


class Exchange:
    """What a run of a job takes from its caller, and what it gives back, by name."""

    __slots__ = ("feeds", "results")

    def __init__(self, feeds: Mapping[str, Array]) -> None:
        self.feeds = feeds
        self.results: dict[str, Array] = {}


class Call(Exchange):
    """One run of a job: what was fed, what came out, and when it is over.

    ``feeds`` are read and ``results`` written by the threads that run the plan, until it is over.
    """

    def __init__(
        self,
        feeds: Mapping[str, Array],
        sinks: int,
        room: Room | None = None,
        over: Callable[[], None] | None = None,
    ) -> None:
        """A call that has not begun.

        Args:
            feeds: arrays by name of the input.
            sinks: how many actors end it.
            room: what it leaves when it is over.
            over: called when it is over, however it ended, by the thread that ends it; must neither
                block nor raise, and may be called again.
        """
        super().__init__(feeds)
        self.remaining_sinks = sinks
        self.error: BaseException | None = None
        self.place = 0  # among the calls of a table
        self._sinks = sinks
        self._room = room
        self._over = over
        self._running = threading.Lock()  # held until the call is over; an Event costs ten of them
        self._running.acquire()
        self._is_over = False

    def reset(self) -> None:
        """Be as before it began, to begin again."""
        self.results.clear()
        self.remaining_sinks = self._sinks

    def fail(self, error: BaseException) -> None:
        """End with an error. Not after ``finish``."""
        self.error = error
        self.finish()

    def finish(self) -> None:
        """Make room for the next call, and wake whoever waits for this one. Idempotent."""
        if self._room is not None:
            self._room.leave(self)
        self._is_over = True
        self._wake()
        if self._over is not None:
            self._over()

    def _wake(self) -> None:
        """Let the next thread that waits go on, once the call is over."""
        with suppress(RuntimeError):  # somebody else has
            self._running.release()

    @property
    def is_over(self) -> bool:
        """True when ``wait`` does not block."""
        return self._is_over

    def join(self, timeout_seconds: float | None = None) -> None:
        """Block until the call is over, however it ends.

        Raises:
            TimeoutError: it was not over in time; it goes on.
        """
        timeout = -1.0
        if timeout_seconds is not None:
            timeout = min(max(timeout_seconds, 0), threading.TIMEOUT_MAX)
        try:
            if not (self._is_over or self._running.acquire(timeout=timeout)):
                raise TimeoutError(
                    f"the call was not over after {timeout_seconds} seconds; it goes on"
                )
        finally:
            if self._is_over:
                self._wake()

    def wait(self, timeout_seconds: float | None = None) -> dict[str, Array]:
        """``join``; returns the results by name.

        Raises:
            RunError: the run stopped.
            TimeoutError: it was not over in time; it goes on.
        """
        self.join(timeout_seconds)
        if self.error is not None:
            raise self.error
        return self.results


class Changed:
    """What a ``threading.Condition`` is for, where Ctrl-C may come at any step.

    A Condition is entered and left by Python code, and between two steps of it an interrupt leaves
    its lock held for ever, or not held where it should be. Here the lock is entered itself.

    Attributes:
        lock: held by who waits or tells.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._asleep: list[threading.Lock] = []  # one for each that waits

    def wait(self) -> None:
        """Let the lock go until somebody tells of a change."""
        asleep = threading.Lock()
        asleep.acquire()
        self._asleep.append(asleep)
        try:
            self.lock.release()
            asleep.acquire()
        finally:
            self.lock.acquire()

    def tell(self) -> None:
        """Wake all that wait. May be repeated."""
        while self._asleep:
            with suppress(RuntimeError):  # an interrupt came before it was taken off the list
                self._asleep[-1].release()
            self._asleep.pop()


class Room:
    """Room for so many calls of a job at once: the next one waits until one is over.

    What keeps a fast caller from filling memory with calls that a slow device has yet to run.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._changed = Changed()
        self._inside: set[Call] = set()  # not a count: one may leave twice

    def enter(self, call: Call) -> None:
        """Wait for room, and take it."""
        with self._changed.lock:
            while len(self._inside) >= self._width:
                self._changed.wait()
            self._inside.add(call)

    def leave(self, call: Call) -> None:
        """Give room back. Idempotent."""
        with self._changed.lock:
            self._inside.discard(call)
            self._changed.tell()

    def drain(self) -> None:
        """Wait until nobody is inside."""
        with self._changed.lock:
            while self._inside:
                self._changed.wait()


class CallTable:
    """The calls in flight by job and number.

    Numbers count from 0 for each job and equal the act number of every actor of the job. The first
    error wins: it ends the calls that it is the fault of, those that cannot be repeated, and the
    table: the others are to begin again in another one, and what arrives later is ignored.
    """

    def __init__(self, jobs: Iterable[int], repeatable: Collection[int] = ()) -> None:
        """An empty table for the calls of ``jobs``, some of which may be ``repeatable``."""
        self._repeatable = repeatable
        self._begun = 0
        self._lost: list[tuple[int, Call]] = []
        self._lock = threading.Lock()
        self._calls: dict[int, dict[int, Call]] = {job: {} for job in jobs}
        self._next = dict.fromkeys(self._calls, 0)
        self.error: BaseException | None = None

    def begin(self, job: int, call: Call) -> bool:
        """Number a new call; False when an error has ended all calls. Without sinks it is over."""
        with self._lock:
            if self.error is not None:
                return False
            if call.remaining_sinks:
                self._calls[job][self._next[job]] = call
            self._next[job] += 1
            self._begun = call.place = self._begun + 1
        if not call.remaining_sinks:
            call.finish()
        return True

    def get(self, job: int, number: int) -> Call:
        """The call that act ``number`` works for."""
        return self._calls[job][number]

    def number_of(self, job: int, call: Call) -> int | None:
        """The number of a call under way; None if it has none, or is over."""
        with self._lock:
            return next((n for n, other in self._calls[job].items() if other is call), None)

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

    def fail(self, error: BaseException, suspects: Collection[tuple[int, int]] = ()) -> bool:
        """End calls in flight with ``error``, unless an earlier error has done so.

        Args:
            error: what happened.
            suspects: (job, number) of the calls in one of which it happened; none, if it may be
                any. Repeatable calls that are not suspected do not end; ``take_lost`` has them.

        Returns:
            True if there are such calls.
        """
        failed: list[Call] = []
        with self._lock:
            if self.error is not None:
                return False
            self.error = error
            for job, calls in self._calls.items():
                for number, call in calls.items():
                    if suspects and job in self._repeatable and (job, number) not in suspects:
                        self._lost.append((job, call))
                    else:
                        failed.append(call)
                calls.clear()
            self._lost.sort(key=lambda lost: lost[1].place)
            any_lost = bool(self._lost)
        for call in failed:
            call.fail(error)
        return any_lost

    def take_lost(self) -> list[tuple[int, Call]]:
        """Calls, with their jobs, that an error stopped without ending them, in their order."""
        with self._lock:
            lost, self._lost = self._lost, []
        return lost


def on_main_thread() -> bool:
    """True on the thread that handles signals."""
    return threading.get_ident() == threading.main_thread().ident


def new_lock() -> threading.Lock:
    """A lock, for modules that need one and nothing else of ``threading``."""
    return threading.Lock()


def stand_back(lock: threading.Lock, waited: float = 0.0) -> None:
    """Before ``with lock``: where somebody holds it, sleep for a moment first.

    Who has waited so many seconds already sleeps for some percent of that, up to a millisecond, and
    so costs nothing by looking again and again.

    A thread that is given a lock it waited for has yet to wait for the GIL, with the lock in its
    hands. Whoever runs meanwhile and asks for the lock must sleep in turn, and gives the GIL up: so
    threads that make short calls would from then on sleep twice in each of them, for as long as
    they meet. Who was interrupted with the lock needs no more than the GIL, and has it now.
    """
    if lock.locked():
        time.sleep(1e-6 + min(waited / 32, 1e-3))  # systems make 0.06 ms of the shortest
