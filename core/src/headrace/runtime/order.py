"""The order of the acts in one call, when every act is done as soon as it is launched."""

from __future__ import annotations

from collections import deque

from headrace.errors import ProtocolError
from headrace.ids import ActorId
from headrace.runtime.events import ActDone, CallArrived, Event
from headrace.runtime.network import Network
from headrace.runtime.runner import Runner


def acting_order(network: Network) -> tuple[ActorId, ...]:
    """Step the actors of ``network`` through one call; returns who acted, in order.

    The actors alone decide. What they decided once holds for every call that finds all slots free:
    an actor's counters are then those of the first call plus the calls since.

    Raises:
        ProtocolError: an actor did not act exactly once; the plan waits for itself.
    """
    order: list[ActorId] = []
    events: deque[tuple[ActorId, Event]] = deque((s, CallArrived()) for s in network.sources)

    def launch(actor_id: ActorId, number: int) -> None:
        order.append(actor_id)
        events.append((actor_id, ActDone(number)))

    def post(actor_id: ActorId, event: Event) -> None:
        events.append((actor_id, event))

    runner = Runner(network.wirings, network.producers, launch, post)
    while events:
        runner.deliver(*events.popleft())
    if sorted(order) != [wiring.actor_id for wiring in network.wirings]:
        raise ProtocolError(
            f"in one call the {len(network.wirings)} actors of a plan acted in the order {order}; "
            "each must act once"
        )
    return tuple(order)
