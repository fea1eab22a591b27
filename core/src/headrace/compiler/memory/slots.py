"""Slots: which storages hold several pieces, so that calls of a job overlap.

Who writes a register of one slot waits until all who read it are done: while a piece is worked on,
the next one cannot even be copied to the device. With two slots a stage writes the next piece while
the stage behind it reads this one, and stages of equal length leave no gap. A third slot would even
out stages that take now more and now less time, for half as much memory again, and is not planned.

Only what goes from chain to chain needs them. What a chain has for itself is used up within an act,
and the acts of a stream are done one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.compiler.memory.storage import Sharing
from headrace.compiler.memory.uses import Uses
from headrace.compiler.task_graph import TaskGraph

SLOTS = 2
"""Of a register between two chains of a job whose calls may overlap."""


def overlapping_jobs(graph: TaskGraph) -> frozenset[int]:
    """Positions of the jobs of which several calls may be under way, with what serves them."""
    return frozenset(
        position for position, job in enumerate(graph.jobs) if graph.jobs[job.serves].width > 1
    )


def several_slots(graph: TaskGraph, uses: Uses, sharing: Sharing) -> Mapping[str, int]:
    """How many slots storages have that have more than one, by the name of their root.

    All tensors of a storage lie in the slot of their piece, also those that one chain uses alone.
    """
    overlapping = overlapping_jobs(graph)
    slots: dict[str, int] = {}
    if not overlapping:
        return slots
    for name, position in uses.maker.items():
        maker = uses.chain_of[position]
        if graph.tasks[position].job in overlapping and any(
            uses.chain_of[reader] != maker for reader in uses.readers_of(name)
        ):
            slots[sharing.storages[name].root.name] = SLOTS
    return slots
