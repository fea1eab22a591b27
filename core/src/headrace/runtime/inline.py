"""``InlineEngine``: all actors on the caller's thread, for plans whose streams never run behind."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.ids import ActorId
from headrace.runtime.bind import LaunchAct
from headrace.runtime.engine import CallDone, Failed


class InlineEngine:
    """Launches the acts of a call one after another. Used by one thread at a time.

    The order was found by stepping the actors once (``order.py``). Stepping them again in every
    call would find the same and cost more than the work of a small model.
    """

    def __init__(
        self,
        order: Sequence[ActorId],
        launches: Sequence[LaunchAct],
        call_done: CallDone,
        failed: Failed,
    ) -> None:
        self._steps = tuple((actor_id, launches[actor_id]) for actor_id in order)
        self._call_done = call_done
        self._failed = failed
        self._number = 0

    def begin(self) -> None:
        """Run a call to its end."""
        number = self._number
        self._number += 1
        actor_id = None
        try:
            for actor_id, launch in self._steps:  # noqa: B007 - `except` reads it
                launch(number)
        except BaseException as error:
            self._failed(error, actor_id)
            if not isinstance(error, Exception):
                raise  # Ctrl-C and the like also stop the caller
        else:
            self._call_done(number)

    def stop(self) -> None:
        """Nothing to stop: no thread is kept."""
