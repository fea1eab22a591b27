"""``Verifier``: is told every stage of a job, and checks each alone and against the one before."""

from __future__ import annotations

from headrace.compiler.op_graph import OpGraph
from headrace.compiler.stage import Chained, Emitted, Structure
from headrace.compiler.task_graph import TaskGraph
from headrace.compiler.verify.chains import verify_chains
from headrace.compiler.verify.job_graph import verify_job_graph, verify_same_interface
from headrace.compiler.verify.memory import verify_memory, verify_variables
from headrace.compiler.verify.op_graph import verify_op_graph
from headrace.compiler.verify.plan import verify_plan
from headrace.compiler.verify.promises import verify_promise
from headrace.compiler.verify.task_graph import (
    verify_same_jobs,
    verify_staging,
    verify_task_graph,
)
from headrace.graph import JobGraph
from headrace.registry.registry import BackendRegistry


class Verifier:
    """A ``Watch`` for one compilation; keeps the stage before, and the op graphs that are linked.

    Raises:
        GraphError: from each call; names the job, the stage, the op or task, and the tensor.
    """

    def __init__(self, registry: BackendRegistry) -> None:
        self._registry = registry
        self._before: Structure | None = None
        self._graphs: list[OpGraph] = []

    def __call__(self, stage: str, structure: Structure) -> None:
        """Verify what ``stage`` made."""
        before, self._before = self._before, structure
        match structure:
            case JobGraph():
                verify_job_graph(structure, stage)
                if isinstance(before, JobGraph):
                    verify_same_interface(before, structure, stage)
                verify_promise(structure, stage, self._registry)
            case OpGraph():
                verify_op_graph(structure)
                self._graphs.append(structure)
            case TaskGraph():
                verify_task_graph(structure)
                verify_staging(structure, self._registry)
                if isinstance(before, OpGraph):
                    verify_same_jobs(self._graphs, structure)
            case Chained():
                verify_chains(structure.tasks, structure.chains)
            case Emitted():
                verify_plan(structure)
                verify_memory(structure.plan)
                verify_variables(structure.plan)
