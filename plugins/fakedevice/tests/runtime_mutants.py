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
from headrace.runtime import bind, group
from headrace.runtime.actor import Actor
from headrace.runtime.commands import Act, Publish, Return
from headrace.runtime.events import ActDone, RegisterReady, RegisterReturned
from headrace.runtime.network import Network
from headrace.runtime.resources import Resources
from headrace.runtime.runner import Runner
from headrace.runtime.weights import WeightLoader
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
        if self._launched:
            return original(self)
        return self._inbox.get()

    original = Worker._next
    return [(Worker, "_next", get)]


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
