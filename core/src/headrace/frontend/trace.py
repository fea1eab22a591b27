"""``Trace``: what a job did and when, as a table, as a page, and for a viewer of timelines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from headrace.frontend.compile_options import AS_USUAL, CompileOptions
from headrace.frontend.compiled_job import CompiledJob
from headrace.frontend.plan_page import PassNotes, op_notes
from headrace.graph import JobGraph
from headrace.light_dataclass import dataclass
from headrace.page import OpNote, StageNote, render_page
from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry
from headrace.runtime.recorder import Recorder
from headrace.tensor_spec import Array
from headrace.timeline import KindTime, TaskSpan, by_kind, chrome_events


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Recorded calls of a job, or of the jobs of a session.

    Attributes:
        plan: what ran.
        recorder: has been told of it, or still is.
        notes: how ops run and why, by the name of their task; for the page.
        stages: what compiling did on the way, in order; for the page.
    """

    plan: Plan
    recorder: Recorder
    notes: Mapping[str, OpNote] = field(default_factory=dict)
    stages: tuple[StageNote, ...] = ()

    @property
    def spans(self) -> tuple[TaskSpan, ...]:
        """Of every task that was recorded so far, in the order in which they ended."""
        return self.recorder.spans()

    @property
    def seconds(self) -> float:
        """From the first launch to the end of the last work."""
        spans = self.spans
        if not spans:
            return 0.0
        return (max(span.end_ns for span in spans) - min(span.begin_ns for span in spans)) / 1e9

    def times(self) -> tuple[KindTime, ...]:
        """Where the time went, the most first."""
        return by_kind(self.plan, self.spans)

    def save(self, path: Path) -> None:
        """Write a file that ui.perfetto.dev and chrome://tracing open.

        Raises:
            OSError: it cannot be written.
        """
        events = chrome_events(self.plan, self.spans)
        document = {"traceEvents": events, "displayTimeUnit": "ms"}
        path.write_text(json.dumps(document, indent=0) + "\n", "utf-8")

    def page(self) -> str:
        """The page of the plan with a timeline of the calls: one HTML document, as ``plan_page``.

        Equal traces give equal texts.
        """
        return render_page(self.plan, self.notes, self.stages, self.spans)

    def save_page(self, path: Path) -> None:
        """Write ``page()`` to a file.

        Raises:
            OSError: it cannot be written.
        """
        path.write_text(self.page(), "utf-8")


def record_job(
    graph: JobGraph,
    registry: BackendRegistry,
    feeds: Mapping[str, Array],
    calls: int,
    *,
    options: CompileOptions = AS_USUAL,
    after_each: Callable[[], object] = lambda: None,
) -> Trace:
    """Compile a job, call it once to warm up, then record ``calls`` calls.

    Args:
        graph: the job.
        registry: where its devices come from.
        feeds: what is fed in every call.
        calls: how many are recorded.
        options: how it is compiled.
        after_each: called when a call is over.

    Raises:
        UnsupportedError, DeviceError: as compiling it.
        RunError: a run stopped.
    """
    recorder, passes = Recorder(), PassNotes()
    with CompiledJob(graph, registry, options, recorder=recorder, watch=passes) as job:
        job.run(feeds)
        recorder.clear()
        for _ in range(calls):
            job.run(feeds)
            after_each()
        notes = op_notes(job.decisions, registry)
        return Trace(job.plan, recorder, notes, passes.notes())
