"""``CompileOptions``: how a job is compiled, as its user asked for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.compiler.concurrency import ONE_AT_A_TIME, Concurrency
from headrace.compiler.memory.options import MemoryOptions
from headrace.frontend.fallback import fallback_of
from headrace.frontend.memory_options import memory_options_of
from headrace.light_tuple import NamedTuple

if TYPE_CHECKING:
    from headrace.compiler.pipeline import Compiled, Prepared
    from headrace.compiler.stage import Watch
    from headrace.graph import JobGraph
    from headrace.registry import BackendRegistry


class CompileOptions(NamedTuple):
    """What of compiling a job its user may choose; nothing is chosen by default.

    Attributes:
        fallback: what becomes of ops that their device cannot run: ``error``, ``warn`` or
            ``allow``; None means what ``HEADRACE_FALLBACK`` says, else ``error``.
        memory: what may be done to save memory; None means what the environment says.
        concurrency: how much of the job may happen at once.
    """

    fallback: str | None = None
    memory: MemoryOptions | None = None
    concurrency: Concurrency = ONE_AT_A_TIME

    def compile(
        self,
        graph: JobGraph | Callable[[], JobGraph | Prepared],
        registry: BackendRegistry,
        watch: Watch | None = None,
    ) -> Compiled:
        """Compile a job alone. No device is opened.

        Args:
            graph: the job, or what gives it; see ``rewrite_job``.
            registry: where its devices come from.
            watch: told every stage.

        Raises:
            UnsupportedError: an op or a placement cannot be run.
            DeviceError: a device cannot be used.
            JobError, SettingError: an option, or a variable, has a value that it cannot have.
        """
        # Not needed for plans that were kept.
        from headrace.compiler.pipeline import compile_job
        from headrace.compiler.stage import nobody

        return compile_job(
            graph,
            registry,
            fallback_of(self.fallback),
            watch=watch or nobody,
            memory=self.memory or memory_options_of(),
            concurrency=self.concurrency,
        )


AS_USUAL = CompileOptions()
"""Nothing was chosen."""
