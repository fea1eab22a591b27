"""What the jobs of a task graph under construction share: streams, names, variables."""

from __future__ import annotations

from types import MappingProxyType

from headrace.compiler.task_graph import (
    PhysicalTensor,
    TaskGraph,
    TaskNode,
    VariableNode,
)
from headrace.device import StreamIndexGenerator
from headrace.graph import Variable, VariablePart
from headrace.memory_case import MemoryCase
from headrace.placement import Placement
from headrace.plan import CriticalSection, JobDesc, JobKind
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec


class Program:
    """The tasks and tensors of all jobs so far. A variable's part is one tensor for all of them.

    Attributes:
        registry: where devices come from.
        tasks: in topological order.
        control: pairs of tasks, see ``TaskGraph``.
    """

    def __init__(self, registry: BackendRegistry) -> None:
        self.registry = registry
        self.tasks: list[TaskNode] = []
        self.control: list[tuple[int, int]] = []
        self._jobs: list[JobDesc] = []
        self._tensors: dict[str, PhysicalTensor] = {}
        self._parts: dict[tuple[str, int], PhysicalTensor] = {}
        self._streams: dict[tuple[str, int, int], StreamIndexGenerator] = {}

    def add_job(self, name: str, kind: JobKind, serves: int | None = None, width: int = 1) -> int:
        """Add a job; one that serves no other can be called. Returns its position."""
        position = len(self._jobs)
        self._jobs.append(JobDesc(name, kind, position if serves is None else serves, width))
        return position

    def define(
        self,
        name: str,
        spec: TensorSpec,
        memory: MemoryCase,
        constant: str | None = None,
        variable: bool = False,
    ) -> PhysicalTensor:
        """Add a tensor; gives it another name if this one is taken."""
        while name in self._tensors:  # a user's tensor may look like a copy of another
            name += "'"
        tensor = self._tensors[name] = PhysicalTensor(name, spec, memory, constant, variable)
        return tensor

    def part(self, part: VariablePart) -> PhysicalTensor:
        """The tensor that is a variable, or one part of it."""
        variable = part.variable
        key = (variable.name, part.part)
        if key not in self._parts:
            many = variable.placement.parallel_num > 1
            name = f"{variable.name}[{part.part}]" if many else variable.name
            memory = self.memory_of(part.placement)
            self._parts[key] = self.define(name, part.tensor.spec, memory, variable=True)
        return self._parts[key]

    def memory_of(self, placement: Placement) -> MemoryCase:
        """Where the kernels of a device work. Other machines are taken to be like this one.

        Raises:
            DeviceError: it is not there.
        """
        tag, (machine, index) = placement.tag, placement.devices[0]
        backend = self.registry.backend(tag)
        self.registry.check_index(tag, index)
        if backend.works_in_host_memory:
            return MemoryCase.host(machine)
        return MemoryCase(tag, index, machine=machine)

    def streams(self, tag: str, index: int, machine: int = 0) -> StreamIndexGenerator:
        """The numbers of the streams of a device; one generator for the whole plan."""
        key = (tag, index, machine)
        if key not in self._streams:
            self._streams[key] = self.registry.backend(tag).streams.create(index)
        return self._streams[key]

    def variable_node(self, variable: Variable, jobs: dict[JobKind, int]) -> VariableNode:
        """A variable whose parts and jobs are all there."""
        parts = range(variable.placement.parallel_num)
        return VariableNode(
            variable,
            tuple(self._parts[variable.name, part].name for part in parts),
            jobs[JobKind.INIT],
            jobs[JobKind.LOAD],
            jobs[JobKind.SAVE],
        )

    def finish(
        self,
        name: str,
        variables: tuple[VariableNode, ...],
        sections: tuple[CriticalSection, ...],
    ) -> TaskGraph:
        """The task graph."""
        return TaskGraph(
            name,
            tuple(self._jobs),
            tuple(self.tasks),
            MappingProxyType(self._tensors),
            variables,
            sections,
            tuple(self.control),
        )
