"""The pipeline: from a job graph to a plan. Reads like a table of contents.

Everything here is pure but for questions to the registry: the same graph and the same plugins give
the same plan, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from headrace import plan as plans
from headrace.compiler.build_task_graph import build_task_graph
from headrace.compiler.chains import assign_chains
from headrace.compiler.emit_plan import emit_plan
from headrace.compiler.job_graph import JobGraph
from headrace.compiler.memory.plan_memory import plan_memory
from headrace.compiler.op_graph import infer_sbp
from headrace.compiler.passes.lower_ops import lower_ops
from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.compiler.verify import verify_job_graph, verify_task_graph
from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry

Pass = Callable[[JobGraph, BackendRegistry], JobGraph]


def _remove_dead_ops(graph: JobGraph, registry: BackendRegistry) -> JobGraph:
    return remove_dead_ops(graph)


# Constants are folded before the first pass, by the builder, as ops are added.
PASSES: tuple[tuple[str, Pass], ...] = (
    ("remove_dead_ops", _remove_dead_ops),
    ("lower_ops", lower_ops),
)
"""Passes over the job graph, in order."""


def rewrite(graph: JobGraph, registry: BackendRegistry, verify: bool | None = None) -> JobGraph:
    """The job graph after all passes.

    Args:
        graph: what was traced or imported.
        registry: where its devices come from.
        verify: check the graph after every pass; None means what ``HEADRACE_VERIFY`` says.

    Raises:
        UnsupportedError: an op cannot be run on its device.
        DeviceError: a device cannot be used.
    """
    checked = _verifies(verify)
    if checked:
        verify_job_graph(graph, "building")
    for name, rewriting in PASSES:
        graph = rewriting(graph, registry)
        if checked:
            verify_job_graph(graph, name)
    return graph


def compile_job(
    graph: JobGraph, registry: BackendRegistry, verify: bool | None = None
) -> tuple[Plan, JobGraph]:
    """Compile a job and its push and pull jobs into one plan.

    Args:
        graph: what was traced or imported.
        registry: where its devices come from.
        verify: check each graph on the way; None means what ``HEADRACE_VERIFY`` says.

    Returns:
        The plan, and the graph after all passes, whose ``constants`` the plan's constant registers
        name.

    Raises:
        UnsupportedError: an op or a placement cannot be run.
        DeviceError: a device cannot be used.
    """
    graph = rewrite(graph, registry, verify)
    tasks = build_task_graph(infer_sbp(graph), registry)
    if _verifies(verify):
        verify_task_graph(tasks)
    chains = assign_chains(tasks)
    plan = emit_plan(tasks, chains, plan_memory(tasks, chains))
    plans.check(plan)
    return plan, graph


def _verifies(asked: bool | None) -> bool:
    return os.environ.get("HEADRACE_VERIFY") == "1" if asked is None else asked
