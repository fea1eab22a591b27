"""``InlineEngine``: all actors on the caller's thread, which launches and waits as it must."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from headrace.device import DeviceContext, Event
from headrace.ids import ActorId, StreamId
from headrace.runtime.bind import LaunchAct
from headrace.runtime.group import wait_for
from headrace.runtime.schedule import Schedule

Describe = Callable[[BaseException, ActorId], BaseException]
"""Makes of what an actor raised what the caller is told."""


class InlineEngine:
    """Launches the acts of a call one after another. Used by one thread at a time.

    The order was found by stepping the actors once (``order.py``). Stepping them again in every
    call would find the same and cost more than the work of a small model. No two calls overlap, so
    no critical section is ever waited for, and no slot of a register is written before it was read.

    Streams that run behind wait for each other by events, and the host for what it reads.
    """

    def __init__(
        self,
        schedules: Mapping[int, Schedule],
        launches: Sequence[LaunchAct],
        contexts: Mapping[StreamId, DeviceContext],
        streams: Sequence[StreamId],
        describe: Describe,
    ) -> None:
        self._calls = {
            job: _Call(schedule, launches, contexts, streams) for job, schedule in schedules.items()
        }
        self._describe = describe
        self._numbers = dict.fromkeys(schedules, 0)

    def run(self, job: int) -> None:
        """Run a call to its end.

        Raises:
            BaseException: what ``describe`` made of what an actor raised; Ctrl-C and the like as
                they are.
        """
        number = self._numbers[job]
        self._numbers[job] = number + 1
        call, at = self._calls[job], -1
        try:
            for at, do in call.moves:  # noqa: B007 - `except` reads it
                do(number)
        except (Exception, SystemExit) as error:  # which would end the caller's program
            if at < 0:
                raise
            described = self._describe(error, call.blamed(at))
            call.forget()
            raise described from described.__cause__


class _Call:
    """The moves of a call, and the events that it has recorded.

    Attributes:
        moves: (position of the step, what is done); steps that wait come with the number of steps
            added, and the waits at the end with twice as many.
    """

    def __init__(
        self,
        schedule: Schedule,
        launches: Sequence[LaunchAct],
        contexts: Mapping[StreamId, DeviceContext],
        streams: Sequence[StreamId],
    ) -> None:
        self._steps = schedule.steps
        self._streams = [streams[step.actor_id] for step in schedule.steps]
        self._ends = schedule.ends
        self._events: dict[int, Event] = {}
        moves: list[tuple[int, LaunchAct]] = []
        for position, step in enumerate(schedule.steps):
            context = contexts[self._streams[position]]
            for earlier in step.waits:
                moves.append((len(self._steps) + position, partial(self._wait, context, earlier)))
            moves.append((position, launches[step.actor_id]))
            if step.records:
                moves.append((position, partial(self._record, context, position)))
        for number, stream_id in enumerate(schedule.ends):
            end = partial(_finish, contexts[stream_id])
            moves.append((2 * len(self._steps) + number, end))
        self.moves = tuple(moves)

    def blamed(self, at: int) -> ActorId:
        """Whose work has failed, when the move at ``at`` raised.

        That of the move itself, if it was a launch; else, of the streams that were waited for, the
        first work behind the last event that was reached in order, and before the first that was
        not.
        """
        count = len(self._steps)
        if at < count:
            return self._steps[at].actor_id
        good: dict[StreamId, int] = {}  # the first step behind an event that was reached
        for position, event in sorted(self._events.items()):
            stream_id = self._streams[position]
            try:
                event.synchronize()
            except Exception:  # noqa: BLE001 - the error that is told of, or one that came of it
                return self._first(stream_id, good.get(stream_id, 0))
            good[stream_id] = position + 1
        if at < 2 * count:
            return self._steps[at - count].actor_id
        stream_id = self._ends[at - 2 * count]
        return self._first(stream_id, good.get(stream_id, 0))

    def _first(self, stream_id: StreamId, begin: int) -> ActorId:
        for position in range(begin, len(self._steps)):
            if self._streams[position] == stream_id:
                return self._steps[position].actor_id
        return self._steps[self._streams.index(stream_id)].actor_id

    def forget(self) -> None:
        """Let go of the events of a call that failed: they keep its error."""
        self._events.clear()

    def _record(self, context: DeviceContext, position: int, number: int) -> None:
        self._events[position] = context.record_event()

    def _wait(self, context: DeviceContext, earlier: int, number: int) -> None:
        wait_for(context, self._events[earlier])


def _finish(context: DeviceContext, number: int) -> None:
    context.synchronize()
