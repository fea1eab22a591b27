"""The network of actors of a plan: who is wired to whom, and who starts and ends a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.ids import ActorId, RegisterId, StreamId
from headrace.plan import Plan
from headrace.runtime.actor import Wiring


@dataclass(frozen=True, slots=True)
class Network:
    """What an engine needs to know of a plan.

    Attributes:
        wirings: one for each actor, by its number.
        producers: the actor that writes each register between actors.
        streams: the stream of each actor, by its number.
        sources: actors that a call starts.
        sinks: actors whose end is the end of a call.
    """

    wirings: tuple[Wiring, ...]
    producers: Mapping[RegisterId, ActorId]
    streams: tuple[StreamId, ...]
    sources: tuple[ActorId, ...]
    sinks: frozenset[ActorId]

    @staticmethod
    def of(plan: Plan) -> Network:
        """The network of ``plan``."""
        readers: dict[RegisterId, list[ActorId]] = {}
        for number, actor in enumerate(plan.actors):
            for register in actor.consumed:
                readers.setdefault(register, []).append(ActorId(number))
        wirings = tuple(
            Wiring(
                ActorId(number),
                actor.consumed,
                actor.produced,
                {r: plan.registers[r].slots for r in actor.produced},
                {r: tuple(readers.get(r, ())) for r in actor.produced},
            )
            for number, actor in enumerate(plan.actors)
        )
        return Network(
            wirings,
            {r: w.actor_id for w in wirings for r in w.produced},
            tuple(actor.stream_id for actor in plan.actors),
            tuple(w.actor_id for w in wirings if w.is_source),
            frozenset(w.actor_id for w in wirings if w.is_sink),
        )
