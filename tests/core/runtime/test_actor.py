"""The actor: events in, commands out; no threads, no clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ProtocolError
from headrace.ids import ActorId, RegisterId
from headrace.runtime.actor import Actor, Wiring
from headrace.runtime.commands import Act, Command, Publish, Return
from headrace.runtime.events import ActLaunched, CallArrived, RegisterReady, RegisterReturned

ME, NEXT, OTHER = ActorId(1), ActorId(2), ActorId(3)
X, Y, Z = RegisterId(10), RegisterId(11), RegisterId(12)


def middle(slots: int = 1, consumers: tuple[ActorId, ...] = (NEXT,)) -> Actor:
    """An actor that reads X and writes Y."""
    return Actor.initial(Wiring(ME, (X,), (Y,), {Y: slots}, {Y: consumers}))


def test_an_act_starts_when_its_input_arrives() -> None:
    """With its output free, an actor acts on the first piece of its input."""
    actor, commands = middle().on(RegisterReady(X))
    assert commands == (Act(0),)
    assert actor.started == 1


def test_second_act_waits_until_the_output_register_is_free() -> None:
    """With one output slot, an actor may not run ahead of its consumer."""
    actor, _ = middle().on(RegisterReady(X))
    actor, commands = actor.on(RegisterReady(X))
    assert commands == ()
    actor, commands = actor.on(ActLaunched(0))
    assert commands == (Publish(Y), Return(X))
    actor, commands = actor.on(RegisterReturned(Y, NEXT))
    assert commands == (Act(1),)


def test_two_slots_let_an_actor_run_one_piece_ahead() -> None:
    """With two output slots, two acts are under way at once, and not three."""
    actor = middle(slots=2)
    started: list[Command] = []
    for _ in range(3):
        actor, commands = actor.on(RegisterReady(X))
        started += commands
    assert started == [Act(0), Act(1)]


def test_a_slot_is_free_when_all_consumers_gave_it_back() -> None:
    """The slower of two consumers holds the producer back."""
    actor, _ = middle(consumers=(NEXT, OTHER)).on(RegisterReady(X))
    actor, _ = actor.on(ActLaunched(0))
    actor, _ = actor.on(RegisterReady(X))
    actor, commands = actor.on(RegisterReturned(Y, NEXT))
    assert commands == ()
    actor, commands = actor.on(RegisterReturned(Y, OTHER))
    assert commands == (Act(1),)


def test_an_actor_waits_for_all_its_inputs() -> None:
    """Two pieces of one input do not make up for none of another."""
    actor = Actor.initial(Wiring(ME, (X, Z), (), {}, {}))
    for _ in range(2):
        actor, commands = actor.on(RegisterReady(X))
        assert commands == ()
    actor, commands = actor.on(RegisterReady(Z))
    assert commands == (Act(0),)


def test_calls_start_a_source() -> None:
    """An actor that consumes nothing acts once for each call."""
    actor = Actor.initial(Wiring(ME, (), (Y,), {Y: 1}, {Y: (NEXT,)}))
    actor, commands = actor.on(CallArrived())
    assert commands == (Act(0),)
    actor, commands = actor.on(CallArrived())
    assert commands == ()


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (RegisterReady(Y), "does not consume"),
        (RegisterReturned(Y, NEXT), "never published"),
        (RegisterReturned(Y, OTHER), "never published"),
        (ActLaunched(0), "in the order they start"),
        (CallArrived(), "started by registers"),
    ],
)
def test_an_event_that_does_not_fit_says_why(event: ActLaunched, why: str) -> None:
    """An impossible event is an error that names the event and shows the state."""
    with pytest.raises(ProtocolError, match=why):
        middle().on(event)


@given(st.integers(1, 3), st.integers(1, 2), st.randoms(use_true_random=False))
def test_flow_control_holds_in_any_order_of_events(slots: int, width: int, random: object) -> None:
    """However events interleave, no slot is written before it is free, and none is lost."""
    consumers = (NEXT, OTHER)[:width]
    actor = middle(slots, consumers)
    pieces = 6
    arrivals, running, published = pieces, 0, 0
    returned = dict.fromkeys(consumers, 0)
    while True:
        choices: list[str | ActorId] = []
        if arrivals:
            choices.append("arrive")
        if running:
            choices.append("done")
        choices += [c for c in consumers if returned[c] < published]
        if not choices:
            break
        choice = random.choice(choices)  # type: ignore[attr-defined]
        if choice == "arrive":
            arrivals -= 1
            actor, commands = actor.on(RegisterReady(X))
        elif choice == "done":
            running -= 1
            actor, commands = actor.on(ActLaunched(published))
            published += 1
        else:
            returned[choice] += 1
            actor, commands = actor.on(RegisterReturned(Y, choice))
        running += sum(isinstance(command, Act) for command in commands)
        assert running + published - min(returned.values()) <= slots
    assert published == pieces
    assert set(returned.values()) == {pieces}


def test_an_event_looks_at_its_own_register_only() -> None:
    """Giving back all of many registers costs some look-ups for each, not one for every pair."""
    asked = 0

    class Slots(dict[RegisterId, int]):
        def __getitem__(self, register: RegisterId) -> int:
            nonlocal asked
            asked += 1
            return super().__getitem__(register)

    made = tuple(map(RegisterId, range(200)))
    reader = ActorId(1)
    wiring = Wiring(
        ActorId(0), (), made, Slots(dict.fromkeys(made, 1)), dict.fromkeys(made, (reader,))
    )
    actor = Actor.initial(wiring)
    for number in range(3):
        actor, acts = actor.on(CallArrived())
        assert acts == ((Act(0),) if number == 0 else ())
        if number:
            for register in made[:-1]:
                actor, acts = actor.on(RegisterReturned(register, reader))
                assert acts == ()
            actor, acts = actor.on(RegisterReturned(made[-1], reader))
            assert acts == (Act(number),)
        actor, _ = actor.on(ActLaunched(number))
    assert asked < 10 * len(made)
