"""Networks of actors for tests, without a plan."""

from __future__ import annotations

from hypothesis import strategies as st

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
        False,
        False,
    )


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to eight actors, each reading any of those before it."""
    count = draw(st.integers(1, 8))
    reads = [draw(st.sets(st.integers(0, n - 1), max_size=3)) if n else set() for n in range(count)]
    return network(reads, draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))
