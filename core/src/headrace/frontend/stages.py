"""The stages of compiling a job, to be shown: what each made, and whether it changed anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.collector import collector_rests
from headrace.compiler.dumps import dump_structure
from headrace.compiler.stage import Structure
from headrace.errors import InputError
from headrace.frontend.compile_options import AS_USUAL, CompileOptions
from headrace.graph import JobGraph
from headrace.graph.constants import Entry, LazyConstant, entries_of
from headrace.light_dataclass import dataclass
from headrace.registry.registry import BackendRegistry

ALL = "all"
"""In place of a stage: each of them in full; passes that changed nothing in one line."""

CHANGES = "changes"
"""In place of a stage: what each pass took away and brought, line by line."""


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One stage of compiling one job.

    Attributes:
        name: as in ``headrace.compiler.pipeline.STAGES``, or ``TAG.PASS`` for one of a plugin.
        structure: what it made; internal, and no two releases need agree on it.
        changed: False for a pass that left the job as it was.
    """

    name: str
    structure: Structure
    changed: bool

    def text(self) -> str:
        """What the stage made; equal jobs give equal texts. Ends with a newline."""
        return dump_structure(self.structure)

    @property
    def is_pass(self) -> bool:
        """True where a job graph was made, of another one or of nothing."""
        return isinstance(self.structure, JobGraph)

    @property
    def op_count(self) -> int:
        """How many ops the job has after a pass; 0 for other stages."""
        return len(self.structure.ops) if isinstance(self.structure, JobGraph) else 0


@collector_rests()
def stages_of(
    graph: JobGraph,
    registry: BackendRegistry,
    options: CompileOptions = AS_USUAL,
) -> tuple[Stage, ...]:
    """Compile a job, keeping what every stage made. Opens no device.

    Raises:
        UnsupportedError, DeviceError: as compiling it.
    """
    stages: list[Stage] = []

    def keep(name: str, structure: Structure) -> None:
        before = stages[-1].structure if stages else None
        stages.append(Stage(name, structure, not is_same_job(before, structure)))

    options.compile(graph, registry, keep)
    return tuple(stages)


def stage_text(stages: Sequence[Stage], which: str) -> Iterator[str]:
    """The lines of one stage, of ``all``, or of the ``changes`` between passes.

    Raises:
        InputError: there is no such stage; lists those that there are.
    """
    match which:
        case "all":
            yield from _all(stages)
        case "changes":
            yield from _changes(stages)
        case _:
            found = [stage for stage in stages if stage.name == which]
            if not found:
                known = ", ".join(stage.name for stage in stages)
                raise InputError(
                    f"this job has no stage {which!r}; it has {known}; or say {ALL!r} or "
                    f"{CHANGES!r}"
                )
            for stage in found:
                yield from stage.text().splitlines()


def _all(stages: Sequence[Stage]) -> Iterator[str]:
    for stage in stages:
        yield _title(stage)
        if stage.changed:
            yield from stage.text().splitlines()
            yield ""


def _changes(stages: Sequence[Stage]) -> Iterator[str]:
    before: list[str] | None = None
    for stage in stages:
        if not stage.is_pass:
            return
        yield _title(stage)
        if stage.changed:
            after = stage.text().splitlines()
            if before is not None:
                yield from line_changes(before, after)
            yield ""
            before = after


def _title(stage: Stage) -> str:
    if not stage.changed:
        return f"== {stage.name}: nothing to do"
    count = f": {stage.op_count} ops" if stage.is_pass else ""
    return f"== {stage.name}{count}"


def line_changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """What was taken away (``-``) and brought (``+``), where it stood; linear in the lines.

    A line that moved counts as unchanged: what is shown has one line for each named thing.

    Example:
        >>> list(line_changes(["a", "b", "c"], ["a", "d", "c"]))
        ['- b', '+ d']
    """
    old, new = set(before), set(after)
    place = {line: number for number, line in enumerate(before)}
    shown = 0
    for line in after:
        if line in old:
            yield from (f"- {gone}" for gone in before[shown : place[line]] if gone not in new)
            shown = max(shown, place[line] + 1)
        else:
            while shown < len(before) and before[shown] not in new:
                yield f"- {before[shown]}"
                shown += 1
            yield f"+ {line}"
    yield from (f"- {gone}" for gone in before[shown:] if gone not in new)


def is_same_job(before: Structure | None, after: Structure) -> bool:
    """True for two job graphs that say the same; False for anything else."""
    if not isinstance(before, JobGraph) or not isinstance(after, JobGraph):
        return False
    return (
        before.ops == after.ops
        and before.results == after.results
        and before.variables == after.variables
        and before.constants.keys() == after.constants.keys()
        and all(
            _same(entries_of(before.constants)[name], entry)
            for name, entry in entries_of(after.constants).items()
        )
    )


def _same(before: Entry, after: Entry) -> bool:
    """True for the same bytes of memory; a constant is read-only, and copied by no pass."""
    if isinstance(before, LazyConstant) or isinstance(after, LazyConstant):
        return before is after
    return before is after or (
        (before.shape, before.dtype) == (after.shape, after.dtype)
        and before.__array_interface__["data"] == after.__array_interface__["data"]
    )
