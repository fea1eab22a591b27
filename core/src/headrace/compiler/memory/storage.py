"""Storages: which tensors lie on the same bytes, one written over the other or a view of it.

Every op may say that its output can be bytes of its input (``Op.view``), or be written over it
(``Op.in_place``, where the device claims ``in-place``). One pass over the tasks in their order
takes what is safe:

- A *view* shows the bytes of its input for longer. Their maker writes the next piece when all
  chains that read from it are done; so who reads the view must be in the maker's chain, or read
  something from the maker itself, or the view must be made in the maker's chain.
- What is *written over* must be needed by nobody any more: every other reader of the bytes is an
  earlier task of the same chain. A chain is launched in order on a stream that works in order, so
  such a reader is done when the write begins, and no control edge has to say so. A reader in
  another chain could be made to go first by a control edge; it would make this chain wait for
  another stream to save memory, and is left alone. Constants and variables are never written over.
- A part of a larger tensor is a view only while the whole is needed anyway: a storage is kept as
  long as any of its tensors, so a small view would keep a large tensor alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from headrace.compiler.memory.place import ALIGNMENT_BYTES
from headrace.compiler.memory.uses import Uses
from headrace.compiler.task_graph import PhysicalTensor, TaskGraph
from headrace.light_dataclass import dataclass
from headrace.memory_case import MemoryCase


@dataclass(slots=True)
class Storage:
    """Bytes on which tensors lie.

    Attributes:
        root: the tensor that gives the bytes their size; made first.
        memory: where they are: what all of the tensors ask for together.
        offsets: where each of the tensors begins, in bytes, the root first.
    """

    root: PhysicalTensor
    memory: MemoryCase
    offsets: dict[str, int]

    def __init__(self, root: PhysicalTensor) -> None:
        """That of a tensor that shares nothing."""
        self.root = root
        self.memory = root.memory
        self.offsets = {root.name: 0}


@dataclass(slots=True)
class Sharing:
    """What lies where, before anything has an address.

    Attributes:
        storages: the storage of each tensor by name; shared by all tensors that lie on it.
        views: tasks whose output is there without running them.
        in_place: task -> pairs of input and output that share their bytes.
    """

    storages: dict[str, Storage]
    views: set[int] = field(default_factory=set)
    in_place: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def distinct(self) -> list[Storage]:
        """Every storage once, in the order of the tensors."""
        return [s for name, s in self.storages.items() if s.root.name == name]


def share(graph: TaskGraph, uses: Uses, inplace: bool) -> Sharing:
    """Find the storages; without ``inplace``, each tensor has its own."""
    sharing = Sharing({name: Storage(tensor) for name, tensor in graph.tensors.items()})
    if inplace:
        sharer = _Sharer(graph, uses, sharing)
        for position, task in enumerate(graph.tasks):
            if task.view is not None or task.in_place:
                sharer.visit(position)
    return sharing


@dataclass(slots=True)
class _Readers:
    """All readers of the tensors on one storage.

    Attributes:
        chains: the chains that they are in.
        last: the latest of them.
        waited_for: chains that must be done before the root's chain writes the next piece.
    """

    chains: set[int]
    last: int
    waited_for: set[int]


class _Sharer:
    """Joins the outputs of one task after another to the storages of their inputs."""

    def __init__(self, graph: TaskGraph, uses: Uses, sharing: Sharing) -> None:
        self._tasks = graph.tasks
        self._tensors: Mapping[str, PhysicalTensor] = graph.tensors
        self._uses = uses
        self._sharing = sharing
        self._readers: dict[str, _Readers] = {}  # by root

    def visit(self, position: int) -> None:
        """Take the view of a task, or else its pairs one by one; each tensor is used once."""
        task = self._tasks[position]
        source = task.inputs[0] if task.inputs else None
        if task.view is not None and source is not None:
            (made,) = task.outputs
            if self._can_show(position, source, made, task.view):
                self._join(source, made, task.view)
                self._sharing.views.add(position)
                return
        used: set[str] = set()
        for i, o in task.in_place:
            over, made = task.inputs[i], task.outputs[o]
            if over is None or used & {over, made}:
                continue
            if self._can_write_over(position, i, made):
                self._join(over, made, 0)
                self._sharing.in_place.setdefault(position, []).append((i, o))
                used |= {over, made}

    def _join(self, source: str, made: str, offset: int) -> None:
        storage = self._sharing.storages[source]
        storage.offsets[made] = storage.offsets[source] + offset
        storage.memory = storage.memory.merge(self._tensors[made].memory)
        self._sharing.storages[made] = storage
        readers = self._readers.get(storage.root.name)
        if readers is not None:
            self._count(readers, storage.root.name, made)

    def _can_show(self, position: int, source: str, made: str, offset: int) -> bool:
        storage, tensor = self._sharing.storages[source], self._tensors[made]
        if not self._fits(storage, tensor) or not self._is_kept(position, storage, made):
            return False
        if tensor.spec.nbytes == storage.root.spec.nbytes:
            return True
        start = storage.offsets[source] + offset
        return start % ALIGNMENT_BYTES == 0 and self._is_needed_longer(position, storage, made)

    def _can_write_over(self, position: int, number: int, made: str) -> bool:
        task, tensor = self._tasks[position], self._tensors[made]
        source = task.inputs[number]
        assert source is not None
        storage = self._sharing.storages[source]
        if not self._fits(storage, tensor) or tensor.spec.nbytes != storage.root.spec.nbytes:
            return False
        if any(n in storage.offsets for i, n in enumerate(task.inputs) if n and i != number):
            return False
        readers = self._readers_of(storage)
        here = self._uses.chain_of[position]
        return (
            readers.last == position
            and readers.chains == {here}
            and self._is_kept(position, storage, made)
        )

    def _fits(self, storage: Storage, tensor: PhysicalTensor) -> bool:
        return not storage.root.persists and storage.memory.fits(tensor.memory)

    def _is_kept(self, position: int, storage: Storage, made: str) -> bool:
        """True when the bytes are not written anew before all readers of ``made`` are done."""
        chain_of, maker = self._uses.chain_of, self._uses.maker
        if chain_of[position] == chain_of[maker[storage.root.name]]:
            return True
        waited_for = self._readers_of(storage).waited_for
        return all(chain_of[r] in waited_for for r in self._uses.readers_of(made))

    def _is_needed_longer(self, position: int, storage: Storage, made: str) -> bool:
        """True when ``storage`` is read in this chain until after the last reader of ``made``."""
        readers, mine = self._readers_of(storage), self._uses.readers_of(made)
        here = {self._uses.chain_of[position]}
        return (
            readers.chains == here
            and here.issuperset(self._uses.chain_of[r] for r in mine)
            and max(mine, default=position) <= readers.last
        )

    def _readers_of(self, storage: Storage) -> _Readers:
        """Gathered once, and then kept up to date: a storage may have very many tensors."""
        root = storage.root.name
        readers = self._readers.get(root)
        if readers is None:
            writer = self._uses.chain_of[self._uses.maker[root]]
            readers = self._readers[root] = _Readers(set(), -1, {writer})
            for name in storage.offsets:
                self._count(readers, root, name)
        return readers

    def _count(self, readers: _Readers, root: str, name: str) -> None:
        chain_of, maker = self._uses.chain_of, self._uses.maker
        positions = self._uses.readers_of(name)
        chains = [chain_of[position] for position in positions]
        readers.chains.update(chains)
        readers.last = max([readers.last, *positions])
        if chain_of[maker[name]] == chain_of[maker[root]]:
            readers.waited_for.update(chains)
