"""The order of the acts in one call of each job, when every act is done once it is launched."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from headrace.errors import ProtocolError
from headrace.ids import ActorId
from headrace.runtime.events import ActDone, CallArrived, Event
from headrace.runtime.network import Network
from headrace.runtime.runner import Runner


def acting_orders(network: Network) -> Mapping[int, tuple[ActorId, ...]]:
    """Step the actors of each job through one call; returns who acted, in order, by job.

    The actors alone decide. What they decided once holds for every call that finds all slots free:
    an actor's counters are then those of the first call plus the calls since.

    Raises:
        ProtocolError: an actor did not act exactly once; the plan waits for itself.
    """
    order: list[ActorId] = []
    events: deque[tuple[ActorId, Event]] = deque()

    def launch(actor_id: ActorId, number: int) -> None:
        order.append(actor_id)
        events.append((actor_id, ActDone(number)))

    def post(actor_id: ActorId, event: Event) -> None:
        events.append((actor_id, event))

    runner = Runner(network.wirings, network.producers, launch, post)
    orders: dict[int, tuple[ActorId, ...]] = {}
    for job, sources in network.sources.items():
        events.extend((source, CallArrived()) for source in sources)
        while events:
            runner.deliver(*events.popleft())
        orders[job] = tuple(order)
        order.clear()
    acted = sorted(actor_id for actors in orders.values() for actor_id in actors)
    if acted != [wiring.actor_id for wiring in network.wirings]:
        raise ProtocolError(
            f"in one call of each job the {len(network.wirings)} actors of a plan acted in the "
            f"orders {[*orders.values()]}; each must act once"
        )
    return orders
