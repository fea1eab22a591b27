"""Does a plan fit? Asked before any of its memory is allocated, with an answer one can act on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from headrace.errors import ResourceLimitError, UnsupportedError
from headrace.plan import Plan, RegisterDesc, TaskDesc, TaskKind
from headrace.settings import nbytes

SHOWN = 3
"""How many registers a message names."""


FreeBytes = Callable[[str, int], int | None]
"""What a device, by tag and index, has left; None where it cannot tell."""

UsedBytes = Callable[[str], int]
"""What the jobs of this process hold in a place."""

LargestUsers = Callable[[str], str]
"""Those that hold most of it, in words."""


def stated_memory_limit() -> int | None:
    """``HEADRACE_MEMORY_LIMIT``: bytes that this process may hold of the memory of each device, and
    of the host's; None when it is not set.

    Raises:
        SettingError: the variable is not a number of bytes.
    """
    return nbytes("HEADRACE_MEMORY_LIMIT")


def check_limit(
    plan: Plan,
    sizes: Sequence[int],
    used_bytes: UsedBytes,
    largest_users: LargestUsers,
    limit: int,
) -> None:
    """With what other jobs hold, the chunks take no more than ``limit`` bytes of any place.

    Args:
        plan: which has the chunks.
        sizes: bytes of each that are to be allocated.
        used_bytes, largest_users: tell what is held.
        limit: for each place.

    Raises:
        ResourceLimitError: they do; names the place, the largest registers and what makes them.
    """
    chunks: dict[str, list[int]] = {}
    for number, chunk in enumerate(plan.chunks):
        chunks.setdefault(chunk.memory.place, []).append(number)
    for place, mine in chunks.items():
        planned, used = sum(sizes[number] for number in mine), used_bytes(place)
        if planned + used > limit:
            others = f", of which other jobs hold {used:,} ({largest_users(place)})" if used else ""
            raise ResourceLimitError(
                f"job {plan.name!r} needs {planned:,} bytes of {place} and the limit is {limit:,}"
                f"{others}; nothing was allocated. {_largest(plan, mine)}. Make the inputs "
                "smaller, or raise HEADRACE_MEMORY_LIMIT"
            )


def check_machines(plan: Plan) -> None:
    """All of it is on the one machine that this process runs.

    Raises:
        UnsupportedError: it is not; names a machine that has work as well.
    """
    machines = {actor.stream_id.device_id.rank for actor in plan.actors}
    machines |= {chunk.memory.machine for chunk in plan.chunks}
    others = sorted(machines - {0})
    if others:
        raise UnsupportedError(
            f"plan {plan.name!r} is for {len(machines)} machines and has work on machine "
            f"{others[0]}; this process runs machine 0 alone, and there is no transport between "
            "processes yet. Such a plan can be compiled, looked at and simulated"
        )


def host_memory_limit() -> int:
    """Three quarters of the host's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


def check_host(plan: Plan, free_bytes: FreeBytes, limit: int) -> None:
    """What lies in the host's memory, or may, takes no more than ``limit`` bytes of it.

    A device that says what it has left answers for itself: it may have more than the host.

    Raises:
        ResourceLimitError: it does; names the largest registers and what makes them.
    """
    mine = [
        number
        for number, chunk in enumerate(plan.chunks)
        if chunk.memory.is_host or free_bytes(chunk.memory.tag, chunk.memory.device_index) is None
    ]
    planned = sum(plan.chunks[number].nbytes for number in mine)
    if planned > limit:
        raise ResourceLimitError(
            f"job {plan.name!r} needs {planned:,} bytes of the host's memory, and three quarters "
            f"of that are {limit:,}; nothing was allocated. {_largest(plan, mine)}. Make the "
            "inputs smaller, or set HEADRACE_MEMORY_LIMIT to what it may take"
        )


def check_devices(plan: Plan, free_bytes: FreeBytes, largest_users: LargestUsers) -> None:
    """The chunks of each device fit into what it has left.

    Raises:
        ResourceLimitError: they do not; names the device, the jobs that hold most of it, the
            plan's largest registers and what makes them.
    """
    chunks: dict[tuple[str, int], list[int]] = {}
    for number, chunk in enumerate(plan.chunks):
        if not chunk.memory.is_host:
            chunks.setdefault((chunk.memory.tag, chunk.memory.device_index), []).append(number)
    for (tag, index), mine in chunks.items():
        planned = sum(plan.chunks[number].nbytes for number in mine)
        free = free_bytes(tag, index)
        if free is not None and planned > free:
            users = largest_users(plan.chunks[mine[0]].memory.place)
            others = f" beside the jobs of this process ({users})" if users else ""
            raise ResourceLimitError(
                f"job {plan.name!r} needs {planned:,} bytes on {tag}:{index}, which has {free:,} "
                f"left{others}; nothing was allocated. {_largest(plan, mine)}. Make the inputs "
                "smaller, place part of the job on another device, or close a session that uses "
                "this one"
            )


def _largest(plan: Plan, chunks: Sequence[int]) -> str:
    """The largest registers in some chunks, each with what makes it."""
    makers = _makers(plan)
    registers = [
        (register, makers.get(number))
        for number, register in enumerate(plan.registers)
        if register.chunk in chunks and not _lies_on_another(number, makers.get(number))
    ]
    largest = sorted(registers, key=lambda pair: -_nbytes(pair[0]))[:SHOWN]
    named = [
        f"{register.name} {register.spec} ({_nbytes(register):,} bytes, {_origin(register, task)})"
        for register, task in largest
    ]
    return f"Of {len(registers)} registers the largest are: {'; '.join(named)}"


def _makers(plan: Plan) -> dict[int, TaskDesc]:
    """The task that writes each register, or uses it as scratch memory."""
    return dict(_made(plan.tasks))


def _made(tasks: Sequence[TaskDesc]) -> Iterator[tuple[int, TaskDesc]]:
    for task in tasks:
        for register in task.outputs:
            yield register, task
        if task.workspace is not None:
            yield task.workspace, task


def _lies_on_another(register: int, task: TaskDesc | None) -> bool:
    """True when the register has no bytes of its own: a view, or written over an input."""
    if task is None:
        return False
    over = [task.outputs[o] for _, o in task.in_place]
    return register in over or (task.kind is TaskKind.VIEW and register in task.outputs)


def _nbytes(register: RegisterDesc) -> int:
    return register.spec.nbytes * register.slots


def _origin(register: RegisterDesc, task: TaskDesc | None) -> str:
    if register.constant is not None:
        return "a weight"
    if task is None:
        return "a variable"
    what = str(task.call) if task.call is not None else task.name
    return f"made by {what}" if register.name != f"{task.name}#workspace" else f"scratch of {what}"
