"""Critical sections: which jobs touch what others touch as well, and which share memory for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headrace.compiler.link import LinkedJob
from headrace.light_dataclass import dataclass
from headrace.plan import CriticalSection, JobKind


@dataclass(frozen=True, slots=True)
class _Touched:
    """Numbers of the variables that a job only reads, and of those that it writes."""

    reads: frozenset[int]
    writes: frozenset[int]

    def excludes(self, other: _Touched) -> bool:
        """True when one writes what the other reads or writes."""
        return not (
            self.writes.isdisjoint(other.reads | other.writes)
            and self.reads.isdisjoint(other.writes)
        )

    def __bool__(self) -> bool:
        return bool(self.reads or self.writes)


def plan_sections(
    jobs: Sequence[LinkedJob], positions: Sequence[int], numbers: Mapping[str, int]
) -> tuple[CriticalSection, ...]:
    """The critical section of each job, in their order.

    Jobs that may never overlap share an arena. Those of the user exclude each other when one writes
    a variable that the other reads or writes; one after the other joins the first arena in which it
    excludes all, or begins another. The jobs that begin, load and save variables are taken together
    and exclude, beside each other, whatever uses any variable: nobody is in a hurry for them, and
    so they need hardly any memory of their own.

    Args:
        jobs: all that can be called.
        positions: theirs in the plan.
        numbers: of the variables, by name.
    """
    touched = [_touched(job, numbers) for job in jobs]
    arenas: list[list[_Touched]] = []
    users = [t for job, t in zip(jobs, touched, strict=True) if job.kind is JobKind.USER]
    of_user = [_join(arenas, mine) for mine in users]
    of_system = next((n for n, members in enumerate(arenas) if all(members)), len(arenas))
    return tuple(_sections(jobs, positions, touched, iter(of_user), of_system))


def _sections(
    jobs: Sequence[LinkedJob],
    positions: Sequence[int],
    touched: Sequence[_Touched],
    of_user: Iterator[int],
    of_system: int,
) -> Iterator[CriticalSection]:
    for job, position, mine in zip(jobs, positions, touched, strict=True):
        arena = next(of_user) if job.kind is JobKind.USER else of_system
        reads, writes = tuple(sorted(mine.reads)), tuple(sorted(mine.writes))
        yield CriticalSection(position, reads, writes, arena)


def _touched(job: LinkedJob, numbers: Mapping[str, int]) -> _Touched:
    of = {part.tensor.name: numbers[part.variable.name] for part in job.graph.job.variables}
    writes = frozenset(of[name] for name, _ in job.graph.job.updates)
    return _Touched(frozenset(of.values()) - writes, writes)


def _join(arenas: list[list[_Touched]], mine: _Touched) -> int:
    """Add a job to the first arena in which it excludes all; returns its number."""
    for number, members in enumerate(arenas):
        if all(map(mine.excludes, members)):
            members.append(mine)
            return number
    arenas.append([mine])
    return len(arenas) - 1
