"""The end of the interpreter: what is still open is closed before Python waits for its threads.

A backend may serve its streams with ordinary threads, which end when their contexts are closed.
Python joins ordinary threads first and calls ``atexit`` functions afterwards: a job that nobody
closed would keep it waiting for ever.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from collections.abc import Callable
from typing import Protocol
from weakref import WeakSet

from headrace.runtime.shelter import Shelter, finish_what_was_left


class Closable(Protocol):
    """What can be closed, also more than once."""

    def close(self) -> None:
        """Give everything back."""


_first: WeakSet[Closable] = WeakSet()
_open: WeakSet[Closable] = WeakSet()


def close_at_exit(thing: Closable, *, first: bool = False) -> None:
    """Close ``thing`` when the interpreter ends, if it is still there; it is not kept alive.

    Args:
        thing: what holds threads or devices.
        first: before what is not; for what others that are closed at exit belong to.
    """
    (_first if first else _open).add(thing)


def _still_open(things: WeakSet[Closable]) -> list[Closable]:
    while True:
        try:
            return list(things)
        except RuntimeError:  # another thread opened one meanwhile
            continue


def _close_all() -> None:
    finish_what_was_left()
    _close(_still_open(_first))
    Shelter().run(lambda: _close(_still_open(_open)))


def _close(things: list[Closable]) -> None:
    for thing in things:
        try:
            thing.close()
        except Exception as error:  # noqa: BLE001 - the others are to be closed all the same
            warnings.warn(f"{thing!r} failed to close: {error!r}", ResourceWarning, stacklevel=1)


# The place that the standard library's own executors use; where it is gone, late is better than
# never.
_register: Callable[[Callable[[], None]], object] = getattr(
    threading, "_register_atexit", atexit.register
)
_register(_close_all)
