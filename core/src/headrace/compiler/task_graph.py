"""The task graph: physical tensors in memory, and the tasks that make them, each on a stream."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.graph import Variable
from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple
from headrace.memory_case import MemoryCase
from headrace.op_call import OpCall
from headrace.plan import CriticalSection, JobDesc, TaskKind
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec


class Stream(NamedTuple):
    """A stream by the tag and the machine of its device; packed ids come with the plan."""

    tag: str
    device_index: int
    stream_index: int
    machine: int = 0

    def __str__(self) -> str:
        machine = f"machine {self.machine} " if self.machine else ""
        return f"{machine}{self.tag}:{self.device_index}/s{self.stream_index}"


class PhysicalTensor(NamedTuple):
    """A tensor in one memory.

    ``constant`` names the weight that is loaded into it, if any; ``variable`` is True for a
    variable or a part of one.
    """

    name: str
    spec: TensorSpec
    memory: MemoryCase
    constant: str | None = None
    variable: bool = False

    @property
    def persists(self) -> bool:
        """True when it is there before a call and after, so that its bytes are its own."""
        return self.variable or self.constant is not None


class TaskNode(NamedTuple):
    """A task: reads and writes physical tensors by name, in launch order on its stream.

    ``job`` is a position in ``TaskGraph.jobs``; ``workspace_bytes`` is scratch memory next to the
    outputs; ``foreign_name`` is the caller's name of an input or output. ``in_place`` has the pairs
    of input and output that op and device let share their memory; ``view`` is where in the first
    input the output lies, in bytes, if it is bytes of it as they are.
    """

    name: str
    kind: TaskKind
    job: int
    stream: Stream
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    call: OpCall | None = None
    sbp: NdSbp | None = None
    workspace_bytes: int = 0
    foreign_name: str = ""
    in_place: tuple[tuple[int, int], ...] = ()
    view: int | None = None


@dataclass(frozen=True, slots=True)
class VariableNode:
    """A variable, the tensors that are its parts, and the positions of its jobs."""

    variable: Variable
    parts: tuple[str, ...]
    init_job: int
    load_job: int
    save_job: int


@dataclass(frozen=True, slots=True, eq=False)
class TaskGraph:
    """All jobs compiled together.

    Attributes:
        name: of the plan.
        jobs: those that can be called, each followed by its push and pull jobs.
        tasks: of all jobs, in topological order.
        tensors: by name.
        variables: what jobs share.
        sections: what each job that can be called touches of it.
        control: (task, task) by position: the second waits for the first, and the first does not
            run for the next call before the second is done.
    """

    name: str
    jobs: tuple[JobDesc, ...]
    tasks: tuple[TaskNode, ...]
    tensors: Mapping[str, PhysicalTensor]
    variables: tuple[VariableNode, ...]
    sections: tuple[CriticalSection, ...]
    control: tuple[tuple[int, int], ...]
