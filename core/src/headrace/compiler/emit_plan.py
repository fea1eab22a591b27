"""From task graph, chains and memory plan to the plan: names become ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.compiler.memory.place import aligned
from headrace.compiler.memory.plan_memory import MemoryPlan
from headrace.compiler.task_graph import PhysicalTensor, Stream, TaskGraph
from headrace.ids import ActorId, DeviceId, DeviceTypes, RegisterId, StreamId, TaskId
from headrace.plan import ActorDesc, Plan, RegisterDesc, TaskDesc

RANK = 0


def emit_plan(graph: TaskGraph, chains: Sequence[Sequence[int]], memory: MemoryPlan) -> Plan:
    """Number tasks, registers and actors, in the order in which the task graph has them."""
    types = DeviceTypes.assign(
        [task.stream.tag for task in graph.tasks] + [chunk.memory.tag for chunk in memory.chunks]
    )
    names = [*graph.tensors, *(tensor.name for tensor in memory.workspaces.values())]
    register = {name: RegisterId(number) for number, name in enumerate(names)}
    actor = {i: ActorId(number) for number, chain in enumerate(chains) for i in chain}
    stream_ids = {task.stream: _stream_id(task.stream, types) for task in graph.tasks}
    task_ids = _task_ids(graph, stream_ids)
    tasks = tuple(
        TaskDesc(
            next(task_ids),
            task.name,
            task.kind,
            task.job,
            actor[position],
            tuple(None if name is None else register[name] for name in task.inputs),
            tuple(register[name] for name in task.outputs),
            register[memory.workspaces[position].name] if position in memory.workspaces else None,
            task.call,
            task.sbp,
            task.foreign_name,
        )
        for position, task in enumerate(graph.tasks)
    )
    tensors = [*graph.tensors.values(), *memory.workspaces.values()]
    return Plan(
        graph.name,
        types,
        graph.jobs,
        tasks,
        tuple(_register(tensor, memory) for tensor in tensors),
        tuple(_actors(graph, chains, stream_ids, register, tasks)),
        memory.chunks,
    )


def _stream_id(stream: Stream, types: DeviceTypes) -> StreamId:
    device = DeviceId(RANK, types.number(stream.tag), stream.device_index)
    return StreamId(device, stream.stream_index)


def _task_ids(graph: TaskGraph, stream_ids: dict[Stream, StreamId]) -> Iterator[TaskId]:
    counts: dict[Stream, int] = {}
    for task in graph.tasks:
        index = counts.get(task.stream, 0)
        counts[task.stream] = index + 1
        yield TaskId(stream_ids[task.stream], index)


def _register(tensor: PhysicalTensor, memory: MemoryPlan) -> RegisterDesc:
    chunk, offset = memory.places[tensor.name]
    stride = aligned(tensor.spec.nbytes)
    return RegisterDesc(tensor.name, tensor.spec, 1, chunk, offset, stride, tensor.constant)


def _actors(
    graph: TaskGraph,
    chains: Sequence[Sequence[int]],
    stream_ids: dict[Stream, StreamId],
    register: dict[str, RegisterId],
    tasks: Sequence[TaskDesc],
) -> Iterator[ActorDesc]:
    maker = {r: task.actor for task in tasks for r in task.outputs}
    reads = [
        {
            register
            for position in chain
            for register in tasks[position].inputs
            if register is not None and maker.get(register, number) != number
        }
        for number, chain in enumerate(chains)
    ]
    crossing = set().union(*reads)
    for number, chain in enumerate(chains):
        produced = {r for i in chain for r in tasks[i].outputs if r in crossing}
        yield ActorDesc(
            stream_ids[graph.tasks[chain[0]].stream],
            tuple(chain),
            tuple(sorted(reads[number])),
            tuple(sorted(produced)),
        )
