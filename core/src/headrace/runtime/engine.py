"""What the threads of a running plan ask of whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.ids import ActorId

LaunchActor = Callable[[ActorId, int], None]
"""Launches act ``number`` of an actor on its stream."""

SinkDone = Callable[[ActorId, int], bool]
"""Told when a sink has finished act ``number``; True when the call it worked for is over."""

Failed = Callable[[BaseException, Sequence[tuple[ActorId, int]]], None]
"""Told what stopped the engine, and the acts in one of which it happened, as far as that is known;
none if it happened outside of acts."""
