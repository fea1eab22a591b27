"""A trace as events that viewers of timelines read: ui.perfetto.dev, chrome://tracing.

A process is a device and a thread is a stream; what is handed over between the caller and the plan
is a process of its own. Format: the "Trace Event Format" of Chromium's tracing tools, whose
phases are used like this:

====  ==========================================================================================
M     names of processes and threads, and their order
X     a task, or a wait between two tasks; those of one thread never overlap
b, e  a call, from its first launch to the end of its last work
s, f  an arrow from a task to one on another thread that reads what it made; both ends lie in the
      slices that they connect, and ``bp`` says so of the second
C     bytes of a chunk that hold what somebody still needs, at every change
====  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from headrace.plan import Plan, TaskDesc
from headrace.timeline.calls import call_spans, called
from headrace.timeline.lanes import CALLER, lane_of, lanes, what
from headrace.timeline.occupancy import held, lives
from headrace.timeline.sources import sources
from headrace.timeline.span import TaskSpan
from headrace.timeline.waits import WaitKind, waits

Event = dict[str, Any]

_WAIT_NAMES = {WaitKind.INPUTS: "wait for inputs", WaitKind.READY: "ready, not begun"}


def chrome_events(plan: Plan, spans: Sequence[TaskSpan]) -> list[Event]:
    """The events of a trace file; times are microseconds from the first launch."""
    return _Writer(plan, spans).events()


class _Writer:
    def __init__(self, plan: Plan, spans: Sequence[TaskSpan]) -> None:
        self._plan = plan
        self._spans = sorted(spans, key=lambda span: (span.begin_ns, span.end_ns, span.task))
        self._names_of_calls = {
            (call.job, call.number): call.name for call in call_spans(plan, spans)
        }
        self._job_of = called(plan)
        self._begin = min((span.begin_ns for span in spans), default=0)
        found = tuple(lanes(plan, spans))
        processes = list(dict.fromkeys((CALLER, *(lane.device for lane in found))))
        self._pid = {device: pid for pid, device in enumerate(processes, 1)}
        self._places = {
            lane: {"pid": self._pid[lane.device], "tid": tid} for tid, lane in enumerate(found, 1)
        }

    def events(self) -> list[Event]:
        return [
            *self._names(),
            *self._calls(),
            *self._tasks(),
            *self._waits(),
            *self._arrows(),
            *self._memory(),
        ]

    def _names(self) -> Iterator[Event]:
        for device, pid in self._pid.items():
            yield {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": device}}
            yield {"name": "process_sort_index", "ph": "M", "pid": pid, "args": {"sort_index": pid}}
        for lane, place in self._places.items():
            yield {"name": "thread_name", "ph": "M", **place, "args": {"name": lane.stream}}
            order = {"sort_index": place["tid"]}
            yield {"name": "thread_sort_index", "ph": "M", **place, "args": order}

    def _calls(self) -> Iterator[Event]:
        for call in call_spans(self._plan, self._spans):
            for phase, time in (("b", call.begin_ns), ("e", call.end_ns)):
                yield {
                    "name": call.name,
                    "cat": "call",
                    "ph": phase,
                    "id": call.name,
                    "ts": self._microseconds(time),
                    "pid": self._pid[CALLER],
                }

    def _tasks(self) -> Iterator[Event]:
        args = [self._args(task) for task in self._plan.tasks]
        for span in self._spans:
            task = self._plan.tasks[span.task]
            yield {
                "name": what(task),
                "cat": task.kind.value,
                "ph": "X",
                "ts": self._microseconds(span.begin_ns),
                "dur": span.ns / 1e3,
                **self._places[lane_of(self._plan, task)],
                "args": {**args[span.task], "call": self._call(span.task, span.number)},
            }

    def _args(self, task: TaskDesc) -> dict[str, Any]:
        registers = self._plan.registers
        return {
            "task": task.name,
            "job": self._plan.jobs[task.job].name,
            "reads": [registers[r].name for r in task.inputs if r is not None],
            "writes": [f"{registers[r].name}: {registers[r].spec}" for r in task.outputs],
            **({"location": task.call.location} if task.call and task.call.location else {}),
        }

    def _waits(self) -> Iterator[Event]:
        tasks = self._plan.tasks
        for wait in waits(self._plan, self._spans):
            of = {} if wait.source is None else {"of": tasks[wait.source].name}
            yield {
                "name": _WAIT_NAMES[wait.kind],
                "cat": "wait",
                "ph": "X",
                "ts": self._microseconds(wait.begin_ns),
                "dur": wait.ns / 1e3,
                **self._places[wait.lane],
                "args": {
                    "task": tasks[wait.task].name,
                    "call": self._call(wait.task, wait.number),
                    **of,
                },
            }

    def _arrows(self) -> Iterator[Event]:
        """From what wrote a register to what reads it, where these are on different threads."""
        of = {(span.task, span.number): span for span in self._spans}
        place = [self._places.get(lane_of(self._plan, task)) for task in self._plan.tasks]
        needs, numbers = sources(self._plan), count(1)
        for span in self._spans:
            for source in needs[span.task]:
                made = of.get((source.task, span.number - source.calls_ago))
                here, there = place[span.task], place[source.task]
                if made is None or here is None or there is None or here == there:
                    continue
                name = self._plan.registers[source.register].name
                both: Event = {"name": name, "cat": "register", "id": next(numbers)}
                # The end of a slice is no longer in it.
                last = self._microseconds(max(made.begin_ns, made.end_ns - 1))
                yield {**both, "ph": "s", "ts": last, **there}
                yield {
                    **both,
                    "ph": "f",
                    "bp": "e",
                    "ts": self._microseconds(span.begin_ns),
                    **here,
                }

    def _memory(self) -> Iterator[Event]:
        for chunk, curve in held(self._plan, lives(self._plan, self._spans)).items():
            memory = self._plan.chunks[chunk].memory
            device = f"{memory.pinned_for or memory.tag}:{memory.device_index}"
            pid = self._pid.get(device, self._pid[CALLER])
            both: Event = {"name": f"chunk {chunk}, {memory}", "ph": "C", "pid": pid}
            for time, nbytes in curve:
                yield {**both, "ts": self._microseconds(time), "args": {"bytes": nbytes}}

    def _call(self, task: int, number: int) -> str:
        return self._names_of_calls[self._job_of[task], number]

    def _microseconds(self, time_ns: int) -> float:
        return (time_ns - self._begin) / 1e3
