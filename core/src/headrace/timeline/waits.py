"""Waits: when a stream stood still in a call, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from headrace.light_dataclass import dataclass
from headrace.plan import Plan
from headrace.timeline.calls import call_spans, called
from headrace.timeline.lanes import Lane, lanes
from headrace.timeline.sources import Source, sources
from headrace.timeline.span import TaskSpan


class WaitKind(Enum):
    """Why a lane did nothing.

    ``INPUTS``: what its next task reads was still being made elsewhere.
    ``READY``: all of it was there, but the thread that launches was busy elsewhere: with other
    streams of a plan that runs on the caller's thread, with launching, with handing over.
    """

    INPUTS = "inputs"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Wait:
    """One lane standing still between two of its tasks, or between a call's begin and its first.

    Attributes:
        lane: which.
        kind: why.
        task: position of the task that could not begin.
        source: position of the task whose result came last; None for ``READY``.
        number: of the call.
        begin_ns, end_ns: from when to when.
    """

    lane: Lane
    kind: WaitKind
    task: int
    source: int | None
    number: int
    begin_ns: int
    end_ns: int

    @property
    def ns(self) -> int:
        """How long it took."""
        return self.end_ns - self.begin_ns


def waits(plan: Plan, spans: Sequence[TaskSpan]) -> tuple[Wait, ...]:
    """All waits, lane by lane; what is idle before, after and between calls waits for nobody."""
    ends = {(span.task, span.number): span.end_ns for span in spans}
    began = {(call.job, call.number): call.begin_ns for call in call_spans(plan, spans)}
    job_of = called(plan)
    needs = sources(plan)
    found: list[Wait] = []
    for lane, mine in lanes(plan, spans).items():
        free = 0
        for span in mine:
            idle = max(free, began[job_of[span.task], span.number])
            found += _between(lane, span, idle, *_last_input(needs[span.task], span.number, ends))
            free = max(free, span.end_ns)
    return tuple(found)


def _last_input(
    needs: Sequence[Source], number: int, ends: Mapping[tuple[int, int], int]
) -> tuple[int, int | None]:
    """When the last of what a task reads was there, and who made it; 0 if it reads nothing."""
    made = [(ends.get((source.task, number - source.calls_ago), 0), source) for source in needs]
    end, source = max(made, key=lambda pair: pair[0], default=(0, None))
    return end, source.task if source else None


def _between(
    lane: Lane, span: TaskSpan, idle: int, ready: int, source: int | None
) -> Iterator[Wait]:
    """The waits from when the lane was free to when it began."""
    there = min(max(idle, ready), span.begin_ns)
    if idle < there:
        yield Wait(lane, WaitKind.INPUTS, span.task, source, span.number, idle, there)
    if there < span.begin_ns:
        yield Wait(lane, WaitKind.READY, span.task, None, span.number, there, span.begin_ns)
