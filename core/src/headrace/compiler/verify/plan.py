"""What the plan promises: it says in numbers what task graph, chains and memory plan say in names.

That the plan is whole in itself is for ``headrace.plan.check``, which runs always.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.compiler.memory.plan_memory import Place
from headrace.compiler.stage import Emitted
from headrace.compiler.task_graph import TaskNode
from headrace.errors import GraphError
from headrace.plan import Plan, TaskDesc, TaskKind
from headrace.plan.names import stream_name


def verify_plan(emitted: Emitted) -> None:
    """Nothing is lost or changed on the way from names to numbers.

    - the tasks are those of the task graph in their order, with the tensors, job and stream that
      they have there; what works in place may;
    - the actors are the chains in their order;
    - every tensor has one register, of its spec, in a chunk of its memory, where the memory plan
      puts it.

    Raises:
        GraphError: names the task or the tensor, and both sides.
    """
    for problem in _problems(emitted):
        raise GraphError(f"plan {emitted.plan.name!r}: {problem}")


def _problems(emitted: Emitted) -> Iterator[str]:
    in_plan, in_graph = len(emitted.plan.tasks), len(emitted.tasks.tasks)
    if in_plan != in_graph:
        yield f"it has {in_plan} tasks; the task graph has {in_graph}"
        return
    yield from _task_problems(emitted)
    yield from _actor_problems(emitted)
    yield from _register_problems(emitted)


def _task_problems(emitted: Emitted) -> Iterator[str]:
    plan, graph, memory = emitted.plan, emitted.tasks, emitted.memory
    for position, (desc, task) in enumerate(zip(plan.tasks, graph.tasks, strict=True)):
        for what, said, true in _sides(plan, desc, task):
            if said != true:
                yield f"task {desc.name!r} has {what} {said}; in the task graph it is {true}"
        kind = TaskKind.VIEW if position in memory.views else task.kind
        if desc.kind is not kind:
            yield f"task {desc.name!r} is of kind {desc.kind.value} and should be {kind.value}"
        if desc.kind is TaskKind.VIEW and _distance(plan, desc) != task.view:
            yield (
                f"task {desc.name!r} shows its input from byte {_distance(plan, desc)} on; the op "
                f"says {task.view}"
            )
        if not set(desc.in_place) <= set(task.in_place):
            yield (
                f"task {desc.name!r} works in place of {desc.in_place}; op and device allow "
                f"{task.in_place}"
            )


def _actor_problems(emitted: Emitted) -> Iterator[str]:
    actors = [list(actor.tasks) for actor in emitted.plan.actors]
    if len(actors) != len(emitted.chains):
        yield f"it has {len(actors)} actors; there are {len(emitted.chains)} chains"
    for number, chain in enumerate(emitted.chains):
        if number >= len(actors) or actors[number] != list(chain):
            yield f"chain {number} is tasks {list(chain)}; no actor {number} is"


def _register_problems(emitted: Emitted) -> Iterator[str]:
    plan, graph, memory = emitted.plan, emitted.tasks, emitted.memory
    registers = {register.name: register for register in plan.registers}
    for tensor in (*graph.tensors.values(), *memory.workspaces.values()):
        register = registers.get(tensor.name)
        if register is None:
            yield f"tensor {tensor.name!r} has no register"
            continue
        if (register.spec, register.constant) != (tensor.spec, tensor.constant):
            yield f"register {tensor.name!r} is {register.spec}; its tensor is {tensor.spec}"
        place = Place(register.chunk, register.offset, register.stride, register.slots)
        if place != memory.places[tensor.name]:
            yield (
                f"register {tensor.name!r} lies at {place}; the memory plan says "
                f"{memory.places[tensor.name]}"
            )
        holder = plan.chunks[register.chunk].memory
        if not holder.satisfies(tensor.memory):
            yield (
                f"register {tensor.name!r} lies in {holder}; its tensor belongs in {tensor.memory}"
            )


def _distance(plan: Plan, view: TaskDesc) -> int | None:
    """Where in its input the output of a view lies."""
    source = view.inputs[0]
    if source is None or plan.registers[source].chunk != plan.registers[view.outputs[0]].chunk:
        return None
    return plan.registers[view.outputs[0]].offset - plan.registers[source].offset


def _sides(plan: Plan, desc: TaskDesc, task: TaskNode) -> Iterator[tuple[str, object, object]]:
    """What is said of a task: in the plan, and in the task graph."""
    yield "name", desc.name, task.name
    yield "op", desc.call, task.call
    yield "SBP", desc.sbp, task.sbp
    yield "job", desc.job, task.job
    yield "stream", stream_name(plan, desc.task_id.stream_id), str(task.stream)
    names = [None if r is None else plan.registers[r].name for r in desc.inputs]
    yield "inputs", names, list(task.inputs)
    yield "outputs", [plan.registers[r].name for r in desc.outputs], list(task.outputs)
