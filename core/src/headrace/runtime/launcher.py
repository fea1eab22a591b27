"""``Launcher``: acts are launched behind those that they come after, by events on their streams.

An act comes after the acts that write what it reads, and after those that read what it writes over.
Of the same stream they need nothing: streams are in order. Of another one that works later, its
own stream waits for the event behind them, and the host goes on; only a stream whose calls return
with the work done has the host wait. So an act may be launched as soon as these are launched, not
done, and a call is on its way to a device long before the first of its work is done.

The event behind act n is kept until act n + width is launched, width being the number of calls of
the job under way at once: by then call n is over, all its work is done, and nobody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from headrace.device import DeviceContext, Event
from headrace.ids import ActorId, StreamId
from headrace.runtime.bind import LaunchAct
from headrace.runtime.group import GroupContext, GroupEvent
from headrace.runtime.network import Network
from headrace.runtime.patience import wait_for
from headrace.signals import let_handlers_through

Act = tuple[ActorId, int]
Wait = Callable[[Event], None]
Mark = tuple[int, int, Event]
"""Its place in the order of launches, the number of its act, and the event behind that act."""

_NEVER: Mark = (-1, -1, Event())


class Launcher:
    """Launches the acts of one engine. An actor is used by one thread at a time.

    Attributes:
        launches: what launches an act of each actor, behind what it comes after.
    """

    def __init__(
        self,
        network: Network,
        contexts: Mapping[StreamId, DeviceContext],
        launches: Sequence[LaunchAct],
    ) -> None:
        """``launches`` are as they were bound, by actor, and wait for nothing."""
        self._network = network
        of_actor = [contexts[stream_id] for stream_id in network.streams]
        # Of each actor, the marks behind its last acts; none where acts are done once launched.
        self._marks: list[list[Mark]] = [
            [] if context.host_synchronous else [_NEVER] * network.widths[job]
            for context, job in zip(of_actor, network.jobs, strict=True)
        ]
        order = count().__next__
        self.launches = tuple(
            _ordered(
                launch,
                [
                    (_waiting(context, of_actor[before]), self._marks[before], lag)
                    for before, lag in comes_after(network, wiring.actor_id)
                    if self._marks[before]
                ],
                self._marks[wiring.actor_id],
                context.record_event,
                order,
            )
            for wiring, context, launch in zip(network.wirings, of_actor, launches, strict=True)
        )

    def wait(self, actor_id: ActorId, number: int) -> None:
        """Wait on the host for an act that was launched.

        Raises:
            Exception: what its work raised, or work that it came after.
        """
        marks = self._marks[actor_id]
        if marks:
            wait_for(marks[number % len(marks)][2])

    def works_later(self, actor_id: ActorId) -> bool:
        """True when the acts of an actor may not be done once they are launched."""
        return bool(self._marks[actor_id])

    def first_failed(self, actor_id: ActorId) -> tuple[Act, Exception] | None:
        """The first of the acts under way whose work raised, and what it raised.

        Work that comes after a failure fails with it, so of all that failed the one that was
        launched first is the one to name. Only work that ``actor_id`` may come after is waited for:
        that of other devices may take as long as it likes.
        """
        jobs = self._jobs_before(self._network.jobs[actor_id])
        under_way = sorted(
            (mark[0], other, mark)
            for other, marks in enumerate(self._marks)
            if self._network.jobs[other] in jobs
            for mark in tuple(marks)
            if mark is not _NEVER
        )
        for _, other, (_, number, event) in under_way:
            try:
                wait_for(event)
            except Exception as error:  # noqa: BLE001 - whatever a plugin raises
                let_handlers_through(error)
                return (ActorId(other), number), error
        return None

    def _jobs_before(self, job: int) -> set[int]:
        """The jobs whose work may fail that of ``job``: itself, and all that share late streams."""
        late: dict[int, set[StreamId]] = {}
        for actor_id, marks in enumerate(self._marks):
            mine = late.setdefault(self._network.jobs[actor_id], set())
            if marks:
                mine.add(self._network.streams[actor_id])
        jobs, streams = {job}, set(late[job])
        while more := {j for j, of_job in late.items() if j not in jobs and of_job & streams}:
            jobs |= more
            streams.update(*(late[j] for j in more))
        return jobs

    def forget(self) -> None:
        """Let go of all events: after an error they would be named again."""
        for marks in self._marks:
            marks[:] = [_NEVER] * len(marks)


def comes_after(network: Network, actor_id: ActorId) -> tuple[tuple[ActorId, int], ...]:
    """The actors of other streams that an act comes after, each with how many acts before.

    Act n comes after act n - lag of each; what belongs to a call that is over by then is left out.
    """
    wiring = network.wirings[actor_id]
    width = network.widths[network.jobs[actor_id]]
    lags: dict[ActorId, int] = {}
    for register in wiring.consumed:
        lags[network.producers[register]] = 0
    for register in wiring.produced:
        lag = wiring.slots[register]
        for consumer in wiring.consumers[register]:
            lags[consumer] = min(lag, lags.get(consumer, lag))
    mine = network.streams[actor_id]
    return tuple(
        (other, lag)
        for other, lag in lags.items()
        if network.streams[other] != mine and lag < width
    )


def _waiting(context: DeviceContext, before: DeviceContext) -> Wait:
    """How work of a context waits for an event of another one.

    Its stream waits, or the host where that is the stream.
    """
    if context.host_synchronous:
        return wait_for
    if not isinstance(before, GroupContext):
        return context.wait_event

    def wait_for_each(event: Event) -> None:
        assert isinstance(event, GroupEvent)
        for part in event.parts:  # of one device each, which plugins know how to wait for
            context.wait_event(part)

    return wait_for_each


def _ordered(
    launch: LaunchAct,
    waits: Sequence[tuple[Wait, list[Mark], int]],
    marks: list[Mark],
    record: Callable[[], Event],
    order: Callable[[], int],
) -> LaunchAct:
    """``launch`` behind what it waits for, and a mark behind ``launch`` where marks are kept."""
    if not waits and not marks:
        return launch
    waits, width = tuple(waits), len(marks)

    def act(number: int) -> None:
        for wait, others, lag in waits:
            if number >= lag:
                wait(others[(number - lag) % len(others)][2])
        launch(number)
        if width:
            event = record()
            marks[number % width] = (order(), number, event)

    return act
