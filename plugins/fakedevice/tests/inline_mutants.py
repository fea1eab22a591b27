"""Bugs planted where one thread launches the acts of a call and streams wait for each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runtime_mutants import Patches

from headrace.runtime import executor, group, inline
from headrace.runtime.schedule import Schedule, Step, schedule


def streams_wait_for_nothing() -> Patches:
    """Streams of a device go on without the events that they were told to wait for."""

    def wait(self: Any, context: Any, earlier: int, number: int) -> None:
        if context.host_synchronous:
            group.wait_for(context, self._events[earlier])

    return [(inline._Call, "_wait", wait)]


def host_waits_for_nothing() -> Patches:
    """The host reads what a stream copies to it as soon as the copy is launched."""

    def wait(self: Any, context: Any, earlier: int, number: int) -> None:
        if not context.host_synchronous:
            group.wait_for(context, self._events[earlier])

    return [(inline._Call, "_wait", wait)]


def waits_for_the_first_event() -> Patches:
    """There is one event, which later records leave as it is."""

    def record(self: Any, context: Any, position: int, number: int) -> None:
        event = next(iter(self._events.values()), None) or context.record_event()
        self._events[position] = event

    return [(inline._Call, "_record", record)]


def recorded_before_the_work() -> Patches:
    """The event of an act is recorded when the act is launched, in front of it."""
    original = inline._Call.__init__

    def init(self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        moves = list(self.moves)
        for place in range(1, len(moves)):
            if getattr(moves[place][1], "func", None) == self._record:
                moves[place - 1], moves[place] = moves[place], moves[place - 1]
        self.moves = tuple(moves)

    return [(inline._Call, "__init__", init)]


def known_to_one_known_to_all() -> Patches:
    """What one stream has waited for, the others need not wait for any more."""

    def find(order: Any, network: Any, behind: Any) -> Schedule:
        made = schedule(order, network, behind)
        waited: set[int] = set()
        steps: list[Step] = []
        for step in made.steps:
            steps.append(replace(step, waits=tuple(n for n in step.waits if n not in waited)))
            waited.update(step.waits)
        return replace(made, steps=tuple(steps))

    return [(executor, "schedule", find)]


def returns_before_the_end() -> Patches:
    """A call is over when its last act is launched."""
    return [(inline, "_finish", lambda context, number: None)]
