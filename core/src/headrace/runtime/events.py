"""What an actor is told. Small values; delivering the same ones in the same order replays a run."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.ids import ActorId, RegisterId


@dataclass(frozen=True, slots=True)
class CallArrived:
    """The caller has started a call; source actors act once for each."""


@dataclass(frozen=True, slots=True)
class RegisterReady:
    """A consumed register holds the next piece."""

    register: RegisterId


@dataclass(frozen=True, slots=True)
class RegisterReturned:
    """``consumer`` has read a piece of a produced register and needs it no more."""

    register: RegisterId
    consumer: ActorId


@dataclass(frozen=True, slots=True)
class ActDone:
    """The work of act ``number`` is done on the device."""

    number: int


Event = CallArrived | RegisterReady | RegisterReturned | ActDone
