"""The actor: a pure state machine, ``(state, event) -> (state, commands)``.

Everything that decides when work may start is here, and nothing here touches a device, a thread or
a clock. An actor's state is a few counters that only grow:

- ``started``, ``launched``: acts that were asked for, acts that are launched;
- ``arrived[r]``: pieces of consumed register r of which the writing is launched;
- ``returned[r, c]``: pieces of produced register r of which c has launched the reading;
- ``calls``: calls announced, for a source actor, which consumes nothing else.

Act n may start when piece n of every consumed register has arrived, and when every produced
register has a slot that piece n can be written to: a register of s slots is full while s pieces are
started and not yet given back by all consumers. That is the whole of flow control. It orders
launches; what work has to wait for on the device, ``launcher.py`` sees to.

Each counter bounds the acts that may have started; ``blocking`` says how many of them stand at that
bound. It follows from the others, and is kept so that an event looks at its own counter only: an
actor may have thousands of registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import assert_never

from headrace.errors import ProtocolError
from headrace.ids import ActorId, RegisterId
from headrace.light_dataclass import dataclass, setters
from headrace.runtime.commands import Act, Command, Publish, Return
from headrace.runtime.events import ActLaunched, CallArrived, Event, RegisterReady, RegisterReturned


@dataclass(frozen=True, slots=True)
class Wiring:
    """What never changes about an actor.

    Attributes:
        actor_id: its number in the plan.
        consumed: registers it reads that other actors produce.
        produced: registers it writes that other actors read.
        slots: how many pieces each produced register holds.
        consumers: who reads each produced register.
        when_launched: what is to be done when an act is launched; follows from the others.
    """

    actor_id: ActorId
    consumed: tuple[RegisterId, ...]
    produced: tuple[RegisterId, ...]
    slots: Mapping[RegisterId, int]
    consumers: Mapping[RegisterId, tuple[ActorId, ...]]
    when_launched: tuple[Command, ...] = field(init=False)

    def __post_init__(self) -> None:
        commands = (*map(Publish, self.produced), *map(Return, self.consumed))
        object.__setattr__(self, "when_launched", commands)

    @property
    def is_source(self) -> bool:
        """True when only calls start it."""
        return not self.consumed

    @property
    def is_sink(self) -> bool:
        """True when nobody waits for it but the caller."""
        return not self.produced


@dataclass(frozen=True, slots=True)
class Actor:
    """The state of one actor. Make the first with ``Actor.initial``; step it with ``on``."""

    wiring: Wiring
    arrived: Mapping[RegisterId, int]
    returned: Mapping[tuple[RegisterId, ActorId], int]
    blocking: int
    calls: int
    started: int
    launched: int

    def __init__(
        self,
        wiring: Wiring,
        arrived: Mapping[RegisterId, int],
        returned: Mapping[tuple[RegisterId, ActorId], int],
        blocking: int,
        calls: int = 0,
        started: int = 0,
        launched: int = 0,
    ) -> None:
        _put_wiring(self, wiring)
        _put_arrived(self, arrived)
        _put_returned(self, returned)
        _put_blocking(self, blocking)
        _put_calls(self, calls)
        _put_started(self, started)
        _put_launched(self, launched)

    @staticmethod
    def initial(wiring: Wiring) -> Actor:
        """Nothing has arrived; every slot is free."""
        pairs = ((r, c) for r in wiring.produced for c in wiring.consumers[r])
        # Every slot is free, so only what is consumed blocks, or for a source the missing call.
        blocking = max(1, len(wiring.consumed))
        return Actor(wiring, dict.fromkeys(wiring.consumed, 0), dict.fromkeys(pairs, 0), blocking)

    def on(self, event: Event) -> tuple[Actor, tuple[Command, ...]]:
        """The state after ``event``, and what must now be done, in order.

        Raises:
            ProtocolError: the event does not fit the state; the message says both.
        """
        match event:
            case CallArrived():
                if not self.wiring.is_source:
                    raise self._unexpected(event, "it is started by registers, not by calls")
                calls = self.calls + 1
                return self._counted(self.arrived, self.returned, calls, calls)
            case RegisterReady(register=register):
                if register not in self.arrived:
                    raise self._unexpected(event, "it does not consume that register")
                count = self.arrived[register] + 1
                arrived = {**self.arrived, register: count}
                return self._counted(arrived, self.returned, self.calls, count)
            case RegisterReturned(register=register, consumer=consumer):
                key = (register, consumer)
                if self.returned.get(key, self.launched) >= self.launched:
                    raise self._unexpected(event, "that piece was never published to it")
                count = self.returned[key] + 1
                freed = count + self.wiring.slots[register]
                return self._counted(self.arrived, {**self.returned, key: count}, self.calls, freed)
            case ActLaunched(number=number):
                if number != self.launched or number >= self.started:
                    raise self._unexpected(event, "acts are launched in the order they start")
                actor = Actor(
                    self.wiring,
                    self.arrived,
                    self.returned,
                    self.blocking,
                    self.calls,
                    self.started,
                    number + 1,
                )
                return actor, self.wiring.when_launched
            case _:
                assert_never(event)

    def _counted(
        self,
        arrived: Mapping[RegisterId, int],
        returned: Mapping[tuple[RegisterId, ActorId], int],
        calls: int,
        risen: int,
    ) -> tuple[Actor, tuple[Command, ...]]:
        """Start as many acts as inputs and free slots allow, now that one bound is ``risen``."""
        wiring, started, launched = self.wiring, self.started, self.launched
        blocking = self.blocking
        if risen != started + 1:  # it was no bound that blocked
            return Actor(wiring, arrived, returned, blocking, calls, started, launched), ()
        if blocking > 1:
            return Actor(wiring, arrived, returned, blocking - 1, calls, started, launched), ()
        bounds = [*arrived.values()] or [calls]
        bounds += [count + wiring.slots[r] for (r, _), count in returned.items()]
        limit = min(bounds)
        actor = Actor(wiring, arrived, returned, bounds.count(limit), calls, limit, launched)
        return actor, tuple([Act(number) for number in range(started, limit)])

    def _unexpected(self, event: Event, why: str) -> ProtocolError:
        return ProtocolError(f"actor {self.wiring.actor_id} got {event}, but {why}; state: {self}")


(
    _put_wiring,
    _put_arrived,
    _put_returned,
    _put_blocking,
    _put_calls,
    _put_started,
    _put_launched,
) = setters(Actor)
