"""Binding: the tasks of an actor, with their buffers fixed, as one call for each act.

An act uses slot ``number % slots`` of every register, so there are as many bound sequences as the
least common multiple of the slot counts; usually one. Nothing is looked up when an act is launched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

from headrace.device import Buffer, DeviceContext, HostBuffer, KernelEntry, Launch, OpCall
from headrace.errors import PlanError, PluginError
from headrace.ids import KernelName, StreamId
from headrace.initializer import initial_value
from headrace.plan import CORE_KINDS, ActorDesc, Plan, TaskDesc, TaskKind
from headrace.registry.guarded import workspace_bytes
from headrace.registry.named_kernels import NamedKernels
from headrace.registry.record import RAISED, plugin_error
from headrace.registry.registry import BackendRegistry
from headrace.runtime.bus import Exchange
from headrace.runtime.group import GroupContext
from headrace.runtime.resources import Resources

if TYPE_CHECKING:  # plans are seldom recorded, and lists of kernels not made for those kept
    from headrace.registry.tables import KernelTable
    from headrace.runtime.recorder import Recorder

LaunchAct = Callable[[int], None]
"""Launches the act of this number."""


def bind_actor(
    plan: Plan,
    actor: ActorDesc,
    resources: Resources,
    registry: BackendRegistry,
    call_of: Callable[[int], Exchange],
    recorder: Recorder | None = None,
) -> LaunchAct:
    """The launch of one actor; with a recorder, its tasks one by one, nothing captured.

    Raises:
        PlanError: a device has no kernel for an op of the plan.
    """
    tasks = [plan.tasks[position] for position in actor.tasks]
    context = resources.contexts[actor.stream_id]
    used = set[int | None]().union(*[t.inputs for t in tasks], *[t.outputs for t in tasks])
    phases = math.lcm(*[plan.registers[r].slots for r in used if r is not None])
    bound = []
    for phase in range(phases):
        binding = _Binding(plan, resources, registry, actor.stream_id, phase)
        acts: list[LaunchAct]
        if tasks[0].kind in CORE_KINDS:
            acts = [binding.foreign(task, call_of) for task in tasks]
        else:
            launches = [binding.launch(t) for t in tasks if t.kind is not TaskKind.VIEW]
            acts = [
                partial(_without_number, launch)
                for launch in (launches if recorder else [_captured(context, launches)])
            ]
        if recorder:
            done = [p for p in actor.tasks if plan.tasks[p].kind is not TaskKind.VIEW]
            acts = [
                recorder.timed(position, step, act, context)
                for step, (position, act) in enumerate(zip(done, acts, strict=True))
            ]
        bound.append(acts)
    return _by_phase(bound)


def _captured(context: DeviceContext, launches: Sequence[Launch]) -> Launch:
    return _launch_of(
        partial(context.capture, launches), lambda: f"capture of {type(context).__name__}"
    )


def _launch_of(make: Callable[[], object], what: Callable[[], str]) -> Launch:
    """What a plugin makes, if it is a launch; ``what`` says in errors what made it."""
    try:
        launch = make()
    except RAISED as error:
        raise plugin_error(what(), error) from error
    if not callable(launch):
        raise PluginError(f"{what()} returned {launch!r}; it must return a launch, to be called")
    return cast("Launch", launch)


def _without_number(launch: Launch, number: int) -> None:
    launch()


def _by_phase(bound: Sequence[Sequence[LaunchAct]]) -> LaunchAct:
    if len(bound) == 1 and len(bound[0]) == 1:
        return bound[0][0]

    def launch(number: int) -> None:
        for step in bound[number % len(bound)]:
            step(number)

    return launch


class _Binding:
    """Buffers and kernels of one phase."""

    def __init__(
        self,
        plan: Plan,
        resources: Resources,
        registry: BackendRegistry,
        stream_id: StreamId,
        phase: int,
    ) -> None:
        self._plan = plan
        self._resources = resources
        self._registry = registry
        self._context = resources.contexts[stream_id]
        self._phase = phase
        self._buffers: dict[int, Buffer] = {}
        self._tag = plan.device_types.tag(stream_id.device_id.device_type)

    def launch(self, task: TaskDesc) -> Launch:
        """The launch of a task on a device."""
        if task.kind is TaskKind.COMPUTE:
            return self._compute(task)
        if task.kind is TaskKind.COLLECTIVE:
            return self._exchange(task)
        (source,), (destination,) = task.inputs, task.outputs
        assert source is not None
        # By name and one alone: a context need not have copies that no device claims.
        copy: Callable[[Buffer, Buffer], None] = getattr(self._context, task.kind.value)
        return partial(copy, self._buffer(destination), self._buffer(source))

    def foreign(self, task: TaskDesc, call_of: Callable[[int], Exchange]) -> LaunchAct:
        """The launch of a task that core does itself: it takes from or gives to the caller."""
        name = task.foreign_name
        register = task.outputs[0] if task.outputs else task.inputs[0]
        assert register is not None
        buffer = self._buffer(register)
        assert isinstance(buffer, HostBuffer)
        array = buffer.array(self._plan.registers[register].spec)

        def take(number: int) -> None:
            array[...] = call_of(number).feeds[name]

        def give(number: int) -> None:
            call_of(number).results[name] = array.copy()

        def initialize(number: int) -> None:
            variable = self._plan.variable(name)
            array[...] = initial_value(variable.initializer, variable.spec, variable.seed)

        steps = {TaskKind.FOREIGN_INPUT: take, TaskKind.FOREIGN_OUTPUT: give}
        return steps.get(task.kind, initialize)

    def _compute(self, task: TaskDesc) -> Launch:
        call = task.call
        assert call is not None
        kernel = self._entry(call, task.kernel).create(call)
        inputs = [None if r is None else self._buffer(r) for r in task.inputs]
        outputs = [self._buffer(r) for r in task.outputs]
        workspace = None if task.workspace is None else self._buffer(task.workspace)
        # A plan may be from another machine, where the kernel needed less: it would write past
        # the end of what was planned for it.
        needed = workspace_bytes(kernel, call, self._tag)
        if needed > (0 if workspace is None else workspace.nbytes):
            raise PlanError(
                f"{call}: its kernel on device {self._tag!r} needs {needed} bytes of scratch "
                f"memory here, and the plan has {workspace.nbytes if workspace else 0}; compile "
                "again"
            )
        return _launch_of(
            partial(kernel.bind, self._context, inputs, outputs, workspace),
            lambda: f"bind of the kernel for {call} on device {self._tag!r}",
        )

    def _entry(self, call: OpCall, name: KernelName | None) -> KernelEntry:
        if name is not None:
            return self._named.entry(call.op, name)
        entry = self._kernels.select(call)
        if entry is None:
            raise PlanError(f"{call}: device {self._tag!r} has no kernel for it; compile again")
        return entry

    @cached_property
    def _named(self) -> NamedKernels:
        return self._registry.driver(self._tag).named

    @cached_property
    def _kernels(self) -> KernelTable:
        return self._registry.backend(self._tag).kernels

    def _exchange(self, task: TaskDesc) -> Launch:
        call = task.call
        assert call is not None
        assert isinstance(self._context, GroupContext)
        entry = self._registry.backend(self._tag).collectives.select(call)
        if entry is None:
            raise PlanError(
                f"{call}: device {self._tag!r} offers no such collective; compile again"
            )
        inputs = [self._buffer(r) for r in task.inputs if r is not None]
        outputs = [self._buffer(r) for r in task.outputs]
        return _launch_of(
            partial(entry.create(call).bind, self._context.members, inputs, outputs),
            lambda: f"bind of the collective {call} on device {self._tag!r}",
        )

    def _buffer(self, register: int) -> Buffer:
        buffer = self._buffers.get(register)
        if buffer is None:  # once for its producer and all its readers
            desc = self._plan.registers[register]
            buffer = self._resources.buffer(desc, self._phase % desc.slots)
            self._buffers[register] = buffer
        return buffer
