"""Spans to look at: by hand on a plan with two devices, and of simulated runs of any plan."""

from __future__ import annotations

from collections.abc import Sequence

from golden_jobs import JOBS

from headrace.compiler.pipeline import compile_job
from headrace.plan import Plan, TaskDesc, TaskKind
from headrace.registry import BackendRegistry
from headrace.runtime.simulator import simulate
from headrace.timeline import TaskSpan

BY_HAND = (
    ("foreign_input x", 100, 110),
    ("copy_h2d x@far:0", 112, 122),
    ("first", 122, 152),
    ("copy_d2h first/y@cpu:0", 152, 162),
    ("second", 165, 175),
    ("copy_h2d second/y@far:0", 175, 185),
    ("third", 185, 200),
    ("copy_d2h third/y@cpu:0", 201, 211),
    ("foreign_output y", 211, 220),
)
"""A call of ``two_devices``: task, begin, end; the next one begins 300 ns later."""


def plan_of(job: str) -> Plan:
    """The plan of a golden job."""
    graph, modules, policy = JOBS[job]()
    return compile_job(graph, BackendRegistry.from_modules(modules), policy).plan


def spans_of(
    plan: Plan, rows: Sequence[tuple[str, int, int]] = BY_HAND, calls: int = 1
) -> tuple[TaskSpan, ...]:
    """Spans of tasks by their names, in calls 300 ns apart."""
    position = {task.name: i for i, task in enumerate(plan.tasks)}
    return tuple(
        TaskSpan(position[name], call + 1, begin + 300 * call, end + 300 * call)
        for call in range(calls)
        for name, begin, end in rows
    )


def simulated(plan: Plan, calls: int, seed: int) -> tuple[TaskSpan, ...]:
    """What a recorder would see of calls that were all announced at once; views take no time."""
    found: list[TaskSpan] = []
    for act in simulate(plan, calls, duration=_microsecond, hop=0.3, jitter=2.0, seed=seed).spans:
        tasks = [
            position
            for position in plan.actors[act.actor].tasks
            if plan.tasks[position].kind is not TaskKind.VIEW
        ]
        begin, end = round(act.begin * 1000), round(act.end * 1000)
        steps = [begin + (end - begin) * i // len(tasks) for i in range(len(tasks) + 1)]
        for task, first, last in zip(tasks, steps, steps[1:], strict=False):
            found.append(TaskSpan(task, act.number, first, last))
    return tuple(sorted(found, key=lambda span: span.end_ns))


def _microsecond(task: TaskDesc) -> float:
    return 1.0
