"""Lanes: where tasks are shown. Tasks of one lane never overlap, since a stream works in order."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from headrace.light_dataclass import dataclass
from headrace.plan import Plan, TaskDesc, TaskKind
from headrace.plan.names import stream_name
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
    streams = {lane_of(plan, task): task.task_id.stream_id.packed() for task in plan.tasks}
    between = sorted(streams.keys() - {_INPUTS, _RESULTS}, key=lambda lane: streams[lane])
    ordered = (_INPUTS, *between, _RESULTS)
    number = {lane: place for place, lane in enumerate(ordered)}
    of_task = [number[lane_of(plan, task)] for task in plan.tasks]
    found: list[list[TaskSpan]] = [[] for _ in ordered]
    for span in spans:
        found[of_task[span.task]].append(span)
    by_begin = attrgetter("begin_ns", "end_ns")
    pairs = zip(ordered, found, strict=True)
    return {lane: tuple(sorted(mine, key=by_begin)) for lane, mine in pairs if mine}


def what(task: TaskDesc) -> str:
    """What a task does, in a word: its op, or its kind."""
    return task.kind.value if task.call is None else task.call.op
