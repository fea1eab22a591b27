"""The network of actors of a plan: who is wired to whom, and who starts and ends a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from headrace.ids import ActorId, RegisterId, StreamId
from headrace.light_dataclass import dataclass
from headrace.plan import CriticalSection, Plan, TaskKind
from headrace.runtime.actor import Wiring


@dataclass(frozen=True, slots=True)
class Network:
    """What an engine needs to know of a plan.

    Attributes:
        wirings: one for each actor, by its number.
        producers: the actor that writes each register between actors.
        streams: the stream of each actor, by its number.
        jobs: the job whose calls each actor works for, by its number.
        sources: actors that a call starts, by job.
        sinks: actors whose end is the end of a call.
        sink_counts: how many sinks each job has that can be called.
        sections: which calls may overlap.
        widths: how many calls may be under way at once, by job that can be called.
        side_by_side: the compute streams of devices that compute on more than one.
    """

    wirings: tuple[Wiring, ...]
    producers: Mapping[RegisterId, ActorId]
    streams: tuple[StreamId, ...]
    jobs: tuple[int, ...]
    sources: Mapping[int, tuple[ActorId, ...]]
    sinks: frozenset[ActorId]
    sink_counts: Mapping[int, int]
    sections: tuple[CriticalSection, ...]
    widths: Mapping[int, int]
    side_by_side: frozenset[StreamId]

    @staticmethod
    def of(plan: Plan) -> Network:
        """The network of ``plan``."""
        readers: dict[RegisterId, list[ActorId]] = {}
        for number, actor in enumerate(plan.actors):
            for register in actor.consumed:
                readers.setdefault(register, []).append(ActorId(number))
        wirings = tuple(
            Wiring(
                ActorId(number),
                actor.consumed,
                actor.produced,
                {r: plan.registers[r].slots for r in actor.produced},
                {r: tuple(readers.get(r, ())) for r in actor.produced},
            )
            for number, actor in enumerate(plan.actors)
        )
        jobs = tuple(plan.jobs[plan.tasks[actor.tasks[0]].job].serves for actor in plan.actors)
        sources: dict[int, list[ActorId]] = {job: [] for job in plan.calls().values()}
        sink_counts = dict.fromkeys(sources, 0)
        for job, wiring in zip(jobs, wirings, strict=True):
            if wiring.is_source:
                sources[job].append(wiring.actor_id)
            sink_counts[job] += wiring.is_sink
        return Network(
            wirings,
            {r: w.actor_id for w in wirings for r in w.produced},
            tuple(actor.stream_id for actor in plan.actors),
            jobs,
            {job: tuple(actors) for job, actors in sources.items()},
            frozenset(w.actor_id for w in wirings if w.is_sink),
            sink_counts,
            plan.sections,
            {job: plan.jobs[job].width for job in sources},
            _side_by_side(plan),
        )


def _side_by_side(plan: Plan) -> frozenset[StreamId]:
    """The compute streams of devices that compute on more than one."""
    streams = {t.task_id.stream_id for t in plan.tasks if t.kind is TaskKind.COMPUTE}
    counts = Counter(stream_id.device_id for stream_id in streams)
    return frozenset(s for s in streams if counts[s.device_id] > 1)
