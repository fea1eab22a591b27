"""From task graph, chains and memory plan to the plan: names become ids."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import count

from headrace.compiler.memory.plan_memory import MemoryPlan
from headrace.compiler.task_graph import PhysicalTensor, Stream, TaskGraph
from headrace.dtypes import uint8
from headrace.ids import ActorId, DeviceId, DeviceTypes, RegisterId, StreamId, TaskId
from headrace.plan import ActorDesc, Plan, RegisterDesc, TaskDesc, TaskKind, VariableDesc
from headrace.tensor_spec import TensorSpec


def emit_plan(graph: TaskGraph, chains: Sequence[Sequence[int]], memory: MemoryPlan) -> Plan:
    """Number tasks, registers and actors, in the order in which the task graph has them."""
    types = DeviceTypes.assign(
        [task.stream.tag for task in graph.tasks] + [chunk.memory.tag for chunk in memory.chunks]
    )
    tensors = [*graph.tensors.values(), *memory.workspaces.values()]
    register = {tensor.name: RegisterId(number) for number, tensor in enumerate(tensors)}
    actor = {i: ActorId(number) for number, chain in enumerate(chains) for i in chain}
    # Within a chain, what comes later waits anyway.
    edges = [pair for pair in graph.control if actor[pair[0]] != actor[pair[1]]]
    edges = [*dict.fromkeys((*edges, *memory.control))]
    control = [RegisterId(len(tensors) + number) for number in range(len(edges))]
    streams = dict.fromkeys(task.stream for task in graph.tasks)
    stream_ids = {stream: _stream_id(stream, types) for stream in streams}
    control_of = _by_task(edges, control)
    tasks = tuple(_tasks(graph, memory, actor, register, stream_ids, control_of))
    return Plan(
        graph.name,
        types,
        graph.jobs,
        tasks,
        (
            *[_register(tensor, memory) for tensor in tensors],
            *_control_registers(graph, edges, register),
        ),
        tuple(_actors(chains, stream_ids, graph, tasks, register)),
        memory.chunks,
        tuple(_variables(graph, register)),
        graph.sections,
    )


def _tasks(
    graph: TaskGraph,
    memory: MemoryPlan,
    actor: Mapping[int, ActorId],
    register: Mapping[str, RegisterId],
    stream_ids: Mapping[Stream, StreamId],
    control_of: tuple[_ByTask, _ByTask],
) -> Iterator[TaskDesc]:
    task_ids = {stream: _task_ids(found) for stream, found in stream_ids.items()}
    waits, signals = control_of
    for position, task in enumerate(graph.tasks):
        workspace = memory.workspaces.get(position)
        yield TaskDesc(
            next(task_ids[task.stream]),
            task.name,
            TaskKind.VIEW if position in memory.views else task.kind,
            task.job,
            actor[position],
            tuple([None if name is None else register[name] for name in task.inputs]),
            tuple([register[name] for name in task.outputs]),
            None if workspace is None else register[workspace.name],
            task.call,
            task.sbp,
            task.foreign_name,
            memory.in_place.get(position, ()),
            tuple(waits.get(position, ())),
            tuple(signals.get(position, ())),
        )


def _variables(graph: TaskGraph, register: Mapping[str, RegisterId]) -> Iterator[VariableDesc]:
    for node in graph.variables:
        parts = tuple(register[part] for part in node.parts)
        yield VariableDesc(node.variable, parts, node.init_job, node.load_job, node.save_job)


def _stream_id(stream: Stream, types: DeviceTypes) -> StreamId:
    device = DeviceId(stream.machine, types.number(stream.tag), stream.device_index)
    return StreamId(device, stream.stream_index)


def _task_ids(stream_id: StreamId) -> Iterator[TaskId]:
    return map(partial(TaskId, stream_id), count())


def _register(tensor: PhysicalTensor, memory: MemoryPlan) -> RegisterDesc:
    chunk, offset, stride, slots = memory.places[tensor.name]
    return RegisterDesc(tensor.name, tensor.spec, slots, chunk, offset, stride, tensor.constant)


def _control_registers(
    graph: TaskGraph, edges: Sequence[tuple[int, int]], taken: Container[str]
) -> Iterator[RegisterDesc]:
    """Registers of control edges: they have no bytes, so any chunk will do."""
    names: set[str] = set()
    for source, target in edges:
        name = f"{graph.tasks[source].name} waits for {graph.tasks[target].name}"
        while name in taken or name in names:  # a user's tensor may be called like this
            name += "'"
        names.add(name)
        yield RegisterDesc(name, TensorSpec((0,), uint8), 1, 0, 0, 0)


_ByTask = dict[int, list[RegisterId]]


def _by_task(
    edges: Sequence[tuple[int, int]], registers: Sequence[RegisterId]
) -> tuple[_ByTask, _ByTask]:
    """For each task, the control registers that it waits for, and those that it publishes."""
    waits: _ByTask = {}
    signals: _ByTask = {}
    for (source, target), register in zip(edges, registers, strict=True):
        signals.setdefault(source, []).append(register)
        waits.setdefault(target, []).append(register)
    return waits, signals


def _actors(
    chains: Sequence[Sequence[int]],
    stream_ids: Mapping[Stream, StreamId],
    graph: TaskGraph,
    tasks: Sequence[TaskDesc],
    register: Mapping[str, RegisterId],
) -> Iterator[ActorDesc]:
    # Variables carry no credits: who may read and write them when is said by control edges and,
    # between jobs, by critical sections.
    variables = {register[part] for node in graph.variables for part in node.parts}
    made = [set().union(*[tasks[i].makes for i in chain]) - variables for chain in chains]
    read = [set().union(*[tasks[i].waits_for for i in chain]) for chain in chains]
    made_by_any = set().union(*made)
    consumed = [(mine & made_by_any) - own for mine, own in zip(read, made, strict=True)]
    crossing = set().union(*consumed)
    for number, chain in enumerate(chains):
        yield ActorDesc(
            stream_ids[graph.tasks[chain[0]].stream],
            tuple(chain),
            tuple(sorted(consumed[number])),
            tuple(sorted(made[number] & crossing)),
        )
