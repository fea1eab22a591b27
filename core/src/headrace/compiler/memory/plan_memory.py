"""The memory plan of a task graph: one chunk for each memory case.

Read in the order of ``plan_memory``: which tensors lie on one storage (``storage.py``), which
storages hold several pieces (``slots.py``), which chains share an arena (``arena.py``), when each
storage is needed there (``lifetimes.py``), and where it then lies (``place.py``). Constants,
variables and what holds several pieces have bytes of their own. The arenas of one job lie one
behind the other; jobs that may never overlap have theirs in the same place, and so have the chains
of one stream of a job whose calls overlap: its acts are done in turn, whatever piece they are for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate, groupby
from operator import attrgetter, itemgetter

from headrace.compiler.memory.arena import Arenas
from headrace.compiler.memory.lifetimes import Lifetime, lifetimes
from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.memory.place import Interval, aligned, place
from headrace.compiler.memory.slots import overlapping_jobs, several_slots
from headrace.compiler.memory.storage import Sharing, Storage, share
from headrace.compiler.memory.uses import Uses
from headrace.compiler.task_graph import PhysicalTensor, TaskGraph, TaskNode
from headrace.dtypes import uint8
from headrace.light_dataclass import dataclass
from headrace.light_tuple import NamedTuple
from headrace.memory_case import MemoryCase
from headrace.plan import ChunkDesc
from headrace.tensor_spec import TensorSpec


class Place(NamedTuple):
    """Where a tensor or workspace lies.

    Attributes:
        chunk: position in ``MemoryPlan.chunks``.
        offset: of the first slot in the chunk, in bytes.
        stride: from one slot to the next, in bytes.
        slots: how many pieces there is room for.
    """

    chunk: int
    offset: int
    stride: int
    slots: int = 1


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where every tensor and workspace lies, and what that asks of the tasks.

    Attributes:
        chunks: one for each memory case.
        places: of every tensor and workspace.
        workspaces: position of a task -> its scratch tensor.
        views: tasks whose output is there without running them.
        in_place: task -> (input, output) that are the same bytes.
        control: (task, task): the chain of the first starts on the next piece when that of the
            second is done.
    """

    chunks: tuple[ChunkDesc, ...]
    places: Mapping[str, Place]
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
    slots, overlapping = several_slots(graph, uses, sharing), overlapping_jobs(graph)
    planner = _Planner(graph, chains, uses, sharing, workspaces, slots, overlapping)
    apart = Arenas(graph, chains, uses, frozenset())
    if not options.reuse:
        return planner.plan(apart, reuse=False)
    plan = planner.plan(apart)
    if not Arenas.may_be_joined(graph, chains):
        return plan
    # Joined chains wait for each other, and calls that overlap must not.
    joined = Arenas(graph, chains, uses, frozenset(range(len(graph.jobs))) - overlapping)
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
    slots: Mapping[str, int]
    overlapping: frozenset[int]

    def plan(self, arenas: Arenas, reuse: bool = True) -> MemoryPlan:
        """The plan with these arenas; without ``reuse``, all storages lie apart from each other."""
        distinct = self.sharing.distinct()
        single = [s for s in distinct if not s.root.persists and s.root.name not in self.slots]
        needed = [*lifetimes(self.graph, self.uses, single, arenas)]
        for position, scratch in self.workspaces.items():
            time = arenas.time(position)
            interval = Interval(time, time, scratch.spec.nbytes)
            needed.append(Lifetime(Storage(scratch), arenas.of(position), interval))
        chunks = _Chunks()
        chunks.stack([s for s in distinct if s.root.persists])
        if reuse:
            of_job = self._by_job(needed)
            for jobs in self._by_section():
                chunks.overlay([self._job_chunks(job, of_job[job]) for job in jobs])
        else:
            for root, slots in self.slots.items():
                chunks.add_slots(self.sharing.storages[root], slots)
            chunks.stack([lifetime.storage for lifetime in needed])
        return MemoryPlan(
            *chunks.finish(),
            self.workspaces,
            frozenset(self.sharing.views),
            {position: tuple(pairs) for position, pairs in self.sharing.in_place.items()},
            tuple(_control(arenas, self.chains)),
        )

    def _by_section(self) -> Iterator[list[int]]:
        """The jobs that can be called, those together that share an arena of the plan."""
        together: dict[int, list[int]] = {}
        for section in self.graph.sections:
            together.setdefault(section.arena, []).append(section.job)
        yield from together.values()

    def _by_job(self, needed: Iterable[Lifetime]) -> dict[int, list[Lifetime]]:
        """What each job needs that can be called."""
        jobs: dict[int, list[Lifetime]] = {section.job: [] for section in self.graph.sections}
        for lifetime in needed:
            jobs[self._called(lifetime.arena.chains[0])].append(lifetime)
        return jobs

    def _called(self, chain: int) -> int:
        """The job whose calls a chain is part of."""
        return self.graph.jobs[self.graph.tasks[self.chains[chain][0]].job].serves

    def _job_chunks(self, job: int, needed: Iterable[Lifetime]) -> _Chunks:
        """What one job needs: what holds several pieces, and then its arenas.

        These lie one behind the other; those of chains that take turns on a stream anyway lie in
        the same place.
        """
        chunks = _Chunks()
        for root, slots in self.slots.items():
            if self._called(self.uses.chain_of[self.uses.maker[root]]) == job:
                chunks.add_slots(self.sharing.storages[root], slots)
        turns: dict[object, list[_Chunks]] = {}
        for chain, arena in _by_arena(needed).items():
            stream = self.graph.tasks[self.chains[chain][0]].stream
            turns.setdefault(stream if job in self.overlapping else chain, []).append(arena)
        for arenas in turns.values():
            chunks.overlay(arenas)
        return chunks


class _Layer(NamedTuple):
    """Storages at offsets behind where the layer begins, each with its slots one after another."""

    begin: int
    storages: Sequence[Storage]
    offsets: Sequence[int]
    slots: int


@dataclass(slots=True)
class _Chunk:
    """A chunk that grows, and what lies in it: layers are moved as a whole."""

    nbytes: int = 0
    layers: list[_Layer] = field(default_factory=list)


class _Chunks:
    """One growing chunk for each memory case."""

    def __init__(self) -> None:
        self._chunks: dict[MemoryCase, _Chunk] = {}

    def add(
        self, storages: Sequence[Storage], offsets: Sequence[int], nbytes: int, slots: int = 1
    ) -> None:
        """Put an arena, whose storages lie at ``offsets`` in it, behind what is there."""
        chunk = self._of(storages[0].memory)
        chunk.layers.append(_Layer(chunk.nbytes, storages, offsets, slots))
        chunk.nbytes += aligned(nbytes)

    def stack(self, storages: Iterable[Storage]) -> None:
        """Put storages behind what is there, one behind the other."""
        for _, group in groupby(storages, attrgetter("memory")):
            mine = [*group]
            ends = [0, *accumulate([aligned(storage.root.spec.nbytes) for storage in mine])]
            self.add(mine, ends[:-1], ends[-1])

    def add_slots(self, storage: Storage, slots: int) -> None:
        """Put a storage of several slots behind what is there."""
        self.add([storage], [0], aligned(storage.root.spec.nbytes) * slots, slots)

    def overlay(self, layers: Sequence[_Chunks]) -> None:
        """Put chunks behind what is there, all of them in the same place."""
        bases: dict[MemoryCase, int] = {}  # of those that are met: a plan has one of each device
        for layer in layers:
            for memory, above in layer._chunks.items():
                chunk = self._of(memory)
                base = bases.setdefault(memory, chunk.nbytes)
                for begin, storages, offsets, slots in above.layers:
                    chunk.layers.append(_Layer(base + begin, storages, offsets, slots))
                chunk.nbytes = max(chunk.nbytes, base + above.nbytes)

    def _of(self, memory: MemoryCase) -> _Chunk:
        found = self._chunks.get(memory)
        if found is None:
            found = self._chunks[memory] = _Chunk()
        return found

    def finish(self) -> tuple[tuple[ChunkDesc, ...], Mapping[str, Place]]:
        """The chunks, sorted by memory case, and where every tensor lies."""
        chunks = sorted(self._chunks.items(), key=itemgetter(0))
        places: dict[str, Place] = {}
        for number, (_, chunk) in enumerate(chunks):
            for begin, storages, offsets, slots in chunk.layers:
                for storage, offset in zip(storages, offsets, strict=True):
                    at, stride = begin + offset, aligned(storage.root.spec.nbytes)
                    for name, inside in storage.offsets.items():
                        places[name] = Place(number, at + inside, stride, slots)
        return tuple([ChunkDesc(memory, chunk.nbytes) for memory, chunk in chunks]), places


def _by_arena(needed: Iterable[Lifetime]) -> dict[int, _Chunks]:
    """What lies in each arena, by its first chain; in order, and apart for each memory case."""
    groups: dict[tuple[int, MemoryCase], tuple[list[Storage], list[Interval]]] = {}
    for lifetime in needed:
        key = (lifetime.arena.chains[0], lifetime.storage.memory)
        group = groups.setdefault(key, ([], []))
        group[0].append(lifetime.storage)
        group[1].append(lifetime.interval)
    arenas: dict[int, _Chunks] = {}
    for key in sorted(groups):
        storages, intervals = groups[key]
        placed = place(intervals)
        arena = arenas.setdefault(key[0], _Chunks())
        arena.add(storages, placed.offsets, placed.nbytes)
    return arenas


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
    if memory.is_host:  # its output may be pinned for a device; scratch memory need not be
        memory = MemoryCase.host(memory.machine)
    return PhysicalTensor(name, TensorSpec((task.workspace_bytes,), uint8), memory)
