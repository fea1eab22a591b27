"""Where the streams of a call wait for each other, when one thread launches all acts in order.

Work of one stream is done in the order in which it is launched. So an act needs a wait only for
what other streams make for it, and for the last of each stream only: whoever has waited for a later
point of a stream, itself or on the same stream before, has waited for all earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from headrace.ids import ActorId, StreamId
from headrace.runtime.network import Network


@dataclass(frozen=True, slots=True)
class Step:
    """An act, in the order of a call.

    Attributes:
        actor_id: who acts.
        waits: positions of earlier steps whose work must be done before this one's begins.
        records: a later step waits for this one.
    """

    actor_id: ActorId
    waits: tuple[int, ...]
    records: bool


@dataclass(frozen=True, slots=True)
class Schedule:
    """A call of one job.

    Attributes:
        steps: the acts, in order.
        ends: streams that are waited for when all is launched. Then everything is done: what no end
            is waited for, something that is has waited for.
    """

    steps: tuple[Step, ...]
    ends: tuple[StreamId, ...]


def schedule(order: Sequence[ActorId], network: Network, behind: AbstractSet[StreamId]) -> Schedule:
    """Find the waits of a call.

    Args:
        order: who acts, each after those that it reads from.
        network: of the plan.
        behind: the streams that may be behind the host. The others are the host, as far as waits
            go: their work is done when it is launched.
    """
    position = {actor_id: number for number, actor_id in enumerate(order)}
    # The last step of a stream that a stream is known to have waited for; None is the host.
    known: dict[tuple[StreamId | None, StreamId], int] = {}
    waits: list[tuple[int, ...]] = []
    for actor_id in order:
        here = network.streams[actor_id] if network.streams[actor_id] in behind else None
        latest: dict[StreamId, int] = {}
        for register in network.wirings[actor_id].consumed:
            producer = network.producers[register]
            there, number = network.streams[producer], position[producer]
            if there in behind and there != here:
                latest[there] = max(latest.get(there, -1), number)
        needed = {s: n for s, n in latest.items() if n > known.get((here, s), -1)}
        known.update(((here, s), n) for s, n in needed.items())
        waits.append(tuple(sorted(needed.values())))
    recorded = {number for numbers in waits for number in numbers}
    steps = tuple(
        Step(actor_id, waits[number], number in recorded) for number, actor_id in enumerate(order)
    )
    ends = {network.streams[a]: None for a in order if a in network.sinks}
    return Schedule(steps, tuple(stream_id for stream_id in ends if stream_id in behind))
