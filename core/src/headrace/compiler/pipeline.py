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
from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.memory.plan_memory import plan_memory
from headrace.compiler.op_graph import infer_sbp
from headrace.compiler.passes.cancel_moves import cancel_moves
from headrace.compiler.passes.fold_normalization import fold_normalization
from headrace.compiler.passes.lower_ops import Lowered, lower_ops
from headrace.compiler.passes.merge_equal_ops import merge_equal_ops
from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.compiler.passes.run_plugin_passes import run_plugin_passes
from headrace.compiler.passes.shard_ops import shard_ops
from headrace.compiler.stage import Chained, Emitted, Planned, Structure, Watch, nobody
from headrace.compiler.verify import Verifier
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

BUILDING = "building"
"""The stage before the first pass: the job as it was traced or imported."""

STAGES = (
    BUILDING,
    *(name for name, _ in PASSES),
    "lower_ops",
    "op_graph",
    "task_graph",
    "chains",
    "memory_plan",
    "plan",
)
"""All stages in order; those of plugins, named ``TAG.PASS``, come before ``lower_ops``."""


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


def prepare(
    graph: JobGraph,
    registry: BackendRegistry,
    verify: bool | None = None,
    watch: Watch = nobody,
) -> Prepared:
    """The job graph after all passes.

    Args:
        graph: what was traced or imported.
        registry: where its devices come from.
        verify: check what every stage made; None means what ``HEADRACE_VERIFY`` says.
        watch: is told every stage by name, with what it made.

    Raises:
        UnsupportedError: an op cannot be run where it is placed.
        PluginError: a pass of a plugin does what it may not.
        DeviceError: a device cannot be used.
        GraphError: a pass left a graph that breaks what it promises.
    """
    return _prepare(graph, registry, _watched(registry, verify, watch))


def _prepare(graph: JobGraph, registry: BackendRegistry, tell: Watch) -> Prepared:
    tell(BUILDING, graph)
    for name, rewriting in PASSES:
        graph = rewriting(graph, registry)
        tell(name, graph)
    return Prepared(*run_plugin_passes(graph, registry, tell))


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
        GraphError: a pass left a graph that breaks what it promises.
    """
    tell = _watched(registry, verify, nobody)
    return _lower(_prepare(graph, registry, tell), registry, fallback, tell)


def _lower(
    prepared: Prepared, registry: BackendRegistry, fallback: Fallback, tell: Watch
) -> Lowered:
    lowered = lower_ops(prepared.graph, registry, fallback)
    # What a decomposition left behind that did not come to its end, and what nobody reads.
    graph = remove_dead_ops(lowered.graph)
    tell("lower_ops", graph)
    return replace(lowered, graph=graph)


def compile_job(
    graph: JobGraph,
    registry: BackendRegistry,
    fallback: Fallback = Fallback.ERROR,
    verify: bool | None = None,
    watch: Watch = nobody,
    memory: MemoryOptions = MemoryOptions(),  # noqa: B008 - frozen
) -> Compiled:
    """Compile a job and its push and pull jobs into one plan.

    Args:
        graph: what was traced or imported.
        registry: where its devices come from.
        fallback: what becomes of ops that their device cannot run.
        verify: check what every stage made; None means what ``HEADRACE_VERIFY`` says.
        watch: is told every stage by name, with what it made.
        memory: what may be done to save memory.

    Raises:
        UnsupportedError: an op or a placement cannot be run.
        DeviceError: a device cannot be used.
        GraphError: a stage broke what it promises.
    """
    tell = _watched(registry, verify, watch)
    prepared = _prepare(graph, registry, tell)
    lowered = _lower(prepared, registry, fallback, tell)
    ops = infer_sbp(lowered.graph)
    tell("op_graph", ops)
    tasks = build_task_graph(ops, registry)
    tell("task_graph", tasks)
    chains = assign_chains(tasks)
    tell("chains", Chained(tasks, chains))
    planned = plan_memory(tasks, chains, memory)
    tell("memory_plan", Planned(tasks, chains, planned))
    plan = emit_plan(tasks, chains, planned)
    plans.check(plan)
    tell("plan", Emitted(tasks, chains, planned, plan))
    return Compiled(plan, lowered.graph.constants, lowered.decisions, prepared.passes)


def _watched(registry: BackendRegistry, verify: bool | None, watch: Watch) -> Watch:
    """What is told every stage: the verifier, if asked for, and then ``watch``."""
    if not verifies(verify):
        return watch
    verifier = Verifier(registry)

    def tell(stage: str, structure: Structure) -> None:
        verifier(stage, structure)
        watch(stage, structure)

    return tell


def verifies(asked: bool | None = None) -> bool:
    """Whether graphs are checked on the way: as ``asked``, or as ``HEADRACE_VERIFY`` says."""
    return os.environ.get("HEADRACE_VERIFY") == "1" if asked is None else asked
