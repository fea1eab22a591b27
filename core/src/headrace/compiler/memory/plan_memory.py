"""The memory plan of a task graph: one chunk for each memory case.

Each chain has an arena, in which tensors share memory as their lifetimes allow. A tensor that lives
inside one chain is needed from its first task to its last. One that other chains read lies in the
arena of the chain that makes it, from there to the end: the chain does not start again before all
readers have given it back. What the caller feeds, or a copy brings, for one chain alone lies in the
arena of that chain, from the beginning to its last reader: the next piece is not written before the
chain is done. It may be written while others still read what the chain made, so these two kinds
never share. Constants have bytes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.compiler.memory.place import Interval, aligned, place
from headrace.compiler.task_graph import PhysicalTensor, TaskGraph, TaskNode
from headrace.dtypes import uint8
from headrace.memory_case import MemoryCase
from headrace.plan import ChunkDesc, TaskKind
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
    homes = _homes(graph, chains)
    sizes: dict[MemoryCase, int] = {}
    places: dict[str, tuple[MemoryCase, int]] = {}

    def put(tensors: Sequence[PhysicalTensor], offsets: Sequence[int], nbytes: int) -> None:
        base = sizes.setdefault(tensors[0].memory, 0)
        for tensor, offset in zip(tensors, offsets, strict=True):
            places[tensor.name] = (tensor.memory, base + offset)
        sizes[tensors[0].memory] = base + nbytes

    for tensor in graph.tensors.values():
        if tensor.name not in homes:
            put([tensor], [0], aligned(tensor.spec.nbytes))
    for number, chain in enumerate(chains):
        for tensors, intervals in _lifetimes(graph, chain, number, homes, workspaces):
            placed = place(intervals)
            put(tensors, placed.offsets, placed.nbytes)
    order = sorted(sizes)
    return MemoryPlan(
        tuple(ChunkDesc(memory, sizes[memory]) for memory in order),
        {name: (order.index(memory), offset) for name, (memory, offset) in places.items()},
        workspaces,
    )


@dataclass(frozen=True, slots=True)
class _Home:
    """The chain in whose arena a tensor lies, and whether others need it before or after."""

    chain: int
    is_fed: bool = False
    is_read_elsewhere: bool = False


def _homes(graph: TaskGraph, chains: Sequence[Sequence[int]]) -> dict[str, _Home]:
    """Where each tensor that a task makes lies."""
    chain_of = {position: number for number, chain in enumerate(chains) for position in chain}
    readers: dict[str, set[int]] = {}
    for position, task in enumerate(graph.tasks):
        for name in task.inputs:
            if name is not None:
                readers.setdefault(name, set()).add(chain_of[position])
    homes: dict[str, _Home] = {}
    for position, task in enumerate(graph.tasks):
        maker = chain_of[position]
        for name in task.outputs:
            others = readers.get(name, set()) - {maker}
            if len(others) == 1 and task.kind is not TaskKind.COMPUTE:
                # Nothing else lies in the arena of a chain that only brings tensors.
                homes[name] = _Home(others.pop(), is_fed=True)
            else:
                homes[name] = _Home(maker, is_read_elsewhere=bool(others))
    return homes


def _lifetimes(
    graph: TaskGraph,
    chain: Sequence[int],
    number: int,
    homes: Mapping[str, _Home],
    workspaces: Mapping[int, PhysicalTensor],
) -> list[tuple[list[PhysicalTensor], list[Interval]]]:
    """For each memory case, the tensors in the chain's arena and when they are needed."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    tensors: dict[str, PhysicalTensor] = {}
    for time, position in enumerate(chain):
        task = graph.tasks[position]
        for name in (*task.outputs, *(n for n in task.inputs if n is not None)):
            home = homes.get(name)
            if home is not None and home.chain == number:
                tensors[name] = graph.tensors[name]
                first.setdefault(name, 0 if home.is_fed else time)
                last[name] = len(chain) if home.is_read_elsewhere else time
        if position in workspaces:
            scratch = workspaces[position]
            tensors[scratch.name] = scratch
            first[scratch.name] = last[scratch.name] = time
    by_memory: dict[MemoryCase, tuple[list[PhysicalTensor], list[Interval]]] = {}
    for name, tensor in tensors.items():
        group = by_memory.setdefault(tensor.memory, ([], []))
        group[0].append(tensor)
        home = homes.get(name)  # none for a workspace
        between = home is not None and (home.is_fed or home.is_read_elsewhere)
        group[1].append(Interval(first[name], last[name], tensor.spec.nbytes, between))
    return list(by_memory.values())


def _workspace(graph: TaskGraph, task: TaskNode) -> PhysicalTensor:
    name = f"{task.name}#workspace"
    while name in graph.tensors:  # a user's tensor may be called like this
        name += "'"
    memory = graph.tensors[task.outputs[0]].memory
    return PhysicalTensor(name, TensorSpec((task.workspace_bytes,), uint8), memory)
