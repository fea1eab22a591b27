"""``deterministic``: puts a schedule in the place of threads for the time of a block."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from headrace import frontend, runtime
from headrace.testing.deterministic.primitives import primitives
from headrace.testing.deterministic.schedule import LeftBehindError, Schedule, Strand

_ALSO = ("concurrent.futures._base",)  # futures that callers of core are given
_LATE = (runtime, frontend)  # a module that is imported inside would have real threads


@contextmanager
def deterministic(seed: int, *, in_time_order: bool = False) -> Iterator[Schedule]:
    """Let the threads that core starts in the block take turns, in an order that ``seed`` says.

    Sessions and jobs are made and closed inside the block: what was made outside has real locks.
    A test starts threads of its own with ``start`` of the schedule. Only one block at a time.

    Args:
        seed: any number; equal ones give equal runs.
        in_time_order: always let the thread go on whose clock is most behind, to measure virtual
            time; otherwise any may, to search for bugs.

    Yields:
        The schedule. It has ``now()`` and ``advance(time)``, as the clock of a device asks for.

    Raises:
        DeadlockError: nobody could go on.
        LeftBehindError: a thread was left at the end of the block.
        BaseException: what ended a thread that nobody has joined.
    """
    schedule = Schedule(seed, in_time_order)
    undo: list[tuple[ModuleType, str, object]] = []
    replaced = primitives(schedule)
    for module in _modules():
        for name, value in tuple(vars(module).items()):
            if id(value) in replaced:
                undo.append((module, name, value))
                setattr(module, name, replaced[id(value)])
    left: tuple[Strand, ...] = ()
    try:
        yield schedule
    finally:
        try:
            left = schedule.end()
        finally:
            for module, name, value in undo:
                setattr(module, name, value)
    schedule.check_errors()
    if left:
        raise LeftBehindError("threads are left at the end: " + "; ".join(map(str, left)))


def _modules() -> list[ModuleType]:
    for package in _LATE:
        for found in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name in _ALSO
        or (name.partition(".")[0] == "headrace" and not name.startswith("headrace.testing."))
    ]
