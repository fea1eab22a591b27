"""``InlineEngine``: all actors on the caller's thread, for plans whose streams never run behind."""

from __future__ import annotations

from collections import deque

from headrace.ids import ActorId
from headrace.runtime.engine import Failed, LaunchActor, SinkDone
from headrace.runtime.events import ActDone, CallArrived, Event
from headrace.runtime.network import Network
from headrace.runtime.runner import Runner


class InlineEngine:
    """A queue of events, drained by whoever begins a call. Used by one thread at a time."""

    def __init__(
        self, network: Network, launch: LaunchActor, sink_done: SinkDone, failed: Failed
    ) -> None:
        self._network = network
        self._launch_actor = launch
        self._sink_done = sink_done
        self._failed = failed
        self._queue: deque[tuple[ActorId, Event]] = deque()
        self._runner = Runner(network.wirings, network.producers, self._launch, self._post)
        self._current: ActorId | None = None

    def begin(self) -> None:
        """Run a call to its end."""
        arrived = CallArrived()
        self._queue.extend((source, arrived) for source in self._network.sources)
        queue, deliver = self._queue, self._runner.deliver
        try:
            while queue:
                deliver(*queue.popleft())
        except BaseException as error:
            self._failed(error, self._current)
            if not isinstance(error, Exception):
                raise  # Ctrl-C and the like also stop the caller

    def stop(self) -> None:
        """Nothing to stop: no thread is kept."""

    def _launch(self, actor_id: ActorId, number: int) -> None:
        self._current = actor_id
        self._launch_actor(actor_id, number)
        self._queue.append((actor_id, ActDone(number)))
        if actor_id in self._network.sinks:
            self._sink_done(number)

    def _post(self, actor_id: ActorId, event: Event) -> None:
        self._queue.append((actor_id, event))
