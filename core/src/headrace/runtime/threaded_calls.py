"""``ThreadedCalls``: calls that worker threads run, and those that an error of others stopped.

An error drops the engine; the next call makes a new one, over the same buffers and weights. Calls
that were under way beside the one that failed are begun again on it, in their order, so that their
callers do not hear of it; but not those that write variables, of which nobody knows how far they
came. No call that failed itself is tried twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from headrace.errors import RunError, SessionError
from headrace.ids import ActorId
from headrace.plan import Plan
from headrace.plan.names import stream_name
from headrace.runtime.bind import LaunchAct
from headrace.runtime.bus import Call, CallTable, Exchange, Room, new_lock
from headrace.runtime.launcher import Launcher
from headrace.runtime.network import Network
from headrace.runtime.resources import Resources
from headrace.runtime.shelter import Shelter, Thread, new_thread, start
from headrace.tensor_spec import Array

if TYPE_CHECKING:  # most jobs have none, and ask for none
    from headrace.runtime.event_log import EventLog
    from headrace.runtime.failure import Failure
    from headrace.runtime.recorder import Recorder
    from headrace.runtime.threaded import ThreadedEngine


class ThreadedCalls:
    """Begins calls of one plan on worker threads. May be used from any thread.

    Threads are started by the first call, and again by the first one after an error.
    """

    def __init__(self, plan: Plan, network: Network, log: EventLog | None = None) -> None:
        """No call is under way; ``bind`` says how they are launched.

        Args:
            plan: a checked plan.
            network: how its actors are wired.
            log: what actors are told is written down in it.
        """
        self._plan = plan
        self._network = network
        self._log = log
        self._lock = new_lock()
        self._rooms = {job: Room(width) for job, width in network.widths.items()}
        self._repeatable = frozenset(s.job for s in plan.sections if not s.writes)
        self._calls = CallTable(network.sources)
        self._closed = False
        self._engine: ThreadedEngine | None = None
        self._recoveries: list[Thread] = []

    def exchange(self, job: int, number: int) -> Exchange:
        """What act ``number`` of the actors of a job reads and writes of its call."""
        return self._calls.get(job, number)

    def bind(
        self, resources: Resources, launches: Sequence[LaunchAct], recorder: Recorder | None
    ) -> None:
        """Have the calls that begin from now on launched so; no other is under way.

        Args:
            resources: what the launches work on.
            launches: one for each actor, bound to ``exchange``.
            recorder: told when the actors start anew.
        """
        with self._lock:
            self._stop()
            self._resources, self._launches, self._recorder = resources, launches, recorder

    @property
    def is_here(self) -> bool:
        """True further in on one of the threads, as in a kernel."""
        return self._engine is not None and self._engine.is_here

    def submit(self, feeds: Mapping[str, Array], job: int, over: Callable[[], None] | None) -> Call:
        """Start a call. See ``Executor.submit``."""
        call = Call(feeds, self._network.sink_counts[job], self._rooms[job], over)
        try:
            self._rooms[job].enter(call)
            with self._lock:
                self._begin(call, job)
        except BaseException as error:
            if not call.place:  # it was never numbered, so that nobody else ends it
                call.fail(error)
            raise
        return call

    def drain(self) -> None:
        """Wait until no call is under way; for whoever begins no other."""
        for room in self._rooms.values():
            room.drain()

    def close(self, error: BaseException) -> None:
        """Stop the threads, and begin no call any more; those under way end with ``error``.

        Idempotent.
        """
        with self._lock:
            self._closed = True
            self._stop()
            self._calls.fail(error)
            for _, call in self._calls.take_lost():
                call.fail(error)
            self._launches = ()
        for recovery in self._recoveries:
            if recovery.ident is not None:  # Ctrl-C came before its start
                recovery.join()

    def _begin(self, call: Call, job: int) -> None:
        if self._closed:
            raise closed_error(self._plan)
        if self._engine is None or not self._engine.is_started:
            self._restart()
        try:
            while not self._calls.begin(job, call):  # an error ended the calls before
                self._restart()
            assert self._engine is not None
            self._engine.begin(job)
        except BaseException as error:
            number = self._calls.number_of(job, call)
            if number is not None:
                # Part of it may be announced: its number is used up, so all must start anew.
                self._end_calls(self._for_others(error), {(job, number)})
            raise

    def _for_others(self, error: BaseException) -> BaseException:
        """What calls are told that end with one that did not begin: Ctrl-C is its caller's."""
        if isinstance(error, Exception):
            return error
        found = RunError(f"job {self._plan.name!r}: another call was interrupted while it began")
        found.__cause__ = error
        return found

    def _restart(self) -> None:
        """Start a new engine, and on it the calls that the end of the last one stopped."""
        lost = self._calls.take_lost()
        try:
            self._stop()
            self._resources.settle()
            if self._recorder is not None:
                self._recorder.restart(math.lcm(*(r.slots for r in self._plan.registers)))
            self._calls = CallTable(self._network.sources, self._repeatable)
            self._engine = self._new_engine()
            Shelter().run(self._engine.start)
            while lost:
                job, call = lost[0]
                call.reset()
                self._begin(call, job)  # which restarts again if one of them has failed meanwhile
                lost.pop(0)
        except BaseException as error:
            for _, call in lost:
                if not call.is_over:
                    call.fail(self._for_others(error))
            raise

    def _new_engine(self) -> ThreadedEngine:
        from headrace.runtime.threaded import ThreadedEngine  # most models run without threads

        if self._log is not None:
            self._log.restart()
        contexts = self._resources.contexts
        return ThreadedEngine(
            self._network,
            {stream_id: stream_name(self._plan, stream_id) for stream_id in contexts},
            Launcher(self._network, contexts, self._launches),
            partial(self._sink_done, self._calls),
            self._fail,
            self._log,
        )

    def _stop(self) -> None:
        if self._engine is not None:
            Shelter().run(self._engine.stop)
            self._engine = None

    def _sink_done(self, calls: CallTable, actor_id: ActorId, number: int) -> bool:
        return calls.sink_done(self._network.jobs[actor_id], number)

    def _fail(self, failure: Failure) -> None:
        from headrace.runtime.failure import thread_error

        described = thread_error(self._plan, self._network, failure)
        suspects = {(self._network.jobs[actor_id], number) for actor_id, number in failure.acts}
        self._end_calls(described, suspects)

    def _end_calls(self, error: BaseException, suspects: Collection[tuple[int, int]]) -> None:
        """End the calls that an error is the fault of; others are soon begun again."""
        calls = self._calls
        if not calls.fail(error, suspects):
            return
        try:
            # Not on this thread: it is one of those that must end first.
            recovery = new_thread(self._recover, "headrace recovery")
            self._recoveries = [r for r in self._recoveries if r.is_alive()] + [recovery]
            start(recovery)
        except BaseException:
            for _, call in calls.take_lost():
                call.fail(error)
            raise

    def _recover(self) -> None:
        """Begin lost calls again, unless a new call has done so."""
        with self._lock, suppress(Exception):  # which the calls have got
            if not self._closed and self._calls.error is not None:
                self._restart()


def closed_error(plan: Plan) -> SessionError:
    """What callers are told of a job that was closed before they called it."""
    return SessionError(f"job {plan.name!r} was closed and cannot run any more")
