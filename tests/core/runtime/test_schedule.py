"""Waits between streams: so many that nothing is read too early, and none that is useless."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from networks import networks

from headrace.ids import DeviceId, StreamId
from headrace.runtime.network import Network
from headrace.runtime.order import acting_orders
from headrace.runtime.schedule import Schedule, schedule

STREAMS = tuple(StreamId(DeviceId(0, 1, 0), index) for index in range(4))


@st.composite
def spread(draw: st.DrawFn) -> tuple[Network, frozenset[StreamId]]:
    """A network over some of four streams, of which some run behind the host."""
    network = draw(networks())
    streams = [draw(st.sampled_from(STREAMS)) for _ in network.wirings]
    behind = draw(st.frozensets(st.sampled_from(STREAMS)))
    return replace(network, streams=tuple(streams)), behind


def scheduled(network: Network, behind: frozenset[StreamId]) -> Schedule:
    return schedule(acting_orders(network)[0], network, behind)


def done_before(made: Schedule, network: Network, behind: frozenset[StreamId]) -> list[set[int]]:
    """For each step, the steps whose work is done when its own begins, found the long way.

    By their stream, by what is waited for, and by what the host, which launches them in order, has
    waited for before.
    """
    found: list[set[int]] = []
    host: set[int] = set()
    for position, step in enumerate(made.steps):
        stream = network.streams[step.actor_id]
        mine = set(host)
        for earlier in range(position):
            if stream in behind and network.streams[made.steps[earlier].actor_id] == stream:
                mine |= found[earlier] | {earlier}
        for earlier in step.waits:
            mine |= found[earlier] | {earlier}
        if stream not in behind:
            host |= mine | {position}
            mine = set(host) - {position}
        found.append(mine)
    return found


@given(spread())
def test_nothing_is_read_before_it_is_made(case: tuple[Network, frozenset[StreamId]]) -> None:
    """Whatever lies on whichever streams, what a step reads is done when it begins."""
    network, behind = case
    made = scheduled(network, behind)
    position = {step.actor_id: number for number, step in enumerate(made.steps)}
    done = done_before(made, network, behind)
    for number, step in enumerate(made.steps):
        for register in network.wirings[step.actor_id].consumed:
            assert position[network.producers[register]] in done[number]


@given(spread())
def test_everything_is_done_at_the_end(case: tuple[Network, frozenset[StreamId]]) -> None:
    """What the host waits for at the end leads back to all that was launched."""
    network, behind = case
    made = scheduled(network, behind)
    done = done_before(made, network, behind)
    at_end: set[int] = set()
    for number, step in enumerate(made.steps):
        stream = network.streams[step.actor_id]
        if stream not in behind or stream in made.ends:
            at_end |= done[number] | {number}
    assert at_end == set(range(len(made.steps)))


@given(spread())
def test_no_wait_is_for_what_is_known(case: tuple[Network, frozenset[StreamId]]) -> None:
    """A stream waits for a later point of another each time, never for its own or the host's."""
    network, behind = case
    made = scheduled(network, behind)
    recorded = {number for step in made.steps for number in step.waits}
    assert {number for number, step in enumerate(made.steps) if step.records} == recorded
    last: dict[tuple[StreamId | None, StreamId], int] = {}
    for step in made.steps:
        stream = network.streams[step.actor_id]
        here = stream if stream in behind else None
        for earlier in step.waits:
            there = network.streams[made.steps[earlier].actor_id]
            assert there in behind
            assert there != here
            assert last.get((here, there), -1) < earlier
            last[here, there] = earlier
