"""The order in which actors act in a call, against stepping them call after call."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import network

from headrace.errors import ProtocolError
from headrace.ids import ActorId
from headrace.runtime.events import ActLaunched, CallArrived, Event
from headrace.runtime.network import Network
from headrace.runtime.order import acting_orders
from headrace.runtime.runner import Runner


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Up to eight actors, each reading any of those before it."""
    count = draw(st.integers(1, 8))
    reads = [draw(st.sets(st.integers(0, n - 1), max_size=3)) if n else set() for n in range(count)]
    return network(reads, draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))


@given(networks())
@settings(max_examples=200)
def test_every_call_acts_in_the_order_of_the_first(wired: Network) -> None:
    """Three calls, one after another, on actors that remember: each in the order that was found."""
    acts: list[tuple[ActorId, int]] = []
    events: deque[tuple[ActorId, Event]] = deque()

    def launch(actor_id: ActorId, number: int) -> None:
        acts.append((actor_id, number))
        events.append((actor_id, ActLaunched(number)))

    runner = Runner(
        wired.wirings, wired.producers, launch, lambda actor, event: events.append((actor, event))
    )
    for number in range(3):
        acts.clear()
        events.extend((source, CallArrived()) for source in wired.sources[0])
        while events:
            runner.deliver(*events.popleft())
        assert acts == [(actor_id, number) for actor_id in acting_orders(wired)[0]]


def test_nobody_acts_before_what_it_reads_is_written() -> None:
    """A diamond and a chain beside it."""
    order = acting_orders(network([set(), {0}, {0}, {1, 2}, set(), {4}], [1] * 6))[0]
    assert sorted(order) == list(range(6))
    for first, then in ((0, 1), (0, 2), (1, 3), (2, 3), (4, 5)):
        assert order.index(ActorId(first)) < order.index(ActorId(then))


def test_actors_that_wait_for_each_other_are_an_error() -> None:
    """Said when the plan is made ready, instead of a call that never ends."""
    with pytest.raises(ProtocolError, match="each must act once"):
        acting_orders(network([set(), {0, 2}, {1}], [1] * 3))
