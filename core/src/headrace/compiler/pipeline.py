"""The pipeline: from a job graph to a plan. Reads like a table of contents.

Everything here is pure but for questions to the registry: the same graph and the same plugins give
the same plan, byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from headrace import plan as plans
from headrace.compiler.build_task_graph import build_task_graph
from headrace.compiler.chains import assign_chains
from headrace.compiler.decision import Decision, Fallback, PassRun
from headrace.compiler.emit_plan import emit_plan
from headrace.compiler.memory.plan_memory import plan_memory
from headrace.compiler.op_graph import infer_sbp
from headrace.compiler.passes.cancel_moves import cancel_moves
from headrace.compiler.passes.fold_normalization import fold_normalization
from headrace.compiler.passes.lower_ops import Lowered, lower_ops
from headrace.compiler.passes.merge_equal_ops import merge_equal_ops
from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.compiler.passes.run_plugin_passes import run_plugin_passes
from headrace.compiler.passes.shard_ops import shard_ops
from headrace.compiler.verify import verify_job_graph, verify_task_graph
from headrace.graph.job_graph import JobGraph
from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry
from headrace.tensor_spec import Array

Pass = Callable[[JobGraph, BackendRegistry], JobGraph]


def _alone(rewriting: Callable[[JobGraph], JobGraph]) -> Pass:
    """A pass that asks no registry."""
    return lambda graph, registry: rewriting(graph)


# Constants are folded before the first pass, by the builder, as ops are added.
PASSES: tuple[tuple[str, Pass], ...] = (
    ("remove_dead_ops", _alone(remove_dead_ops)),
    ("merge_equal_ops", _alone(merge_equal_ops)),
    ("cancel_moves", _alone(cancel_moves)),
    ("fold_normalization", _alone(fold_normalization)),
    ("remove_what_is_left", _alone(remove_dead_ops)),
    ("shard_ops", shard_ops),
)
"""Passes over the job graph before those of plugins, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """What compiling gives.

    Attributes:
        plan: what runs.
        constants: values of the weights that the plan names.
        decisions: where each op runs and how, in the order of the job.
        passes: those of plugins that ran, in order.
    """

    plan: Plan
    constants: Mapping[str, Array]
    decisions: tuple[Decision, ...]
    passes: tuple[PassRun, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The job graph before its ops are lowered to those of their devices, and what plugins did."""

    graph: JobGraph
    passes: tuple[PassRun, ...]


def prepare(graph: JobGraph, registry: BackendRegistry, verify: bool | None = None) -> Prepared:
    """The job graph after all passes.

    Args:
        graph: what was traced or imported.
        registry: where its devices come from.
        verify: check the graph after every pass; None means what ``HEADRACE_VERIFY`` says.

    Raises:
        UnsupportedError: an op cannot be run where it is placed.
        PluginError: a pass of a plugin does what it may not.
        DeviceError: a device cannot be used.
    """
    checked = verifies(verify)
    if checked:
        verify_job_graph(graph, "building")
    for name, rewriting in PASSES:
        graph = rewriting(graph, registry)
        if checked:
            verify_job_graph(graph, name)
    return Prepared(*run_plugin_passes(graph, registry))  # verifies after each, always


def rewrite(
    graph: JobGraph,
    registry: BackendRegistry,
    fallback: Fallback = Fallback.ERROR,
    verify: bool | None = None,
) -> Lowered:
    """The job graph after all passes, lowered to what its devices have kernels for.

    Args:
        graph: what was traced or imported.
        registry: where its devices come from.
        fallback: what becomes of ops that their device cannot run.
        verify: as for ``prepare``.

    Raises:
        UnsupportedError: an op cannot be run on its device.
        DeviceError: a device cannot be used.
    """
    return _lower(prepare(graph, registry, verify), registry, fallback, verify)


def _lower(
    prepared: Prepared, registry: BackendRegistry, fallback: Fallback, verify: bool | None
) -> Lowered:
    lowered = lower_ops(prepared.graph, registry, fallback)
    # What a decomposition left behind that did not come to its end, and what nobody reads.
    graph = remove_dead_ops(lowered.graph)
    if verifies(verify):
        verify_job_graph(graph, "lower_ops")
    return replace(lowered, graph=graph)


def compile_job(
    graph: JobGraph,
    registry: BackendRegistry,
    fallback: Fallback = Fallback.ERROR,
    verify: bool | None = None,
) -> Compiled:
    """Compile a job and its push and pull jobs into one plan.

    Args:
        graph: what was traced or imported.
        registry: where its devices come from.
        fallback: what becomes of ops that their device cannot run.
        verify: check each graph on the way; None means what ``HEADRACE_VERIFY`` says.

    Raises:
        UnsupportedError: an op or a placement cannot be run.
        DeviceError: a device cannot be used.
    """
    prepared = prepare(graph, registry, verify)
    lowered = _lower(prepared, registry, fallback, verify)
    tasks = build_task_graph(infer_sbp(lowered.graph), registry)
    if verifies(verify):
        verify_task_graph(tasks)
    chains = assign_chains(tasks)
    plan = emit_plan(tasks, chains, plan_memory(tasks, chains))
    plans.check(plan)
    return Compiled(plan, lowered.graph.constants, lowered.decisions, prepared.passes)


def verifies(asked: bool | None = None) -> bool:
    """Whether graphs are checked on the way: as ``asked``, or as ``HEADRACE_VERIFY`` says."""
    return os.environ.get("HEADRACE_VERIFY") == "1" if asked is None else asked
