"""When each register is alive, and how many bytes are at once.

Time is the order of the plan's tasks. A register lives from the task that writes it to the last
that reads it; weights and variables live always, scratch memory while its task runs. Bytes
that two registers share, because one is written over the other, count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.plan import Plan, RegisterDesc
from headrace.plan.covered import CoveredBytes

NEVER = -1
"""First and last task of a register that no task touches."""


def lifetimes(plan: Plan) -> list[tuple[int, int]]:
    """The first and the last task of each register; of weights and variables all tasks."""
    lives = [(NEVER, NEVER)] * len(plan.registers)
    for position, task in enumerate(plan.tasks):
        for register in (*task.inputs, *task.outputs, task.workspace):
            if register is not None:
                first = lives[register][0]
                lives[register] = (position if first == NEVER else first, position)
    end = max(0, len(plan.tasks) - 1)
    always = lasting(plan)
    return [(0, end) if register in always else life for register, life in enumerate(lives)]


def lasting(plan: Plan) -> frozenset[int]:
    """The registers that hold their value between calls: weights, and parts of variables."""
    weights = {i for i, register in enumerate(plan.registers) if register.constant is not None}
    return frozenset(weights.union(plan.persistent()))


def extent(register: RegisterDesc) -> int:
    """Bytes from the begin of the first slot to the end of the last."""
    return register.stride * (register.slots - 1) + register.spec.nbytes


def chunk_lives(plan: Plan) -> list[dict[str, Any]]:
    """For each chunk what it is, and the live bytes that do not last, from task to task.

    ``live`` is flat: (task, bytes from there on) for each change. ``peak`` is its largest value,
    ``peak_task`` the first task at which it is reached.
    """
    lives, always = lifetimes(plan), lasting(plan)
    answers = []
    for number, chunk in enumerate(plan.chunks):
        mine = [i for i, register in enumerate(plan.registers) if register.chunk == number]
        kept = [i for i in mine if i in always]
        moving = [i for i in mine if i not in always and lives[i][0] != NEVER]
        curve = _live(plan, moving, lives)
        peak_task, peak = max(curve, key=lambda point: point[1], default=(0, 0))
        answers.append(
            {
                "memory": str(chunk.memory),
                "bytes": chunk.nbytes,
                "lasting": len(kept),
                "lasting_bytes": sum(extent(plan.registers[i]) for i in kept),
                "registers": len(mine),
                "peak": peak,
                "peak_task": peak_task,
                "live": [value for point in curve for value in point],
            }
        )
    return answers


def _live(
    plan: Plan, registers: Sequence[int], lives: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The curve of live bytes: what is born at a task is there together with what dies at it."""
    births: dict[int, list[int]] = {}
    deaths: dict[int, list[int]] = {}
    for register in registers:
        first, last = lives[register]
        births.setdefault(first, []).append(register)
        deaths.setdefault(last + 1, []).append(register)
    covered = CoveredBytes()
    curve: list[tuple[int, int]] = []
    for time in sorted({*births, *deaths}):
        for register in deaths.get(time, ()):
            desc = plan.registers[register]
            covered.remove(desc.offset, desc.offset + extent(desc))
        for register in births.get(time, ()):
            desc = plan.registers[register]
            covered.add(desc.offset, desc.offset + extent(desc))
        if time < len(plan.tasks):
            curve.append((time, covered.nbytes))
    return curve
