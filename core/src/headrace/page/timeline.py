"""Measured calls for the page: spans by lane, waits, lives of registers, and where the time went.

Times are nanoseconds from the first launch. All sums, medians and shares are made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low
from typing import Any

from headrace.plan import Plan
from headrace.timeline import (
    CallSpan,
    Lane,
    Life,
    TaskSpan,
    Wait,
    WaitKind,
    by_kind,
    by_lane,
    by_task,
    call_spans,
    called,
    held,
    lanes,
    lives,
    sources,
    waits,
)

LONGEST = 12
"""Tasks that are listed because they took the most."""


def timeline(plan: Plan, spans: Sequence[TaskSpan]) -> dict[str, Any]:
    """What the view draws; ``spans`` are some."""
    begin = min(span.begin_ns for span in spans)
    calls, alive, tasks = call_spans(plan, spans), lives(plan, spans), by_task(spans)
    place = _Places(plan, calls)
    lengths = [call.end_ns - call.begin_ns for call in calls]
    return {
        "end": max(span.end_ns for span in spans) - begin,
        "calls": [[c.name, c.begin_ns - begin, c.end_ns - begin, c.number] for c in calls],
        "call_ns": [median_low(lengths), min(lengths), max(lengths)],
        "lanes": _lanes(plan, spans, begin, place),
        "sources": [[source.task for source in needs] for needs in sources(plan)],
        "kinds": [
            [kind.what, kind.device, kind.count / len(calls), kind.seconds / len(calls), kind.share]
            for kind in by_kind(plan, spans)
        ],
        "tasks": {
            time.task: [
                time.count,
                time.median_ns,
                time.least_ns,
                time.most_ns,
                time.total_ns / len(calls),
                time.share,
            ]
            for time in tasks
        },
        "longest": [time.task for time in tasks[:LONGEST]],
        "held": _held(plan, alive, begin, place),
    }


class _Places:
    """Where calls stand in the list of them, which is what the page knows them by."""

    def __init__(self, plan: Plan, calls: Sequence[CallSpan]) -> None:
        self._places = {(call.job, call.number): place for place, call in enumerate(calls)}
        self._job_of = called(plan)
        self._maker = {
            register: position
            for position, task in enumerate(plan.tasks)
            for register in (*task.outputs, task.workspace)
            if register is not None
        }

    def of_task(self, task: int, number: int) -> int:
        return self._places[self._job_of[task], number]

    def of_life(self, life: Life) -> int:
        return self.of_task(self._maker[life.register], life.number)


def _lanes(
    plan: Plan, spans: Sequence[TaskSpan], begin: int, place: _Places
) -> list[dict[str, Any]]:
    """Each lane: what it did in all, and in columns its spans and its waits."""
    idle = waits(plan, spans)
    of_lane: dict[Lane, list[Wait]] = {}
    for wait in idle:
        of_lane.setdefault(wait.lane, []).append(wait)
    answers = []
    for time, mine in zip(by_lane(plan, spans, idle), lanes(plan, spans).values(), strict=True):
        spent = (time.busy_ns, time.inputs_ns, time.ready_ns, time.over_ns)
        under_way = sum(spent) or 1
        stood = of_lane.get(time.lane, [])
        answers.append(
            {
                "device": time.lane.device,
                "stream": time.lane.stream,
                "share": [ns / under_way for ns in spent],
                "task": [span.task for span in mine],
                "call": [place.of_task(span.task, span.number) for span in mine],
                "begin": [span.begin_ns - begin for span in mine],
                "ns": [span.ns for span in mine],
                "waits": {
                    "for_inputs": [int(wait.kind is WaitKind.INPUTS) for wait in stood],
                    "task": [wait.task for wait in stood],
                    "source": [-1 if wait.source is None else wait.source for wait in stood],
                    "call": [place.of_task(wait.task, wait.number) for wait in stood],
                    "begin": [wait.begin_ns - begin for wait in stood],
                    "ns": [wait.ns for wait in stood],
                },
            }
        )
    return answers


def _held(plan: Plan, alive: Sequence[Life], begin: int, place: _Places) -> list[dict[str, Any]]:
    """Each chunk that something lived in: its most, its curve (flat), and the lives in columns."""
    answers = []
    for chunk, curve in held(plan, alive).items():
        mine = [life for life in alive if plan.registers[life.register].chunk == chunk]
        answers.append(
            {
                "chunk": chunk,
                "most": max(nbytes for _, nbytes in curve),
                "curve": [value for time, nbytes in curve for value in (time - begin, nbytes)],
                "register": [life.register for life in mine],
                "call": [place.of_life(life) for life in mine],
                "begin": [life.begin_ns - begin for life in mine],
                "ns": [life.end_ns - life.begin_ns for life in mine],
            }
        )
    return answers
