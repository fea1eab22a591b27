"""The plan as frozen dataclasses: everything the runtime needs to know, and nothing it must guess.

A plan holds several jobs that were compiled together: the user's job, one push job for each input
and one pull job for each output. Tasks are grouped into actors: an actor is a chain of tasks on one
in-order stream that is launched as a whole. Registers connect tasks; those between two actors carry
credits (``slots`` of them), those inside an actor are only memory. Ids are positions: register 3 is
``plan.registers[3]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from headrace.ids import ActorId, DeviceTypes, RegisterId, StreamId, TaskId
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


@dataclass(frozen=True, slots=True)
class JobDesc:
    """One of the jobs compiled together."""

    name: str
    kind: JobKind


class TaskKind(Enum):
    """What a task does; ``COMPUTE`` runs a kernel, the rest is done by core.

    A ``VIEW`` is an op whose output is bytes of its first input as they lie: nothing is launched.
    """

    COMPUTE = "compute"
    COPY_H2D = "copy_h2d"
    COPY_D2H = "copy_d2h"
    FOREIGN_INPUT = "foreign_input"
    FOREIGN_OUTPUT = "foreign_output"
    VIEW = "view"


OP_KINDS = frozenset({TaskKind.COMPUTE, TaskKind.VIEW})
"""Kinds of tasks that are ops of a job."""


@dataclass(frozen=True, slots=True)
class TaskDesc:
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
        foreign_name: the caller's name of the input or output, for the foreign kinds.
        in_place: (input, output) positions that are the same bytes: the one is written over.
        control_inputs: registers without bytes that are waited for and not read.
        control_outputs: registers without bytes that are published and not written.
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

    @property
    def waits_for(self) -> tuple[RegisterId, ...]:
        """Registers that must be there before it runs, in order."""
        return (*(r for r in self.inputs if r is not None), *self.control_inputs)

    @property
    def makes(self) -> tuple[RegisterId, ...]:
        """Registers that are there after it ran, in order."""
        return (*self.outputs, *self.control_outputs)


@dataclass(frozen=True, slots=True)
class RegisterDesc:
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


@dataclass(frozen=True, slots=True)
class ActorDesc:
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


@dataclass(frozen=True, slots=True)
class ChunkDesc:
    """One allocation."""

    memory: MemoryCase
    nbytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Jobs compiled together, ready to run. See the module's docstring."""

    name: str
    device_types: DeviceTypes
    jobs: tuple[JobDesc, ...]
    tasks: tuple[TaskDesc, ...]
    registers: tuple[RegisterDesc, ...]
    actors: tuple[ActorDesc, ...]
    chunks: tuple[ChunkDesc, ...]

    def foreign(self, kind: TaskKind) -> dict[str, TaskDesc]:
        """The foreign tasks of ``kind`` by the caller's name, in plan order."""
        return {task.foreign_name: task for task in self.tasks if task.kind is kind}
