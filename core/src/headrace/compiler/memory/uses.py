"""``Uses``: who makes and who reads each tensor, and in which chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.compiler.task_graph import TaskGraph
from headrace.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Uses:
    """Tasks are positions in the graph; in one chain a lower position is launched earlier.

    Attributes:
        chain_of: the chain of each task.
        maker: the task that makes a tensor; constants and variables have none.
        readers: the tasks that read a tensor, in order; unread ones have none.
    """

    chain_of: Sequence[int]
    maker: Mapping[str, int]
    readers: Mapping[str, Sequence[int]]

    @staticmethod
    def of(graph: TaskGraph, chains: Sequence[Sequence[int]]) -> Uses:
        """Gather them in one pass over the tasks."""
        chain_of = [0] * len(graph.tasks)
        for number, chain in enumerate(chains):
            for position in chain:
                chain_of[position] = number
        maker: dict[str, int] = {}
        readers: dict[str, list[int]] = {}
        for position, task in enumerate(graph.tasks):
            for name in task.outputs:
                if not graph.tensors[name].persists:
                    maker[name] = position
            for read in dict.fromkeys(task.inputs):
                if read is not None:
                    readers.setdefault(read, []).append(position)
        return Uses(chain_of, maker, readers)

    def readers_of(self, name: str) -> Sequence[int]:
        """The tasks that read ``name``."""
        return self.readers.get(name, ())
