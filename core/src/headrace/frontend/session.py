"""``Session``: holds jobs, compiles each when it is first called, runs them, gives all back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any

from headrace.errors import JobError, SessionError
from headrace.frontend.compiled_job import CompiledJob
from headrace.frontend.config import FunctionConfig
from headrace.frontend.default_device import default_device
from headrace.frontend.explain import Explanation, explain_graph
from headrace.frontend.feeds import as_feed
from headrace.frontend.signature import JobSignature, Tree, leaves, rebuild
from headrace.frontend.stages import Stage, stages_of
from headrace.frontend.tracing import Symbol, check_not_tracing, tracing
from headrace.graph.job_graph import JobGraph, JobGraphBuilder
from headrace.registry.registry import BackendRegistry, default_registry
from headrace.tensor_spec import TensorSpec


class SessionStatus(Enum):
    """OPEN until the first call, then RUNNING, then CLOSED for good."""

    OPEN = "OPEN"
    RUNNING = "RUNNING"
    CLOSED = "CLOSED"


@dataclass(slots=True)
class _Job:
    function: Callable[..., Any]
    signature: JobSignature
    config: FunctionConfig
    compiled: CompiledJob | None = None
    result: Tree = None  # what the function returned when it was traced


class Session:
    """Jobs and what they hold on devices. Several may exist; each is independent.

    A job is traced and compiled when it is first called; an error then leaves the session as it
    was. Use it as a context manager, or call ``close``.
    """

    def __init__(self, registry: BackendRegistry | None = None) -> None:
        """Make an open session.

        Args:
            registry: where devices come from; default: the installed plugins.
        """
        self.status = SessionStatus.OPEN
        self._registry = registry
        self._jobs: dict[str, _Job] = {}
        self._compiling = threading.Lock()

    def add_job(
        self, function: Callable[..., Any], config: FunctionConfig | None = None
    ) -> JobSignature:
        """Register a job function under its name.

        Raises:
            JobError: the name is taken, or the annotations are not those of a job.
            SessionError: the session is closed.
        """
        self._check_open()
        signature = JobSignature.of(function)
        if signature.name in self._jobs:
            raise JobError(
                f"this session already has a job {signature.name!r}; give the function another "
                "name, or start afresh with headrace.clear_default_session()"
            )
        self._jobs[signature.name] = _Job(function, signature, config or FunctionConfig())
        return signature

    def job_names(self) -> tuple[str, ...]:
        """Names of the jobs, in the order in which they were added."""
        return tuple(self._jobs)

    def run(
        self, name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a job: compiles it if this is its first call; returns new arrays.

        Raises:
            JobError: there is no such job, its function is not usable, or another job is traced.
            InputError: an argument is missing or has another dtype, rank or shape.
            RunError: the run stopped; the session stays usable.
            SessionError: the session is closed.
        """
        check_not_tracing(name)
        job = self._job(name)
        values = job.signature.bind(args, kwargs or {})
        feeds = {
            leaf: as_feed(f"job {name!r}: input {leaf!r}", values[leaf], spec)
            for leaf, spec in _inputs(job.signature)
        }
        results = self._compiled(job).run(feeds)
        return rebuild("result", job.result, results)

    def explain(self, name: str) -> Explanation:
        """Where each op of a job runs, by which kernel and why. Traces the job; runs nothing.

        Raises:
            JobError: there is no such job, or its function is not usable.
            DeviceError: a device cannot be used at all.
            SessionError: the session is closed.
        """
        check_not_tracing(name)
        job = self._job(name)
        registry = self._registry or default_registry()
        graph, _ = _trace(job, registry)
        return explain_graph(graph, registry, job.config.fallback)

    def stages(self, name: str) -> tuple[Stage, ...]:
        """What each stage of compiling a job makes, in order. Traces the job; runs nothing.

        Raises:
            JobError, DeviceError, UnsupportedError, SessionError: as ``run`` before it runs.
        """
        check_not_tracing(name)
        job = self._job(name)
        registry = self._registry or default_registry()
        graph, _ = _trace(job, registry)
        return stages_of(graph, registry, job.config.fallback)

    def close(self) -> None:
        """Give back everything on the devices. Idempotent; the session cannot run any more.

        What a plugin raises here stops nothing: all jobs are closed, then the error is raised.
        """
        with self._compiling, ExitStack() as last_first:
            self.status = SessionStatus.CLOSED
            for job in self._jobs.values():
                if job.compiled is not None:
                    last_first.callback(job.compiled.close)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _job(self, name: str) -> _Job:
        self._check_open()
        if name not in self._jobs:
            raise JobError(
                f"this session has no job {name!r}; it has {', '.join(self._jobs) or 'none'}"
            )
        return self._jobs[name]

    def _compiled(self, job: _Job) -> CompiledJob:
        """The compiled job; compiles it when it is first needed, on one thread."""
        if job.compiled is not None:  # without the lock: another job may be compiling
            return job.compiled
        with self._compiling:
            self._check_open()
            if job.compiled is None:
                registry = self._registry or default_registry()
                graph, job.result = _trace(job, registry)
                job.compiled = CompiledJob(graph, registry, job.config.fallback)
                self.status = SessionStatus.RUNNING
            return job.compiled

    def _check_open(self) -> None:
        if self.status is SessionStatus.CLOSED:
            raise SessionError("this session is closed; make a new one")


def _inputs(signature: JobSignature) -> list[tuple[str, TensorSpec]]:
    return [leaf for parameter in signature.parameters for leaf in parameter.leaves()]


def _trace(job: _Job, registry: BackendRegistry) -> tuple[JobGraph, Tree]:
    """Run the function on symbols; returns the graph and the shape of its result."""
    placement = job.config.placement or default_device()
    builder = JobGraphBuilder(job.signature.name, placement, ops=registry)
    symbols = {name: Symbol(builder.input(name, spec)) for name, spec in _inputs(job.signature)}
    arguments = [rebuild(p.name, p.specs, symbols) for p in job.signature.parameters]
    with tracing(builder):
        result = job.function(*arguments)
    job.signature.check_result(result)
    for name, leaf in leaves("result", result):
        if not isinstance(leaf, Symbol):
            raise JobError(f"job {job.signature.name!r}: {name} is {leaf!r}, which is no tensor")
        builder.output(name, leaf.tensor)
    return builder.finish(), result
