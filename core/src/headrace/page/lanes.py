"""Actors on streams: which could run side by side, drawn on a line of steps.

A plan knows no durations. Here each task takes one step; an actor starts when all that it waits
for has been published and its stream is free, as the runtime starts it. So the drawing shows order
and room for overlap, and measures nothing.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

from headrace.plan import Plan
from headrace.plan.names import stream_name


def lanes(plan: Plan) -> dict[str, Any]:
    """Streams, and for each actor its stream, first step, tasks, and registers with credits."""
    streams = sorted({actor.stream_id for actor in plan.actors}, key=lambda s: s.packed())
    lane_of = {stream: number for number, stream in enumerate(streams)}
    starts = _starts(plan)
    return {
        "streams": [stream_name(plan, stream) for stream in streams],
        "lane": [lane_of[actor.stream_id] for actor in plan.actors],
        "start": starts,
        "tasks": [list(actor.tasks) for actor in plan.actors],
        "consumed": [list(actor.consumed) for actor in plan.actors],
        "produced": [list(actor.produced) for actor in plan.actors],
        "steps": max(
            (s + len(a.tasks) for s, a in zip(starts, plan.actors, strict=True)), default=0
        ),
    }


def _starts(plan: Plan) -> list[int]:
    """The first step of each actor: those that are ready earliest first."""
    variables = plan.persistent()  # what they hold comes from the call before
    maker = {
        register: number
        for number, actor in enumerate(plan.actors)
        for register in actor.produced
        if register not in variables
    }
    waits = [
        {maker[r] for r in actor.consumed if r in maker} - {number}
        for number, actor in enumerate(plan.actors)
    ]
    readers: list[list[int]] = [[] for _ in plan.actors]
    for number, sources in enumerate(waits):
        for source in sorted(sources):
            readers[source].append(number)
    missing = [len(sources) for sources in waits]
    ready = [(0, number) for number, count in enumerate(missing) if not count]
    heapify(ready)
    starts, published = [0] * len(plan.actors), [0] * len(plan.actors)
    free: dict[object, int] = {}
    while ready:
        earliest, number = heappop(ready)
        actor = plan.actors[number]
        starts[number] = max(earliest, free.get(actor.stream_id, 0))
        end = free[actor.stream_id] = starts[number] + len(actor.tasks)
        for reader in readers[number]:
            published[reader] = max(published[reader], end)
            missing[reader] -= 1
            if not missing[reader]:
                heappush(ready, (published[reader], reader))
    return starts
