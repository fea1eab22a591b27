"""What the jobs of this process hold of each memory, and what is kept for the next one."""

from __future__ import annotations

from headrace.frontend.ready_job import close_dropped
from headrace.registry.registry import BackendRegistry, default_registry
from headrace.runtime.devices import pool_of
from headrace.runtime.memories import MemoryStatistics
from headrace.runtime.shelter import Shelter


def memory_statistics(registry: BackendRegistry | None = None) -> tuple[MemoryStatistics, ...]:
    """What is in use and what is kept, of each memory that a job of this process ever had.

    Args:
        registry: whose devices; default: the installed plugins'.

    Example:
        >>> [one.memory for one in memory_statistics(BackendRegistry())]
        []
    """
    return pool_of(registry or default_registry()).memories.statistics()


def release_cached_memory(registry: BackendRegistry | None = None) -> int:
    """Give memory that is kept for the next job back to its plugins; for other programs to use.

    Jobs keep what they hold, and so does what lies between that of jobs in one piece. It is done
    without asking when a device has no user any more, and before memory is refused to a job.

    Args:
        registry: whose devices; default: the installed plugins'.

    Returns:
        How many bytes were given back.

    Raises:
        Exception: what a plugin raised; all is given back all the same.
    """
    close_dropped()
    return Shelter().run(pool_of(registry or default_registry()).memories.release)
