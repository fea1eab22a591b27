"""Lifetimes: in whose arena each storage lies, and from when to when it is needed there.

A storage lies in the arena of the chain that makes it, from its first task to the last that reads
it. If chains elsewhere read it too, it is needed until a later chain of the arena waits for them,
or to the end, and then also *between* two pieces: the arena does not start again before all readers
have given it back. What the caller feeds, or a copy brings, for one arena alone lies in that arena,
from the beginning, or from where the arena has led up to the copy, to its last reader. Nobody keeps
the next piece from being written as soon as the chain that reads it is done, be it that others
still read what the arena made: so such a storage is needed between two pieces as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.compiler.memory.arena import Arena, Arenas
from headrace.compiler.memory.place import Interval
from headrace.compiler.memory.storage import Storage
from headrace.compiler.memory.uses import Uses
from headrace.compiler.task_graph import TaskGraph
from headrace.light_tuple import NamedTuple
from headrace.plan import OP_KINDS


class Lifetime(NamedTuple):
    """A storage in an arena."""

    storage: Storage
    arena: Arena
    interval: Interval


def lifetimes(
    graph: TaskGraph, uses: Uses, storages: Iterable[Storage], arenas: Arenas
) -> Iterator[Lifetime]:
    """The lifetime of each of ``storages``, which tasks write and which hold one piece.

    Says in each arena for whom else its first chain must wait.
    """
    for storage in storages:
        yield _lifetime(graph, uses, storage, arenas)


def _lifetime(graph: TaskGraph, uses: Uses, storage: Storage, arenas: Arenas) -> Lifetime:
    maker = uses.maker[storage.root.name]
    readers = [r for name in storage.offsets for r in uses.readers_of(name)]
    chains = {uses.chain_of[r] for r in readers}
    home, first = arenas.of(maker), arenas.time(maker)
    nbytes = storage.root.spec.nbytes
    if chains <= {uses.chain_of[maker]}:  # as most: nobody else knows of it
        last = arenas.time(max(readers, default=maker))
        return Lifetime(storage, home, Interval(first, last, nbytes))
    elsewhere = {arenas.of(r) for r in readers}
    if graph.tasks[maker].kind not in OP_KINDS and len(elsewhere) == 1 and home not in elsewhere:
        return _fed(storage, uses, arenas, maker, readers)
    last = max((arenas.time(r) for r in readers if arenas.of(r) is home), default=first)
    between = False
    for chain in {uses.chain_of[r] for r in readers if arenas.of(r) is not home}:
        done = arenas.begin_after(home, chain)
        if done is None:
            last, between = home.end, True
            if uses.chain_of[maker] != home.chains[0]:  # the first chain waits for its own readers
                home.waits_for.add(chain)
        else:
            last = max(last, done - 1)
    return Lifetime(storage, home, Interval(first, last, nbytes, between))


def _fed(storage: Storage, uses: Uses, arenas: Arenas, maker: int, readers: list[int]) -> Lifetime:
    """What nothing but a chain that brings it, and the arena that reads it, knows of."""
    arena = arenas.of(readers[0])
    first = arenas.end_before(arena, uses.chain_of[maker])
    last = max(arenas.time(r) for r in readers)
    between = first == 0
    if between and last < arena.starts[-2]:
        last = arena.end  # the next piece may be written while later chains of the arena run
    return Lifetime(storage, arena, Interval(first, last, storage.root.spec.nbytes, between))
