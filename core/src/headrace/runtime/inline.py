"""``InlineEngine``: all actors on the caller's thread, for plans whose streams never run behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.ids import ActorId
from headrace.runtime.bind import LaunchAct
from headrace.runtime.engine import CallDone, Failed


class InlineEngine:
    """Launches the acts of a call one after another. Used by one thread at a time.

    The order was found by stepping the actors once (``order.py``). Stepping them again in every
    call would find the same and cost more than the work of a small model. No two calls overlap, so
    no critical section is ever waited for.
    """

    def __init__(
        self,
        orders: Mapping[int, Sequence[ActorId]],
        launches: Sequence[LaunchAct],
        call_done: CallDone,
        failed: Failed,
    ) -> None:
        self._steps = {
            job: tuple((actor_id, launches[actor_id]) for actor_id in order)
            for job, order in orders.items()
        }
        self._call_done = call_done
        self._failed = failed
        self._numbers = dict.fromkeys(orders, 0)

    def begin(self, job: int) -> None:
        """Run a call to its end."""
        number = self._numbers[job]
        self._numbers[job] = number + 1
        actor_id = None
        try:
            for actor_id, launch in self._steps[job]:  # noqa: B007 - `except` reads it
                launch(number)
        except BaseException as error:
            self._failed(error, () if actor_id is None else ((actor_id, number),))
            if not isinstance(error, Exception):
                raise  # Ctrl-C and the like also stop the caller
        else:
            self._call_done(job, number)

    def stop(self) -> None:
        """Nothing to stop: no thread is kept."""
