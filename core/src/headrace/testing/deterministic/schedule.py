"""``Schedule``: which thread goes on. Threads are real ones, of which all but one wait."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

_REAL_SECONDS = 60.0  # after which a thread that does not come back is taken to be stuck


class DeadlockError(AssertionError):
    """Nobody can go on. Says of each thread what it waits for."""


class LeftBehindError(AssertionError):
    """Threads of the block are still there at its end. Says what each waits for."""


class _Abandoned(BaseException):
    """Ends a thread that nobody will wake any more; not an error of the code under test."""


@dataclass(eq=False)
class Strand:
    """One thread of a schedule.

    Attributes:
        name: as the code under test calls it.
        weight: how often it is drawn, beside others.
        clock: its virtual time in seconds.
        ready: None when it can go on; else what must hold before it can.
        waits_for: what that is, in words.
        deadline: virtual time after which it goes on all the same.
        error: what ended it, until somebody has heard of it.
    """

    name: str
    weight: float
    clock: float = 0.0
    ready: Callable[[], bool] | None = None
    waits_for: str = ""
    deadline: float | None = None
    error: BaseException | None = None
    is_over: bool = False
    is_doomed: bool = False
    baton: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __str__(self) -> str:
        return f"{self.name!r} waits for {self.waits_for}" if self.ready else f"{self.name!r}"


class Schedule:
    """Threads that take turns. Made by ``deterministic``, and used inside of its block.

    Attributes:
        seed: what the order follows from.
        log: the name of who went on, switch for switch.
    """

    def __init__(self, seed: int, in_time_order: bool) -> None:
        self.seed = seed
        self.log: list[str] = []
        self._in_time_order = in_time_order
        self._draw = random.Random(seed)
        self._main = Strand("main", self._weight())
        self._strands = [self._main]
        self._by_thread = {threading.get_ident(): self._main}
        self._deadlock: str | None = None
        self._is_over = False

    # --- for tests ---------------------------------------------------------------------------

    def now(self) -> float:
        """The virtual time of the calling thread, in seconds."""
        return self._current().clock

    def advance(self, time: float) -> None:
        """The calling thread has waited until ``time``; others whose turn is before go first."""
        strand = self._current()
        strand.clock = max(strand.clock, time)
        self.point()

    def join(self, strand: Strand) -> None:
        """Wait for the end of a thread that ``start`` started; raises what ended it."""
        self.wait_until(lambda: strand.is_over, f"the end of {strand.name!r}")
        self.catch_up(strand.clock)
        error, strand.error = strand.error, None
        if error is not None:
            raise error

    # --- for the primitives ------------------------------------------------------------------

    def point(self) -> None:
        """A place at which another thread may go on."""
        self.wait_until(None, "")

    def wait_until(
        self, ready: Callable[[], bool] | None, waits_for: str, timeout: float | None = None
    ) -> bool:
        """Let others go on until ``ready`` holds; False when ``timeout`` virtual seconds passed.

        Time passes only when nobody can go on.

        Raises:
            DeadlockError: nobody can ever go on; raised on the main thread.
        """
        if self._is_over:  # what is left of the block, closed behind it
            if ready is None or ready():
                return True
            raise DeadlockError(f"the schedule is over, and nobody will bring {waits_for}")
        me = self._current()
        if me.is_doomed:
            raise _Abandoned
        me.ready, me.waits_for = ready, waits_for
        me.deadline = None if timeout is None or timeout < 0 else me.clock + timeout
        self._pass_on(me)
        came = me.ready is None or me.ready()
        me.ready, me.deadline = None, None
        return came

    def catch_up(self, time: float) -> None:
        """The calling thread has learnt of something that happened at ``time``."""
        if not self._is_over:
            strand = self._current()
            strand.clock = max(strand.clock, time)

    def time(self) -> float:
        """As ``now``; 0 for a thread that is none of the schedule's."""
        strand = self._by_thread.get(threading.get_ident())
        return strand.clock if strand else 0.0

    def start(self, name: str, run: Callable[[], object]) -> Strand:
        """A new thread, which begins when it is drawn."""
        strand = Strand(name, self._weight(), self._current().clock)

        def body() -> None:
            self._by_thread[threading.get_ident()] = strand
            try:
                self._take(strand)
                run()
            except _Abandoned:
                pass
            except BaseException as error:  # noqa: BLE001 - whoever joins it is told, or the block
                strand.error = error
            finally:
                strand.is_over = True
                del self._by_thread[threading.get_ident()]
                if not strand.is_doomed:
                    self._choose().baton.release()

        self._strands.append(strand)
        threading.Thread(target=body, name=name, daemon=True).start()
        self.point()
        return strand

    def end(self) -> tuple[Strand, ...]:
        """Let all threads come to their end, and end those that cannot; returns these."""
        others = self._strands[1:]
        if self._deadlock is None:
            with suppress(DeadlockError):  # they wait for ever, as daemons do: the caller is told
                self.wait_until(lambda: all(s.is_over for s in others), "the other threads")
        left = tuple(strand for strand in others if not strand.is_over)
        for strand in left:
            strand.is_doomed = True
            strand.baton.release()
            while not strand.is_over:  # it unwinds, and comes to no point where it would wait
                threading.Event().wait(1e-4)
        self._is_over = True
        return left

    def check_errors(self) -> None:
        """Raise what ended a thread, if nobody has heard of it."""
        for strand in self._strands:
            if strand.error is not None:
                raise strand.error

    # --- who goes on -------------------------------------------------------------------------

    def _pass_on(self, me: Strand) -> None:
        chosen = self._choose()
        if chosen is not me:
            chosen.baton.release()
            self._take(me)
        if me is self._main and self._deadlock is not None:
            raise DeadlockError(self._deadlock)

    def _take(self, me: Strand) -> None:
        if not me.baton.acquire(timeout=_REAL_SECONDS):
            raise RuntimeError(
                f"thread {me.name!r} has not had its turn for {_REAL_SECONDS} s: another one waits "
                "for something that the schedule does not see"
            )
        if me.is_doomed:
            raise _Abandoned

    def _choose(self) -> Strand:
        alive = [strand for strand in self._strands if not strand.is_over]
        able = [strand for strand in alive if strand.ready is None or strand.ready()]
        if not able:
            timed = [(s.deadline, i, s) for i, s in enumerate(alive) if s.deadline is not None]
            if not timed:
                self._deadlock = "nobody can go on: " + "; ".join(map(str, alive))
                return self._main
            deadline, _, strand = min(timed)
            strand.clock = max(strand.clock, deadline)
            able = [strand]
        if self._in_time_order:
            first = min(strand.clock for strand in able)
            able = [strand for strand in able if strand.clock == first]
        (chosen,) = self._draw.choices(able, [strand.weight for strand in able])
        self.log.append(chosen.name)
        return chosen

    def _weight(self) -> float:
        # Some threads are rarely drawn under some seeds: what they owe comes late.
        return float(4.0 ** self._draw.uniform(-2, 2))

    def _current(self) -> Strand:
        strand = self._by_thread.get(threading.get_ident())
        if strand is None:
            raise RuntimeError(
                f"thread {threading.current_thread().name!r} was not started in the block of "
                f"deterministic({self.seed})"
            )
        return strand
