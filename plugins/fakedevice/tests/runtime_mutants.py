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
from headrace.runtime import bind, group, launcher
from headrace.runtime.actor import Actor
from headrace.runtime.commands import Act, Publish, Return
from headrace.runtime.events import ActLaunched, RegisterReady, RegisterReturned
from headrace.runtime.launcher import Launcher
from headrace.runtime.network import Network
from headrace.runtime.resources import Resources
from headrace.runtime.runner import Runner
from headrace.runtime.weights import WeightLoader
from headrace.runtime.worker import Worker

Patches = list[tuple[object, str, object]]

# --- waits -----------------------------------------------------------------------------------


def lost_wait() -> Patches:
    """Streams do not wait for what other streams of devices do."""

    def waiting(context: Any, before: Any) -> Any:
        if context.host_synchronous:
            return original(context, before)
        return lambda event: None

    original = launcher._waiting
    return [(launcher, "_waiting", waiting)]


def report_before_launch() -> Patches:
    """Who comes after an act is told of it, and then it is launched."""

    def launch(self: Any, actor_id: ActorId, number: int) -> None:
        self._runner.deliver(actor_id, ActLaunched(number))
        self._doing = ((actor_id, number),)
        self._launcher.launches[actor_id](number)
        self._doing = ()
        if actor_id in self._sinks:
            self._sink_done(actor_id, number)

    return [(Worker, "_launch", launch)]


def no_wait_for_copies_out() -> Patches:
    """The host takes what is copied to it to be there when the copy was asked for."""
    return [(launcher, "wait_for", lambda event: None)]


def inputs_are_not_kept() -> Patches:
    """The host writes the next input over one that is still being copied to a device."""
    original = launcher.comes_after

    def comes_after(network: Network, actor_id: ActorId) -> Any:
        if network.wirings[actor_id].is_source:
            return ()
        return original(network, actor_id)

    return [(launcher, "comes_after", comes_after)]


def slots_are_reused_at_once() -> Patches:
    """A stream writes over what other streams have yet to read."""
    original = launcher.comes_after

    def comes_after(network: Network, actor_id: ActorId) -> Any:
        return tuple((other, lag) for other, lag in original(network, actor_id) if not lag)

    return [(launcher, "comes_after", comes_after)]


def event_of_the_act_before() -> Patches:
    """Of an actor the event behind the act before is waited for: it is off by one."""
    original = launcher.comes_after

    def comes_after(network: Network, actor_id: ActorId) -> Any:
        return tuple((other, lag + 1) for other, lag in original(network, actor_id))

    return [(launcher, "comes_after", comes_after)]


def one_event_is_waited_for() -> Patches:
    """Of several events that an act comes behind, the last one alone is waited for."""
    original = launcher.comes_after

    def comes_after(network: Network, actor_id: ActorId) -> Any:
        return original(network, actor_id)[-1:]

    return [(launcher, "comes_after", comes_after)]


def marked_before_the_launch() -> Patches:
    """The event behind an act is recorded before the act is launched."""
    original = launcher._ordered

    def ordered(launch: Any, waits: Any, marks: Any, record: Any, order: Any) -> Any:
        early: list[Any] = []

        def launch_late(number: int) -> None:
            if marks:
                early.append(record())
            launch(number)

        return original(launch_late, waits, marks, lambda: early.pop(), order)

    return [(launcher, "_ordered", ordered)]


def nothing_is_recorded() -> Patches:
    """No event is put behind an act: who waits finds one that says it was reached."""
    original = launcher._ordered

    def ordered(launch: Any, waits: Any, marks: Any, record: Any, order: Any) -> Any:
        return original(launch, waits, marks, launcher.Event, order)

    return [(launcher, "_ordered", ordered)]


def one_event_for_a_stream() -> Patches:
    """A stream has one event, which is recorded anew while others may wait for it."""
    original = launcher._ordered
    held: dict[object, Any] = {}

    def ordered(launch: Any, waits: Any, marks: Any, record: Any, order: Any) -> Any:
        def again() -> Any:
            stream = record.__self__
            if stream not in held:
                held[stream] = record()
                return held[stream]
            stream._stream._queue.append(held[stream])  # as it is: it may have been reached
            return held[stream]

        return original(launch, waits, marks, again if marks else record, order)

    return [(launcher, "_ordered", ordered)]


def ends_when_launched() -> Patches:
    """A call is over when its last act is launched, if no result is waited for."""
    return [(Launcher, "works_later", lambda self, actor_id: False)]


def last_failure_is_told() -> Patches:
    """Of work that failed one after another, the last is said to have failed."""

    def first_failed(self: Any, told: ActorId) -> Any:
        marks = [(m, a) for a, kept in enumerate(self._marks) for m in kept if m[0] >= 0]
        for (_, number, event), actor_id in sorted(marks, key=lambda m: -m[0][0]):
            try:
                event.synchronize()
            except Exception as error:  # noqa: BLE001 - whatever a plugin raises
                return (ActorId(actor_id), number), error
        return None

    return [(Launcher, "first_failed", first_failed)]


def exchange_does_not_wait() -> Patches:
    """An exchange among devices begins before what it exchanges is there."""
    return [(group.GroupContext, "wait_event", lambda self, event: None)]


def weights_without_wait() -> Patches:
    """Weights are copied in, and nobody waits before their sources are let go of."""
    return [(WeightLoader, "finish", lambda self: self._sources.clear())]


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


def returned_before_the_launch() -> Patches:
    """What an act reads is given back, and then the act is launched."""

    def deliver(self: Any, actor_id: ActorId, event: object) -> None:
        actor, commands = self._actors[actor_id].on(event)
        self._actors[actor_id] = actor
        for command in commands:
            match command:
                case Act(number=number):
                    for register in actor.wiring.consumed:
                        self._post(self._producers[register], RegisterReturned(register, actor_id))
                    self._launch(actor_id, number)
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

    def counted(self: Actor, arrived: Any, returned: Any, calls: int, risen: int) -> object:
        bounds = [max(arrived.values())] if arrived else [calls]
        bounds += (count + self.wiring.slots[r] for (r, _), count in returned.items())
        limit = max(min(bounds), self.started)
        state = replace(self, arrived=arrived, returned=returned, calls=calls, started=limit)
        return state, tuple(map(Act, range(self.started, limit)))

    return [(Actor, "_counted", counted)]


def last_message_first() -> Patches:
    """An inbox gives the message that came last, of whomever it came."""

    def get(self: Any) -> object:
        held: list[object] = self.__dict__.setdefault("held", [])
        with suppress(queue.Empty):
            while True:
                held.append(self._inbox.get_nowait())
        if held:
            return held.pop()
        return original(self)

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
