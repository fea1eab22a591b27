"""A trace as events that viewers of timelines read: ui.perfetto.dev, chrome://tracing.

A process is a device and a thread is a stream; what is handed over between the caller and the plan
has a lane of its own. Beside the tasks, one counter for each chunk says how many of its bytes hold
what somebody still needs. Format: the "Trace Event Format" of Chromium's tracing tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.plan import Plan, TaskDesc, TaskKind
from headrace.plan.dump import stream_name
from headrace.runtime.recorder import TaskSpan

CALLER = "caller"
"""The lane of what is handed over between the caller and the plan."""

Event = dict[str, Any]

_HANDED_OVER = (TaskKind.FOREIGN_INPUT, TaskKind.FOREIGN_OUTPUT)


def chrome_events(plan: Plan, spans: Sequence[TaskSpan]) -> list[Event]:
    """The events of a trace file; times are microseconds from the first launch."""
    return _Writer(plan, spans).events()


def what(task: TaskDesc) -> str:
    """What a task does, in a word: its op, or its kind."""
    return task.kind.value if task.call is None else task.call.op


def lane(plan: Plan, task: TaskDesc) -> tuple[str, str]:
    """The device and the stream that a task is shown on."""
    if task.kind in _HANDED_OVER:
        return CALLER, CALLER
    device, _, stream = stream_name(plan, task.task_id.stream_id).partition("/s")
    return device, f"stream {stream}"


class _Writer:
    def __init__(self, plan: Plan, spans: Sequence[TaskSpan]) -> None:
        self._plan = plan
        self._spans = spans
        self._begin = min((span.begin_ns for span in spans), default=0)
        lanes = sorted({lane(plan, plan.tasks[span.task]) for span in spans})
        devices = sorted({device for device, _ in lanes})
        self._places = {
            (device, stream): {"pid": devices.index(device), "tid": tid}
            for tid, (device, stream) in enumerate(lanes)
        }

    def events(self) -> list[Event]:
        return [*self._names(), *self._tasks(), *self._memory()]

    def _names(self) -> Iterator[Event]:
        for (device, stream), place in self._places.items():
            yield {"name": "process_name", "ph": "M", **place, "args": {"name": device}}
            yield {"name": "thread_name", "ph": "M", **place, "args": {"name": stream}}

    def _tasks(self) -> Iterator[Event]:
        for span in sorted(self._spans, key=lambda span: (span.begin_ns, span.task)):
            task = self._plan.tasks[span.task]
            yield {
                "name": what(task),
                "cat": task.kind.value,
                "ph": "X",
                "ts": self._microseconds(span.begin_ns),
                "dur": (span.end_ns - span.begin_ns) / 1e3,
                **self._places[lane(self._plan, task)],
                "args": self._args(task, span.number),
            }

    def _args(self, task: TaskDesc, number: int) -> dict[str, Any]:
        registers = self._plan.registers
        return {
            "task": task.name,
            "job": self._plan.jobs[task.job].name,
            "call": number,
            "reads": [registers[r].name for r in task.inputs if r is not None],
            "writes": [f"{registers[r].name}: {registers[r].spec}" for r in task.outputs],
            **({"location": task.call.location} if task.call and task.call.location else {}),
        }

    def _memory(self) -> Iterator[Event]:
        """What each chunk holds at every change: from the launch that writes to the last reader."""
        needed: dict[tuple[int, int], list[int]] = {}  # (register, call) -> [from, to]
        for span in self._spans:
            task = self._plan.tasks[span.task]
            for written in task.outputs:
                needed.setdefault((written, span.number), [span.begin_ns, span.end_ns])
            for read in task.inputs:
                if read is not None and (read, span.number) in needed:
                    needed[read, span.number][1] = span.end_ns
        changes: list[tuple[int, int, int]] = []  # time, chunk, bytes
        for (register, _), (first, last) in needed.items():
            desc = self._plan.registers[register]
            nbytes = desc.spec.nbytes
            changes += [(first, desc.chunk, nbytes), (last, desc.chunk, -nbytes)]
        held = [0] * len(self._plan.chunks)
        for time, chunk, nbytes in sorted(changes):
            held[chunk] += nbytes
            yield {
                "name": f"memory {self._plan.chunks[chunk].memory}",
                "ph": "C",
                "ts": self._microseconds(time),
                "pid": 0,
                "args": {"bytes": held[chunk]},
            }

    def _microseconds(self, time_ns: int) -> float:
        return (time_ns - self._begin) / 1e3
