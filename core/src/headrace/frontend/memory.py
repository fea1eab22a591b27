"""What the jobs of this process hold of each memory, and what is kept for the next one."""

from __future__ import annotations

import sys

from headrace.frontend.ready_job import close_dropped
from headrace.registry.registry import BackendRegistry, default_registry
from headrace.runtime import process
from headrace.runtime.devices import pool_of
from headrace.runtime.memories import MemoryStatistics
from headrace.runtime.shelter import Shelter


def memory_statistics(registry: BackendRegistry | None = None) -> tuple[MemoryStatistics, ...]:
    """What is in use and what is kept, of each memory that a job of this process ever had.

    Args:
        registry: whose devices; default: the installed plugins'.

    Raises:
        SessionError: Python is at its end.

    Example:
        >>> [one.memory for one in memory_statistics(BackendRegistry())]
        []
    """
    process.check_not_ending("what is in use cannot be told")
    devices = registry or default_registry()
    return Shelter().run(lambda: pool_of(devices).memories.statistics())


def release_cached_memory(registry: BackendRegistry | None = None) -> int:
    """Give memory that is kept for the next job back to its plugins; for other programs to use.

    Jobs keep what they hold, and so does what lies between that of jobs in one piece. It is done
    without asking when a device has no user any more, and before memory is refused to a job.

    Args:
        registry: whose devices; default: the installed plugins'.

    Returns:
        How many bytes were given back; none at the end of Python.

    Raises:
        Exception: what a plugin raised; all is given back all the same.
    """
    if sys.is_finalizing():  # see `process.gives_back`
        return 0
    close_dropped()
    devices = registry or default_registry()
    return Shelter().run(lambda: pool_of(devices).memories.release())
