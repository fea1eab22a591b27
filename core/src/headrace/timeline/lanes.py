"""Lanes: where tasks are shown. Tasks of one lane never overlap, since a stream works in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.plan import Plan, TaskDesc, TaskKind
from headrace.plan.dump import stream_name
from headrace.timeline.span import TaskSpan

CALLER = "caller"
"""In the place of a device: what is handed over between the caller and the plan."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A stream, or the taking of what the caller feeds, or the giving of results.

    Attributes:
        device: ``TAG:INDEX``, or ``caller``.
        stream: its name on the device.
    """

    device: str
    stream: str

    def __str__(self) -> str:
        return f"{self.device}, {self.stream}"


# Inputs and results have a thread each, so what is taken may overlap what is given.
_INPUTS, _RESULTS = Lane(CALLER, "inputs"), Lane(CALLER, "results")
_HANDED_OVER = {TaskKind.FOREIGN_INPUT: _INPUTS, TaskKind.FOREIGN_OUTPUT: _RESULTS}


def lane_of(plan: Plan, task: TaskDesc) -> Lane:
    """The lane of a task."""
    if task.kind in _HANDED_OVER:
        return _HANDED_OVER[task.kind]
    device, _, stream = stream_name(plan, task.task_id.stream_id).partition("/s")
    return Lane(device, f"stream {stream}")


def lanes(plan: Plan, spans: Iterable[TaskSpan]) -> dict[Lane, tuple[TaskSpan, ...]]:
    """The spans of each lane by their begin; lanes as data flows: inputs, streams, results."""
    found: dict[Lane, list[TaskSpan]] = {}
    order: dict[Lane, tuple[int, int]] = {}
    of_task = [lane_of(plan, task) for task in plan.tasks]
    for span in spans:
        lane = of_task[span.task]
        found.setdefault(lane, []).append(span)
        stream = plan.tasks[span.task].task_id.stream_id.packed()
        order[lane] = {_INPUTS: (0, 0), _RESULTS: (2, 0)}.get(lane, (1, stream))
    return {
        lane: tuple(sorted(found[lane], key=lambda span: (span.begin_ns, span.end_ns)))
        for lane in sorted(found, key=lambda lane: order[lane])
    }


def what(task: TaskDesc) -> str:
    """What a task does, in a word: its op, or its kind."""
    return task.kind.value if task.call is None else task.call.op
