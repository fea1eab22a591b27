"""Networks of actors made by hand, for tests of what runs them."""

from __future__ import annotations

from headrace.ids import ActorId, DeviceId, RegisterId, StreamId
from headrace.runtime.actor import Wiring
from headrace.runtime.network import Network

STREAM = StreamId(DeviceId(0, 1, 0), 0)


def network(reads: list[set[int]], slots: list[int]) -> Network:
    """Actor n writes register n, with ``slots[n]`` slots, and reads those of ``reads[n]``."""
    readers = [[a for a, read in enumerate(reads) if r in read] for r in range(len(reads))]
    wirings = []
    for number, read in enumerate(reads):
        produced = (RegisterId(number),) if readers[number] else ()
        wirings.append(
            Wiring(
                ActorId(number),
                tuple(map(RegisterId, sorted(read))),
                produced,
                {r: slots[r] for r in produced},
                {r: tuple(map(ActorId, readers[r])) for r in produced},
            )
        )
    return Network(
        tuple(wirings),
        {r: w.actor_id for w in wirings for r in w.produced},
        (STREAM,) * len(reads),
        (0,) * len(reads),
        {0: tuple(w.actor_id for w in wirings if w.is_source)},
        frozenset(w.actor_id for w in wirings if w.is_sink),
        {0: sum(w.is_sink for w in wirings)},
        (),
        {0: 1},
        frozenset(),
    )
