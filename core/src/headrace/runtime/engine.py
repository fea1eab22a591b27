"""What steps the actors of a plan: the interface of the inline and the threaded engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from headrace.ids import ActorId

LaunchActor = Callable[[ActorId, int], None]
"""Launches act ``number`` of an actor on its stream."""

SinkDone = Callable[[int], None]
"""Told when a sink has finished act ``number``."""

CallDone = Callable[[int], None]
"""Told when a call is over, by its number."""

Failed = Callable[[BaseException, ActorId | None], None]
"""Told what stopped the engine, and at which actor."""


class Engine(Protocol):
    """Steps actors. Made anew after an error: a failed engine is stopped and dropped."""

    def begin(self) -> None:
        """Announce a call to the source actors."""

    def stop(self) -> None:
        """End its threads, if it has any. Idempotent."""
