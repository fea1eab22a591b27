"""What the threads of a running plan ask of whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.ids import ActorId

LaunchActor = Callable[[ActorId, int], None]
"""Launches act ``number`` of an actor on its stream."""

SinkDone = Callable[[ActorId, int], bool]
"""Told when a sink has finished act ``number``; True when the call it worked for is over."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What stopped the thread of a stream.

    Attributes:
        error: what was raised.
        stream: the stream, in words.
        acts: those in one of which it happened, as far as that is known; none if it happened
            outside of acts.
        transitions: the last ones of the actor of the first act.
    """

    error: BaseException
    stream: str
    acts: Sequence[tuple[ActorId, int]]
    transitions: tuple[str, ...]


Failed = Callable[[Failure], None]
"""Told what stopped the engine."""
