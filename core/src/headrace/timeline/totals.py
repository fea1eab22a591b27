"""Where the time went: by kind of task, by task, by lane."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from headrace.light_dataclass import dataclass
from headrace.plan import Plan
from headrace.timeline.calls import call_spans
from headrace.timeline.lanes import Lane, lane_of, lanes, what
from headrace.timeline.span import TaskSpan
from headrace.timeline.waits import Wait, WaitKind


@dataclass(frozen=True, slots=True)
class KindTime:
    """What one kind of task took, over all recorded calls.

    Attributes:
        what: the op, or the kind of a task that runs none.
        device: where, as ``TAG:INDEX``, or ``caller``.
        count: how many of them were done.
        seconds: in all.
        share: of what all tasks took, from 0 to 1.
    """

    what: str
    device: str
    count: int
    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class TaskTime:
    """What one task took, in nanoseconds.

    Attributes:
        task: its position in the plan.
        count: how often it was done.
        total_ns, median_ns, least_ns, most_ns: over all of them.
        share: of what all tasks took, from 0 to 1.
    """

    task: int
    count: int
    total_ns: int
    median_ns: int
    least_ns: int
    most_ns: int
    share: float


@dataclass(frozen=True, slots=True)
class LaneTime:
    """What a lane did while calls were under way, in nanoseconds; the four add up to that time.

    Attributes:
        lane: which.
        busy_ns: it worked.
        inputs_ns: it waited for what its next task reads.
        ready_ns: its next task was ready and had not begun.
        over_ns: it had done all that it had to do in the call.
    """

    lane: Lane
    busy_ns: int
    inputs_ns: int
    ready_ns: int
    over_ns: int


def by_kind(plan: Plan, spans: Sequence[TaskSpan]) -> tuple[KindTime, ...]:
    """Each kind of task on each device, the most first."""
    found: dict[tuple[str, str], list[int]] = {}
    keys = [(what(task), lane_of(plan, task).device) for task in plan.tasks]
    for span in spans:
        found.setdefault(keys[span.task], []).append(span.ns)
    total = sum(span.ns for span in spans) or 1
    times = [KindTime(*k, len(ns), sum(ns) / 1e9, sum(ns) / total) for k, ns in found.items()]
    return tuple(sorted(times, key=lambda time: (-time.seconds, time.what, time.device)))


def by_task(spans: Sequence[TaskSpan]) -> tuple[TaskTime, ...]:
    """Each task that was done, the most first."""
    found: dict[int, list[int]] = {}
    for span in spans:
        found.setdefault(span.task, []).append(span.ns)
    total = sum(span.ns for span in spans) or 1
    times = [
        TaskTime(task, len(ns), sum(ns), median_low(ns), min(ns), max(ns), sum(ns) / total)
        for task, ns in found.items()
    ]
    return tuple(sorted(times, key=lambda time: (-time.total_ns, time.task)))


def by_lane(plan: Plan, spans: Sequence[TaskSpan], idle: Sequence[Wait]) -> tuple[LaneTime, ...]:
    """Each lane, in the order of ``lanes``; ``idle`` are the waits of the same spans."""
    under_way = sum(call.end_ns - call.begin_ns for call in call_spans(plan, spans))
    found = lanes(plan, spans)
    waited = {(lane, kind): 0 for lane in found for kind in WaitKind}
    for wait in idle:
        waited[wait.lane, wait.kind] += wait.ns
    times = []
    for lane, mine in found.items():
        busy = sum(span.ns for span in mine)
        inputs, ready = (waited[lane, kind] for kind in WaitKind)
        times.append(LaneTime(lane, busy, inputs, ready, under_way - busy - inputs - ready))
    return tuple(times)
