"""What the threads of a running plan ask of whoever runs it."""

from __future__ import annotations

from collections.abc import Callable

from headrace.ids import ActorId
from headrace.runtime.failure import Failure

SinkDone = Callable[[ActorId, int], bool]
"""Told when a sink has finished act ``number``; True when the call it worked for is over."""

Failed = Callable[[Failure], None]
"""Told what stopped the engine."""
