"""The plan as named tuples: everything the runtime needs to know, and nothing it must guess.

A plan holds the jobs that were compiled together: those of the user, for each of their inputs a
push job and for each output a pull job, and for each variable the jobs that begin, load and save
it. A call is of one job, with its push and pull jobs. Variables are registers that outlive calls
and are shared by the jobs that name them; critical sections say which calls may overlap. Tasks are
grouped into actors: an actor is a chain of tasks on one in-order stream that is launched as a
whole. Registers connect tasks; those between two actors carry credits (``slots`` of them), those
inside an actor are only memory. Ids are positions: register 3 is ``plan.registers[3]``.
"""

from __future__ import annotations

from enum import Enum
from typing import cast

from headrace.graph.variable import Variable
from headrace.ids import ActorId, DeviceTypes, KernelName, RegisterId, StreamId, TaskId
from headrace.light_tuple import NamedTuple
from headrace.memory_case import MemoryCase
from headrace.op_call import OpCall
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec

FORMAT_VERSION = 1


class JobKind(Enum):
    """Why a job exists."""

    USER = "user"
    PUSH = "push"
    PULL = "pull"
    INIT = "init"
    LOAD = "load"
    SAVE = "save"


class JobDesc(NamedTuple):
    """One of the jobs compiled together.

    Attributes:
        name: unique in the plan.
        kind: why it is there.
        serves: position of the job whose calls it is part of: for push and pull jobs that of the
            job they push to or pull from, else its own.
        width: how many calls of it may be under way at once; 1 for push and pull jobs.
    """

    name: str
    kind: JobKind
    serves: int
    width: int = 1


class VariableDesc(NamedTuple):
    """A variable, where it lies, and the jobs that give and take its value.

    Attributes:
        variable: what was asked for.
        parts: the register of each device's part, by parallel id.
        init_job, load_job, save_job: positions of its jobs.
    """

    variable: Variable
    parts: tuple[RegisterId, ...]
    init_job: int
    load_job: int
    save_job: int


class CriticalSection(NamedTuple):
    """What the calls of a job touch that other jobs may touch as well.

    Two calls may overlap unless one of their jobs writes a variable that the other reads or
    writes, or they are of different jobs in one arena. Calls of one job always may: they follow
    each other through its registers.

    Attributes:
        job: position of a job that can be called.
        reads, writes: numbers of variables, sorted; what it writes it may read as well.
        arena: jobs with one number share the memory of all but their variables and constants.
    """

    job: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    arena: int

    def excludes(self, other: CriticalSection) -> bool:
        """True when no call of the one job may overlap a call of the other."""
        if self.job == other.job:
            return False
        return (
            self.arena == other.arena
            or any(number in other.reads or number in other.writes for number in self.writes)
            or any(number in other.writes for number in self.reads)
        )


class TaskKind(Enum):
    """What a task does; ``COMPUTE`` runs a kernel, ``COLLECTIVE`` an exchange among devices.

    A ``VIEW`` is an op whose output is bytes of its first input as they lie: nothing is launched.
    ``COPY_NETWORK`` brings host memory of one machine to that of another, which runs it.
    ``COPY_D2D`` copies within one memory: into a variable, or out of one that gets a new value.
    ``INITIALIZE`` draws what a variable begins with, on the host.
    The call of a collective has the device indices, in its attribute ``devices``; its stream is on
    the first of them, and stands for one of the same index on each.
    """

    COMPUTE = "compute"
    COPY_H2D = "copy_h2d"
    COPY_D2H = "copy_d2h"
    COPY_PEER = "copy_peer"
    COPY_NETWORK = "copy_network"
    FOREIGN_INPUT = "foreign_input"
    FOREIGN_OUTPUT = "foreign_output"
    COPY_D2D = "copy_d2d"
    INITIALIZE = "initialize"
    VIEW = "view"
    COLLECTIVE = "collective"


OP_KINDS = frozenset({TaskKind.COMPUTE, TaskKind.VIEW, TaskKind.COLLECTIVE})
"""Kinds of tasks that are ops of a job."""

CORE_KINDS = frozenset({TaskKind.FOREIGN_INPUT, TaskKind.FOREIGN_OUTPUT, TaskKind.INITIALIZE})
"""Kinds of tasks that core does itself, on the host, whether or not a plugin brings that."""

COPIES = frozenset(
    {TaskKind.COPY_H2D, TaskKind.COPY_D2H, TaskKind.COPY_D2D, TaskKind.COPY_PEER,
     TaskKind.COPY_NETWORK}
)  # fmt: skip
"""Kinds of tasks that bring one tensor, unchanged, from one place to another."""


class TaskDesc(NamedTuple):
    """One task.

    Attributes:
        task_id: says the device and stream it runs on.
        name: for messages and timelines; unique in the plan.
        kind: what it does.
        job: position of its job.
        actor: the actor that launches it.
        inputs: registers read; None for an absent optional input.
        outputs: registers written.
        workspace: scratch register, when the kernel needs one.
        call: the op, for ``OP_KINDS``.
        sbp: how the first output lies over the placement, for ``OP_KINDS``.
        foreign_name: the caller's name of the input or output, for the foreign kinds; the
            variable's, for ``INITIALIZE``.
        in_place: (input, output) positions that are the same bytes: the one is written over.
        control_inputs: registers without bytes that are waited for and not read.
        control_outputs: registers without bytes that are published and not written.
        kernel: what makes its kernel, in a plan that is kept for the code that compiled it; None
            where it is selected among all kernels of the device when the plan is bound.
    """

    task_id: TaskId
    name: str
    kind: TaskKind
    job: int
    actor: ActorId
    inputs: tuple[RegisterId | None, ...]
    outputs: tuple[RegisterId, ...]
    workspace: RegisterId | None = None
    call: OpCall | None = None
    sbp: NdSbp | None = None
    foreign_name: str = ""
    in_place: tuple[tuple[int, int], ...] = ()
    control_inputs: tuple[RegisterId, ...] = ()
    control_outputs: tuple[RegisterId, ...] = ()
    kernel: KernelName | None = None

    @property
    def waits_for(self) -> tuple[RegisterId, ...]:
        """Registers that must be there before it runs, in order."""
        if None in self.inputs:
            return (*[r for r in self.inputs if r is not None], *self.control_inputs)
        return cast("tuple[RegisterId, ...]", self.inputs) + self.control_inputs

    @property
    def makes(self) -> tuple[RegisterId, ...]:
        """Registers that are there after it ran, in order."""
        return self.outputs + self.control_outputs


class RegisterDesc(NamedTuple):
    """Memory of one tensor.

    Attributes:
        name: the tensor, and what was done to it (``x@d2h``); unique in the plan.
        spec: shape and dtype.
        slots: how many copies there are, one after another: the credits of its producer.
        chunk: position of the chunk it lies in.
        offset: of the first slot in the chunk, in bytes.
        stride: from one slot to the next, in bytes.
        constant: name of the weight that is loaded once; None for a register that tasks write.
    """

    name: str
    spec: TensorSpec
    slots: int
    chunk: int
    offset: int
    stride: int
    constant: str | None = None


class ActorDesc(NamedTuple):
    """A chain of tasks on one stream.

    Attributes:
        stream_id: where it runs.
        tasks: positions of its tasks, in launch order.
        consumed: registers that other actors produce, sorted.
        produced: registers that other actors consume, sorted.
    """

    stream_id: StreamId
    tasks: tuple[int, ...]
    consumed: tuple[RegisterId, ...]
    produced: tuple[RegisterId, ...]


class ChunkDesc(NamedTuple):
    """One allocation."""

    memory: MemoryCase
    nbytes: int


class Plan(NamedTuple):
    """Jobs compiled together, ready to run. See the module's docstring."""

    name: str
    device_types: DeviceTypes
    jobs: tuple[JobDesc, ...]
    tasks: tuple[TaskDesc, ...]
    registers: tuple[RegisterDesc, ...]
    actors: tuple[ActorDesc, ...]
    chunks: tuple[ChunkDesc, ...]
    variables: tuple[VariableDesc, ...] = ()
    sections: tuple[CriticalSection, ...] = ()

    def calls(self) -> dict[str, int]:
        """Positions of the jobs that can be called, by name."""
        return {job.name: i for i, job in enumerate(self.jobs) if job.serves == i}

    def variable(self, name: str) -> Variable:
        """The variable called ``name``."""
        return next(d.variable for d in self.variables if d.variable.name == name)

    def foreign(self, kind: TaskKind, job: int) -> dict[str, TaskDesc]:
        """The foreign tasks of ``kind`` of the calls of ``job`` by the caller's name, in order."""
        return {
            task.foreign_name: task
            for task in self.tasks
            if task.kind is kind and self.jobs[task.job].serves == job
        }

    def persistent(self) -> dict[RegisterId, int]:
        """The registers that are variables, or parts of some, and the variables' numbers."""
        return {
            register: number
            for number, variable in enumerate(self.variables)
            for register in variable.parts
        }
