"""The last transitions of an actor, in words: what an error carries of how it came about."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from headrace.ids import ActorId
from headrace.runtime.actor import Actor
from headrace.runtime.commands import Act, Command, Publish, Return
from headrace.runtime.events import ActLaunched, CallArrived, Event, RegisterReady, RegisterReturned
from headrace.runtime.network import Network

Transition = tuple[ActorId, Event, tuple[Command, ...]]
"""An actor, what it was told, and what it asked for."""

KEPT = 64  # of each thread; of one actor as many as are among them
TOLD = 8


def story_of(actor_id: ActorId, transitions: Iterable[Transition]) -> tuple[str, ...]:
    """The last transitions of one actor, the oldest first."""
    mine = [
        f"{event} -> {', '.join(map(str, commands)) or 'nothing'}"
        for of, event, commands in transitions
        if of == actor_id
    ]
    return tuple(mine[-TOLD:])


def inline_story_of(actor_id: ActorId, network: Network) -> tuple[str, ...]:
    """What led an actor to its act when no message was sent, since one order fits every call.

    The actors of its job are stepped through one call, as when that order was found, until it acts.
    """
    actors = {wiring.actor_id: Actor.initial(wiring) for wiring in network.wirings}
    sources = network.sources[network.jobs[actor_id]]
    events: deque[tuple[ActorId, Event]] = deque((source, CallArrived()) for source in sources)
    transitions: list[Transition] = []
    while events:
        to, event = events.popleft()
        actors[to], commands = actors[to].on(event)
        transitions.append((to, event, commands))
        for command in commands:
            match command:
                case Act(number=number):
                    if to == actor_id:
                        return story_of(actor_id, transitions)
                    events.append((to, ActLaunched(number)))
                case Publish(register=register):
                    readers = actors[to].wiring.consumers[register]
                    events.extend((reader, RegisterReady(register)) for reader in readers)
                case Return(register=register):
                    producer = network.producers[register]
                    events.append((producer, RegisterReturned(register, to)))
    return ()
