"""The actor: a pure state machine, ``(state, event) -> (state, commands)``.

Everything that decides when work may start is here, and nothing here touches a device, a thread or
a clock. An actor's state is a few counters that only grow:

- ``started``, ``finished``: acts launched, acts whose work is done;
- ``arrived[r]``: pieces of consumed register r that are there, or were;
- ``returned[r, c]``: pieces of produced register r that consumer c has given back;
- ``calls``: calls announced, for a source actor, which consumes nothing else.

Act n may start when piece n of every consumed register has arrived, and when every produced
register has a slot that piece n can be written to: a register of s slots is full while s pieces are
started and not yet given back by all consumers. That is the whole of flow control.

Each counter bounds the acts that may have started; ``blocking`` says how many of them stand at that
bound. It follows from the others, and is kept so that an event looks at its own counter only: an
actor may have thousands of registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from headrace.errors import ProtocolError
from headrace.ids import ActorId, RegisterId
from headrace.runtime.commands import Act, Command, Publish, Return
from headrace.runtime.events import ActDone, CallArrived, Event, RegisterReady, RegisterReturned


@dataclass(frozen=True, slots=True)
class Wiring:
    """What never changes about an actor.

    Attributes:
        actor_id: its number in the plan.
        consumed: registers it reads that other actors produce.
        produced: registers it writes that other actors read.
        slots: how many pieces each produced register holds.
        consumers: who reads each produced register.
    """

    actor_id: ActorId
    consumed: tuple[RegisterId, ...]
    produced: tuple[RegisterId, ...]
    slots: Mapping[RegisterId, int]
    consumers: Mapping[RegisterId, tuple[ActorId, ...]]

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
    calls: int = 0
    started: int = 0
    finished: int = 0

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
                return replace(self, calls=self.calls + 1)._act(self.calls + 1)
            case RegisterReady(register=register):
                if register not in self.arrived:
                    raise self._unexpected(event, "it does not consume that register")
                count = self.arrived[register] + 1
                return replace(self, arrived={**self.arrived, register: count})._act(count)
            case RegisterReturned(register=register, consumer=consumer):
                key = (register, consumer)
                if self.returned.get(key, self.finished) >= self.finished:
                    raise self._unexpected(event, "that piece was never published to it")
                count = self.returned[key] + 1
                freed = count + self.wiring.slots[register]
                return replace(self, returned={**self.returned, key: count})._act(freed)
            case ActDone(number=number):
                if number != self.finished or number >= self.started:
                    raise self._unexpected(event, "acts finish in the order they start")
                published: tuple[Command, ...] = tuple(map(Publish, self.wiring.produced))
                given_back: tuple[Command, ...] = tuple(map(Return, self.wiring.consumed))
                return replace(self, finished=number + 1), published + given_back
            case _:
                assert_never(event)

    def _act(self, risen: int) -> tuple[Actor, tuple[Command, ...]]:
        """Start as many acts as inputs and free slots allow, now that one bound is ``risen``."""
        if risen != self.started + 1:  # it was no bound that blocked
            return self, ()
        if self.blocking > 1:
            return replace(self, blocking=self.blocking - 1), ()
        bounds = [*self.arrived.values()] or [self.calls]
        bounds += (count + self.wiring.slots[r] for (r, _), count in self.returned.items())
        limit = min(bounds)
        acts = tuple(map(Act, range(self.started, limit)))
        return replace(self, started=limit, blocking=bounds.count(limit)), acts

    def _unexpected(self, event: Event, why: str) -> ProtocolError:
        return ProtocolError(f"actor {self.wiring.actor_id} got {event}, but {why}; state: {self}")
