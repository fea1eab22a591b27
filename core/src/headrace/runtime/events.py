"""What an actor is told. Small values; delivering the same ones in the same order replays a run."""

from __future__ import annotations

from headrace.ids import ActorId, RegisterId
from headrace.light_dataclass import dataclass


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
class ActLaunched:
    """Act ``number`` is launched: from now on, who waits for the event behind it comes after it."""

    number: int


Event = CallArrived | RegisterReady | RegisterReturned | ActLaunched
