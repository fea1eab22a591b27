"""Bugs planted in the runtime, each by replacing one function of it. ``mutants.py`` lists them.

A planter returns ``(owner, attribute, replacement)`` triples, which are in force while a scenario
runs. They are kept small: what is left out or turned round, and nothing else.
"""

from __future__ import annotations

import queue
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from headrace.device import HostBuffer
from headrace.ids import ActorId
from headrace.plan import TaskKind
from headrace.runtime import bind, group, threaded
from headrace.runtime.actor import Actor
from headrace.runtime.bus import Call, CallTable
from headrace.runtime.commands import Act, Publish, Return
from headrace.runtime.devices import DevicePool
from headrace.runtime.events import ActDone, RegisterReady, RegisterReturned
from headrace.runtime.executor import Executor
from headrace.runtime.network import Network
from headrace.runtime.resources import Resources
from headrace.runtime.runner import Runner
from headrace.runtime.sections import Sections
from headrace.runtime.worker import Worker

Patches = list[tuple[object, str, object]]

# --- waits -----------------------------------------------------------------------------------


def lost_wait() -> Patches:
    """Work is reported done when it is launched."""

    def launch(self: Any, actor_id: ActorId, number: int) -> None:
        self._current = actor_id
        self._launch_actor(actor_id, number)
        self.post(*self._done(actor_id, number))

    return [(Worker, "_launch", launch)]


def report_before_wait() -> Patches:
    """Who waits for an act is told of it, and then its stream is synchronised."""
    original = Worker._next

    def next_(self: Any) -> object:
        if self._inbox.empty() and self._launched:
            while self._launched:
                self._runner.deliver(*self._done(*self._launched.popleft()))
            self._context.synchronize()
        return original(self)

    return [(Worker, "_next", next_)]


def no_wait_for_copies_out() -> Patches:
    """Streams that copy to the host are taken to be done when a copy returns."""
    original = Worker._launch

    def launch(self: Any, actor_id: ActorId, number: int) -> None:
        if self._context.stream_index != 2:
            original(self, actor_id, number)
            return
        self._launch_actor(actor_id, number)
        self.post(*self._done(actor_id, number))

    return [(Worker, "_launch", launch)]


def waits_for_the_first_only() -> Patches:
    """The group of an exchange waits for its first member."""
    return [(group.GroupContext, "synchronize", lambda self: self.members[0].synchronize())]


class _Unheard(dict[Any, Any]):
    """Loaders of weights, which are not there when the first asks for all of them."""

    asked = False

    def values(self) -> Any:
        if not self.asked:
            self.asked = True
            return ()
        return super().values()


def weights_without_wait() -> Patches:
    """Weights are copied in, and nobody waits before their sources are let go of."""
    original = Resources._load

    def load(self: Any, register: Any, value: Any) -> None:
        if type(self._loaders) is dict:
            self._loaders = _Unheard()
        original(self, register, value)

    return [(Resources, "_load", load)]


def wrong_stream() -> Patches:
    """Work is launched on another stream of the device than the one that is waited for."""
    original = bind._Binding.__init__

    def init(self: Any, plan: Any, held: Any, registry: Any, stream_id: Any, phase: int) -> None:
        original(self, plan, held, registry, stream_id, phase)
        others = [
            context
            for other, context in held.contexts.items()
            if other.device_id == stream_id.device_id and other.stream_index < 3
        ]
        if stream_id.stream_index in (0, 1) and len(others) > 1:
            self._context = others[0]

    return [(bind._Binding, "__init__", init)]


# --- credits and messages --------------------------------------------------------------------


def credit_off_by_one() -> Patches:
    """Registers are said to have one slot more than they have."""
    original = Network.of

    def of(plan: Any) -> Network:
        network = original(plan)
        wirings = tuple(
            replace(w, slots={r: n + 1 for r, n in w.slots.items()}) for w in network.wirings
        )
        return replace(network, wirings=wirings)

    return [(Network, "of", staticmethod(of))]


def returned_when_launched() -> Patches:
    """What an act reads is given back when the act is launched, not when it is done."""

    def deliver(self: Any, actor_id: ActorId, event: object) -> None:
        actor, commands = self._actors[actor_id].on(event)
        self._actors[actor_id] = actor
        for command in commands:
            match command:
                case Act(number=number):
                    self._launch(actor_id, number)
                    for register in actor.wiring.consumed:
                        self._post(self._producers[register], RegisterReturned(register, actor_id))
                case Publish(register=register):
                    for consumer in actor.wiring.consumers[register]:
                        self._post(consumer, RegisterReady(register))

    return [(Runner, "deliver", deliver)]


def first_reader_counts() -> Patches:
    """A register is free again when the first of its readers has given it back."""
    original = Actor.on

    def on(self: Actor, event: object) -> object:
        if isinstance(event, RegisterReturned):
            readers = self.wiring.consumers[event.register]
            counts = [self.returned[event.register, reader] for reader in readers]
            before = max(counts)
            state = self
            given: tuple[object, ...] = ()
            mine = self.returned[event.register, event.consumer]
            if mine < before:
                return state, given  # the others were counted with the first
            for reader in readers:
                state, more = original(state, RegisterReturned(event.register, reader))
                given += more
            return state, given
        return original(self, event)  # type: ignore[arg-type]

    return [(Actor, "on", on)]


def one_reader_is_told() -> Patches:
    """Of the readers of a register only the first is told that it is ready."""

    def deliver(self: Any, actor_id: ActorId, event: object) -> None:
        actor, commands = self._actors[actor_id].on(event)
        self._actors[actor_id] = actor
        for command in commands:
            match command:
                case Act(number=number):
                    self._launch(actor_id, number)
                case Publish(register=register):
                    for consumer in actor.wiring.consumers[register][:1]:
                        self._post(consumer, RegisterReady(register))
                case Return(register=register):
                    self._post(self._producers[register], RegisterReturned(register, actor_id))

    return [(Runner, "deliver", deliver)]


def nothing_is_given_back() -> Patches:
    """Readers keep the slot they have read."""
    original = Actor.on

    def on(self: Actor, event: object) -> object:
        actor, commands = original(self, event)  # type: ignore[arg-type]
        return actor, tuple(c for c in commands if not isinstance(c, Return))

    return [(Actor, "on", on)]


def starts_on_the_first_input() -> Patches:
    """An actor starts when the first of its inputs is there."""
    original = Actor.initial

    def initial(wiring: Any) -> Actor:
        return replace(original(wiring), blocking=1)

    def act(self: Actor, risen: int) -> tuple[Actor, tuple[Act, ...]]:
        bounds = [max(self.arrived.values())] if self.arrived else [self.calls]
        bounds += (count + self.wiring.slots[r] for (r, _), count in self.returned.items())
        limit = max(min(bounds), self.started)
        return replace(self, started=limit), tuple(map(Act, range(self.started, limit)))

    return [(Actor, "initial", staticmethod(initial)), (Actor, "_act", act)]


def last_message_first() -> Patches:
    """An inbox gives the message that came last, of whomever it came."""

    def get(self: Any) -> object:
        held: list[object] = self.__dict__.setdefault("held", [])
        with suppress(queue.Empty):
            while True:
                held.append(self._inbox.get_nowait())
        if held:
            return held.pop()
        if self._launched:
            return original(self)
        return self._inbox.get()

    original = Worker._next
    return [(Worker, "_next", get)]


# --- memory ----------------------------------------------------------------------------------


def first_slot_only() -> Patches:
    """The launches of every slot are bound to the first one."""
    original = Resources._memory
    return [(Resources, "_memory", lambda self, register, slot=0: original(self, register))]


def leak() -> Patches:
    """The last chunk of a plan is not freed."""
    original = Resources.close

    def close(self: Any) -> None:
        if self._allocated:
            self._allocated.pop()
        original(self)

    return [(Resources, "close", close)]


def leak_after_failure() -> Patches:
    """What was allocated before an allocation failed is not freed."""
    original = Resources.close

    def close(self: Any) -> None:
        if len(self._chunks) < len(self._plan.chunks):
            self._allocated.clear()
        original(self)

    return [(Resources, "close", close)]


def double_free() -> Patches:
    """The first chunk of a plan is freed twice."""
    original = Resources.close

    def close(self: Any) -> None:
        self._allocated.extend(self._allocated[-1:])
        original(self)

    return [(Resources, "close", close)]


def freed_before_the_wait() -> Patches:
    """Memory is freed before anybody waits for the work that uses it."""
    original = Resources.close

    def close(self: Any) -> None:
        allocated = tuple(self._allocated)
        self._allocated.clear()
        with ExitStack() as last_first:
            last_first.callback(original, self)
            for allocator, buffer in allocated:
                last_first.callback(self._free, allocator, buffer)

    return [(Resources, "close", close)]


def results_are_shared() -> Patches:
    """Results are views of the plan's memory, which the next call writes to."""
    original = bind._Binding.foreign

    def foreign(self: Any, task: Any, call_of: Any) -> Any:
        if task.kind is not TaskKind.FOREIGN_OUTPUT:
            return original(self, task, call_of)
        register = task.inputs[0]
        buffer = self._buffer(register)
        assert isinstance(buffer, HostBuffer)
        array = buffer.array(self._plan.registers[register].spec)

        def give(number: int) -> None:
            call_of(number).results[task.foreign_name] = array

        return give

    return [(bind._Binding, "foreign", foreign)]


# --- calls -----------------------------------------------------------------------------------


def first_feed_is_kept() -> Patches:
    """What the first call was fed is fed to all that follow."""
    original = CallTable.get
    first: dict[int, Any] = {}

    def get(self: CallTable, job: int, number: int) -> Call:
        call = original(self, job, number)
        call.feeds = first.setdefault(id(self), call.feeds)
        return call

    return [(CallTable, "get", get)]


def call_of_another_number() -> Patches:
    """Acts work for the call that began last, not for the one of their number."""

    def get(self: Any, job: int, number: int) -> Call:
        calls = self._calls[job]
        return calls[max(calls)]

    return [(CallTable, "get", get)]


def over_with_the_first_result() -> Patches:
    """A call is over when its first result is there."""

    def sink_done(self: Any, job: int, number: int) -> bool:
        with self._lock:
            call = self._calls[job].pop(number, None)
        if call is None:
            return False
        call.finish()
        return True

    return [(CallTable, "sink_done", sink_done)]


def one_caller_is_told() -> Patches:
    """An error ends the first call in flight; the others wait on."""
    original = CallTable.fail

    def fail(self: Any, error: BaseException) -> None:
        for calls in self._calls.values():
            for number in sorted(calls)[1:]:
                del calls[number]
        original(self, error)

    return [(CallTable, "fail", fail)]


def engine_survives_its_error() -> Patches:
    """After an error calls go on with actors that are out of step."""
    original = Executor._restart

    def restart(self: Any) -> None:
        if self._engine is None:
            original(self)
        else:
            self._calls.error = None

    return [(Executor, "_restart", restart)]


def restarts_at_once() -> Patches:
    """After an error the next call begins while work of the failed one is still queued."""
    return [(Resources, "settle", lambda self: None)]


def error_is_dropped() -> Patches:
    """What a wait raises is taken for a hiccup."""
    original = Worker._next

    def next_(self: Any) -> object:
        context = self._context

        class Quiet:
            host_synchronous = context.host_synchronous
            stream_index = context.stream_index

            def synchronize(self) -> None:
                with suppress(Exception):
                    context.synchronize()

        self._context = Quiet()
        try:
            return original(self)
        finally:
            self._context = context

    return [(Worker, "_next", next_)]


def cause_is_lost() -> Patches:
    """The error of a run does not say why."""
    original = Executor._described

    def described(self: Any, error: BaseException, *rest: Any) -> BaseException:
        made = original(self, error, *rest)
        made.__cause__ = None
        return made

    return [(Executor, "_described", described)]


def sections_are_open() -> Patches:
    """Jobs that write the same variable run at once."""

    def request(self: Any, job: int) -> bool:
        self._entered[job] += 1
        return True

    return [(Sections, "request", request)]


def section_is_never_left() -> Patches:
    """Nobody gets a section that another job was in."""
    return [(Sections, "release", lambda self, job: ())]


# --- threads and devices ---------------------------------------------------------------------


def threads_go_on() -> Patches:
    """Closing does not stop the workers."""
    return [(threaded.ThreadedEngine, "stop", lambda self: None)]


def callers_wait_for_a_closed_job() -> Patches:
    """Closing does not end the calls that are in flight."""
    original = CallTable.fail

    def fail(self: CallTable, error: BaseException) -> None:
        if "closed while it ran" not in str(error):
            original(self, error)

    return [(CallTable, "fail", fail)]


def closes_for_all() -> Patches:
    """A device is closed when the first of its users closes."""

    def release(self: Any, tag: str, index: int) -> None:
        with self._lock:
            device, users = self._open[tag, index]
            self._open[tag, index] = (device, users - 1)
            device.close()

    return [(DevicePool, "release", release)]


def never_closes() -> Patches:
    """Devices are not closed."""
    return [(DevicePool, "release", lambda self, tag, index: None)]


def opened_twice() -> Patches:
    """Each user of a device opens it again."""
    original = DevicePool.acquire

    def acquire(self: Any, tag: str, index: int) -> object:
        kept = self._open.pop((tag, index), None)
        device = original(self, tag, index)
        if kept is not None:
            self._open[tag, index] = (device, kept[1] + 1)
        return device

    return [(DevicePool, "acquire", acquire)]


def forgets_acts() -> Patches:
    """Of several acts that a wait ended only the first is reported."""
    original = Worker._next

    def next_(self: Any) -> object:
        message = original(self)
        if isinstance(message, tuple) and isinstance(message[1], ActDone):
            self._launched.clear()
            with suppress(queue.Empty):
                while isinstance((later := self._inbox.get_nowait())[1], ActDone):
                    pass
                self._inbox.put(later)
        return message

    return [(Worker, "_next", next_)]
