"""``InlineEngine``: all actors on the caller's thread, for plans whose streams never run behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.ids import ActorId
from headrace.runtime.bind import LaunchAct

Describe = Callable[[BaseException, ActorId], BaseException]
"""Makes of what an actor raised what the caller is told."""


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
        describe: Describe,
    ) -> None:
        self._steps = {
            job: tuple((actor_id, launches[actor_id]) for actor_id in order)
            for job, order in orders.items()
        }
        self._describe = describe
        self._numbers = dict.fromkeys(orders, 0)

    def run(self, job: int) -> None:
        """Run a call to its end.

        Raises:
            BaseException: what ``describe`` made of what an actor raised; Ctrl-C and the like as
                they are.
        """
        number = self._numbers[job]
        self._numbers[job] = number + 1
        actor_id = None
        try:
            for actor_id, launch in self._steps[job]:  # noqa: B007 - `except` reads it
                launch(number)
        except (Exception, SystemExit) as error:  # which would end the caller's program
            if actor_id is None:
                raise
            described = self._describe(error, actor_id)
            raise described from described.__cause__
