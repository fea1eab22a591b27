"""The plan of a job as a web page, with what the plan itself does not say of its ops."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.collector import collector_rests
from headrace.compiler.decision import Decision, How
from headrace.compiler.stage import Structure
from headrace.frontend.compile_options import AS_USUAL, CompileOptions
from headrace.frontend.explain import kernel_text
from headrace.frontend.stages import is_same_job
from headrace.graph import JobGraph
from headrace.page import OpNote, StageNote, render_page
from headrace.registry.registry import BackendRegistry


@collector_rests()
def plan_page(
    graph: JobGraph,
    registry: BackendRegistry,
    options: CompileOptions = AS_USUAL,
) -> str:
    """Compile a job and draw its plan: one HTML document that needs nothing else.

    Opens no device. Equal jobs give equal texts.

    Raises:
        UnsupportedError, DeviceError: as compiling it.
    """
    passes = PassNotes()
    compiled = options.compile(graph, registry, passes)
    return render_page(compiled.plan, op_notes(compiled.decisions, registry), passes.notes())


class PassNotes:
    """A watch that notes what each pass over the job graph left."""

    def __init__(self) -> None:
        self._notes: list[StageNote] = []
        self._before: Structure | None = None

    def __call__(self, name: str, structure: Structure) -> None:
        """As ``Watch``."""
        if isinstance(structure, JobGraph):
            changed = not is_same_job(self._before, structure)
            self._notes.append(StageNote(name, len(structure.ops), changed))
        self._before = structure

    def notes(self) -> tuple[StageNote, ...]:
        """In the order of the passes."""
        return tuple(self._notes)


def op_notes(
    decisions: Iterable[Decision], registry: BackendRegistry, scope: str = ""
) -> dict[str, OpNote]:
    """What was decided for each op of a job, by the name of its task, which begins with scope."""
    notes: dict[str, OpNote] = {}
    for decision in decisions:
        for name, (op, entry) in zip(decision.ops, decision.kernels, strict=True):
            part_of = "" if name == decision.call.name else str(decision.call)
            kernel = kernel_text(op, entry, decision.placed, registry)
            why = "" if decision.how is How.KERNEL else decision.why
            notes[scope + name] = OpNote(str(decision.how), kernel, why, part_of)
    return notes
