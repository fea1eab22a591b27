"""The memory plan of a task graph: one chunk for each memory case.

Read in the order of ``plan_memory``: which tensors lie on one storage (``storage.py``), which
chains share an arena (``arena.py``), when each storage is needed there (``lifetimes.py``), and
where it then lies (``place.py``). Constants have bytes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headrace.compiler.memory.arena import Arenas
from headrace.compiler.memory.lifetimes import Lifetime, lifetimes
from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.memory.place import Interval, aligned, place
from headrace.compiler.memory.storage import Sharing, Storage, share
from headrace.compiler.memory.uses import Uses
from headrace.compiler.task_graph import PhysicalTensor, TaskGraph, TaskNode
from headrace.dtypes import uint8
from headrace.memory_case import MemoryCase
from headrace.plan import ChunkDesc
from headrace.tensor_spec import TensorSpec


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where every tensor and workspace lies, and what that asks of the tasks.

    Attributes:
        chunks: one for each memory case.
        places: tensor or workspace -> (position in ``chunks``, offset).
        workspaces: position of a task -> its scratch tensor.
        views: tasks whose output is there without running them.
        in_place: task -> (input, output) that are the same bytes.
        control: (task, task): the chain of the first starts on the next piece when that of the
            second is done.
    """

    chunks: tuple[ChunkDesc, ...]
    places: Mapping[str, tuple[int, int]]
    workspaces: Mapping[int, PhysicalTensor]
    views: frozenset[int]
    in_place: Mapping[int, tuple[tuple[int, int], ...]]
    control: tuple[tuple[int, int], ...]


def plan_memory(
    graph: TaskGraph,
    chains: Sequence[Sequence[int]],
    options: MemoryOptions = MemoryOptions(),  # noqa: B008 - frozen
) -> MemoryPlan:
    """Give every tensor of ``graph`` its bytes. ``chains`` are positions of tasks."""
    uses = Uses.of(graph, chains)
    sharing = share(graph, uses, options.inplace)
    workspaces = {
        position: _workspace(graph, task)
        for position, task in enumerate(graph.tasks)
        if task.workspace_bytes and position not in sharing.views
    }
    planner = _Planner(graph, chains, uses, sharing, workspaces)
    apart = Arenas(graph, chains, uses, join=False)
    if not options.reuse:
        return planner.plan(apart, reuse=False)
    plan = planner.plan(apart)
    joined = Arenas(graph, chains, uses, join=True)
    if len(joined.all) == len(apart.all):
        return plan
    # Joined chains wait for each other, which must be worth something.
    return min(plan, planner.plan(joined), key=lambda plan: sum(c.nbytes for c in plan.chunks))


@dataclass(frozen=True, slots=True)
class _Planner:
    """Everything about the memory of a graph but who shares an arena."""

    graph: TaskGraph
    chains: Sequence[Sequence[int]]
    uses: Uses
    sharing: Sharing
    workspaces: Mapping[int, PhysicalTensor]

    def plan(self, arenas: Arenas, reuse: bool = True) -> MemoryPlan:
        """The plan with these arenas; without ``reuse``, all storages lie apart from each other."""
        needed = [*lifetimes(self.graph, self.uses, self.sharing, arenas)]
        for position, scratch in self.workspaces.items():
            time = arenas.time(position)
            interval = Interval(time, time, scratch.spec.nbytes)
            needed.append(Lifetime(Storage.of(scratch), arenas.of(position), interval))
        chunks = _Chunks()
        for storage in self.sharing.distinct():
            if storage.root.constant is not None:
                chunks.add([storage], [0], storage.root.spec.nbytes)
        if reuse:
            for storages, intervals in _by_arena(needed):
                placed = place(intervals)
                chunks.add(storages, placed.offsets, placed.nbytes)
        else:
            for lifetime in needed:
                chunks.add([lifetime.storage], [0], lifetime.interval.nbytes)
        return MemoryPlan(
            *chunks.finish(),
            self.workspaces,
            frozenset(self.sharing.views),
            {position: tuple(pairs) for position, pairs in self.sharing.in_place.items()},
            tuple(_control(arenas, self.chains)),
        )


class _Chunks:
    """One growing chunk for each memory case."""

    def __init__(self) -> None:
        self._sizes: dict[MemoryCase, int] = {}
        self._places: dict[str, tuple[MemoryCase, int]] = {}

    def add(self, storages: Sequence[Storage], offsets: Sequence[int], nbytes: int) -> None:
        """Put an arena, whose storages lie at ``offsets`` in it, behind what is there."""
        memory = storages[0].root.memory
        base = self._sizes.setdefault(memory, 0)
        for storage, offset in zip(storages, offsets, strict=True):
            for name, inside in storage.offsets.items():
                self._places[name] = (memory, base + offset + inside)
        self._sizes[memory] = base + aligned(nbytes)

    def finish(self) -> tuple[tuple[ChunkDesc, ...], Mapping[str, tuple[int, int]]]:
        """The chunks, sorted by memory case, and where every tensor lies."""
        number = {memory: position for position, memory in enumerate(sorted(self._sizes))}
        return (
            tuple(ChunkDesc(memory, self._sizes[memory]) for memory in number),
            {name: (number[memory], offset) for name, (memory, offset) in self._places.items()},
        )


def _by_arena(needed: Iterable[Lifetime]) -> Iterator[tuple[list[Storage], list[Interval]]]:
    """What lies together: the storages of one arena in one memory case, with their intervals."""
    groups: dict[tuple[int, MemoryCase], tuple[list[Storage], list[Interval]]] = {}
    for lifetime in needed:
        key = (lifetime.arena.chains[0], lifetime.storage.root.memory)
        group = groups.setdefault(key, ([], []))
        group[0].append(lifetime.storage)
        group[1].append(lifetime.interval)
    for key in sorted(groups):
        yield groups[key]


def _control(arenas: Arenas, chains: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """From the first task of an arena to the last one of each chain that it waits for.

    In the order of the tasks the one is before the other: a path leads from the arena to it.
    """
    for arena in arenas.all:
        for chain in arenas.waited_for(arena):
            yield chains[arena.chains[0]][0], chains[chain][-1]


def _workspace(graph: TaskGraph, task: TaskNode) -> PhysicalTensor:
    name = f"{task.name}#workspace"
    while name in graph.tensors:  # a user's tensor may be called like this
        name += "'"
    memory = graph.tensors[task.outputs[0]].memory
    return PhysicalTensor(name, TensorSpec((task.workspace_bytes,), uint8), memory)
