"""Is a plan whole? Checked before it runs, whether it was compiled here or read from a file."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import PlanError
from headrace.plan.model import OP_KINDS, JobKind, Plan, TaskDesc, TaskKind, VariableDesc


def check(plan: Plan) -> None:
    """Check that every reference holds and that memory is where it is said to be.

    Raises:
        PlanError: names the task or register and the two sides that do not fit.
    """
    for problem in _problems(plan):
        raise PlanError(f"plan {plan.name!r}: {problem}")


def _problems(plan: Plan) -> Iterator[str]:
    yield from _register_problems(plan)
    yield from _job_problems(plan)
    if any(register >= len(plan.registers) for register in plan.persistent()):
        return  # which was said of the variable
    yield from _task_problems(plan)
    yield from _order_problems(plan)
    yield from _actor_problems(plan)
    yield from _section_problems(plan)


def _register_problems(plan: Plan) -> Iterator[str]:
    """Every register lies in a chunk, and its slots apart."""
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
        if register.slots > 1 and register.stride < register.spec.nbytes:
            yield (
                f"register {register.name!r} has {register.slots} slots of {register.spec.nbytes} "
                f"bytes, one every {register.stride} bytes"
            )


def _task_problems(plan: Plan) -> Iterator[str]:
    """What a task names is there, and it has an op where its kind has one."""
    registers = len(plan.registers)
    actor_of = {t: number for number, actor in enumerate(plan.actors) for t in actor.tasks}
    for position, task in enumerate(plan.tasks):
        used = [*task.waits_for, *task.makes]
        if task.workspace is not None:
            used.append(task.workspace)
        if max(used, default=-1) >= registers:
            yield f"task {task.name!r} names register {max(used)}; there are {registers}"
            continue
        if actor_of.get(position) != task.actor:
            yield f"task {task.name!r} is not in the task list of its actor {task.actor}"
        if (task.kind in OP_KINDS) != (task.call is not None):
            has = "no op" if task.call is None else "an op"
            yield f"task {task.name!r} of kind {task.kind.value} has {has}"
        yield from _shared_problems(plan, task)
        if task.job >= len(plan.jobs):
            yield f"task {task.name!r} belongs to job {task.job}; there are {len(plan.jobs)}"


def _order_problems(plan: Plan) -> Iterator[str]:
    """Every register is written once, before it is read; constants and variables are not."""
    persistent = plan.persistent()
    written: dict[int, str] = {}
    for task in plan.tasks:
        for index in task.waits_for:
            if plan.registers[index].constant is not None or index in persistent:
                continue
            if index not in written:
                yield (
                    f"task {task.name!r} reads register {plan.registers[index].name!r} before "
                    "any task writes it"
                )
        for index in task.makes:
            if index in persistent:
                if task.kind is not TaskKind.COPY_D2D:
                    yield f"task {task.name!r} of kind {task.kind.value} writes a variable"
                continue
            if index in written:
                yield f"tasks {written[index]!r} and {task.name!r} write one register"
            if plan.registers[index].constant is not None:
                yield f"task {task.name!r} writes {plan.registers[index].name!r}, a constant"
            written[index] = task.name


def _shared_problems(plan: Plan, task: TaskDesc) -> Iterator[str]:
    """What is written over an input, or is part of one, lies there; control has no bytes."""
    pairs = (*task.in_place, (0, 0)) if task.kind is TaskKind.VIEW else task.in_place
    for i, o in pairs:
        source = task.inputs[i] if i < len(task.inputs) else None
        if source is None or o >= len(task.outputs):
            yield f"task {task.name!r} has no input {i} or output {o} that could share bytes"
            continue
        read, made = plan.registers[source], plan.registers[task.outputs[o]]
        over = made.offset - read.offset
        whole = over == 0 and read.spec.nbytes == made.spec.nbytes
        part = 0 <= over <= read.spec.nbytes - made.spec.nbytes
        alike = (read.chunk, read.slots, read.stride) == (made.chunk, made.slots, made.stride)
        if not alike or not (part if task.kind is TaskKind.VIEW else whole):
            yield f"task {task.name!r}: {made.name!r} should lie on {read.name!r} and does not"
    for index in (*task.control_inputs, *task.control_outputs):
        if plan.registers[index].spec.nbytes:
            named = plan.registers[index].name
            yield f"task {task.name!r} is controlled by register {named!r}, which has bytes"


def _actor_problems(plan: Plan) -> Iterator[str]:
    """Every task in one actor, on its stream; credits exactly where registers cross actors."""
    actor_of: dict[int, int] = {}
    for number, actor in enumerate(plan.actors):
        if not actor.tasks:
            yield f"actor {number} has no task"
        if list(actor.tasks) != sorted(actor.tasks):
            yield f"actor {number} launches its tasks in another order than the plan has them"
        for position in actor.tasks:
            if position >= len(plan.tasks):
                yield f"actor {number} names task {position}; there are {len(plan.tasks)}"
                return
            task = plan.tasks[position]
            if position in actor_of:
                yield f"task {task.name!r} is in actor {actor_of[position]} and in actor {number}"
            actor_of[position] = number
            if task.task_id.stream_id != actor.stream_id:
                yield f"task {task.name!r} is not on the stream of its actor, {actor.stream_id}"
    persistent = plan.persistent()
    maker = {
        index: task.actor for task in plan.tasks for index in task.makes if index not in persistent
    }
    crossing = [
        {
            index
            for position in actor.tasks
            for index in plan.tasks[position].waits_for
            if maker.get(index, number) != number
        }
        for number, actor in enumerate(plan.actors)
    ]
    read_elsewhere = set().union(*crossing)
    for number, actor in enumerate(plan.actors):
        made = {index for position in actor.tasks for index in plan.tasks[position].makes}
        for what, said, true in (
            ("consumes", actor.consumed, crossing[number]),
            ("produces", actor.produced, made & read_elsewhere),
        ):
            if sorted(said) != sorted(true):
                yield f"actor {number} {what} registers {sorted(true)}; the plan says {list(said)}"


def _job_problems(plan: Plan) -> Iterator[str]:
    """Every job serves one that can be called; what calls touch is written down for each."""
    callable_jobs = []
    for position, job in enumerate(plan.jobs):
        serves = plan.jobs[job.serves] if job.serves < len(plan.jobs) else None
        attached = job.kind in (JobKind.PUSH, JobKind.PULL)
        if serves is None or attached == (job.serves == position):
            yield f"job {job.name!r} of kind {job.kind.value} serves job {job.serves}"
        elif attached and serves.kind in (JobKind.PUSH, JobKind.PULL):
            yield f"job {job.name!r} serves {serves.name!r}, which cannot be called"
        elif job.width < 1 or (attached and job.width > 1):
            yield f"job {job.name!r} of kind {job.kind.value} allows {job.width} calls at once"
        elif not attached:
            callable_jobs.append(position)
    if [section.job for section in plan.sections] != callable_jobs:
        said = [section.job for section in plan.sections]
        yield f"critical sections are of jobs {said}; jobs {callable_jobs} can be called"
    for section in plan.sections:
        for number in (*section.reads, *section.writes):
            if number >= len(plan.variables):
                yield (
                    f"the critical section of job {section.job} names variable {number}; there are "
                    f"{len(plan.variables)}"
                )
    for desc in plan.variables:
        yield from _variable_problems(plan, desc)


def _section_problems(plan: Plan) -> Iterator[str]:
    """What a call reads and writes of variables is in its critical section."""
    persistent = plan.persistent()
    sections = {section.job: section for section in plan.sections}
    for task in plan.tasks:
        section = sections[plan.jobs[task.job].serves]
        for what, registers, said in (
            ("reads", task.inputs, {*section.reads, *section.writes}),
            ("writes", task.outputs, {*section.writes}),
        ):
            for register in registers:
                number = None if register is None else persistent.get(register)
                if number is not None and number not in said:
                    name = plan.variables[number].variable.name
                    yield (
                        f"task {task.name!r} {what} variable {name!r}, which the critical section "
                        f"of job {section.job} does not say"
                    )


def _variable_problems(plan: Plan, desc: VariableDesc) -> Iterator[str]:
    variable = desc.variable
    if len(desc.parts) != variable.placement.parallel_num:
        yield f"variable {variable.name!r} on '{variable.placement}' has {len(desc.parts)} parts"
    for register in desc.parts:
        if register >= len(plan.registers):
            yield (
                f"variable {variable.name!r} lies in register {register}; there are "
                f"{len(plan.registers)}"
            )
    for job, kind in (
        (desc.init_job, JobKind.INIT),
        (desc.load_job, JobKind.LOAD),
        (desc.save_job, JobKind.SAVE),
    ):
        if job >= len(plan.jobs) or plan.jobs[job].kind is not kind:
            yield f"variable {variable.name!r}: job {job} is not its {kind.value} job"
