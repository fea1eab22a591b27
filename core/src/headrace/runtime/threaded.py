"""``ThreadedEngine``: a worker thread for each stream, for plans with streams that run behind."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.device import DeviceContext
from headrace.ids import ActorId, StreamId
from headrace.runtime.engine import Failed, LaunchActor, SinkDone
from headrace.runtime.events import CallArrived, Event
from headrace.runtime.network import Network
from headrace.runtime.worker import Worker


class ThreadedEngine:
    """Routes events between the workers of the streams."""

    def __init__(
        self,
        network: Network,
        contexts: Mapping[StreamId, DeviceContext],
        names: Mapping[StreamId, str],
        launch: LaunchActor,
        sink_done: SinkDone,
        failed: Failed,
    ) -> None:
        self._network = network
        workers = {
            stream_id: Worker(
                f"headrace {names[stream_id]}",
                context,
                [w for w in network.wirings if network.streams[w.actor_id] == stream_id],
                network,
                launch,
                self._post,
                sink_done,
                failed,
            )
            for stream_id, context in contexts.items()
        }
        self._worker_of = [workers[stream_id] for stream_id in network.streams]
        self._workers = tuple(workers.values())
        try:
            for worker in self._workers:
                worker.start()
        except BaseException:
            self.stop()
            raise

    def begin(self) -> None:
        """Announce a call; it runs on the workers."""
        for source in self._network.sources:
            self._post(source, CallArrived())

    def stop(self) -> None:
        """End all threads and wait for them."""
        for worker in self._workers:
            worker.ask_to_stop()
        for worker in self._workers:
            worker.join()

    def _post(self, actor_id: ActorId, event: Event) -> None:
        self._worker_of[actor_id].post(actor_id, event)
