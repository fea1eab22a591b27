"""Plans in virtual time: reproducible, overlapping, and never reading what is not there yet."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_backends import far, near

from headrace.compiler.concurrency import Concurrency
from headrace.compiler.pipeline import compile_job
from headrace.errors import ProtocolError
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.plan import Plan
from headrace.registry import BackendRegistry
from headrace.runtime.event_log import replay
from headrace.runtime.network import Network
from headrace.runtime.simulator import Simulation, simulate
from headrace.tensor_spec import TensorSpec

DEVICES = ("near:0", "near:1", "far:0", "far:1")
SPEC = TensorSpec((2,), "float32")


def plan_of(places: Sequence[str], reads: Sequence[Sequence[int]], width: int = 1) -> Plan:
    """Op n on ``places[n]`` adds up the results that ``reads[n]`` names; -1 is the input."""
    builder = JobGraphBuilder("random", Placement.of_device(places[0]))
    made = {-1: builder.input("x", SPEC)}
    for number, (place, read) in enumerate(zip(places, reads, strict=True)):
        with builder.placed(Placement.of_device(place)):
            total = made[read[0]]
            for other in (*read[1:], -1):
                (total,) = builder.op("add", [total, made[other]])
        made[number] = total
    builder.output("y", made[len(places) - 1])
    registry = BackendRegistry.from_modules({"near": near(), "far": far()})
    concurrency = Concurrency(width)
    return compile_job(builder.finish(), registry, verify=True, concurrency=concurrency).plan


def with_slots(plan: Plan, slots: int) -> Plan:
    """The same plan whose registers between actors hold ``slots`` pieces, for many calls."""
    crossing = {r for actor in plan.actors for r in actor.produced}
    registers = tuple(
        r._replace(slots=slots if i in crossing else 1) for i, r in enumerate(plan.registers)
    )
    return plan._replace(registers=registers, jobs=tuple(j._replace(width=99) for j in plan.jobs))


def check_no_hazard(plan: Plan, run: Simulation, calls: int) -> None:
    """Pieces are written before they are read, and read by all before their slot is reused."""
    span = {(int(s.actor), s.number): s for s in run.spans}
    assert len(span) == len(run.spans) == len(plan.actors) * calls
    producer = {r: a for a, actor in enumerate(plan.actors) for r in actor.produced}
    for reader, actor in enumerate(plan.actors):
        for register in actor.consumed:
            writer, slots = producer[register], plan.registers[register].slots
            for number in range(calls):
                assert span[writer, number].end <= span[reader, number].begin
                if number >= slots:
                    assert span[reader, number - slots].end <= span[writer, number].begin


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to six ops on any of four devices, each reading up to three of those before it; planned
    for one to four calls at once, or with any number of slots."""
    count = draw(st.integers(1, 6))
    places = draw(st.lists(st.sampled_from(DEVICES), min_size=count, max_size=count))
    reads = [
        draw(st.lists(st.integers(-1, n - 1), min_size=1, max_size=3, unique=True))
        for n in range(count)
    ]
    if draw(st.booleans()):
        return with_slots(plan_of(places, reads), draw(st.integers(1, 3)))
    return plan_of(places, reads, draw(st.integers(1, 4)))


@given(plans(), st.integers(0, 999), st.floats(0, 2), st.floats(0, 3))
@settings(max_examples=120)
def test_no_order_of_events_breaks_a_plan(plan: Plan, seed: int, hop: float, jitter: float) -> None:
    """Whatever is slow, every call comes to its end and no register is touched too early."""
    run = simulate(plan, 4, hop=hop, jitter=jitter, seed=seed)
    check_no_hazard(plan, run, 4)


@given(plans(), st.integers(0, 999))
@settings(max_examples=30)
def test_a_seed_is_a_run(plan: Plan, seed: int) -> None:
    """The same seed gives the same events; delivering these to new actors gives the same acts."""
    run = simulate(plan, 3, hop=0.1, jitter=1, seed=seed)
    assert simulate(plan, 3, hop=0.1, jitter=1, seed=seed) == run
    again = replay(plan, [(delivery.actor, delivery.event) for delivery in run.log])
    assert sorted(again.acts) == sorted((s.actor, s.number) for s in run.spans)
    assert not again.under_way


@given(plans(), st.integers(0, 999), st.integers(1, 5))
@settings(max_examples=40)
def test_no_more_calls_are_under_way_than_asked_for(plan: Plan, seed: int, width: int) -> None:
    """Call n begins when call n - width is over, whatever is slow."""
    run = simulate(plan, 9, width=width, hop=0.1, jitter=2, seed=seed)
    wirings = Network.of(plan).wirings
    begins = [[s.begin for s in run.spans if s.actor == w.actor_id] for w in wirings if w.is_source]
    ends = [[s.end for s in run.spans if s.actor == w.actor_id] for w in wirings if w.is_sink]
    for number in range(width, 9):
        over = max(of_one[number - width] for of_one in ends)
        assert all(over <= of_one[number] for of_one in begins)


def test_what_a_copy_brings_lies_apart_from_what_another_stream_reads() -> None:
    """Two chains share an arena; between them one thing leaves while another one comes."""
    places = ["near:1", "near:0", "near:0", "near:0", "far:0", "near:1"]
    plan = plan_of(places, [[-1], [0], [0], [0], [0], [4, 1]])
    check_no_hazard(plan, simulate(plan, 4, jitter=3, seed=1), 4)
    left, came = (
        next(r for r in plan.registers if r.name == n) for n in ("add_0/y", "add_4/y@cpu:0")
    )
    assert (left.chunk, left.offset) != (came.chunk, came.offset)


def test_copies_overlap_with_work_when_there_is_room_for_two() -> None:
    """Three stages of a second: a hundred pieces take 102 seconds, as planned for three calls at
    once; with one slot twice as long, however many calls; and one after the other, 300."""
    plan = plan_of(["far:0"], [[-1]])
    assert len(plan.actors) == 5  # push, to the device, work, from the device, pull
    assert simulate(plan_of(["far:0"], [[-1]], 3), 100).seconds == 102
    assert simulate(with_slots(plan, 1), 100).seconds > 190
    assert simulate(plan, 100).seconds == 300


def test_independent_streams_run_side_by_side() -> None:
    """Two ops on two devices that wait for nobody take the time of one."""
    plan = plan_of(["far:0", "far:1", "near:0"], [[-1], [-1], [0, 1]])
    run = simulate(plan)
    works = [
        s for s in run.spans if plan.tasks[plan.actors[s.actor].tasks[0]].kind.value == "compute"
    ]
    first, second = works[:2]
    assert (first.begin, first.end) == (second.begin, second.end)


def test_messages_go_ahead_of_the_work() -> None:
    """A piece waits for the first hop alone: while it is copied, all that follows is launched."""
    plan = plan_of(["far:0"], [[-1]])
    assert simulate(plan, hop=0.5).seconds == 3 + 0.5


def test_a_plan_that_waits_for_itself_is_said_to() -> None:
    """Naming the actors and what they wait for, instead of a run that never ends."""
    plan = with_slots(plan_of(["near:0", "far:0"], [[-1], [0]]), 0)
    with pytest.raises(ProtocolError, match=r"stopped at 0.0 s .* short of 1 acts: Actor"):
        simulate(plan)


def test_pieces_wait_where_the_work_is_slow() -> None:
    """Back-pressure: no stream is ever asked for more than its registers hold."""
    plan = with_slots(plan_of(["far:0", "near:0"], [[-1], [0]]), 2)
    run = simulate(plan, 50, hop=0.01, seed=3)
    pushes = {a for a, actor in enumerate(plan.actors) if not actor.consumed}
    behind = {plan.actors[a].stream_id for a in range(len(plan.actors)) if a not in pushes}
    assert all(run.most_behind[stream] <= 2 * 2 for stream in behind)
