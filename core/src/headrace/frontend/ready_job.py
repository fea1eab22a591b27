"""``ReadyJob``: a plan on its devices, ready to run."""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from headrace.errors import OutOfMemoryError, ResourceLimitError
from headrace.frontend.closing import Closing
from headrace.plan import Plan
from headrace.plan.saved import PassRun
from headrace.registry.registry import BackendRegistry
from headrace.runtime import process
from headrace.runtime.bus import Call
from headrace.runtime.executor import Executor
from headrace.runtime.reentry import codes_of, is_within, reentry_error
from headrace.runtime.replicas import Replicas, give_back
from headrace.runtime.shelter import Shelter
from headrace.tensor_spec import Array

if TYPE_CHECKING:  # plans are seldom recorded
    from headrace.runtime.recorder import Recorder


class _Held(ref["ReadyJob"]):
    """What a job holds, which outlives it."""

    __slots__ = ("executor", "replicas")
    executor: Executor
    replicas: Replicas


_HELD: set[_Held] = set()
# Of jobs that were dropped without being closed. A collector may run at any point of any thread,
# also where a lock of the runtime is held, so it only puts them here; and by a function that is not
# Python, which Ctrl-C has no step to come between of.
_DROPPED: deque[_Held] = deque()


class ReadyJob(Closing):
    """A plan on its devices. A context manager; ``close`` gives everything back.

    What a job holds that was dropped without ``close`` is given back when the next one is made.

    Variables hold nothing of use before each is initialized or loaded.

    Attributes:
        plan: what runs.
        variables: of the plan, by name.
        passes: those of plugins that made it, in order.
    """

    def __init__(
        self,
        plan: Plan,
        registry: BackendRegistry,
        constants: Mapping[str, Array],
        *,
        lasting: bool = False,
        passes: tuple[PassRun, ...] = (),
        recorder: Recorder | None = None,
    ) -> None:
        """Acquire what ``plan`` needs.

        Args:
            plan: a checked plan.
            registry: where its devices come from.
            constants: values of the weights that it names.
            lasting: nobody writes to them as long as they are held, so that devices in host memory
                may use them where they lie.
            passes: those of plugins that made the plan.
            recorder: told when each task is worked on.

        Raises:
            DeviceError: a device cannot be used, or has not enough memory.
            PlanError: a weight is missing, or a device lacks a kernel.
        """
        close_dropped()
        self._held: _Held | None = None
        self.plan = plan
        self.variables = {desc.variable.name: desc for desc in plan.variables}
        self.passes = passes
        make = partial(Executor, lasting=lasting, recorder=recorder, hold=self._hold)
        _with_room(lambda: make(plan, registry, constants))

    def _hold(self, executor: Executor) -> None:
        self._let_go()
        self._executor = executor
        self._replicas = Replicas(executor, self.plan.name)
        held = _Held(self, _DROPPED.append)
        held.executor, held.replicas = executor, self._replicas
        self._held = held
        _HELD.add(held)

    def _let_go(self) -> None:
        """Nobody need close what it holds any more."""
        if self._held is not None:
            _HELD.discard(self._held)
            self._held = None

    def run(self, feeds: Mapping[str, Array], job: int = 0) -> dict[str, Array]:
        """Run a job once on arrays whose names, shapes and dtypes are those of its inputs.

        Args:
            feeds: the arrays by name.
            job: its position in the plan; the first is a user's.

        Raises:
            RunError: the run stopped; the job stays usable.
            SessionError: the job was closed.
        """
        executor = self._executor
        if executor.is_busy():
            process.check_not_ending(f"job {self.plan.name!r} cannot run")
            return self._replicas.instead(lambda other: other.run(feeds, job))
        return executor.run(feeds, job)

    def submit(
        self, feeds: Mapping[str, Array], job: int = 0, over: Callable[[], None] | None = None
    ) -> Call:
        """Start a call as ``run`` makes it, and return while it is under way.

        Blocks while as many calls of the job are under way as it was compiled for. Where calls run
        on the caller's thread, it is over on return.

        Args:
            feeds: the arrays by name; they may be changed as soon as this returns.
            job: its position in the plan.
            over: called when the call is over, also if this raises, by the thread that ends it; it
                must neither block nor raise.

        Raises:
            SessionError: the job was closed.
        """
        executor = self._executor
        if not executor.runs_inline:
            feeds = {name: array.copy() for name, array in feeds.items()}
        elif executor.is_busy():
            try:
                process.check_not_ending(f"job {self.plan.name!r} cannot run")
                return self._replicas.instead(lambda other: other.submit(feeds, job))
            finally:
                if over is not None:  # once, whoever ran it
                    over()
        return executor.submit(feeds, job, over)

    def initialize_variable(self, name: str) -> None:
        """Give a variable the value that it begins with.

        Raises:
            RunError: the run stopped; what the variable holds is not known then.
        """
        self._executor.run({}, self.variables[name].init_job)

    def load_variable(self, name: str, value: Array) -> None:
        """Give a variable a value of its own shape and dtype; raises as ``initialize_variable``."""
        self._executor.run({name: value}, self.variables[name].load_job)

    def save_variable(self, name: str) -> Array:
        """What a variable holds, as an array of the caller's own.

        Raises:
            RunError: the run stopped.
        """
        return self._executor.run({}, self.variables[name].save_job)[name]

    @property
    def is_closed(self) -> bool:
        """True when it cannot run any more."""
        return self._executor.is_closed

    @property
    def held_bytes(self) -> int:
        """Memory that it holds on all devices and the host, without weights that lie elsewhere."""
        return self._executor.held_bytes + self._replicas.held_bytes

    @property
    def is_under_way(self) -> bool:
        """True while a call runs on its caller's thread."""
        return self._executor.is_under_way or self._replicas.is_under_way

    @property
    def is_here(self) -> bool:
        """True further in on a thread that works for one of its calls, in a kernel or a handler."""
        if is_within((self,), _CALLS, sys._getframe(1)):
            return True
        return self._executor.is_here or self._replicas.is_here

    def _check_elsewhere(self) -> None:
        if self.is_here:
            raise reentry_error(f"job {self.plan.name!r} was to be closed")

    def record(self, recorder: Recorder | None) -> None:
        """Have ``recorder`` told when each task is worked on, from now on; None: nobody is.

        For whoever keeps calls off meanwhile.

        Raises:
            SessionError: the job was closed.
            PlanError, PluginError: a launch cannot be bound; all is then as it was.
        """
        self._executor.record(recorder)

    def drain(self) -> None:
        """Wait until no call is under way; for whoever begins no other meanwhile.

        Raises:
            SessionError: this thread is in the middle of one.
        """
        self._check_elsewhere()
        self._executor.drain()

    def close(self) -> None:
        """Stop threads, free memory, release devices; calls under way end with a ``SessionError``.

        Idempotent. In a forked process and at the end of Python it gives nothing back.

        Raises:
            SessionError: this thread is in the middle of a call.
        """
        self._check_elsewhere()
        if not sys.is_finalizing():
            Shelter().run(partial(_close, self._replicas, self._executor))
            self._let_go()


_CALLS = codes_of(
    ReadyJob.run,
    ReadyJob.submit,
    ReadyJob.initialize_variable,
    ReadyJob.load_variable,
    ReadyJob.save_variable,
)


def _with_room(make: Callable[[], object], asked: tuple[bool, ...] = (False, True)) -> None:
    """Call ``make``; where it finds no memory, again beside fewer replicas: idle ones, then all."""
    try:
        make()
    except (OutOfMemoryError, ResourceLimitError):
        for index, busy in enumerate(asked):
            if give_back(busy=busy):
                return _with_room(make, asked[index + 1 :])
        raise


def _close(replicas: Replicas, executor: Executor) -> None:
    replicas.close()
    executor.close()


def close_dropped() -> None:
    """Give back what jobs held that were dropped without ``close``."""
    if _DROPPED and not sys.is_finalizing():
        Shelter().run(_close_dropped)


def _close_dropped() -> None:
    while True:
        try:
            dropped = _DROPPED[0]
        except IndexError:  # also where another thread does the same
            return
        try:
            _close(dropped.replicas, dropped.executor)
        except Exception as error:  # noqa: BLE001 - whoever should hear of it has gone
            warnings.warn(
                f"a job that was dropped unclosed failed to close: {error!r}",
                ResourceWarning,
                stacklevel=1,
            )
        _HELD.discard(dropped)
        with suppress(ValueError):  # another thread has
            _DROPPED.remove(dropped)
