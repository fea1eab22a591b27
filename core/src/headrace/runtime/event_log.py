"""``EventLog``: all that the actors of a run were told. ``replay``: the run again, from that alone.

Actors are pure: who gets the same events in the same order does the same. So a log says all about
how a run went that depended on threads, devices and luck, and a run that went wrong once can be
looked at again, step by step, without a device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headrace.errors import ProtocolError
from headrace.ids import ActorId
from headrace.light_dataclass import dataclass
from headrace.plan import Plan
from headrace.runtime.actor import Actor
from headrace.runtime.commands import Act, Publish, Return
from headrace.runtime.events import ActLaunched, CallArrived, Event, RegisterReady, RegisterReturned
from headrace.runtime.network import Network

Message = tuple[ActorId, Event]
"""An event, and the actor that got it."""


class EventLog:
    """What an executor that is given one writes down, from the start of its engine.

    It grows with every message: read it between calls, and ``clear`` it only by taking a new one.
    After an error the next call begins it anew, as it begins with new actors.

    Attributes:
        messages: in the order in which actors got them; of two streams, in one that is possible.
        acts: (actor, number) as they were launched; in order for each stream.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.acts: list[tuple[ActorId, int]] = []

    def restart(self) -> None:
        """Forget what actors were told that are no more."""
        self.messages.clear()
        self.acts.clear()


@dataclass(frozen=True, slots=True)
class Replay:
    """A run, found again from its messages.

    Attributes:
        acts: (actor, number) in the order in which they were started.
        under_way: messages that were sent and that nobody got: none if the run came to rest.
    """

    acts: tuple[tuple[ActorId, int], ...]
    under_way: tuple[Message, ...]


def replay(plan: Plan, messages: Iterable[Message]) -> Replay:
    """Step new actors of ``plan`` through ``messages``.

    Raises:
        ProtocolError: a message that no actor had sent, or that its actor cannot have got: the log
            is of another plan, or a message was lost, doubled or overtaken.
    """
    network = Network.of(plan)
    actors = {wiring.actor_id: Actor.initial(wiring) for wiring in network.wirings}
    sent = Counter[Message]()
    acts: list[tuple[ActorId, int]] = []
    for count, message in enumerate(messages):
        actor_id, event = message
        if actor_id not in actors:
            raise ProtocolError(
                f"message {count} is for actor {actor_id}; plan {plan.name!r} has {len(actors)}"
            )
        if not isinstance(event, CallArrived):  # which come from outside
            if not sent[message]:
                raise ProtocolError(
                    f"message {count} tells actor {actor_id} {event}, which nobody has sent"
                )
            sent[message] -= 1
        actors[actor_id], commands = actors[actor_id].on(event)
        for command in commands:
            match command:
                case Act(number=number):
                    acts.append((actor_id, number))
                    sent[actor_id, ActLaunched(number)] += 1
                case Publish(register=register):
                    for consumer in actors[actor_id].wiring.consumers[register]:
                        sent[consumer, RegisterReady(register)] += 1
                case Return(register=register):
                    producer = network.producers[register]
                    sent[producer, RegisterReturned(register, actor_id)] += 1
    return Replay(tuple(acts), tuple(sent.elements()))
