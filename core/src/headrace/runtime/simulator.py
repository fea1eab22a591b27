"""``simulate``: a plan run in virtual time, by the same actors, without a device or a thread.

Streams are servers that do their acts one after another, in the order in which they were launched,
each when what it comes after is done; messages between streams take time; what may happen in either
order happens in the order that a seed says. One seed gives one run, event for
event, so whatever goes wrong under one can be looked at again. As only the plan is needed, it may
be for a thousand devices that nobody has.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from heapq import heappop, heappush
from itertools import count

from headrace.errors import ProtocolError
from headrace.ids import ActorId, StreamId
from headrace.light_dataclass import dataclass
from headrace.plan import CORE_KINDS, Plan, TaskDesc, TaskKind
from headrace.runtime.actor import Actor
from headrace.runtime.commands import Act, Publish, Return
from headrace.runtime.events import ActLaunched, CallArrived, Event, RegisterReady, RegisterReturned
from headrace.runtime.launcher import comes_after
from headrace.runtime.network import Network

Duration = Callable[[TaskDesc], float]
"""Virtual seconds that a task takes on its stream."""


def one_each(task: TaskDesc) -> float:
    """A second for every task but those that hand over between the caller and the plan."""
    return 0.0 if task.kind in (TaskKind.FOREIGN_INPUT, TaskKind.FOREIGN_OUTPUT) else 1.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event as an actor got it; the list of them replays the run."""

    time: float
    actor: ActorId
    event: Event


@dataclass(frozen=True, slots=True)
class Span:
    """An act on its stream, from ``begin`` to ``end`` in virtual seconds."""

    actor: ActorId
    number: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Simulation:
    """A run that came to its end.

    Attributes:
        log: every event that was delivered, in order.
        spans: every act, in the order in which they began.
        seconds: when the last act ended.
        most_behind: of each stream, the most acts that waited on it at once.
    """

    log: tuple[Delivery, ...]
    spans: tuple[Span, ...]
    seconds: float
    most_behind: Mapping[StreamId, int]


def simulate(
    plan: Plan,
    calls: int = 1,
    *,
    job: int = 0,
    width: int | None = None,
    duration: Duration = one_each,
    hop: float = 0.0,
    jitter: float = 0.0,
    seed: int = 0,
) -> Simulation:
    """Run ``calls`` calls of a job of ``plan``, each announced as soon as there is room for it.

    Args:
        plan: a checked plan.
        calls: how many.
        job: position of the job in the plan; the first one is a user's.
        width: how many calls may be under way; None means as many as the plan allows.
        duration: how long each task takes; an act takes the sum of its tasks.
        hop: seconds for a message from one stream to another.
        jitter: durations and hops are multiplied by a random factor from 1 to 1 + ``jitter``.
        seed: decides what is random: factors, and the order of what happens at one time.

    Raises:
        ProtocolError: it stops before all calls are over; says which actors wait, and for what.
    """
    width = plan.jobs[job].width if width is None else width
    return _Simulator(plan, duration, hop, jitter, random.Random(seed)).run(calls, job, width)


@dataclass(slots=True)
class _Server:
    """A stream: when it will be done with what was launched, and what of that has not begun."""

    end: float = 0.0
    begins: deque[float] = field(default_factory=deque)
    most: int = 0
    launched: tuple[float, float] = (0.0, 0.0)  # when the last of it was; launches are in order


class _Simulator:
    def __init__(
        self, plan: Plan, duration: Duration, hop: float, jitter: float, draw: random.Random
    ) -> None:
        self._plan = plan
        self._network = Network.of(plan)
        self._actors = {w.actor_id: Actor.initial(w) for w in self._network.wirings}
        self._servers = {stream: _Server() for stream in self._network.streams}
        self._seconds = {
            ActorId(number): sum(duration(plan.tasks[position]) for position in actor.tasks)
            for number, actor in enumerate(plan.actors)
        }
        self._is_hosts = [plan.tasks[a.tasks[0]].kind in CORE_KINDS for a in plan.actors]
        self._hop = hop
        self._jitter = jitter
        self._draw = draw
        self._now = 0.0
        self._count = count()
        self._comes_after = [comes_after(self._network, w.actor_id) for w in self._network.wirings]
        self._ends: dict[tuple[ActorId, int], float] = {}  # of the work of acts
        # (time, tie, number, actor, event): what has one time and one tie comes as it was put.
        # Without an event: the work of an act of a sink ends.
        self._agenda: list[tuple[float, float, int, ActorId, Event | None]] = []
        self._last: dict[tuple[StreamId, StreamId], tuple[float, float]] = {}
        self._log: list[Delivery] = []
        self._spans: list[Span] = []

    def run(self, calls: int, job: int, width: int) -> Simulation:
        done = {s: 0 for s in self._network.sinks if self._network.jobs[s] == job}
        announced = self._announce(job, min(calls, width))
        while self._agenda:
            self._now, _, _, actor_id, event = heappop(self._agenda)
            if event is not None:
                self._deliver(actor_id, event)
            elif actor_id in done:
                done[actor_id] += 1
                over = min(done.values())
                announced += self._announce(job, min(calls, over + width) - announced)
        self._check_over(calls, job)
        most = {stream: server.most for stream, server in self._servers.items()}
        seconds = max((span.end for span in self._spans), default=0.0)
        spans = sorted(self._spans, key=lambda span: span.begin)
        return Simulation(tuple(self._log), tuple(spans), seconds, most)

    def _announce(self, job: int, calls: int) -> int:
        for source in self._network.sources[job]:
            for _ in range(calls):
                self._put(self._now, 0.0, source, CallArrived())
        return calls

    def _deliver(self, actor_id: ActorId, event: Event) -> None:
        self._log.append(Delivery(self._now, actor_id, event))
        stream = self._network.streams[actor_id]
        actor, commands = self._actors[actor_id].on(event)
        self._actors[actor_id] = actor
        for command in commands:
            match command:
                case Act(number=number):
                    self._launch(actor_id, number)
                case Publish(register=register):
                    for consumer in actor.wiring.consumers[register]:
                        self._send(stream, consumer, RegisterReady(register))
                case Return(register=register):
                    producer = self._network.producers[register]
                    self._send(stream, producer, RegisterReturned(register, actor_id))

    def _launch(self, actor_id: ActorId, number: int) -> None:
        server = self._servers[self._network.streams[actor_id]]
        before = [
            self._ends[other, number - lag]
            for other, lag in self._comes_after[actor_id]
            if number >= lag
        ]
        begin = max(self._now, server.end, *before)
        server.end = end = begin + self._seconds[actor_id] * self._factor()
        self._ends[actor_id, number] = end
        self._spans.append(Span(actor_id, number, begin, end))
        while server.begins and server.begins[0] <= self._now:
            server.begins.popleft()
        server.begins.append(begin)
        server.most = max(server.most, len(server.begins))
        # Launches go ahead of the work, but for those of the host's own tasks, which do it.
        when = end if self._is_hosts[actor_id] else self._now
        server.launched = max((when, self._draw.random()), server.launched)
        self._put(*server.launched, actor_id, ActLaunched(number))
        if actor_id in self._network.sinks:
            self._put(end, self._draw.random(), actor_id, None)

    def _send(self, sender: StreamId, receiver: ActorId, event: Event) -> None:
        to = self._network.streams[receiver]
        arrival = self._now if to == sender else self._now + self._hop * self._factor()
        # An inbox is a queue: a message never overtakes an earlier one of the same sender.
        before = self._last.get((sender, to), (0.0, 0.0))
        slot = max((arrival, self._draw.random()), before)
        self._last[sender, to] = slot
        self._put(*slot, receiver, event)

    def _put(self, time: float, tie: float, actor_id: ActorId, event: Event | None) -> None:
        heappush(self._agenda, (time, tie, next(self._count), actor_id, event))

    def _factor(self) -> float:
        return 1.0 + self._jitter * self._draw.random()

    def _check_over(self, calls: int, job: int) -> None:
        actors = [
            a for a, of in zip(self._actors.values(), self._network.jobs, strict=True) if of == job
        ]
        behind = [actor for actor in actors if actor.launched < calls]
        if behind:
            states = "; ".join(map(str, behind[:4]))
            raise ProtocolError(
                f"plan {self._plan.name!r} stopped at {self._now} s of virtual time with "
                f"{len(behind)} of {len(actors)} actors short of {calls} acts: {states}"
            )
