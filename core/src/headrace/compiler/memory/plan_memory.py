"""The memory plan of a task graph: one chunk for each memory case.

Tensors that live inside one chain share memory as their lifetimes allow. Tensors between chains,
constants, inputs and outputs have bytes of their own: their readers run at times that the order of
one stream does not bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.compiler.memory.place import Interval, aligned, place
from headrace.compiler.task_graph import PhysicalTensor, TaskGraph, TaskNode
from headrace.dtypes import uint8
from headrace.memory_case import MemoryCase
from headrace.plan import ChunkDesc
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where every tensor and workspace lies: name -> (position in ``chunks``, offset)."""

    chunks: tuple[ChunkDesc, ...]
    places: Mapping[str, tuple[int, int]]
    workspaces: Mapping[int, PhysicalTensor]  # position of the task -> its scratch tensor


def plan_memory(graph: TaskGraph, chains: Sequence[Sequence[int]]) -> MemoryPlan:
    """Give every tensor of ``graph`` its bytes. ``chains`` are positions of tasks."""
    workspaces = {i: _workspace(graph, t) for i, t in enumerate(graph.tasks) if t.workspace_bytes}
    inside = _chain_of_inner_tensors(graph, chains)
    sizes: dict[MemoryCase, int] = {}
    places: dict[str, tuple[MemoryCase, int]] = {}

    def put(tensors: Sequence[PhysicalTensor], offsets: Sequence[int], nbytes: int) -> None:
        base = sizes.setdefault(tensors[0].memory, 0)
        for tensor, offset in zip(tensors, offsets, strict=True):
            places[tensor.name] = (tensor.memory, base + offset)
        sizes[tensors[0].memory] = base + nbytes

    for tensor in graph.tensors.values():
        if tensor.name not in inside:
            put([tensor], [0], aligned(tensor.spec.nbytes))
    for number, chain in enumerate(chains):
        for tensors, intervals in _lifetimes(graph, chain, number, inside, workspaces):
            placed = place(intervals)
            put(tensors, placed.offsets, placed.nbytes)
    order = sorted(sizes)
    return MemoryPlan(
        tuple(ChunkDesc(memory, sizes[memory]) for memory in order),
        {name: (order.index(memory), offset) for name, (memory, offset) in places.items()},
        workspaces,
    )


def _chain_of_inner_tensors(graph: TaskGraph, chains: Sequence[Sequence[int]]) -> dict[str, int]:
    """The tensors that one chain alone makes and reads, with its number."""
    chain_of = {position: number for number, chain in enumerate(chains) for position in chain}
    inside = {n: chain_of[i] for i, task in enumerate(graph.tasks) for n in task.outputs}
    for position, task in enumerate(graph.tasks):
        for name in task.inputs:
            if name is not None and inside.get(name) != chain_of[position]:
                inside.pop(name, None)
    return inside


def _lifetimes(
    graph: TaskGraph,
    chain: Sequence[int],
    number: int,
    inside: Mapping[str, int],
    workspaces: Mapping[int, PhysicalTensor],
) -> list[tuple[list[PhysicalTensor], list[Interval]]]:
    """For each memory case, the chain's inner tensors and when they are needed."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    tensors: dict[str, PhysicalTensor] = {}
    for time, position in enumerate(chain):
        task = graph.tasks[position]
        for name in (*task.outputs, *(n for n in task.inputs if n is not None)):
            if inside.get(name) == number:
                tensors[name] = graph.tensors[name]
                first.setdefault(name, time)
                last[name] = time
        if position in workspaces:
            scratch = workspaces[position]
            tensors[scratch.name] = scratch
            first[scratch.name] = last[scratch.name] = time
    by_memory: dict[MemoryCase, tuple[list[PhysicalTensor], list[Interval]]] = {}
    for name, tensor in tensors.items():
        group = by_memory.setdefault(tensor.memory, ([], []))
        group[0].append(tensor)
        group[1].append(Interval(first[name], last[name], tensor.spec.nbytes))
    return list(by_memory.values())


def _workspace(graph: TaskGraph, task: TaskNode) -> PhysicalTensor:
    name = f"{task.name}#workspace"
    while name in graph.tensors:  # a user's tensor may be called like this
        name += "'"
    memory = graph.tensors[task.outputs[0]].memory
    return PhysicalTensor(name, TensorSpec((task.workspace_bytes,), uint8), memory)
