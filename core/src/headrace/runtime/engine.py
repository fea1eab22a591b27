"""What steps the actors of a plan: the interface of the inline and the threaded engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from headrace.ids import ActorId

LaunchActor = Callable[[ActorId, int], None]
"""Launches act ``number`` of an actor on its stream."""

SinkDone = Callable[[ActorId, int], bool]
"""Told when a sink has finished act ``number``; True when the call it worked for is over."""

CallDone = Callable[[int, int], None]
"""Told when a call is over, by its job and number."""

Failed = Callable[[BaseException, Sequence[tuple[ActorId, int]]], None]
"""Told what stopped the engine, and the acts in one of which it happened, as far as that is known;
none if it happened outside of acts."""


class Engine(Protocol):
    """Steps actors. Made anew after an error: a failed engine is stopped and dropped."""

    def begin(self, job: int) -> None:
        """Announce a call of ``job`` to its source actors, as soon as the job may run."""

    def stop(self) -> None:
        """End its threads, if it has any. Idempotent."""
