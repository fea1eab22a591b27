"""The order of the acts in one call of each job, when one thread launches them all."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from headrace.errors import ProtocolError
from headrace.ids import ActorId, StreamId
from headrace.runtime.events import ActLaunched, CallArrived, Event
from headrace.runtime.network import Network
from headrace.runtime.runner import Runner


def acting_orders(
    network: Network, working_at_once: Collection[StreamId] = ()
) -> Mapping[int, tuple[ActorId, ...]]:
    """Step the actors of each job through one call; returns who acted, in order, by job.

    The actors alone decide. What they decided once holds for every call that finds all slots free:
    an actor's counters are then those of the first call plus the calls since.

    Args:
        network: the actors.
        working_at_once: streams whose launches return when the work is done. Their acts come when
            nothing else is left to be launched, so that other streams work meanwhile.

    Raises:
        ProtocolError: an actor did not act exactly once; the plan waits for itself.
    """
    order: list[ActorId] = []
    events: deque[tuple[ActorId, Event]] = deque()
    waiting: deque[tuple[ActorId, int]] = deque()

    def launch(actor_id: ActorId, number: int) -> None:
        if network.streams[actor_id] in working_at_once:
            waiting.append((actor_id, number))
        else:
            act(actor_id, number)

    def act(actor_id: ActorId, number: int) -> None:
        order.append(actor_id)
        events.append((actor_id, ActLaunched(number)))

    def post(actor_id: ActorId, event: Event) -> None:
        events.append((actor_id, event))

    runner = Runner(network.wirings, network.producers, launch, post)
    orders: dict[int, tuple[ActorId, ...]] = {}
    for job, sources in network.sources.items():
        events.extend((source, CallArrived()) for source in sources)
        while events or waiting:
            if events:
                runner.deliver(*events.popleft())
            else:
                act(*waiting.popleft())
        orders[job] = tuple(order)
        order.clear()
    acted = sorted(actor_id for actors in orders.values() for actor_id in actors)
    if acted != [wiring.actor_id for wiring in network.wirings]:
        raise ProtocolError(
            f"in one call of each job the {len(network.wirings)} actors of a plan acted in the "
            f"orders {[*orders.values()]}; each must act once"
        )
    return orders
