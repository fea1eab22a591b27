"""Stages: what compiling makes on its way, and who is told.

The pipeline tells a ``Watch`` every stage by name. The verifier is one, what keeps stages to be
shown is another, and ``nobody`` is the one that costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.compiler.memory.plan_memory import MemoryPlan
from headrace.compiler.op_graph import OpGraph
from headrace.compiler.sharding.log import BoxingLog
from headrace.compiler.task_graph import TaskGraph
from headrace.graph import JobGraph
from headrace.light_dataclass import dataclass
from headrace.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Chained:
    """A task graph and its chains: positions of tasks, in launch order."""

    tasks: TaskGraph
    chains: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """Chains and where their tensors lie."""

    tasks: TaskGraph
    chains: Sequence[Sequence[int]]
    memory: MemoryPlan


@dataclass(frozen=True, slots=True, eq=False)
class Emitted:
    """The plan and what it was made of."""

    tasks: TaskGraph
    chains: Sequence[Sequence[int]]
    memory: MemoryPlan
    plan: Plan


Structure = JobGraph | BoxingLog | OpGraph | TaskGraph | Chained | Planned | Emitted
"""What a stage makes. All of it is immutable and may be kept."""

Watch = Callable[[str, Structure], None]
"""Is told the name of a stage and what it made, as soon as it is made."""


def nobody(stage: str, structure: Structure) -> None:
    """The watch that looks away."""
