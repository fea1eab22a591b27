"""``Worker``: the thread of one stream."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from headrace.ids import ActorId
from headrace.runtime.actor import Wiring
from headrace.runtime.engine import SinkDone
from headrace.runtime.event_log import EventLog
from headrace.runtime.events import ActLaunched, Event
from headrace.runtime.launcher import Act, Launcher
from headrace.runtime.network import Network
from headrace.runtime.reentry import codes_of
from headrace.runtime.runner import Post, Runner

Ended = Callable[[BaseException, str, Sequence[Act]], None]
"""Told what ended the thread of the stream of a name, and the acts that were being launched."""


class Worker:
    """Delivers the events of one stream's actors and launches their acts.

    Launches go out as fast as events come in: those that follow them on other streams are ordered
    behind them by the device. The host waits for the work only where it is the end of a call, and
    then when no event is waiting.
    """

    def __init__(
        self,
        name: str,
        wirings: Iterable[Wiring],
        network: Network,
        launcher: Launcher,
        post: Post,
        sink_done: SinkDone,
        ended: Ended,
        log: EventLog | None = None,
    ) -> None:
        self._name = name
        self._sinks = network.sinks
        self._launcher = launcher
        self._sink_done = sink_done
        self._ended = ended
        self._runner = Runner(wirings, network.producers, self._launch, post, log)
        self._inbox: queue.SimpleQueue[tuple[ActorId, Event] | None] = queue.SimpleQueue()
        self._owed: deque[Act] = deque()  # sinks that were launched
        self._doing: tuple[Act, ...] = ()  # what raises now
        # Daemon: a session that was never closed must not keep the interpreter from ending.
        self._thread = threading.Thread(target=self._loop, name=f"headrace {name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, actor_id: ActorId, event: Event) -> None:
        """Hand over an event. Callable from any thread."""
        self._inbox.put((actor_id, event))

    def story_of(self, actor_id: ActorId) -> tuple[str, ...]:
        """The last transitions of an actor, in words. Callable from any thread."""
        return self._runner.story_of(actor_id)

    def ask_to_stop(self) -> None:
        """Let the thread end once it has done what is in its inbox. Idempotent."""
        self._inbox.put(None)

    def join(self) -> None:
        """Wait until the thread has ended; one that was never started has."""
        if self._thread.ident is not None:
            with suppress(RuntimeError):  # Ctrl-C stopped who started it; it begins, and ends
                self._thread.join()

    def _loop(self) -> None:
        try:
            while (message := self._next()) is not None:
                self._runner.deliver(*message)
        except BaseException as error:  # noqa: BLE001 - what ends this thread must reach the caller
            self._ended(error, self._name, self._doing)

    def _next(self) -> tuple[ActorId, Event] | None:
        """The next event; a stream that would idle first waits for the calls that it ends."""
        while self._owed:
            try:
                return self._inbox.get_nowait()
            except queue.Empty:
                self._end(self._owed.popleft())
        return self._inbox.get()

    def _end(self, act: Act) -> None:
        self._doing = (act,)
        self._launcher.wait(*act)
        self._doing = ()
        self._sink_done(*act)

    def _launch(self, actor_id: ActorId, number: int) -> None:
        act = (actor_id, number)
        self._doing = (act,)
        self._launcher.launches[actor_id](number)
        self._doing = ()
        if actor_id in self._sinks:
            if self._launcher.works_later(actor_id):
                self._owed.append(act)
            else:
                self._sink_done(*act)
        self.post(actor_id, ActLaunched(number))


LOOP = codes_of(Worker._loop)
