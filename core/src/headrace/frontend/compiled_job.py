"""``CompiledJob``: one job graph, compiled and ready to run. Where compiler and runtime meet."""

from __future__ import annotations

import warnings
import weakref
from collections import deque
from collections.abc import Mapping
from types import TracebackType

from headrace import plan as plans
from headrace.compiler.pipeline import compile_job, verifies
from headrace.frontend.collector import collector_rests
from headrace.frontend.fallback import fallback_of
from headrace.graph.job_graph import JobGraph
from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry, default_registry
from headrace.runtime.executor import Executor
from headrace.tensor_spec import Array

# Executors of jobs that were dropped without being closed. A collector may run at any point of any
# thread, also where a lock of the runtime is held, so it only puts them here.
_DROPPED: deque[Executor] = deque()


class CompiledJob:
    """A job on its devices. A context manager; ``close`` gives everything back.

    What a job holds that was dropped without ``close`` is given back when the next one is made.

    With ``HEADRACE_VERIFY=1`` the runtime is handed a plan that was encoded and decoded, as it
    would be in another process: a field that the codec forgets fails the first test.

    Attributes:
        plan: what runs.
        decisions: where each op of the graph runs, and how.
        passes: those of plugins that ran, in order.
    """

    @collector_rests()
    def __init__(
        self,
        graph: JobGraph,
        registry: BackendRegistry | None = None,
        fallback: str | None = None,
    ) -> None:
        """Compile ``graph`` and acquire what it needs.

        Args:
            graph: the job.
            registry: where devices come from; default: the installed plugins.
            fallback: what becomes of ops that their device cannot run: ``error``, ``warn`` or
                ``allow``; None means what ``HEADRACE_FALLBACK`` says, else ``error``.

        Raises:
            UnsupportedError: an op or a placement cannot be run.
            DeviceError: a device cannot be used, or has not enough memory.
        """
        _close_dropped()
        registry = registry or default_registry()
        compiled = compile_job(graph, registry, fallback_of(fallback))
        self.plan: Plan = compiled.plan
        if verifies():
            self.plan = plans.decode(plans.encode(compiled.plan))
        self.decisions = compiled.decisions
        self.passes = compiled.passes
        self._executor = Executor(self.plan, registry, compiled.constants)
        self._dropped = weakref.finalize(self, _DROPPED.append, self._executor)
        self._dropped.atexit = False

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run once on arrays whose names, shapes and dtypes are those of the job's inputs.

        Raises:
            RunError: the run stopped; the job stays usable.
            SessionError: the job was closed.
        """
        return self._executor.run(feeds)

    def close(self) -> None:
        """Stop threads, free memory, release devices. Idempotent."""
        self._executor.close()
        self._dropped.detach()

    def __enter__(self) -> CompiledJob:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _close_dropped() -> None:
    for _ in range(len(_DROPPED)):
        try:
            executor = _DROPPED.popleft()
        except IndexError:  # another thread does the same
            return
        try:
            executor.close()
        except Exception as error:  # noqa: BLE001 - whoever should hear of it has gone
            warnings.warn(
                f"a job that was dropped unclosed failed to close: {error!r}",
                ResourceWarning,
                stacklevel=3,
            )
