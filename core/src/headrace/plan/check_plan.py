"""Is a plan whole? Checked before it runs, whether it was compiled here or read from a file."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from headrace.errors import PlanError
from headrace.light_tuple import NamedTuple
from headrace.plan.model import OP_KINDS, JobKind, Plan, TaskDesc, TaskKind, VariableDesc

_Registers = Sequence[tuple[int, ...]]
"""Of each task, numbers of registers."""


class _Edges(NamedTuple):
    """What each task waits for, and what it makes."""

    waits: _Registers
    makes: _Registers


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
    edges = _Edges([task.waits_for for task in plan.tasks], [task.makes for task in plan.tasks])
    yield from _task_problems(plan, edges)
    yield from _order_problems(plan, edges)
    yield from _actor_problems(plan, edges)
    yield from _section_problems(plan)


def _register_problems(plan: Plan) -> Iterator[str]:
    """Every register lies in a chunk, and its slots apart."""
    sizes = [chunk.nbytes for chunk in plan.chunks]
    for name, spec, slots, chunk, offset, stride, _ in plan.registers:
        if chunk >= len(sizes):
            yield f"register {name!r} lies in chunk {chunk}, which is not there"
            continue
        nbytes = spec.nbytes
        end = offset + stride * (slots - 1) + nbytes
        if slots < 1 or offset < 0 or end > sizes[chunk]:
            yield (
                f"register {name!r} ends at byte {end} of chunk {chunk}, which has {sizes[chunk]} "
                f"bytes (offset {offset}, {slots} slots)"
            )
        if slots > 1 and stride < nbytes:
            yield (
                f"register {name!r} has {slots} slots of {nbytes} bytes, one every {stride} bytes"
            )


def _task_problems(plan: Plan, edges: _Edges) -> Iterator[str]:
    """What a task names is there, and it has an op where its kind has one."""
    registers, jobs = len(plan.registers), len(plan.jobs)
    actor_of = {t: number for number, actor in enumerate(plan.actors) for t in actor.tasks}
    for position, (task, waits, makes) in enumerate(zip(plan.tasks, *edges, strict=True)):
        scratch = () if task.workspace is None else (task.workspace,)
        highest = max((*waits, *makes, *scratch), default=-1)
        if highest >= registers:
            yield f"task {task.name!r} names register {highest}; there are {registers}"
            continue
        if actor_of.get(position) != task.actor:
            yield f"task {task.name!r} is not in the task list of its actor {task.actor}"
        if (task.kind in OP_KINDS) != (task.call is not None):
            has = "no op" if task.call is None else "an op"
            yield f"task {task.name!r} of kind {task.kind.value} has {has}"
        if task.kind is TaskKind.VIEW or task.in_place:
            yield from _shared_problems(plan, task)
        for index in (*task.control_inputs, *task.control_outputs):
            if plan.registers[index].spec.nbytes:
                named = plan.registers[index].name
                yield f"task {task.name!r} is controlled by register {named!r}, which has bytes"
        if task.job >= jobs:
            yield f"task {task.name!r} belongs to job {task.job}; there are {jobs}"


def _order_problems(plan: Plan, edges: _Edges) -> Iterator[str]:
    """Every register is written once, before it is read; constants and variables are not."""
    persistent = plan.persistent()
    there = {n for n, register in enumerate(plan.registers) if register.constant is not None}
    there.update(persistent)
    for task, waits, makes in zip(plan.tasks, *edges, strict=True):
        if not there.issuperset(waits):
            name = next(plan.registers[index].name for index in waits if index not in there)
            yield f"task {task.name!r} reads register {name!r} before any task writes it"
        count = len(there)
        there.update(makes)
        if len(there) < count + len(makes):
            yield from _again_problems(plan, task, persistent)


def _again_problems(plan: Plan, task: TaskDesc, persistent: Container[int]) -> Iterator[str]:
    """A task writes what was there before: a variable may be copied into."""
    for index in task.makes:
        if index in persistent:
            if task.kind is not TaskKind.COPY_D2D:
                yield f"task {task.name!r} of kind {task.kind.value} writes a variable"
            continue
        writers = [other.name for other in plan.tasks for made in other.makes if made == index]
        if len(writers) > 1:
            yield f"tasks {writers[0]!r} and {writers[1]!r} write one register"
        if plan.registers[index].constant is not None:
            yield f"task {task.name!r} writes {plan.registers[index].name!r}, a constant"


def _shared_problems(plan: Plan, task: TaskDesc) -> Iterator[str]:
    """What is written over an input, or is part of one, lies there."""
    pairs = (*task.in_place, (0, 0)) if task.kind is TaskKind.VIEW else task.in_place
    for i, o in pairs:
        source = task.inputs[i] if i < len(task.inputs) else None
        if source is None or o >= len(task.outputs):
            yield f"task {task.name!r} has no input {i} or output {o} that could share bytes"
            continue
        read, made = plan.registers[source], plan.registers[task.outputs[o]]
        over, less = made.offset - read.offset, read.spec.nbytes - made.spec.nbytes
        lies = 0 <= over <= less if task.kind is TaskKind.VIEW else over == less == 0
        alike = (read.chunk, read.slots, read.stride) == (made.chunk, made.slots, made.stride)
        if not alike or not lies:
            yield f"task {task.name!r}: {made.name!r} should lie on {read.name!r} and does not"


def _actor_problems(plan: Plan, edges: _Edges) -> Iterator[str]:
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
    lasting = plan.persistent().keys()
    made = [set().union(*[edges.makes[n] for n in actor.tasks]) - lasting for actor in plan.actors]
    read = [set().union(*[edges.waits[n] for n in actor.tasks]) for actor in plan.actors]
    made_by_any = set().union(*made)
    consumed = [(mine & made_by_any) - own for mine, own in zip(read, made, strict=True)]
    read_elsewhere = set().union(*consumed)
    for number, actor in enumerate(plan.actors):
        for what, said, true in (
            ("consumes", actor.consumed, consumed[number]),
            ("produces", actor.produced, made[number] & read_elsewhere),
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
    if not persistent:
        return
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
