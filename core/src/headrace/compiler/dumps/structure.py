"""One entry for the text of whatever a stage made."""

from __future__ import annotations

from headrace.compiler.dumps.chains import dump_chains
from headrace.compiler.dumps.memory_plan import dump_memory_plan
from headrace.compiler.dumps.op_graph import dump_op_graph
from headrace.compiler.dumps.task_graph import dump_task_graph
from headrace.compiler.op_graph import OpGraph
from headrace.compiler.sharding.log import BoxingLog
from headrace.compiler.stage import Chained, Emitted, Planned, Structure
from headrace.compiler.task_graph import TaskGraph
from headrace.graph import JobGraph
from headrace.graph.dump import dump_job_graph
from headrace.plan import dump


def dump_structure(structure: Structure) -> str:
    """The text of what a stage made; equal structures give equal texts, ends with a newline."""
    match structure:
        case JobGraph():
            return dump_job_graph(structure)
        case BoxingLog():
            return str(structure)
        case OpGraph():
            return dump_op_graph(structure)
        case TaskGraph():
            return dump_task_graph(structure)
        case Chained():
            return dump_chains(structure)
        case Planned():
            return dump_memory_plan(structure)
        case Emitted():
            return dump(structure.plan)
