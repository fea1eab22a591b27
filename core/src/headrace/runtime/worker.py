"""``Worker``: the thread of one stream."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterable

from headrace.device import DeviceContext
from headrace.device import Event as Mark
from headrace.ids import ActorId
from headrace.runtime.actor import Wiring
from headrace.runtime.engine import Failed, LaunchActor, SinkDone
from headrace.runtime.event_log import EventLog
from headrace.runtime.events import ActDone, Event
from headrace.runtime.failure import Failure
from headrace.runtime.network import Network
from headrace.runtime.runner import Post, Runner

Act = tuple[ActorId, int]


class Worker:
    """Delivers the events of one stream's actors, launches their acts, and reports them done.

    Launches go out as fast as events come in. When no event is waiting, the stream is synchronised
    once for all acts launched so far, and these are reported done in the order of their launch.
    Where calls overlap, an event behind each act tells which of them failed, if one does.
    """

    def __init__(
        self,
        name: str,
        context: DeviceContext,
        wirings: Iterable[Wiring],
        network: Network,
        launch: LaunchActor,
        post: Post,
        sink_done: SinkDone,
        failed: Failed,
        log: EventLog | None = None,
    ) -> None:
        self._name = name
        self._context = context
        self._sinks = network.sinks
        self._launch_actor = launch
        self._sink_done = sink_done
        self._failed = failed
        self._runner = Runner(wirings, network.producers, self._launch, post, log)
        self._inbox: queue.SimpleQueue[tuple[ActorId, Event] | None] = queue.SimpleQueue()
        self._launched: deque[tuple[Act, Mark | None]] = deque()
        self._marks = network.overlaps and not context.host_synchronous
        self._suspects: tuple[Act, ...] = ()  # of what raises now
        # Daemon: a session that was never closed must not keep the interpreter from ending.
        self._thread = threading.Thread(target=self._loop, name=f"headrace {name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, actor_id: ActorId, event: Event) -> None:
        """Hand over an event. Callable from any thread."""
        self._inbox.put((actor_id, event))

    def ask_to_stop(self) -> None:
        """Let the thread end once it has done what is in its inbox. Idempotent."""
        self._inbox.put(None)

    def join(self) -> None:
        """Wait until the thread has ended; one that was never started has."""
        if self._thread.ident is not None:
            self._thread.join()

    def _loop(self) -> None:
        try:
            while (message := self._next()) is not None:
                self._runner.deliver(*message)
        except BaseException as error:  # noqa: BLE001 - what ends this thread must reach the caller
            acts = self._suspects
            story = self._runner.story_of(acts[0][0]) if acts else ()
            self._failed(Failure(error, self._name, acts, story))

    def _next(self) -> tuple[ActorId, Event] | None:
        """The next event; a stream that would idle first finishes the acts it owes."""
        try:
            return self._inbox.get_nowait()
        except queue.Empty:
            if not self._launched:
                return self._inbox.get()
        self._suspects = tuple(act for act, _ in self._launched)
        try:
            self._context.synchronize()
        except Exception:
            self._suspects = self._failed_acts()
            raise
        self._suspects = ()
        first = self._done(*self._launched.popleft()[0])
        while self._launched:
            self.post(*self._done(*self._launched.popleft()[0]))
        return first

    def _failed_acts(self) -> tuple[Act, ...]:
        """The act that failed: the first whose event raises; all of them where events do not."""
        for act, mark in self._launched:
            try:
                if mark is not None:
                    mark.synchronize()
            except Exception:  # noqa: BLE001 - the same error, or one that came of it
                return (act,)
        return self._suspects

    def _launch(self, actor_id: ActorId, number: int) -> None:
        act = (actor_id, number)
        self._suspects = (act,)
        self._launch_actor(actor_id, number)
        if self._context.host_synchronous:
            self.post(*self._done(actor_id, number))
        else:
            self._launched.append((act, self._context.record_event() if self._marks else None))
        self._suspects = ()

    def _done(self, actor_id: ActorId, number: int) -> tuple[ActorId, Event]:
        if actor_id in self._sinks:
            self._sink_done(actor_id, number)
        return actor_id, ActDone(number)
