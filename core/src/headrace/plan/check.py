"""Is a plan whole? Checked before it runs, whether it was compiled here or read from a file."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import PlanError
from headrace.plan.model import Plan, TaskKind


def check(plan: Plan) -> None:
    """Check that every reference holds and that memory is where it is said to be.

    Raises:
        PlanError: names the task or register and the two sides that do not fit.
    """
    for problem in _problems(plan):
        raise PlanError(f"plan {plan.name!r}: {problem}")


def _problems(plan: Plan) -> Iterator[str]:
    registers, tasks = len(plan.registers), len(plan.tasks)
    for register in plan.registers:
        if register.chunk >= len(plan.chunks):
            yield f"register {register.name!r} lies in chunk {register.chunk}, which is not there"
            continue
        end = register.offset + register.stride * (register.slots - 1) + register.spec.nbytes
        size = plan.chunks[register.chunk].nbytes
        if register.slots < 1 or register.offset < 0 or end > size:
            yield (
                f"register {register.name!r} ends at byte {end} of chunk {register.chunk}, which "
                f"has {size} bytes (offset {register.offset}, {register.slots} slots)"
            )
    actor_of = {t: number for number, actor in enumerate(plan.actors) for t in actor.tasks}
    written: dict[int, str] = {}
    for position, task in enumerate(plan.tasks):
        used = [r for r in (*task.inputs, *task.outputs, task.workspace) if r is not None]
        if any(register >= registers for register in used):
            yield f"task {task.name!r} names register {max(used)}; there are {registers}"
            continue
        if actor_of.get(position) != task.actor:
            yield f"task {task.name!r} is not in the task list of its actor {task.actor}"
        if (task.kind is TaskKind.COMPUTE) != (task.call is not None):
            yield f"task {task.name!r} of kind {task.kind.value} has an op where it should not"
        if task.job >= len(plan.jobs):
            yield f"task {task.name!r} belongs to job {task.job}; there are {len(plan.jobs)}"
        for index in task.inputs:
            if index is None or plan.registers[index].constant is not None:
                continue
            if index not in written:
                yield (
                    f"task {task.name!r} reads register {plan.registers[index].name!r} before "
                    "any task writes it"
                )
        for index in task.outputs:
            if index in written:
                yield f"tasks {written[index]!r} and {task.name!r} write one register"
            written[index] = task.name
    for number, actor in enumerate(plan.actors):
        if any(position >= tasks for position in actor.tasks):
            yield f"actor {number} names task {max(actor.tasks)}; there are {tasks}"
            continue
        for position in actor.tasks:
            task = plan.tasks[position]
            if task.task_id.stream_id != actor.stream_id:
                yield f"task {task.name!r} is not on the stream of its actor, {actor.stream_id}"
