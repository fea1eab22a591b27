"""``Runner``: steps the actors of one thread and does what they ask for.

It joins the pure state machine to the world through two functions that it is given: ``launch`` does
the work of an act, ``post`` delivers an event to an actor, wherever that actor runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from headrace.ids import ActorId, RegisterId
from headrace.runtime.actor import Actor, Wiring
from headrace.runtime.commands import Act, Publish, Return
from headrace.runtime.events import Event, RegisterReady, RegisterReturned
from headrace.runtime.story import KEPT, Transition, story_of

if TYPE_CHECKING:  # runs are seldom written down
    from headrace.runtime.event_log import EventLog

Post = Callable[[ActorId, Event], None]
Launch = Callable[[ActorId, int], None]


class Runner:
    """The actors of one thread. Used by that thread alone."""

    def __init__(
        self,
        wirings: Iterable[Wiring],
        producers: Mapping[RegisterId, ActorId],
        launch: Launch,
        post: Post,
        log: EventLog | None = None,
    ) -> None:
        self._log = log
        self._actors = {wiring.actor_id: Actor.initial(wiring) for wiring in wirings}
        self._producers = producers
        self._launch = launch
        self._post = post
        self._recent: deque[Transition] = deque(maxlen=KEPT)

    def story_of(self, actor_id: ActorId) -> tuple[str, ...]:
        """The last transitions of an actor, in words."""
        return story_of(actor_id, tuple(self._recent))  # others may ask while it grows

    def deliver(self, actor_id: ActorId, event: Event) -> None:
        """Step one actor and carry out its commands in order.

        Raises:
            Exception: what a launch raised; the actors are then out of step and must be dropped.
        """
        log = self._log
        if log is not None:
            log.messages.append((actor_id, event))
        actor, commands = self._actors[actor_id].on(event)
        self._actors[actor_id] = actor
        self._recent.append((actor_id, event, commands))
        for command in commands:
            match command:
                case Act(number=number):
                    if log is not None:
                        log.acts.append((actor_id, number))
                    self._launch(actor_id, number)
                case Publish(register=register):
                    ready = RegisterReady(register)
                    for consumer in actor.wiring.consumers[register]:
                        self._post(consumer, ready)
                case Return(register=register):
                    producer = self._producers[register]
                    self._post(producer, RegisterReturned(register, actor_id))
