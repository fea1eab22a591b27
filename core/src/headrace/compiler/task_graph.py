"""The task graph: physical tensors in memory, and the tasks that make them, each on a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.memory_case import MemoryCase
from headrace.op_call import OpCall
from headrace.plan import JobDesc, TaskKind
from headrace.sbp import NdSbp
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True, order=True)
class Stream:
    """A stream by the tag of its device; packed ids come with the plan."""

    tag: str
    device_index: int
    stream_index: int

    def __str__(self) -> str:
        return f"{self.tag}:{self.device_index}/s{self.stream_index}"


@dataclass(frozen=True, slots=True)
class PhysicalTensor:
    """A tensor in one memory. ``constant`` names the weight that is loaded into it, if any."""

    name: str
    spec: TensorSpec
    memory: MemoryCase
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class TaskNode:
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


@dataclass(frozen=True, slots=True, eq=False)
class TaskGraph:
    """All jobs compiled together: their tasks in topological order, and the tensors by name."""

    name: str
    jobs: tuple[JobDesc, ...]
    tasks: tuple[TaskNode, ...]
    tensors: Mapping[str, PhysicalTensor]
