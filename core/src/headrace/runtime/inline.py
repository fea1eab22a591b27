"""``InlineEngine``: all actors on the caller's thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.device import DeviceContext
from headrace.ids import ActorId, StreamId
from headrace.runtime.bus import Exchange
from headrace.runtime.launcher import Launcher
from headrace.runtime.network import Network
from headrace.signals import let_handlers_through
from headrace.tensor_spec import Array

Describe = Callable[[BaseException, ActorId], BaseException]
"""Makes of what an actor raised what the caller is told."""


class InlineEngine:
    """Launches the acts of a call one after another. Used by one thread at a time.

    The order was found by stepping the actors once (``order.py``). Stepping them again in every
    call would find the same and cost more than the work of a small model. Streams that work later
    are ordered among each other by their events; the host waits where it reads what they wrote, and
    at the end for what nobody reads. No two calls overlap, so no critical section is ever waited
    for.
    """

    def __init__(
        self,
        orders: Mapping[int, Sequence[ActorId]],
        sinks: frozenset[ActorId],
        launcher: Launcher,
        exchange: Exchange,
        describe: Describe,
    ) -> None:
        """Of actors whose launches are bound to ``exchange``, in the order of each job."""
        self._steps = {
            job: tuple((actor_id, launcher.launches[actor_id]) for actor_id in order)
            for job, order in orders.items()
        }
        self._owed = {
            job: tuple(a for a in order if a in sinks and launcher.works_later(a))
            for job, order in orders.items()
        }
        self._launcher = launcher
        self._exchange = exchange
        self._describe = describe
        self._numbers = dict.fromkeys(orders, 0)

    def run(self, job: int, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run a call to its end; returns its results by name.

        Raises:
            BaseException: what ``describe`` made of what an actor raised; Ctrl-C, and what handlers
                of signals raise, as they are.
        """
        number = self._numbers[job]
        self._numbers[job] = number + 1
        results: dict[str, Array] = {}
        exchange = self._exchange
        exchange.feeds, exchange.results = feeds, results
        actor_id = None
        try:
            for actor_id, launch in self._steps[job]:  # noqa: B007 - `except` reads it
                launch(number)
            for actor_id in self._owed[job]:
                self._launcher.wait(actor_id, number)
        except (Exception, SystemExit) as error:  # which would end the caller's program
            if actor_id is None:
                raise
            try:
                let_handlers_through(error)
            except BaseException:
                self._launcher.forget()
                raise
            described = self._described(error, actor_id)
            raise described from described.__cause__
        except BaseException:
            self._launcher.forget()
            raise
        finally:  # nothing of the caller's is kept
            exchange.feeds = exchange.results = {}
        return results

    def _described(self, error: BaseException, actor_id: ActorId) -> BaseException:
        """What the caller is told; work that was launched before may have failed first."""
        try:
            found = self._launcher.first_failed(actor_id)
        finally:
            self._launcher.forget()
        if found is None:
            return self._describe(error, actor_id)
        (first, _), cause = found
        return self._describe(cause, first)


def can_run_inline(
    network: Network, contexts: Mapping[StreamId, DeviceContext], is_recorded: bool
) -> bool:
    """Whether the caller's thread alone makes use of all streams.

    Not where calls overlap, nor where launches that take as long as their work are to overlap with
    others: those of streams side by side, or of any stream when each task is waited for, as it is
    where it is recorded.
    """
    late = {s for s, context in contexts.items() if not context.host_synchronous}
    return (
        max(network.widths.values(), default=1) == 1
        and network.side_by_side <= late
        and not (is_recorded and late)
    )
