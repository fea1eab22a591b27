"""A plan as text: stable, so that it can be a golden file, and readable, so that people can."""

from __future__ import annotations

from headrace.graph.dump import call_text
from headrace.plan.model import (
    CriticalSection,
    Plan,
    RegisterDesc,
    TaskDesc,
    TaskKind,
    VariableDesc,
)
from headrace.plan.names import stream_name


def dump(plan: Plan) -> str:
    """The whole plan, one line a task and a register, ends with a newline."""
    lines = [f"plan {plan.name!r}"]
    lines.append("device types: " + ", ".join(f"{t}={n}" for t, n in plan.device_types.items()))
    for number, job in enumerate(plan.jobs):
        serves = "" if job.serves == number else f" of job {job.serves}"
        width = "" if job.width == 1 else f", {job.width} calls at once"
        lines.append(f"job {number} {job.kind.value} {job.name!r}{serves}{width}")
    lines += [_variable_line(plan, number, desc) for number, desc in enumerate(plan.variables)]
    lines += [_section_line(plan, section) for section in plan.sections]
    for number, actor in enumerate(plan.actors):
        lines.append("")
        lines.append(f"actor {number} on {stream_name(plan, actor.stream_id)}")
        lines += [f"  waits for  {plan.registers[r].name}" for r in actor.consumed]
        lines += [f"  {_task_line(plan, plan.tasks[position])}" for position in actor.tasks]
        lines += [f"  publishes  {plan.registers[r].name}" for r in actor.produced]
    persistent = plan.persistent()
    for number, chunk in enumerate(plan.chunks):
        lines.append("")
        lines.append(f"chunk {number}: {chunk.nbytes} bytes of {chunk.memory}")
        inside = [(r, i in persistent) for i, r in enumerate(plan.registers) if r.chunk == number]
        for register, persists in sorted(inside, key=lambda pair: (pair[0].offset, pair[0].name)):
            lines.append(f"  {_register_line(register)}{' variable' if persists else ''}")
    return "\n".join(lines) + "\n"


def _variable_line(plan: Plan, number: int, desc: VariableDesc) -> str:
    variable = desc.variable
    text = f"variable {number} {variable.name!r}: {variable.spec} on {variable.placement}"
    text += f" as {variable.sbp}, begins as {variable.initializer} with seed {variable.seed}"
    return text if variable.trainable else text + ", not trainable"


def _section_line(plan: Plan, section: CriticalSection) -> str:
    def names(numbers: tuple[int, ...]) -> str:
        return ", ".join(repr(plan.variables[number].variable.name) for number in numbers)

    text = f"critical section of job {section.job}: arena {section.arena}"
    if section.reads:
        text += f", reads {names(section.reads)}"
    return text + (f", writes {names(section.writes)}" if section.writes else "")


def _task_line(plan: Plan, task: TaskDesc) -> str:
    inputs = [None if r is None else plan.registers[r].name for r in task.inputs]
    outputs = [plan.registers[r].name for r in task.outputs]
    what, attrs = (task.kind.value, None) if task.call is None else (task.call.op, task.call.attrs)
    if task.kind is TaskKind.VIEW:
        what = f"view {what}"
    over = "".join(f", over {inputs[i]}" for i, _ in task.in_place)
    workspace = "" if task.workspace is None else f" using {plan.registers[task.workspace].name}"
    return call_text(what, inputs, attrs, outputs or ["caller"]) + over + workspace


def _register_line(register: RegisterDesc) -> str:
    last = register.offset + register.stride * (register.slots - 1) + register.spec.nbytes
    text = f"[{register.offset}, {last}) {register.name}: {register.spec}"
    if register.slots > 1:
        text += f" x{register.slots}"
    return text + (" constant" if register.constant is not None else "")
