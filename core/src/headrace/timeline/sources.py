"""Who makes what a task waits for, seen through views: these launch nothing and have no span."""

from __future__ import annotations

from headrace.ids import RegisterId
from headrace.light_dataclass import dataclass
from headrace.plan import Plan, TaskKind


@dataclass(frozen=True, slots=True)
class Source:
    """A task that another one waits for.

    Attributes:
        task: its position.
        register: what it makes for it.
        calls_ago: 1 for what a variable holds from the call before, else 0.
    """

    task: int
    register: RegisterId
    calls_ago: int


def origins(plan: Plan) -> list[RegisterId]:
    """For each register the one whose bytes it is a view of, to the last; others are their own."""
    seen_as = [RegisterId(number) for number in range(len(plan.registers))]
    for task in plan.tasks:
        if task.kind is TaskKind.VIEW and task.inputs[0] is not None:
            for output in task.outputs:
                seen_as[output] = task.inputs[0]
    for register, origin in enumerate(seen_as):
        while seen_as[origin] != origin:
            origin = seen_as[origin]
        seen_as[register] = origin
    return seen_as


def sources(plan: Plan) -> list[tuple[Source, ...]]:
    """For each task those that it waits for, in the order of what it reads; of views, nothing."""
    origin, variables = origins(plan), plan.persistent()
    # A variable has a maker in each job that gives it a value; calls of one job see only their own.
    called = [plan.jobs[task.job].serves for task in plan.tasks]
    maker = {
        (register, called[position]): position
        for position, task in enumerate(plan.tasks)
        if task.kind is not TaskKind.VIEW
        for register in task.makes
    }
    found: list[tuple[Source, ...]] = []
    for position, task in enumerate(plan.tasks):
        waits_for = () if task.kind is TaskKind.VIEW else task.waits_for
        read = dict.fromkeys(origin[register] for register in waits_for)
        made = ((register, maker.get((register, called[position]))) for register in read)
        found.append(
            tuple(
                Source(source, register, int(register in variables))
                for register, source in made
                if source is not None and source != position
            )
        )
    return found
