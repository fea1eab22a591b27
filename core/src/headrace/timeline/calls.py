"""Calls: from the first launch of each to the end of its last work."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.light_dataclass import dataclass
from headrace.plan import JobKind, Plan
from headrace.timeline.span import TaskSpan


@dataclass(frozen=True, slots=True)
class CallSpan:
    """One call of a job.

    Attributes:
        job: position of the job that was called; its push and pull jobs are part of the call.
        number: of the call among those of its job; that of its spans.
        begin_ns, end_ns: from when to when.
        name: unique in the plan: ``call 3`` of the one job of a user, else ``clamp 3``.
    """

    job: int
    number: int
    begin_ns: int
    end_ns: int
    name: str


def called(plan: Plan) -> tuple[int, ...]:
    """For each task, the job whose calls it is part of."""
    return tuple(plan.jobs[task.job].serves for task in plan.tasks)


def call_spans(plan: Plan, spans: Iterable[TaskSpan]) -> tuple[CallSpan, ...]:
    """All calls that spans are of, in the order in which they began."""
    found: dict[tuple[int, int], list[int]] = {}
    job_of = called(plan)
    for span in spans:
        call = found.setdefault((job_of[span.task], span.number), [span.begin_ns, span.end_ns])
        call[0] = min(call[0], span.begin_ns)
        call[1] = max(call[1], span.end_ns)
    users = [job for job, desc in enumerate(plan.jobs) if desc.kind is JobKind.USER]
    calls = [
        CallSpan(
            job,
            number,
            begin,
            end,
            f"{'call' if [job] == users else plan.jobs[job].name} {number}",
        )
        for (job, number), (begin, end) in found.items()
    ]
    return tuple(sorted(calls, key=lambda call: (call.begin_ns, call.job, call.number)))
