"""The pipeline: from job graphs to a plan. Reads like a table of contents.

Each job is rewritten by itself, so that one that cannot be rewritten stops no other; then all of
them are put into one plan, with the jobs that serve them.

Everything here is pure but for questions to the registry: the same graph and the same plugins give
the same plan, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from headrace import plan as plans
from headrace.compiler.build_task_graph import build_task_graph
from headrace.compiler.chains import assign_chains
from headrace.compiler.concurrency import ONE_AT_A_TIME, Concurrency
from headrace.compiler.decision import Decision, Fallback, PassRun, kernels_of
from headrace.compiler.emit_plan import emit_plan
from headrace.compiler.link import LinkedJob, agreed_variables, system_jobs
from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.memory.plan_memory import plan_memory
from headrace.compiler.op_graph import infer_sbp
from headrace.compiler.passes.cancel_moves import cancel_moves
from headrace.compiler.passes.choose_layouts import choose_layouts
from headrace.compiler.passes.fold_late import fold_late
from headrace.compiler.passes.fold_normalization import fold_normalization
from headrace.compiler.passes.lower_ops import lower_ops
from headrace.compiler.passes.merge_equal_ops import merge_equal_ops
from headrace.compiler.passes.remove_dead_ops import remove_dead_ops
from headrace.compiler.passes.run_plugin_passes import run_plugin_passes
from headrace.compiler.passes.shard_ops import shard_ops
from headrace.compiler.pin_staging import pin_staging
from headrace.compiler.sharding.log import BoxedTensor, BoxingLog
from headrace.compiler.sharding.topology import RegisteredDevices
from headrace.compiler.stage import Chained, Emitted, Planned, Structure, Watch, nobody
from headrace.graph import JobGraph, Variable
from headrace.graph.constants import entries_of, settled
from headrace.light_dataclass import dataclass
from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry
from headrace.settings import flag
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
)
"""Passes over the job graph before ``shard_ops``, in order."""

BUILDING = "building"
"""The stage before the first pass: the job as it was traced or imported."""

STAGES = (
    BUILDING,
    *(name for name, _ in PASSES),
    "shard_ops",
    "choose_layouts",
    "fold_late",
    "fold_last",
    "lower_ops",
    "boxing",
    "op_graph",
    "task_graph",
    "chains",
    "memory_plan",
    "plan",
)
"""All stages in order; those of plugins, named ``TAG.PASS``, come before ``fold_late`` or before
``fold_last``."""


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """What compiling gives.

    Attributes:
        plan: what runs.
        constants: values of the weights that the plan names, each row by row and aligned.
        decisions: where each op runs and how, in the order of the job.
        passes: those of plugins that ran, in order.
        boxing: how each tensor of a job on several devices was brought to its readers.
    """

    plan: Plan
    constants: Mapping[str, Array]
    decisions: tuple[Decision, ...]
    passes: tuple[PassRun, ...]
    boxing: tuple[BoxedTensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The job graph before its ops are lowered to those of their devices, and what was done to it.

    ``passes`` are those of plugins, ``boxing`` is what sharding did.
    """

    graph: JobGraph
    passes: tuple[PassRun, ...]
    boxing: tuple[BoxedTensor, ...]


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
    return _run_passes(graph, registry, _watched(registry, verify, watch))


def _as_prepared(given: JobGraph | Prepared, registry: BackendRegistry, tell: Watch) -> Prepared:
    if isinstance(given, JobGraph):
        return _run_passes(given, registry, tell)
    tell("fold_last", given.graph)
    return given


def _run_passes(graph: JobGraph, registry: BackendRegistry, tell: Watch) -> Prepared:
    tell(BUILDING, graph)
    for name, rewriting in PASSES:
        graph = rewriting(graph, registry)
        tell(name, graph)
    sharded = shard_ops(graph, registry, RegisteredDevices(registry))
    graph, boxing = sharded.graph, sharded.log
    del sharded  # from here on only one name holds the weights, which fold_late lets go of
    tell("shard_ops", graph)
    graph = choose_layouts(graph, registry)
    tell("choose_layouts", graph)
    graph, first = run_plugin_passes(graph, registry, tell, quantized=True)
    held = [graph]
    del graph
    graph = remove_dead_ops(fold_late(held.pop, registry))
    tell("fold_late", graph)
    graph, passes = run_plugin_passes(graph, registry, tell)
    held.append(graph)
    del graph
    graph = remove_dead_ops(fold_late(held.pop, registry))
    tell("fold_last", graph)
    return Prepared(graph, (*first, *passes), boxing)


@dataclass(frozen=True, slots=True, eq=False)
class Rewritten:
    """A job as its devices can run it.

    Attributes:
        graph: all its ops have kernels.
        decisions: where each op of the job runs, and how.
        passes: those of plugins that ran, in order.
        boxing: how each tensor of a job on several devices was brought to its readers.
        concurrency: how much of it may happen at once.
    """

    graph: JobGraph
    decisions: tuple[Decision, ...]
    passes: tuple[PassRun, ...]
    boxing: tuple[BoxedTensor, ...]
    concurrency: Concurrency = ONE_AT_A_TIME


def rewrite_job(
    graph: JobGraph | Callable[[], JobGraph | Prepared],
    registry: BackendRegistry,
    fallback: Fallback = Fallback.ERROR,
    verify: bool | None = None,
    watch: Watch = nobody,
    concurrency: Concurrency = ONE_AT_A_TIME,
) -> Rewritten:
    """The job after all passes, lowered to what its devices have kernels for.

    Args:
        graph: what was traced or imported; or what gives it, for whoever does not hold it: its
            constants are then freed as passes have others in their place. It may give what
            ``prepare`` has made of the job.
        registry: where its devices come from.
        fallback: what becomes of ops that their device cannot run.
        verify: check what every stage made; None means what ``HEADRACE_VERIFY`` says.
        watch: is told every stage by name, with what it made.
        concurrency: how much of the job may happen at once.

    Raises:
        UnsupportedError: an op or a placement cannot be run.
        DeviceError: a device cannot be used.
        GraphError: a stage broke what it promises.
    """
    tell = _watched(registry, verify, watch)
    prepared = _as_prepared(graph() if callable(graph) else graph, registry, tell)
    lowered = lower_ops(prepared.graph, registry, fallback)
    # What a decomposition left behind that did not come to its end, and what nobody reads.
    cleared = remove_dead_ops(lowered.graph)
    tell("lower_ops", cleared)
    tell("boxing", BoxingLog(cleared.name, prepared.boxing))
    return Rewritten(cleared, lowered.decisions, prepared.passes, prepared.boxing, concurrency)


def compile_job(
    graph: JobGraph | Callable[[], JobGraph | Prepared],
    registry: BackendRegistry,
    fallback: Fallback = Fallback.ERROR,
    verify: bool | None = None,
    watch: Watch = nobody,
    memory: MemoryOptions = MemoryOptions(),  # noqa: B008 - frozen
    concurrency: Concurrency = ONE_AT_A_TIME,
) -> Compiled:
    """``rewrite_job`` and ``compile_jobs``, for a job alone."""
    job = rewrite_job(graph, registry, fallback, verify, watch, concurrency)
    return compile_jobs([job], registry, verify, watch, memory)


def compile_jobs(
    jobs: Sequence[Rewritten],
    registry: BackendRegistry,
    verify: bool | None = None,
    watch: Watch = nobody,
    memory: MemoryOptions = MemoryOptions(),  # noqa: B008 - frozen
) -> Compiled:
    """Compile jobs into one plan, with their push and pull jobs and those of their variables.

    Args:
        jobs: at least one; no two have one name.
        registry: where their devices come from.
        verify: check what every stage made; None means what ``HEADRACE_VERIFY`` says.
        watch: is told every stage by name, with what it made; of each job there is an op graph.
        memory: what may be done to save memory.

    Raises:
        VariableError: two jobs do not say the same of a variable.
        UnsupportedError: a variable is split in a way that its devices cannot bring about.
        DeviceError: a device cannot be used.
        GraphError: a stage broke what it promises.
    """
    tell = _watched(registry, verify, watch)
    variables = agreed_variables([job.graph for job in jobs])
    linked = [*_user_jobs(jobs), *_system_jobs(variables, registry)]
    for job in linked:
        tell("op_graph", job.graph)
    tasks = pin_staging(build_task_graph(linked, variables, registry), registry)
    tell("task_graph", tasks)
    chains = assign_chains(tasks)
    tell("chains", Chained(tasks, chains))
    planned = plan_memory(tasks, chains, memory)
    tell("memory_plan", Planned(tasks, chains, planned))
    plan = emit_plan(tasks, chains, planned)
    plans.check(plan)
    tell("plan", Emitted(tasks, chains, planned, plan))
    constants = {
        job.scope + name: settled(entry)  # folding leaves views, which lie in any way
        for job in linked
        for name, entry in entries_of(job.graph.job.constants).items()
    }
    decisions = tuple(decision for job in jobs for decision in job.decisions)
    passes = tuple(run for job in jobs for run in job.passes)
    boxing = tuple(boxed for job in jobs for boxed in job.boxing)
    return Compiled(plan, constants, decisions, passes, boxing)


def _user_jobs(jobs: Sequence[Rewritten]) -> Iterator[LinkedJob]:
    for job in jobs:
        # The names of a job alone stay as its user gave them.
        scope = f"{job.graph.name}/" if len(jobs) > 1 else ""
        graph, kernels = infer_sbp(job.graph), kernels_of(job.decisions)
        yield LinkedJob(graph, kernels, scope=scope, concurrency=job.concurrency)


def _system_jobs(variables: Sequence[Variable], registry: BackendRegistry) -> Iterator[LinkedJob]:
    """The jobs of variables, with boxing where these have several parts."""
    for kind, graph in system_jobs(variables, registry):
        sharded = shard_ops(graph, registry, RegisteredDevices(registry)).graph
        lowered = lower_ops(sharded, registry)
        kernels = kernels_of(lowered.decisions)
        yield LinkedJob(infer_sbp(lowered.graph), kernels, kind, f"{graph.name}/")


def _watched(registry: BackendRegistry, verify: bool | None, watch: Watch) -> Watch:
    """What is told every stage: the verifier, if asked for, and then ``watch``."""
    if not verifies(verify):
        return watch
    from headrace.compiler.verify import Verifier

    verifier = Verifier(registry)

    def tell(stage: str, structure: Structure) -> None:
        verifier(stage, structure)
        watch(stage, structure)

    return tell


def verifies(asked: bool | None = None) -> bool:
    """Whether graphs are checked on the way: as ``asked``, or as ``HEADRACE_VERIFY`` says.

    Raises:
        SettingError: the variable is neither 0 nor 1.
    """
    return flag("HEADRACE_VERIFY", False) if asked is None else asked
