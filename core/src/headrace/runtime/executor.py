"""``Executor``: a plan on its devices, ready to be called.

A call runs inline, on the caller's thread, in the order in which the actors act (``inline.py``);
streams that work later are ordered by their events. Where calls overlap, or launches that take as
long as their work, each stream has a worker thread that steps its actors (``threaded_calls.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from headrace.errors import RunError, SessionError
from headrace.ids import ActorId
from headrace.plan import Plan, TaskKind
from headrace.registry.registry import BackendRegistry
from headrace.runtime import process
from headrace.runtime.bind import LaunchAct, bind_actor
from headrace.runtime.bus import Call, Exchange, new_lock, stand_back
from headrace.runtime.exit import close_at_exit, threads_are_of_backends
from headrace.runtime.inline import InlineEngine, can_run_inline
from headrace.runtime.launcher import Launcher
from headrace.runtime.limits import host_memory_limit, stated_memory_limit
from headrace.runtime.network import Network
from headrace.runtime.order import acting_orders
from headrace.runtime.reentry import codes_of, is_within, reentry_error
from headrace.runtime.resources import Resources
from headrace.runtime.shelter import Shelter, Stopped, in_place_within
from headrace.runtime.threaded_calls import ThreadedCalls, closed_error
from headrace.signals import raised_by_handler
from headrace.tensor_spec import Array

if TYPE_CHECKING:  # imported by those who ask for them
    from headrace.runtime.event_log import EventLog
    from headrace.runtime.recorder import Recorder


class Executor:
    """Runs the jobs of one plan, any number of times, from any thread.

    Of each job as many calls are under way at once as it was compiled for; who starts one more
    waits. Calls of several jobs overlap as far as their critical sections let them. Feeds must have
    the names, shapes and dtypes of the job's inputs: callers check before.

    Attributes:
        is_busy: whether an inline call that began now would wait. A method of the lock itself: each
            call of a job asks.
        may_have_replicas: whether another executor of the plan could run calls beside this one, and
            be faster: nothing is kept from call to call, and the caller's thread does all the work,
            in the host's memory.
        is_recorded: whether a recorder is told of each task.
    """

    def __init__(
        self,
        plan: Plan,
        registry: BackendRegistry,
        constants: Mapping[str, Array],
        memory_limit: int | None = None,
        *,
        lasting: bool = False,
        shared: bool = False,
        recorder: Recorder | None = None,
        log: EventLog | None = None,
        hold: Callable[[Executor], object] = lambda _: None,
    ) -> None:
        """Acquire all resources and bind all launches.

        Args:
            plan: a checked plan.
            registry: where its devices come from.
            constants: values of the weights that the plan names; read now, not kept.
            memory_limit: bytes that this process may hold of the memory of each device, and of the
                host's; default: what ``HEADRACE_MEMORY_LIMIT`` says, else three quarters of the
                host's memory for the plan, and of devices what they have left.
            lasting: nobody writes to ``constants`` any more; then they may be kept and not copied.
            shared: they are another executor's, and take no memory here.
            recorder: told when each task is worked on; without one, nobody looks at a clock.
            log: what actors are told is written down in it, from which ``replay`` finds the run
                again; then calls never run inline, where actors need not be asked.
            hold: given the executor before it has anything, to close it if nobody else can: twice
                interrupted it may be open when this has raised.

        Raises:
            ResourceLimitError, OutOfMemoryError, DeviceError, PlanError: see ``Resources``.
        """
        limit = stated_memory_limit() if memory_limit is None else memory_limit
        self._plan = plan
        self._registry = registry
        self._log = log
        self._network = Network.of(plan)
        self._outputs = {
            job: tuple(plan.foreign(TaskKind.FOREIGN_OUTPUT, job)) for job in plan.calls().values()
        }
        self._lock = new_lock()
        self.is_busy = self._lock.locked
        self.may_have_replicas = False
        self.is_recorded = False
        self._closed = False
        self._forks = process.forks
        self._is_settled = True  # streams have no work of an inline call that was interrupted
        self._inline: InlineEngine | None = None
        self._threaded = ThreadedCalls(plan, self._network, log)
        self._shelter = Shelter()
        self._held: list[Resources] = []

        acquire = partial(
            Resources, plan, registry, constants, limit, lasting=lasting, shared=shared
        )
        process.check_not_ending(f"job {plan.name!r} cannot be made ready")
        hold(self)
        try:
            self._shelter.run(partial(self._open, acquire, recorder), self._stop_opening)
        except BaseException:
            self.close()
            raise

    @threads_are_of_backends()
    def _open(self, acquire: Callable[..., Resources], recorder: Recorder | None) -> None:
        try:
            self._resources = acquire(go_on=self._go_on)
            self._held.append(self._resources)
            self._bind(recorder)
            close_at_exit(self)
            self._go_on()
        except BaseException:
            self._close()
            raise

    def _stop_opening(self) -> None:
        self._closed = True

    def _go_on(self) -> None:
        """Between steps of opening: has who wants it been interrupted?"""
        if self._closed:
            raise Stopped

    def _bind(self, recorder: Recorder | None) -> None:
        """Bind all launches, with what tells a recorder or without."""
        contexts, is_recorded = self._resources.contexts, recorder is not None
        runs_inline = self._log is None and can_run_inline(self._network, contexts, is_recorded)
        exchange = Exchange({})  # of the inline call that runs, which holds the lock
        launches: list[LaunchAct] = []
        for actor, job in zip(self._plan.actors, self._network.jobs, strict=True):
            self._go_on()
            call = (lambda _: exchange) if runs_inline else partial(self._threaded.exchange, job)
            launches.append(
                bind_actor(self._plan, actor, self._resources, self._registry, call, recorder)
            )
        inline = self._inline_engine(launches, exchange) if runs_inline else None
        self._threaded.bind(self._resources, launches, recorder)
        self._inline, self.is_recorded = inline, is_recorded
        self.may_have_replicas = (
            runs_inline and not self._plan.variables and self._resources.are_hosts
        )

    def _inline_engine(self, launches: list[LaunchAct], exchange: Exchange) -> InlineEngine:
        contexts = self._resources.contexts
        at_once = {stream_id for stream_id, c in contexts.items() if c.host_synchronous}
        return InlineEngine(
            acting_orders(self._network, at_once),
            self._network.sinks,
            Launcher(self._network, contexts, launches),
            exchange,
            self._inline_error,
        )

    def stand_back(self, frame: FrameType | None = None, waited: float = 0.0) -> None:
        """Let others run for some 0.06 ms if a call is under way on its caller's thread.

        Or for longer, if the caller has ``waited`` some seconds for it.

        Raises:
            SessionError: that is further out than ``frame``, the caller's, or Python is at its end.
        """
        process.check_not_ending(f"job {self._plan.name!r} cannot run")
        if self._is_inline(frame or sys._getframe(1)):
            raise reentry_error(f"job {self._plan.name!r} was called")
        stand_back(self._lock, waited)

    def record(self, recorder: Recorder | None) -> None:
        """Have ``recorder`` told when each task is worked on, from now on; None: nobody is.

        For whoever keeps calls off meanwhile. All launches are bound anew, so that those which
        nobody records look at no clock.

        Raises:
            SessionError: the executor is closed.
            PlanError, PluginError: a launch cannot be bound; all is then as it was.
        """

        def bind() -> None:
            with self._lock:
                if self._closed:
                    raise closed_error(self._plan)
                self._bind(recorder)

        self.drain()  # of calls whose callers were interrupted
        self._shelter.run(bind)

    @property
    def is_closed(self) -> bool:
        """True when it cannot run any more."""
        return self._closed

    @property
    def runs_inline(self) -> bool:
        """True when calls run on the caller's thread."""
        return self._inline is not None

    def replica(self, hold: Callable[[Executor], object]) -> Executor:
        """Another executor of the plan, with the weights of this one; to be closed before it.

        Args:
            hold: as for the constructor.

        Raises:
            ResourceLimitError, OutOfMemoryError, DeviceError, PlanError: as the constructor.
            SessionError: this one is closed.
        """
        try:
            weights = self._resources.weights()
        except IndexError:  # it gave its memory back meanwhile
            raise closed_error(self._plan) from None
        limit = stated_memory_limit() or host_memory_limit()  # for all of them together
        return Executor(self._plan, self._registry, weights, limit, shared=True, hold=hold)

    @property
    def held_bytes(self) -> int:
        """Memory of its own on all devices and the host; see ``Resources.held_bytes``."""
        return self._resources.held_bytes

    @property
    def is_under_way(self) -> bool:
        """True while a call runs on its caller's thread."""
        return self._inline is not None and self.is_busy()

    @property
    def is_here(self) -> bool:
        """True further in on a thread that works for one of its calls, as in a kernel."""
        if self._inline is not None:
            return self._is_inline(sys._getframe(1))
        return self._threaded.is_here

    def _is_inline(self, frame: FrameType) -> bool:
        return is_within((self,), codes_of(Executor._run_inline), frame)

    def submit(
        self, feeds: Mapping[str, Array], job: int = 0, over: Callable[[], None] | None = None
    ) -> Call:
        """Start a call; ``Call.wait`` gives its results. An inline call is over on return.

        Blocks while as many calls of the job are under way as it was compiled for.

        Args:
            feeds: arrays by name of the input; not to be written until the call is over.
            job: position of the job in the plan; the first one is a user's.
            over: called when the call is over, however it ended, also if this raises; by the thread
                that ends it, so it must neither block nor raise.

        Raises:
            SessionError: the executor is closed, or was made before this process was forked.
        """
        if self._inline is not None:
            return self._run_at_once(feeds, job, over)
        self._check_process()
        process.check_not_ending(f"job {self._plan.name!r} cannot run")
        return self._threaded.submit(feeds, job, over)

    def _run_at_once(
        self, feeds: Mapping[str, Array], job: int, over: Callable[[], None] | None
    ) -> Call:
        """An inline call as one that is over."""
        call = Call(feeds, sinks=0, over=over)
        try:
            call.results = self._run_inline(feeds, job)
        except RunError as error:
            call.error = error  # for whoever waits
        except BaseException as error:
            call.error = error
            raise
        finally:
            call.finish()
        return call

    @in_place_within
    def _run_inline(self, feeds: Mapping[str, Array], job: int) -> dict[str, Array]:
        """Run a call on this thread; calls wait for each other by the lock."""
        self._check_process()
        if self.is_busy():
            self.stand_back(sys._getframe(1))
        with self._lock:
            if self._inline is None:
                raise closed_error(self._plan)
            if not self._is_settled:  # the call before was interrupted
                self._resources.settle()
            self._is_settled = False  # also where Ctrl-C ends what follows
            try:
                results = self._inline.run(job, feeds)
            except Exception as error:
                if raised_by_handler(error) is None:  # else it reaches the caller at once
                    self._resources.settle()
                    self._is_settled = True
                raise
            self._is_settled = True
        return results

    def _check_process(self) -> None:
        if process.forks != self._forks:
            raise process.forked_error(f"job {self._plan.name!r}")

    def run(self, feeds: Mapping[str, Array], job: int = 0) -> dict[str, Array]:
        """``submit`` and wait; returns new arrays by name of the output, in the job's order.

        Raises:
            RunError: a launch failed; says op, task and device. The executor stays usable.
        """
        if self._inline is not None:
            results = self._run_inline(feeds, job)
        else:
            results = self.submit(feeds, job).wait()
        names = self._outputs[job]
        return results if len(names) == 1 else {name: results[name] for name in names}

    def drain(self) -> None:
        """Wait until no call is under way, if ``close`` would; for whoever begins no other."""
        if process.gives_back(self._forks):
            self._threaded.drain()

    def close(self) -> None:
        """Stop the threads and give everything back; calls under way end with an error. Idempotent.

        It comes to its end also if it is interrupted, see ``Shelter``. See ``process.gives_back``
        for where it does nothing.
        """
        if process.gives_back(self._forks):
            self._shelter.run(self._close)

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            self._inline = None
            self.may_have_replicas = False
            self._threaded.close(SessionError(f"job {self._plan.name!r} was closed while it ran"))
            for resources in self._held:
                resources.close()

    def _inline_error(self, error: BaseException, actor_id: ActorId) -> BaseException:
        from headrace.runtime.failure import inline_error  # most jobs have none

        return inline_error(self._plan, self._network, error, actor_id)
