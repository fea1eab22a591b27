"""From the op graphs of jobs that are compiled together to one task graph.

Each job that can be called has push jobs, each of which takes one input from the caller, and pull
jobs, each of which gives one output to the caller; they share their interface tensors with it.
Wherever a tensor is needed in another memory zone than it lies in, copies are put between: device
to host, host to device, from one device to another where they have a way, and over the network from
the host of one machine to that of another. Each tensor crosses once for each zone that needs it;
machines that have it pass it on, so that no machine sends it to all others. What several
jobs share is in ``program.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.compiler.link import LinkedJob
from headrace.compiler.op_graph import OpNode
from headrace.compiler.plan_sections import plan_sections
from headrace.compiler.program import Program
from headrace.compiler.streams import assign_streams
from headrace.compiler.task_graph import PhysicalTensor, Stream, TaskGraph, TaskNode
from headrace.device import PEER_COPIES
from headrace.graph import JobOp, Variable, VariablePart
from headrace.graph.constants import entries_of, spec_of
from headrace.ids import HOST_TAG
from headrace.memory_case import MemoryCase
from headrace.ops import Tensor
from headrace.placement import Placement
from headrace.plan import JobKind, TaskKind
from headrace.registry.guarded import workspace_bytes
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

# Core's own streams on the host, at the end of the range so that no device's generator meets them.
PUSH_STREAM = Stream(HOST_TAG, 0, 4094)
PULL_STREAM = Stream(HOST_TAG, 0, 4095)
NETWORK_STREAM_INDEX = 4093  # on the host of the machine that receives
READERS_OF_A_HOST = 4
"""How many machines read a tensor from one host. Fewer make the way of the last copy longer, and
more keep one network link busy while the others have nothing to do."""


def build_task_graph(
    jobs: Sequence[LinkedJob], variables: Sequence[Variable], registry: BackendRegistry
) -> TaskGraph:
    """Place tasks on streams and tensors in memory, with copies wherever zones differ.

    Before: logical tensors. After: every task reads tensors of the memory its device works in.

    Args:
        jobs: those of the user, then those of the variables.
        variables: of all jobs.
        registry: where devices come from.

    Raises:
        DeviceError: a device is not there.
    """
    program = Program(registry)
    positions = [_Builder(program, job).build() for job in jobs]
    of_variable: dict[str, dict[JobKind, int]] = {}
    for job, position in zip(jobs, positions, strict=True):
        if job.kind is not JobKind.USER:
            name = job.graph.job.variables[0].variable.name
            of_variable.setdefault(name, {})[job.kind] = position
    return program.finish(
        "+".join(job.graph.job.name for job in jobs if job.kind is JobKind.USER),
        tuple(program.variable_node(v, of_variable[v.name]) for v in variables),
        plan_sections(jobs, positions, {v.name: number for number, v in enumerate(variables)}),
    )


class _Builder:
    """Adds the tasks of one job, and of its push and pull jobs, to a program."""

    def __init__(self, program: Program, job: LinkedJob) -> None:
        graph = job.graph.job
        self._program = program
        self._graph = job.graph
        self._constants = entries_of(graph.constants)
        self._kernels = job.kernels
        self._kind = job.kind
        self._scope = job.scope
        self._registry = program.registry
        self._lanes = assign_streams(job.graph, job.concurrency.compute_streams)
        self._sites: dict[tuple[str, int, int], _Site] = {}
        self._tasks = program.tasks
        self._job = program.add_job(graph.name, job.kind, width=job.concurrency.width)
        self._push_jobs: dict[str, int] = {}  # input -> the job that pushes it
        self._homes: dict[str, PhysicalTensor] = {}  # logical tensor -> where it is made
        self._copies: dict[tuple[str, MemoryCase], PhysicalTensor] = {}
        self._hosts: dict[str, list[MemoryCase]] = {}  # which have it for machines still to come
        self._variables = {part.tensor.name: part for part in graph.variables}
        self._updated = {name for name, _ in graph.updates}

    def build(self) -> int:
        """Add all; returns the position of the job."""
        job, before = self._graph.job, len(self._tasks)
        for name, part in self._variables.items():
            self._homes[name] = self._program.part(part)
        for tensor in job.inputs:
            self._push(tensor)
        for node in self._graph.nodes:
            self._compute(node)
        for name, tensor in job.outputs:
            self._pull(name, tensor)
        if job.updates:
            self._update(job.updates, before)
        return self._job

    def _push(self, tensor: Tensor) -> None:
        made = self._define(tensor.name, tensor.spec, MemoryCase.host())
        self._homes[tensor.name] = made
        kind, job = TaskKind.FOREIGN_INPUT, self._job
        if self._kind is JobKind.INIT:  # nobody feeds it
            kind = TaskKind.INITIALIZE
        else:
            name = f"System-Push-{self._scope}{tensor.name}"
            job = self._program.add_job(name, JobKind.PUSH, self._job)
        self._push_jobs[tensor.name] = job
        name = f"{kind.value} {made.name}"
        outputs = (made.name,)
        self._tasks.append(
            TaskNode(name, kind, job, PUSH_STREAM, (), outputs, foreign_name=tensor.name)
        )

    def _pull(self, name: str, tensor: Tensor) -> None:
        pull = f"System-Pull-{self._scope}{name}"
        job = self._program.add_job(pull, JobKind.PULL, self._job)
        source = self._in_memory(tensor.name, MemoryCase.host(), job)
        kind = TaskKind.FOREIGN_OUTPUT
        task = f"foreign_output {self._scope}{name}"
        self._tasks.append(
            TaskNode(task, kind, job, PULL_STREAM, (source.name,), (), foreign_name=name)
        )

    def _compute(self, node: OpNode) -> None:
        op, call = node.op, node.op.call
        if op.placement.parallel_num > 1:
            self._exchange(op)
            return
        site = self._site(op.placement)
        inputs = tuple(
            [
                None if name is None else self._in_memory(name, site.memory, self._job).name
                for name in op.inputs
            ]
        )
        made = []
        for name, spec in zip(op.outputs, call.outputs, strict=True):
            tensor = self._homes[name] = self._define(name, spec, site.memory)
            made.append(tensor.name)
        kernel = self._kernels[call.name].create(call)
        schema = self._registry.op(call.op).op
        self._tasks.append(
            TaskNode(
                self._scope + call.name,
                TaskKind.COMPUTE,
                self._job,
                site.stream(self._lanes[call.name]),
                inputs,
                tuple(made),
                call,
                node.output_sbp[0],
                workspace_bytes(kernel, call, site.backend.tag),
                in_place=schema.in_place(call) if site.in_place else (),
                view=schema.view(call),
            )
        )

    def _site(self, placement: Placement) -> _Site:
        """The device of ops that are on one."""
        key = (placement.tag, *placement.devices[0])
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = _Site(self._program, placement)
        return site

    def _exchange(self, op: JobOp) -> None:
        """A collective: one task, on a stream of the first device that stands for one on each."""
        devices = [op.placement.device(index) for index in range(op.placement.parallel_num)]
        memories = [self._program.memory_of(device) for device in devices]
        holders = memories
        if op.call.op == "broadcast":
            holders = [memories[op.call.int_attr("root")]]
        inputs = tuple(
            self._in_memory(name, memory, self._job).name
            for name, memory in zip(op.inputs, holders, strict=True)
            if name is not None
        )
        made = [
            self._define(name, spec, memory)
            for name, spec, memory in zip(op.outputs, op.call.outputs, memories, strict=True)
        ]
        self._homes.update(zip(op.outputs, made, strict=True))
        tag, indices = op.placement.tag, op.call.ints_attr("devices")
        machine = op.placement.devices[0][0]
        purpose = "collective " + ",".join(map(str, indices))
        streams = self._program.streams(tag, indices[0], machine)
        stream = Stream(tag, indices[0], streams.named(purpose), machine)
        outputs = tuple(tensor.name for tensor in made)
        self._tasks.append(
            TaskNode(
                self._scope + op.call.name,
                TaskKind.COLLECTIVE,
                self._job,
                stream,
                inputs,
                outputs,
                op.call,
            )
        )

    def _in_memory(self, logical: str, memory: MemoryCase, job: int) -> PhysicalTensor:
        """The tensor in ``memory``, copied there once if need be, by a task of ``job``."""
        home = self._homes.get(logical)
        if home is None:
            return self._constant(logical, memory)
        if home.memory == memory:
            return home
        found = self._copies.get((logical, memory))
        if found is not None:
            return found
        source, kind, stream = self._way(logical, home, memory, job)
        if kind is TaskKind.COPY_H2D and home.memory.is_host:
            # Of an input, the copy is part of pushing it, and shared by all readers.
            job = self._push_jobs.get(logical, job)
        copy = self._define(f"{logical}@{memory.zone}", home.spec, memory)
        self._copies[logical, memory] = copy
        name = f"{kind.value} {copy.name}"
        self._tasks.append(TaskNode(name, kind, job, stream, (source.name,), (copy.name,)))
        return copy

    def _way(
        self, logical: str, home: PhysicalTensor, memory: MemoryCase, job: int
    ) -> tuple[PhysicalTensor, TaskKind, Stream]:
        """The last copy on the way to ``memory``: from where, how, and on which stream."""
        here = home.memory
        if here.machine != memory.machine and memory.is_host:
            source = self._in_memory(logical, self._host_that_sends(logical, here, memory), job)
            stream = Stream(HOST_TAG, 0, NETWORK_STREAM_INDEX, memory.machine)
            return source, TaskKind.COPY_NETWORK, stream
        device = here if memory.is_host else memory
        streams = self._program.streams(device.tag, device.device_index, device.machine)
        if memory.is_host:
            source, kind, index = home, TaskKind.COPY_D2H, streams.d2h()
        elif self._are_peers(here, memory):
            source, kind, index = home, TaskKind.COPY_PEER, streams.named("peer")
        else:
            source = self._in_memory(logical, MemoryCase.host(memory.machine), job)
            kind, index = TaskKind.COPY_H2D, streams.h2d()
        return source, kind, Stream(device.tag, device.device_index, index, device.machine)

    def _host_that_sends(self, logical: str, home: MemoryCase, to: MemoryCase) -> MemoryCase:
        """Whose copy ``to`` reads: those that have it form a tree, its root where it was made."""
        hosts = self._hosts.setdefault(logical, [MemoryCase.host(home.machine)])
        sender = hosts[(len(hosts) - 1) // READERS_OF_A_HOST]
        hosts.append(to)
        return sender

    def _constant(self, logical: str, memory: MemoryCase) -> PhysicalTensor:
        key = logical, memory
        found = self._copies.get(key)
        if found is None:
            spec, name = spec_of(self._constants[logical]), f"{logical}@{memory.zone}"
            found = self._copies[key] = self._define(name, spec, memory, constant=logical)
        return found

    def _are_peers(self, one: MemoryCase, other: MemoryCase) -> bool:
        return (one.tag, one.kind, one.machine) == (
            other.tag,
            other.kind,
            other.machine,
        ) and PEER_COPIES in self._registry.backend(one.tag).device.capabilities

    def _new_value(self, variable: str, value: Tensor) -> PhysicalTensor:
        """What a variable becomes, in its memory; not in another variable that changes as well."""
        source = self._in_memory(value.name, self._homes[variable].memory, self._job)
        if value.name not in self._updated or source is not self._homes[value.name]:
            return source
        before = self._define(f"{value.name} as it was", source.spec, source.memory)
        self._copy_within(self._variables[value.name], source, before)
        return before

    def _update(self, updates: Sequence[tuple[str, Tensor]], first: int) -> None:
        """Give variables their new values, when the tasks from ``first`` on have read the old."""
        values = [(name, self._new_value(name, tensor)) for name, tensor in updates]
        readers: dict[str, list[int]] = {}
        for position in range(first, len(self._tasks)):
            for source in self._tasks[position].inputs:
                if source is not None:
                    readers.setdefault(source, []).append(position)
        for name, value in values:
            self._assign(self._variables[name], value, readers)

    def _assign(
        self, part: VariablePart, value: PhysicalTensor, readers: Mapping[str, Sequence[int]]
    ) -> None:
        """Copy the new value of a variable into it, when all who read the old one are done."""
        target = self._homes[part.tensor.name]
        position = self._copy_within(part, value, target)
        self._program.control.extend((reader, position) for reader in readers.get(target.name, ()))

    def _copy_within(
        self, part: VariablePart, source: PhysicalTensor, target: PhysicalTensor
    ) -> int:
        """Copy within the memory of a variable; returns the position of the task."""
        tag, (machine, index) = part.placement.tag, part.placement.devices[0]
        streams = self._program.streams(tag, index, machine)
        stream = Stream(tag, index, streams.compute(), machine)
        kind, name = TaskKind.COPY_D2D, f"{self._scope}assign {target.name}"
        self._tasks.append(TaskNode(name, kind, self._job, stream, (source.name,), (target.name,)))
        return len(self._tasks) - 1

    def _define(
        self, name: str, spec: TensorSpec, memory: MemoryCase, constant: str | None = None
    ) -> PhysicalTensor:
        if constant is not None:
            constant = self._scope + constant
        return self._program.define(self._scope + name, spec, memory, constant)


class _Site:
    """A device as its tasks need to know it: looked up once for all of them.

    Attributes:
        backend: its plugin.
        memory: where its kernels work.
        in_place: whether they may write over what they read.
    """

    def __init__(self, program: Program, placement: Placement) -> None:
        """Look it up; raises ``DeviceError`` if it is not there."""
        self.backend = program.registry.backend(placement.tag)
        self.memory = program.memory_of(placement)
        self.in_place = "in-place" in self.backend.device.capabilities
        self._machine, self._index = placement.devices[0]
        self._streams = program.streams(placement.tag, self._index, self._machine)
        self._of_number: dict[int, Stream] = {}

    def stream(self, lane: int) -> Stream:
        """The compute stream of its next task, on this lane of the job."""
        streams = self._streams
        number = streams.named(f"compute {lane}") if lane else streams.compute()
        found = self._of_number.get(number)
        if found is None:
            found = Stream(self.backend.tag, self._index, number, self._machine)
            self._of_number[number] = found
        return found
