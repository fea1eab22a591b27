"""Which bytes held something that was still needed, and when: registers in measured time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from headrace.ids import RegisterId
from headrace.light_dataclass import dataclass
from headrace.plan import Plan, TaskDesc
from headrace.plan.covered import CoveredBytes
from headrace.timeline.sources import origins
from headrace.timeline.span import TaskSpan


@dataclass(frozen=True, slots=True)
class Life:
    """A register in one call: from the launch that writes it to the end of its last reader."""

    register: RegisterId
    number: int
    begin_ns: int
    end_ns: int


def lives(plan: Plan, spans: Sequence[TaskSpan]) -> tuple[Life, ...]:
    """All of them by their begin; what keeps its value between calls, and views, have none.

    A register lives as long as a view of it is needed. Scratch memory lives while its task runs.
    """
    origin, found = origins(plan), dict[tuple[RegisterId, int], list[int]]()
    made = [tuple(_made(plan, task, plan.persistent())) for task in plan.tasks]
    for span in spans:
        for register in made[span.task]:
            found[register, span.number] = [span.begin_ns, span.end_ns]
    for span in spans:
        for read in plan.tasks[span.task].inputs:
            life = None if read is None else found.get((origin[read], span.number))
            if life is not None:
                life[1] = max(life[1], span.end_ns)
    alive = [Life(*key, begin, end) for key, (begin, end) in found.items()]
    return tuple(sorted(alive, key=lambda life: (life.begin_ns, life.register, life.number)))


def _made(plan: Plan, task: TaskDesc, variables: Container[RegisterId]) -> Iterator[RegisterId]:
    """What begins to live when a task is launched."""
    scratch = () if task.workspace is None else (task.workspace,)
    for register in (*task.outputs, *scratch):
        if register not in variables and plan.registers[register].spec.nbytes:
            yield register


def held(plan: Plan, alive: Iterable[Life]) -> dict[int, tuple[tuple[int, int], ...]]:
    """For each chunk that something lives in, (time, bytes held from there on) at every change.

    Bytes that two registers share, because one is written over the other, count once. Slots of a
    register are bytes of their own.
    """
    changes: dict[int, list[tuple[int, bool, int, int]]] = {}
    for life in alive:
        if life.begin_ns == life.end_ns:
            continue
        desc = plan.registers[life.register]
        begin = desc.offset + life.number % desc.slots * desc.stride
        end = begin + desc.spec.nbytes
        changes.setdefault(desc.chunk, []).extend(
            # What ends at a time comes before what begins there: the bytes may be the same.
            ((life.begin_ns, True, begin, end), (life.end_ns, False, begin, end))
        )
    return {chunk: _curve(sorted(changes[chunk])) for chunk in sorted(changes)}


def _curve(changes: Sequence[tuple[int, bool, int, int]]) -> tuple[tuple[int, int], ...]:
    covered, points = CoveredBytes(), dict[int, int]()
    for time, begins, begin, end in changes:
        if begins:
            covered.add(begin, end)
        else:
            covered.remove(begin, end)
        points[time] = covered.nbytes
    return tuple(points.items())
