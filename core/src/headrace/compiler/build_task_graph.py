"""From the op graph of a job to the task graph of the job and its push and pull jobs.

A push job takes one input from the caller, a pull job gives one output to the caller; both are made
here, and share their interface tensors with the user's job. Wherever a tensor is needed in another
memory zone than it lies in, copies are put between: device to host, host to device; each tensor
crosses once for each zone that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headrace.compiler.op_graph import OpGraph, OpNode
from headrace.compiler.task_graph import PhysicalTensor, Stream, TaskGraph, TaskNode
from headrace.device import Kernel, StreamIndexGenerator
from headrace.errors import PluginError
from headrace.ids import HOST_TAG
from headrace.memory_case import MemoryCase
from headrace.op_call import OpCall
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.plan import JobDesc, JobKind, TaskKind
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

# Core's own streams on the host, at the end of the range so that no device's generator meets them.
PUSH_STREAM = Stream(HOST_TAG, 0, 4094)
PULL_STREAM = Stream(HOST_TAG, 0, 4095)

USER_JOB = 0


def build_task_graph(graph: OpGraph, registry: BackendRegistry) -> TaskGraph:
    """Place tasks on streams and tensors in memory, with copies wherever zones differ.

    Before: logical tensors. After: every task reads tensors of the memory its device works in.

    Raises:
        DeviceError: a device is not there.
    """
    return _Builder(graph, registry).build()


class _Builder:
    def __init__(self, graph: OpGraph, registry: BackendRegistry) -> None:
        self._graph = graph
        self._registry = registry
        self._jobs = [JobDesc(graph.job.name, JobKind.USER)]
        self._tasks: list[TaskNode] = []
        self._push_jobs: dict[str, int] = {}  # input -> the job that pushes it
        self._tensors: dict[str, PhysicalTensor] = {}
        self._homes: dict[str, PhysicalTensor] = {}  # logical tensor -> where it is made
        self._copies: dict[tuple[str, MemoryCase], PhysicalTensor] = {}
        self._streams: dict[tuple[str, int], StreamIndexGenerator] = {}

    def build(self) -> TaskGraph:
        job = self._graph.job
        for tensor in job.inputs:
            self._push(tensor)
        for node in self._graph.nodes:
            self._compute(node)
        for name, tensor in job.outputs:
            self._pull(name, tensor)
        tensors: Mapping[str, PhysicalTensor] = MappingProxyType(self._tensors)
        return TaskGraph(job.name, tuple(self._jobs), tuple(self._tasks), tensors)

    def _push(self, tensor: Tensor) -> None:
        job = self._new_job(f"System-Push-{tensor.name}", JobKind.PUSH)
        self._push_jobs[tensor.name] = job
        made = self._define(tensor.name, tensor.spec, MemoryCase.host())
        self._homes[tensor.name] = made
        name = f"foreign_input {tensor.name}"
        kind = TaskKind.FOREIGN_INPUT
        outputs = (made.name,)
        self._tasks.append(
            TaskNode(name, kind, job, PUSH_STREAM, (), outputs, foreign_name=tensor.name)
        )

    def _pull(self, name: str, tensor: Tensor) -> None:
        job = self._new_job(f"System-Pull-{name}", JobKind.PULL)
        source = self._in_memory(tensor.name, MemoryCase.host(), job)
        kind = TaskKind.FOREIGN_OUTPUT
        task = f"foreign_output {name}"
        self._tasks.append(
            TaskNode(task, kind, job, PULL_STREAM, (source.name,), (), foreign_name=name)
        )

    def _compute(self, node: OpNode) -> None:
        op, call = node.op, node.op.call
        backend = self._registry.backend(op.placement.tag)
        memory = self._memory_of(op.placement)
        inputs = tuple(
            None if name is None else self._in_memory(name, memory, USER_JOB).name
            for name in op.inputs
        )
        made = [self._define(n, s, memory) for n, s in zip(op.outputs, call.outputs, strict=True)]
        self._homes.update(zip(op.outputs, made, strict=True))
        entry = backend.kernels.select(call)
        assert entry is not None, f"{call} was not lowered for {backend.tag}"
        index = op.placement.devices[0][1]
        stream = Stream(backend.tag, index, self._generator(backend.tag, index).compute())
        schema, capabilities = self._registry.op(call.op).op, backend.device.capabilities
        self._tasks.append(
            TaskNode(
                call.name,
                TaskKind.COMPUTE,
                USER_JOB,
                stream,
                inputs,
                tuple(tensor.name for tensor in made),
                call,
                node.output_sbp[0],
                _workspace_bytes(entry.create(call), call, backend.tag),
                in_place=schema.in_place(call) if "in-place" in capabilities else (),
                view=schema.view(call),
            )
        )

    def _in_memory(self, logical: str, memory: MemoryCase, job: int) -> PhysicalTensor:
        """The tensor in ``memory``, copied there once if need be, by a task of ``job``."""
        if logical in self._graph.job.constants:
            return self._constant(logical, memory)
        home = self._homes[logical]
        if home.memory == memory:
            return home
        found = self._copies.get((logical, memory))
        if found is not None:
            return found
        if home.memory.is_host:
            source, device, kind = home, memory, TaskKind.COPY_H2D
            index = self._generator(device.tag, device.device_index).h2d()
            # Of an input, the copy is part of pushing it, and shared by all readers.
            job = self._push_jobs.get(logical, job)
        elif memory.is_host:
            source, device, kind = home, home.memory, TaskKind.COPY_D2H
            index = self._generator(device.tag, device.device_index).d2h()
        else:
            source = self._in_memory(logical, MemoryCase.host(), job)
            device, kind = memory, TaskKind.COPY_H2D
            index = self._generator(device.tag, device.device_index).h2d()
        copy = self._define(f"{logical}@{memory.tag}:{memory.device_index}", home.spec, memory)
        self._copies[logical, memory] = copy
        stream = Stream(device.tag, device.device_index, index)
        name = f"{kind.value} {copy.name}"
        self._tasks.append(TaskNode(name, kind, job, stream, (source.name,), (copy.name,)))
        return copy

    def _constant(self, logical: str, memory: MemoryCase) -> PhysicalTensor:
        found = self._copies.get((logical, memory))
        if found is None:
            spec = TensorSpec.of(self._graph.job.constants[logical])
            name = f"{logical}@{memory.tag}:{memory.device_index}"
            found = self._define(name, spec, memory, constant=logical)
            self._copies[logical, memory] = found
        return found

    def _memory_of(self, placement: Placement) -> MemoryCase:
        tag, (_, index) = placement.tag, placement.devices[0]
        backend = self._registry.backend(tag)
        self._registry.check_index(tag, index)
        return MemoryCase.host() if backend.works_in_host_memory else MemoryCase(tag, index)

    def _generator(self, tag: str, index: int) -> StreamIndexGenerator:
        key = (tag, index)
        if key not in self._streams:
            self._streams[key] = self._registry.backend(tag).streams.create(index)
        return self._streams[key]

    def _new_job(self, name: str, kind: JobKind) -> int:
        self._jobs.append(JobDesc(name, kind))
        return len(self._jobs) - 1

    def _define(
        self, name: str, spec: TensorSpec, memory: MemoryCase, constant: str | None = None
    ) -> PhysicalTensor:
        while name in self._tensors:  # a user's tensor may look like a copy of another
            name += "'"
        self._tensors[name] = PhysicalTensor(name, spec, memory, constant)
        return self._tensors[name]


def _workspace_bytes(kernel: Kernel, call: OpCall, tag: str) -> int:
    nbytes: object = kernel.workspace_bytes()
    if isinstance(nbytes, int) and nbytes >= 0:
        return nbytes
    raise PluginError(
        f"{call}: workspace_bytes of its kernel on device {tag!r} returned {nbytes!r}; it must be "
        "a number of bytes"
    )
