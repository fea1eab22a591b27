"""What the page knows: the plan in columns, as it is put into the page.

Texts that come again and again are stored once, in ``strings``; columns hold their numbers. Sizes
are bytes. Positions are those of the plan: task 3 is ``plan.tasks[3]``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.light_dataclass import dataclass
from headrace.page.graph import op_graph
from headrace.page.lanes import lanes
from headrace.page.memory import chunk_lives, lifetimes
from headrace.page.timeline import timeline
from headrace.plan import COPIES, OP_KINDS, JobKind, Plan, TaskDesc, TaskKind
from headrace.plan.names import stream_name
from headrace.timeline import TaskSpan

FORMAT = 2
"""Of the data; raised when its meaning changes."""


@dataclass(frozen=True, slots=True)
class OpNote:
    """How the op of a task runs.

    Attributes:
        how: ``kernel``, ``decomposed`` or ``fallback``.
        kernel: what runs it: package, op, and what the kernel matches.
        why: why not by a kernel of its own device; empty otherwise.
        part_of: the op of the job that it is a part of; empty for one that stayed as it was.
    """

    how: str
    kernel: str
    why: str = ""
    part_of: str = ""


@dataclass(frozen=True, slots=True)
class StageNote:
    """A pass over the job graph: its name, how many ops it left, and whether it changed any."""

    name: str
    ops: int
    changed: bool


class _Strings:
    """Texts by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


def page_data(
    plan: Plan,
    notes: Mapping[str, OpNote],
    stages: Sequence[StageNote],
    spans: Sequence[TaskSpan] = (),
) -> dict[str, Any]:
    """The whole of it, of types that JSON has."""
    strings = _Strings()
    return {
        "format": FORMAT,
        "name": plan.name,
        "jobs": [[job.kind.value, job.name] for job in plan.jobs],
        "stages": [[note.name, note.ops, note.changed] for note in stages],
        "copied": _copied(plan),
        "tasks": _tasks(plan, notes, strings),
        "graph": op_graph(plan),
        "lanes": lanes(plan),
        "registers": _registers(plan, strings),
        "chunks": chunk_lives(plan),
        "timeline": timeline(plan, spans) if spans else None,
        "strings": strings.texts,
    }


def device_name(plan: Plan, task: TaskDesc) -> str:
    """The device of a task, as ``tag:index``."""
    return stream_name(plan, task.task_id.stream_id).partition("/")[0]


def _copied(plan: Plan) -> list[list[object]]:
    """(kind, from memory, to memory, how many, bytes) of what calls of users' jobs copy."""
    counts = Counter[tuple[str, str, str]]()
    nbytes = Counter[tuple[str, str, str]]()
    for task in plan.tasks:
        called = plan.jobs[plan.jobs[task.job].serves]
        if task.kind not in COPIES or called.kind is not JobKind.USER or task.inputs[0] is None:
            continue
        source, made = plan.registers[task.inputs[0]], plan.registers[task.outputs[0]]
        key = (
            task.kind.value,
            str(plan.chunks[source.chunk].memory),
            str(plan.chunks[made.chunk].memory),
        )
        counts[key] += 1
        nbytes[key] += made.spec.nbytes
    return [[*key, counts[key], nbytes[key]] for key in sorted(counts)]


def _tasks(plan: Plan, notes: Mapping[str, OpNote], strings: _Strings) -> dict[str, list[Any]]:
    nothing = OpNote("", "")
    columns: dict[str, list[Any]] = {
        name: []
        for name in (
            "name", "kind", "op", "device", "attrs", "sbp", "location", "how", "kernel", "why",
            "part_of", "job", "actor", "inputs", "outputs", "over", "workspace",
        )
    }  # fmt: skip
    for task in plan.tasks:
        call = task.call
        note = notes.get(task.name, nothing) if task.kind in OP_KINDS else nothing
        attrs = "" if call is None else "\n".join(f"{k} = {v}" for k, v in call.attrs.items())
        for name, value in (
            ("name", task.name),
            ("kind", strings(task.kind.value)),
            ("op", strings(task.kind.value if call is None else call.op)),
            ("device", strings(device_name(plan, task))),
            ("attrs", strings(attrs)),
            ("sbp", strings("" if task.sbp is None else str(task.sbp))),
            ("location", strings("" if call is None else call.location)),
            ("how", strings(note.how)),
            ("kernel", strings(note.kernel)),
            ("why", strings(note.why)),
            ("part_of", strings(note.part_of)),
            ("job", task.job),
            ("actor", task.actor),
            ("inputs", [-1 if register is None else register for register in task.inputs]),
            ("outputs", list(task.outputs)),
            ("over", [[task.inputs[i], task.outputs[o]] for i, o in _shared(task)]),
            ("workspace", -1 if task.workspace is None else task.workspace),
        ):
            columns[name].append(value)
    return columns


def _shared(task: TaskDesc) -> tuple[tuple[int, int], ...]:
    """Positions of an input and an output that are the same bytes."""
    return ((0, 0),) if task.kind is TaskKind.VIEW else task.in_place


def _registers(plan: Plan, strings: _Strings) -> dict[str, list[Any]]:
    lives, variables = lifetimes(plan), plan.persistent()
    return {
        "name": [register.name for register in plan.registers],
        "spec": [strings(str(register.spec)) for register in plan.registers],
        "bytes": [register.spec.nbytes for register in plan.registers],
        "slots": [register.slots for register in plan.registers],
        "stride": [register.stride for register in plan.registers],
        "chunk": [register.chunk for register in plan.registers],
        "offset": [register.offset for register in plan.registers],
        "lasting": [
            "weight" if register.constant is not None else "variable" if i in variables else ""
            for i, register in enumerate(plan.registers)
        ],
        "first": [life[0] for life in lives],
        "last": [life[1] for life in lives],
    }
