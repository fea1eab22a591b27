"""``CompiledJob``: one job graph, compiled and ready to run. Where compiler and runtime meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace import plan as plans
from headrace.collector import collector_rests
from headrace.compiler.pipeline import Compiled, Prepared, verifies
from headrace.compiler.stage import Watch
from headrace.frontend.compile_options import AS_USUAL, CompileOptions
from headrace.frontend.ready_job import ReadyJob, close_dropped
from headrace.frontend.shared_weights import SharedWeights
from headrace.graph.job_graph import JobGraph
from headrace.registry.registry import BackendRegistry, default_registry

if TYPE_CHECKING:
    from headrace.runtime.recorder import Recorder


class CompiledJob(ReadyJob):
    """A job on its devices. A context manager; ``close`` gives everything back.

    With ``HEADRACE_VERIFY=1`` the runtime is handed a plan that was encoded and decoded, as it
    would be in another process: a field that the codec forgets fails the first test.

    Attributes:
        decisions: where each op of the graph runs, and how.
        boxing: how each tensor of a job on several devices was brought to its readers, and the
            bytes that devices receive for it; empty for a job on one.
    """

    @collector_rests(lasting=True)
    def __init__(
        self,
        graph: JobGraph | Callable[[], JobGraph | Prepared],
        registry: BackendRegistry | None = None,
        options: CompileOptions = AS_USUAL,
        keep: Callable[[Compiled], None] | None = None,
        recorder: Recorder | None = None,
        watch: Watch | None = None,
        *,
        lasting: bool = False,
        weights: SharedWeights | None = None,
    ) -> None:
        """Compile ``graph`` and acquire what it needs.

        Args:
            graph: the job, or what gives it; see ``rewrite_job``.
            registry: where devices come from; default: the installed plugins.
            options: how it is compiled.
            keep: is told what compiling gave, before devices are opened.
            recorder: told when each task is worked on.
            watch: told every stage of compiling.
            lasting: nobody writes to the constants of ``graph``, so that devices in host memory
                may use them where they lie.
            weights: of other jobs, which it uses where its own are equal.

        Raises:
            UnsupportedError: an op or a placement cannot be run.
            DeviceError: a device cannot be used, or has not enough memory.
        """
        close_dropped()  # before the compiler asks devices for anything
        registry = registry or default_registry()
        compiled = options.compile(graph, registry, watch)
        if keep is not None:
            keep(compiled)
        plan = compiled.plan
        if verifies():
            plan = plans.decode(plans.encode(plan))
        constants = compiled.constants if weights is None else weights.of(compiled.constants)
        decisions, boxing, passes = compiled.decisions, compiled.boxing, compiled.passes
        del compiled  # weights that others have already are freed before memory is asked for
        super().__init__(
            plan,
            registry,
            constants,
            lasting=lasting,
            passes=passes,
            recorder=recorder,
        )
        for name in self.variables:
            self.initialize_variable(name)
        self.decisions = decisions
        self.boxing = boxing
