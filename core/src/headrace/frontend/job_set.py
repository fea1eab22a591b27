"""``JobSet``: the jobs of a session, compiled together and on their devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from headrace import plan as plans
from headrace.collector import collector_rests
from headrace.compiler.link import agreed_variables
from headrace.compiler.memory.options import MemoryOptions
from headrace.compiler.pipeline import Rewritten, compile_jobs, rewrite_job, verifies
from headrace.errors import (
    HeadraceError,
    JobError,
    OutOfMemoryError,
    ResourceLimitError,
    SessionError,
)
from headrace.frontend.config import FunctionConfig
from headrace.frontend.delivery import Delivery
from headrace.frontend.fallback import fallback_of
from headrace.frontend.gate import Gate
from headrace.frontend.plan_page import op_notes
from headrace.frontend.ready_job import ReadyJob
from headrace.frontend.signature import JobSignature, Tree
from headrace.frontend.trace_job import trace_job
from headrace.graph import JobGraph
from headrace.light_dataclass import dataclass
from headrace.page import OpNote
from headrace.registry.registry import BackendRegistry
from headrace.signals import let_handlers_through
from headrace.tensor_spec import Array


@dataclass(slots=True, eq=False)
class SessionJob:
    """A job function of a session, and what became of it.

    Attributes:
        rewritten: for its devices; None before it was traced, or when that failed.
        result: what the function returned when it was traced.
        delivery: of its results to callbacks.
    """

    function: Callable[..., Any]
    signature: JobSignature
    config: FunctionConfig
    rewritten: Rewritten | None = None
    result: Tree = None
    delivery: Delivery = field(init=False)

    def __post_init__(self) -> None:
        self.delivery = Delivery(self.signature.name, self.config.concurrency.width)

    def trace(self, registry: BackendRegistry) -> tuple[JobGraph, Tree]:
        """Run the function on symbols; see ``trace_job``."""
        return trace_job(self.function, self.signature, self.config, registry)


class JobSet:
    """Jobs by name and, once compiled, the one plan that they are in.

    Changed by one thread at a time, within ``Gate.changing``.

    A job that is added later is compiled together with all others, and what variables hold is
    carried over into the new plan. It is kept by the host until the new plan has it.

    Attributes:
        jobs: by name, in the order in which they were added.
        ready: the plan on its devices; None before the first compilation.
        failed: why jobs could not be compiled with the others; each is tried again when called.
        is_traced: the plan is recorded, and no other may take its place.
    """

    def __init__(self, gate: Gate) -> None:
        """No jobs yet; calls that use ``ready`` go through ``gate``."""
        self._gate = gate
        self.jobs: dict[str, SessionJob] = {}
        self.ready: ReadyJob | None = None
        self.failed: dict[str, Exception] = {}
        self.is_traced = False
        self._positions: dict[str, int] = {}  # in the plan, of the jobs that are in it
        self._held: dict[str, Array] = {}  # values of variables that no plan holds at the moment

    def find(self, job: SessionJob) -> tuple[ReadyJob, int] | None:
        """The plan on its devices, and the position of a job in it; None if it is in none."""
        ready, position = self.ready, self._positions.get(job.signature.name)
        return None if ready is None or position is None else (ready, position)

    @collector_rests(lasting=True)
    def compile(self, registry: BackendRegistry, name: str | None = None) -> ReadyJob:
        """Bring all jobs into one plan; only those that cannot be compiled are left out.

        Args:
            registry: where devices come from.
            name: the job that is about to be called; its error is raised. If all jobs together
                cannot be made ready, for want of memory for example, it is compiled with those
                that were ready before.

        Raises:
            Exception: what tracing or compiling job ``name`` raised; all is then as it was before.
        """
        before = self._placed()
        left_out = self.failed.keys() - {name}
        if self.ready is not None and len(before) + len(left_out) == len(self.jobs):
            return self.ready
        if self.is_traced and self.ready is not None:
            if name is None:
                return self.ready
            raise SessionError(
                f"job {name!r} is not in the plan that is being traced; add jobs before the block "
                "of Session.trace begins, or call this one when it is over"
            )
        together = self._rewrite(registry, name)
        if not together:
            raise JobError(f"this session has no job that can be compiled{self.failures()}")
        try:
            return self._exchange(together, registry)
        except HeadraceError as error:
            needed = [job for job in together if job in before or job.signature.name == name]
            if not needed or len(needed) == len(together):
                raise
            self.failed |= {j.signature.name: error for j in together if j not in needed}
            return self._exchange(needed, registry)

    def notes(self, registry: BackendRegistry) -> dict[str, OpNote]:
        """How ops of the plan run and why, by the name of their task."""
        ready = self._placed()
        scoped = len(ready) > 1  # as the compiler names them
        return {
            name: note
            for job in ready
            for name, note in op_notes(
                _rewritten(job).decisions, registry, f"{job.signature.name}/" * scoped
            ).items()
        }

    def failures(self) -> str:
        """Which jobs could not be compiled and why, to be put behind a message; may be empty."""
        return "".join(f"; job {name!r}: {error}" for name, error in self.failed.items())

    def close(self) -> None:
        """Give back everything on the devices."""
        if self.ready is not None:
            self.ready.close()

    def _placed(self) -> list[SessionJob]:
        return [job for name, job in self.jobs.items() if name in self._positions]

    def _rewrite(self, registry: BackendRegistry, name: str | None) -> list[SessionJob]:
        """Trace and rewrite the jobs that are new; returns those that fit together."""
        self.failed.clear()
        together = self._placed()
        for job in self.jobs.values():
            if job in together:
                continue
            try:
                if job.rewritten is None:
                    graph, result = job.trace(registry)
                    fallback = fallback_of(job.config.fallback)
                    _ = job.config.memory  # what is wrong with it is this job's error alone
                    concurrency = job.config.concurrency
                    job.rewritten = rewrite_job(graph, registry, fallback, concurrency=concurrency)
                    job.result = result
                agreed_variables([_rewritten(j).graph for j in (*together, job)])
            except Exception as error:
                job.rewritten = None
                if job.signature.name == name:
                    raise
                let_handlers_through(error)
                self.failed[job.signature.name] = error
            else:
                together.append(job)
        return [job for job in self.jobs.values() if job in together]

    def _exchange(self, jobs: Sequence[SessionJob], registry: BackendRegistry) -> ReadyJob:
        """Put the plan of ``jobs`` in the place of the one there is, with the values it holds."""
        options = [job.config.memory for job in jobs]
        memory = MemoryOptions(all(o.inplace for o in options), all(o.reuse for o in options))
        rewritten = [_rewritten(job) for job in jobs]
        compiled = compile_jobs(rewritten, registry, memory=memory)
        plan = plans.decode(plans.encode(compiled.plan)) if verifies() else compiled.plan
        old, new = self.ready, None
        try:
            new = ReadyJob(plan, registry, compiled.constants)
        except (OutOfMemoryError, ResourceLimitError):
            if old is None:
                raise  # else the old plan makes room first
        try:
            with self._gate.alone:
                self._gate.wait_until_out()
                if old is not None:
                    self._held = {name: old.save_variable(name) for name in old.variables}
                if new is None and old is not None:
                    # Should it not fit either, the jobs of the old plan are compiled again when
                    # they are called, and find what variables held.
                    self.ready = None
                    old.close()
                    new = ReadyJob(plan, registry, compiled.constants)
                assert new is not None
                self._fill(new)
                positions = {job.signature.name: plan.calls()[job.signature.name] for job in jobs}
                self.ready, self._positions, self._held = new, positions, {}
            return new
        except BaseException:
            if self.ready is old is not None:
                self._held = {}  # the old plan still has it all
            if new is not None and self.ready is not new:  # else Ctrl-C came when all was done
                new.close()
            raise
        finally:
            if old is not None and self.ready is not old:
                old.close()

    def _fill(self, new: ReadyJob) -> None:
        """Give variables what they held, and those that are new what they begin with."""
        for name in new.variables:
            if name in self._held:
                new.load_variable(name, self._held[name])
            else:
                new.initialize_variable(name)


def _rewritten(job: SessionJob) -> Rewritten:
    assert job.rewritten is not None
    return job.rewritten
