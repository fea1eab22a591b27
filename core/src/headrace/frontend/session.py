"""``Session``: holds jobs, compiles them together, runs them, gives all back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from enum import Enum
from functools import partial
from types import FrameType
from typing import Any

from headrace.errors import JobError, SessionError
from headrace.frontend import checkpoint
from headrace.frontend.closing import Closing
from headrace.frontend.compile_options import CompileOptions
from headrace.frontend.config import FunctionConfig
from headrace.frontend.delivery import REGISTERS, Delivery
from headrace.frontend.explain import Explanation, explain_graph
from headrace.frontend.feeds import as_feed, is_feed
from headrace.frontend.future import Future
from headrace.frontend.gate import Gate, Lock, Visit
from headrace.frontend.job_set import JobSet, SessionJob
from headrace.frontend.plan_page import plan_page
from headrace.frontend.ready_job import ReadyJob
from headrace.frontend.save_plan import save_plan
from headrace.frontend.signature import JobSignature, rebuild
from headrace.frontend.stages import Stage, stages_of
from headrace.frontend.trace import Trace
from headrace.frontend.tracing import check_not_tracing
from headrace.graph import JobGraph
from headrace.plan import Plan
from headrace.registry.registry import BackendRegistry, default_registry
from headrace.runtime import process
from headrace.runtime.exit import close_at_exit
from headrace.runtime.recorder import Recorder
from headrace.runtime.reentry import Codes, codes_of, is_within, reentry_error
from headrace.tensor_spec import Array


class SessionStatus(Enum):
    """OPEN until the first call, then RUNNING, then CLOSED for good."""

    OPEN = "OPEN"
    RUNNING = "RUNNING"
    CLOSED = "CLOSED"


class Session(Closing):
    """Jobs and what they hold on devices. Several may exist; each is independent.

    The first call of a job traces all jobs that were added so far and compiles them into one plan.
    One that cannot be compiled stops no other: its error comes when it is called, and leaves the
    session as it was. When jobs are added later, the next call of one compiles all of them again,
    while calls of others go on; these are finished before the new plan takes the place of the old
    one, and variables keep what they hold.

    Jobs may be called from any thread. Use a session as a context manager, or call ``close``.
    """

    def __init__(self, registry: BackendRegistry | None = None) -> None:
        """Make an open session.

        Args:
            registry: where devices come from; default: the installed plugins.
        """
        self.status = SessionStatus.OPEN
        self._registry = registry
        self._forks = process.forks
        self._gate = Gate()
        self._set = JobSet(self._gate)
        close_at_exit(self, first=True)  # so that callbacks get what is under way

    def add_job(
        self, function: Callable[..., Any], config: FunctionConfig | None = None
    ) -> JobSignature:
        """Register a job function under its name.

        Raises:
            JobError: the name is taken, or the annotations are not those of a job.
            SessionError: the session is closed.
        """
        self._check_open()
        placement = config.placement if config is not None else None
        signature = JobSignature.of(function, placement.parallel_num if placement else 1)
        if signature.name in self._set.jobs:
            raise JobError(
                f"this session already has a job {signature.name!r}; give the function another "
                "name, or start afresh with headrace.clear_default_session()"
            )
        job = SessionJob(function, signature, config or FunctionConfig())
        with self._changing():
            self._set.jobs[signature.name] = job
        return signature

    def job_names(self) -> tuple[str, ...]:
        """Names of the jobs, in the order in which they were added."""
        return tuple(self._set.jobs)

    def run(
        self, name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a job: compiles it if this is its first call; returns new arrays.

        A job that is annotated with ``tp.Callback`` is called as by ``submit``; what is returned
        takes the callback.

        Raises:
            JobError: there is no such job, its function is not usable, or another job is traced.
            VariableError: it does not say the same of a variable as another job.
            InputError: an argument is missing or has another dtype, rank or shape.
            RunError: the run stopped; the session stays usable.
            SessionError: the session is closed.
        """
        job, feeds = self._called(name, args, kwargs)
        if job.signature.delivers:
            return _Callback(job.delivery, self._submit(job, feeds))
        visit = Visit()
        with visit:
            ready, position = self._enter(job, visit)
            results = ready.run(feeds, position)
        return rebuild("result", job.result, results)

    def submit(
        self, name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Future[Any]:
        """Start a call of a job and return while it is under way; arguments may be changed then.

        Blocks while as many calls of the job are under way as its ``concurrency_width``. Calls of
        one job come to their ends in the order in which they began. A job whose calls run on the
        caller's thread, which is so where streams return with the work done and the width is 1, is
        over on return.

        Raises:
            JobError, VariableError, InputError, SessionError: as ``run``. That the run stopped is
                raised by ``Future.result``.
        """
        return self._submit(*self._called(name, args, kwargs))

    def sync(self) -> None:
        """Wait until the calls under way are over, and their callbacks have returned.

        Calls by other threads wait meanwhile. What a call raised is not raised here.

        Raises:
            SessionError: a callback asked for it, or a handler of a signal in the middle of a call,
                which would wait for themselves; or this process was forked since.
        """
        self._check_no_callback("sync")
        self._check_process()
        self._check_elsewhere("sync was called")
        is_over = False
        while not is_over:
            for job in tuple(self._set.jobs.values()):
                job.delivery.wait()
            # A callback may have begun calls, or given another job's callback something to do.
            with self._changing(), self._gate.alone:
                self._gate.wait_until_out()
                is_over = all(job.delivery.is_idle for job in self._set.jobs.values())

    def plan(self) -> Plan:
        """The plan of all jobs; ``headrace.plan.dump`` shows it. Compiles them if need be.

        Raises:
            SessionError: the session is closed.
        """
        check_not_tracing("the plan was asked for")
        with self._changing():
            return self._compiled().plan

    def get_all_variables(self) -> dict[str, Array]:
        """What each variable of the session's jobs holds, by name; compiles the jobs if need be.

        Calls under way are finished first, and others wait, so that all is of one moment.

        Raises:
            RunError: a device failed.
            SessionError: the session is closed.
        """
        check_not_tracing("variables were read by get_all_variables")
        with self._changing():
            ready = self._compiled()
            with self._gate.alone:
                self._gate.wait_until_out()
                return {name: ready.save_variable(name) for name in ready.variables}

    def load_variables(self, values: Mapping[str, object], ignore_mismatch: bool = False) -> None:
        """Give variables new values; compiles the jobs if need be. Calls are kept off meanwhile.

        Args:
            values: arrays by the names of variables, as ``headrace.checkpoint.get`` returns them.
            ignore_mismatch: take values of what is no variable here for nothing, and leave
                variables without a value as they are; a wrong shape or dtype is an error all the
                same.

        Raises:
            CheckpointError: names, shapes or dtypes do not fit; then nothing was loaded.
            RunError: a device failed; some variables may have their new value already.
            SessionError: the session is closed.
        """
        check_not_tracing("variables were loaded")
        with self._changing():
            ready = self._compiled()
            specs = {name: desc.variable.spec for name, desc in ready.variables.items()}
            fitting = checkpoint.fit(values, specs, ignore_mismatch, self._set.failures())
            with self._gate.alone:
                self._gate.wait_until_out()
                for name, value in fitting.items():
                    ready.load_variable(name, value)

    def save_variables(self, path: str | os.PathLike[str]) -> None:
        """Write what all variables hold to a new folder; see ``headrace.checkpoint.save``.

        Raises:
            CheckpointError: the folder is there already, or cannot be written.
            RunError: a device failed.
            SessionError: the session is closed.
        """
        checkpoint.write(path, self.get_all_variables())

    def explain(self, name: str) -> Explanation:
        """Where each op of a job runs, by which kernel and why. Traces the job; runs nothing.

        Raises:
            JobError: there is no such job, or its function is not usable.
            DeviceError: a device cannot be used at all.
            SessionError: the session is closed.
        """
        return explain_graph(*self._traced(name))

    def stages(self, name: str) -> tuple[Stage, ...]:
        """What each stage of compiling a job makes, in order. Traces the job; runs nothing.

        Raises:
            JobError, DeviceError, UnsupportedError, SessionError: as ``run`` before it runs.
        """
        return stages_of(*self._traced(name))

    @contextmanager
    def trace(self) -> Iterator[Trace]:
        """Record when each task of the session's jobs is worked on, within the block.

        Compiles the jobs if need be. At both ends of the block calls under way are waited for, and
        others wait. Each task is launched by itself and waited for, so that its time is its own; a
        call takes longer than one that is not traced. A first call is best made before.

        Returns:
            What was recorded; it may be read in the block, and saved and shown behind it.

        Raises:
            JobError: the session has no job, or none that can be compiled; or one is being traced
                in the other sense, by its function.
            SessionError: the session is closed or is recorded already; or a job is called in the
                block that was added there.

        Example:
            ``with session.trace() as trace: job(x)`` and then ``trace.save_page(Path("t.html"))``
        """
        check_not_tracing("Session.trace was called")
        with self._changing():
            ready = self._compiled()
            if self._set.is_traced:
                raise SessionError("this session is traced already; leave the other block first")
            recorder, notes = Recorder(), self._set.notes(self._registry or default_registry())
            with self._gate.alone:
                self._gate.wait_until_out()
                ready.record(recorder)
            self._set.is_traced = True
        try:
            yield Trace(ready.plan, recorder, notes)
        finally:
            with self._changing():
                self._set.is_traced = False
                with self._gate.alone:
                    self._gate.wait_until_out()
                    if not ready.is_closed:
                        ready.record(None)

    def save_plan(self, name: str, path: str | os.PathLike[str]) -> None:
        """Compile a job into a file that ``headrace.load_plan`` makes ready in another process.

        Traces the job; opens no device. The file holds the plan and its constants. What variables
        hold now is not in it: that is a checkpoint, for ``LoadedPlan.load_variables``.

        Raises:
            JobError: there is no such job, or its function is not usable.
            UnsupportedError, DeviceError: it cannot be compiled.
            PlanError: the file cannot be written.
            SessionError: the session is closed.
        """
        save_plan(path, *self._traced(name))

    def plan_page(self, name: str) -> str:
        """The plan of a job as one HTML document: ops, streams, memory. Runs nothing.

        Raises:
            JobError, DeviceError, UnsupportedError, SessionError: as ``run`` before it runs.
        """
        return plan_page(*self._traced(name))

    def close(self, cancel: bool = False) -> None:
        """Give back everything on the devices. Idempotent; the session cannot run any more.

        Calls that have begun come to their ends first, and callbacks get their results; interrupted
        while it waits for them, ``close`` can be called again. Leaving a ``with`` block by an error
        cancels. In a forked process, where all is the parent's, and at the end of Python it gives
        nothing back.

        Args:
            cancel: wait for nothing: calls under way end with a ``SessionError``.

        Raises:
            SessionError: a callback asked for it, or a handler of a signal in the middle of a call,
                which would wait for themselves.
        """
        self._check_no_callback("close")
        self._check_elsewhere("close was called")
        if not process.gives_back(self._forks):  # nobody is left who ends calls or lets locks go
            self.status = SessionStatus.CLOSED
            return
        jobs: tuple[SessionJob, ...] = ()
        try:
            with self._gate.changing:
                self.status = SessionStatus.CLOSED
                with nullcontext() if cancel else self._gate.alone:
                    if not cancel:
                        self._gate.wait_until_out()
                    jobs = tuple(self._set.jobs.values())
                    self._set.close()
        finally:  # also if a device fails to close
            for job in jobs:
                job.delivery.close()

    def _close_after(self, error: BaseException | None) -> None:
        self.close(cancel=error is not None)

    def _traced(self, name: str) -> tuple[JobGraph, BackendRegistry, CompileOptions]:
        """The graph of a job, and what it is compiled with."""
        check_not_tracing(f"job {name!r} was called")
        job = self._job(name)
        registry = self._registry or default_registry()
        graph, _ = job.trace(registry)
        config = job.config
        return graph, registry, config.options

    def _called(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None
    ) -> tuple[SessionJob, dict[str, Array]]:
        """The job of a call, and its arguments."""
        check_not_tracing(f"job {name!r} was called")
        job = self._job(name)
        feeds = job.signature.bind(args, kwargs or {})
        for leaf, spec in job.signature.inputs:
            if not is_feed(feeds[leaf], spec):
                feeds[leaf] = as_feed(f"job {name!r}: input {leaf!r}", feeds[leaf], spec)
        return job, feeds

    def _submit(self, job: SessionJob, feeds: Mapping[str, Array]) -> Future[Any]:
        visit = Visit()

        def leave() -> None:
            with suppress(RuntimeError):  # it has left already
                visit.release()

        visit.acquire()
        try:
            ready, position = self._enter(job, visit)
            call = ready.submit(feeds, position, leave)
        except BaseException:
            leave()
            raise
        return Future(call, partial(rebuild, "result", job.result))

    def _check_no_callback(self, asked: str) -> None:
        for job in tuple(self._set.jobs.values()):
            if job.delivery.is_here:
                raise SessionError(
                    f"a callback of job {job.signature.name!r} called {asked}, which waits until "
                    "callbacks have returned; call it on another thread"
                )

    def _job(self, name: str) -> SessionJob:
        self._check_open()
        job = self._set.jobs.get(name)
        if job is None:
            has = ", ".join(self._set.jobs) or "none"
            raise JobError(f"this session has no job {name!r}; it has {has}")
        return job

    def _enter(self, job: SessionJob, visit: Visit) -> tuple[ReadyJob, int]:
        """Go through the gate, with the job ready; whoever calls this leaves again."""
        if self._gate.alone.locked():
            self._check_elsewhere(f"job {job.signature.name!r} was called", _CHANGES)
        look = partial(self._set.find, job)
        while (found := self._gate.enter(visit, look)) is None:
            with self._changing():
                if look() is None:  # nobody was faster
                    self._compiled(job.signature.name)
        return found

    def _compiled(self, name: str | None = None) -> ReadyJob:
        self._check_open()
        ready = self._set.compile(self._registry or default_registry(), name)
        self.status = SessionStatus.RUNNING
        return ready

    def _check_open(self) -> None:
        if self.status is SessionStatus.CLOSED:
            raise SessionError("this session is closed; make a new one")
        self._check_process()

    def _check_process(self) -> None:
        process.check_not_ending("this session cannot be used")
        if process.forks != self._forks and self.status is SessionStatus.RUNNING:
            raise process.forked_error("a job of this session")

    def _changing(self) -> Lock:
        """Held by who changes what the session has; calls may be waited for meanwhile."""
        self._check_process()
        self._check_elsewhere("a change was asked for")
        return self._gate.changing

    def _check_elsewhere(self, asked: str, codes: Codes | None = None) -> None:
        """Refuse to wait for what this thread does further out: for a call, or a change."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals is globals():  # of what was asked for
            frame = frame.f_back
        ready = self._set.ready
        mine = (self, *(job.delivery for job in tuple(self._set.jobs.values())))
        if is_within(mine, codes or _ANY, frame) or (ready and ready.is_here):
            raise reentry_error(asked)


_CHANGES = codes_of(
    Session.add_job,
    Session.sync,
    Session.plan,
    Session.get_all_variables,
    Session.load_variables,
    Session.trace,
    Session.close,
    Session._compiled,
)
_ANY = codes_of(Session.run, Session._submit) | _CHANGES | REGISTERS


class _Callback:
    """What a call returns that gives its result to a callback; see ``headrace.typing.Callback``."""

    def __init__(self, delivery: Delivery, future: Future[Any]) -> None:
        self._delivery = delivery
        self._future = future

    def __call__(
        self,
        callback: Callable[[Any], object],
        failed: Callable[[BaseException], object] | None = None,
    ) -> None:
        self._delivery.register(self._future, callback, failed)
