"""``Trace``: what a job did and when, for a viewer of timelines and as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.compiler.concurrency import ONE_AT_A_TIME, Concurrency
from headrace.compiler.memory.options import MemoryOptions
from headrace.frontend.chrome_trace import chrome_events, lane, what
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraph
from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry
from headrace.runtime.recorder import Recorder, TaskSpan
from headrace.tensor_spec import Array


@dataclass(frozen=True, slots=True)
class TaskTime:
    """What one kind of task took, over all recorded calls.

    Attributes:
        what: the op, or the kind of a task that runs none.
        device: where, as ``TAG:INDEX``, or ``caller``.
        count: how many of them were done.
        seconds: in all.
    """

    what: str
    device: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Recorded calls of a job.

    Attributes:
        plan: what ran.
        spans: of every task, in the order in which they ended.
    """

    plan: Plan
    spans: tuple[TaskSpan, ...]

    @property
    def seconds(self) -> float:
        """From the first launch to the end of the last work."""
        if not self.spans:
            return 0.0
        begin = min(span.begin_ns for span in self.spans)
        return (max(span.end_ns for span in self.spans) - begin) / 1e9

    def times(self) -> tuple[TaskTime, ...]:
        """Where the time went, the most first."""
        found: dict[tuple[str, str], list[int]] = {}
        for span in self.spans:
            task = self.plan.tasks[span.task]
            total = found.setdefault((what(task), lane(self.plan, task)[0]), [0, 0])
            total[0] += 1
            total[1] += span.end_ns - span.begin_ns
        times = [TaskTime(*key, count, ns / 1e9) for key, (count, ns) in found.items()]
        return tuple(sorted(times, key=lambda time: (-time.seconds, time.what, time.device)))

    def save(self, path: Path) -> None:
        """Write a file that ui.perfetto.dev and chrome://tracing open.

        Raises:
            OSError: it cannot be written.
        """
        events = chrome_events(self.plan, self.spans)
        document = {"traceEvents": events, "displayTimeUnit": "ms"}
        path.write_text(json.dumps(document, indent=0) + "\n", "utf-8")


def trace_job(
    graph: JobGraph,
    registry: BackendRegistry,
    feeds: Mapping[str, Array],
    calls: int,
    *,
    fallback: str | None = None,
    memory: MemoryOptions | None = None,
    concurrency: Concurrency = ONE_AT_A_TIME,
    after_each: Callable[[], object] = lambda: None,
) -> Trace:
    """Compile a job, call it once to warm up, then record ``calls`` calls.

    Args:
        graph: the job.
        registry: where its devices come from.
        feeds: what is fed in every call.
        calls: how many are recorded.
        fallback: as for ``CompiledJob``.
        memory, concurrency: as for ``CompiledJob``.
        after_each: called when a call is over.

    Raises:
        UnsupportedError, DeviceError: as compiling it.
        RunError: a run stopped.
    """
    recorder = Recorder()
    with CompiledJob(
        graph, registry, fallback, memory, recorder=recorder, concurrency=concurrency
    ) as job:
        job.run(feeds)
        recorder.clear()
        for _ in range(calls):
            job.run(feeds)
            after_each()
        return Trace(job.plan, recorder.spans())
