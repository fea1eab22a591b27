"""``ThreadedEngine``: a worker thread for each stream, where the host has to do things at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from headrace.ids import ActorId, StreamId
from headrace.runtime.bus import new_lock
from headrace.runtime.engine import Failed, SinkDone
from headrace.runtime.event_log import EventLog
from headrace.runtime.events import CallArrived, Event
from headrace.runtime.failure import Failure
from headrace.runtime.launcher import Act, Launcher
from headrace.runtime.network import Network
from headrace.runtime.reentry import is_within
from headrace.runtime.sections import Sections
from headrace.runtime.worker import LOOP, Worker


class ThreadedEngine:
    """Routes events between the workers of streams, and keeps calls apart that exclude others.

    Attributes:
        is_started: all threads are there. Whoever makes an engine holds it before it is started, so
            that Ctrl-C cannot leave threads that nobody stops.
    """

    def __init__(
        self,
        network: Network,
        names: Mapping[StreamId, str],
        launcher: Launcher,
        sink_done: SinkDone,
        failed: Failed,
        log: EventLog | None = None,
    ) -> None:
        self._network = network
        self._launcher = launcher
        self._failed = failed
        self._call_over = sink_done
        self._sections = Sections(network.sections)
        self._entering = new_lock()
        workers = {
            stream_id: Worker(
                name,
                [w for w in network.wirings if network.streams[w.actor_id] == stream_id],
                network,
                launcher,
                self._post,
                self._sink_done,
                self._ended,
                log,
            )
            for stream_id, name in names.items()
        }
        self._worker_of = [workers[stream_id] for stream_id in network.streams]
        self._workers = tuple(workers.values())
        self.is_started = False

    @property
    def is_here(self) -> bool:
        """True further in on one of the threads, as in a kernel."""
        return is_within(self._workers, LOOP, sys._getframe(1))

    def start(self) -> None:
        """Start all threads, or none: what stops it ends those that were started."""
        try:
            for worker in self._workers:
                worker.start()
            self.is_started = True
        except BaseException:
            self.stop()
            raise

    def begin(self, job: int) -> None:
        """Announce a call; it runs on the workers, at once or when its critical section is free."""
        with self._entering:
            may_begin = self._sections.request(job)
        if may_begin:
            self._announce(job)

    def stop(self) -> None:
        """End all threads and wait for them. Idempotent."""
        for worker in self._workers:
            worker.ask_to_stop()
        for worker in self._workers:
            worker.join()

    def _announce(self, job: int) -> None:
        for source in self._network.sources[job]:
            self._post(source, CallArrived())

    def _sink_done(self, actor_id: ActorId, number: int) -> bool:
        over = self._call_over(actor_id, number)
        if over:
            with self._entering:
                granted = self._sections.release(self._network.jobs[actor_id])
            for job in granted:
                self._announce(job)
        return over

    def _ended(self, error: BaseException, stream: str, acts: Sequence[Act]) -> None:
        """A thread ended, in one of ``acts`` or outside of them; which act is at fault?

        Work that was launched before may have failed first, and whoever came after it hears of it.
        """
        story: tuple[str, ...] = ()
        if acts:
            found = self._launcher.first_failed(acts[0][0])
            if found is not None:
                act, error = found
                acts = (act,)
            story = self._worker_of[acts[0][0]].story_of(acts[0][0])
        self._failed(Failure(error, stream, acts, story))

    def _post(self, actor_id: ActorId, event: Event) -> None:
        self._worker_of[actor_id].post(actor_id, event)
