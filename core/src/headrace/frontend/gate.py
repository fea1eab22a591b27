"""``Gate``: calls go through it side by side; who changes what they use does so alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from headrace.runtime.bus import Changed

T = TypeVar("T")

Visit = threading.Lock
"""What a visitor holds while it is inside."""


class Gate:
    """Many inside, or one alone.

    A change is prepared while others go on, and takes place when they are out: ``changing`` is for
    one thread at a time, and within it ``alone`` keeps everybody else out.

    Who goes in holds a lock of its own, a ``Visit``, and is out when that is released. Nothing else
    is to be done on the way out, so that Ctrl-C has no moment to leave a visitor inside for ever:
    it comes between two steps of Python, and the ``with`` statement of a lock has none.
    """

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._changed = Changed()
        self._is_closed = False
        self._inside: list[Visit] = []  # and some that have left

    def enter(self, visit: Visit, look: Callable[[], T | None]) -> T | None:
        """Go in for what ``look`` finds there, once nobody is or wants to be alone.

        Args:
            visit: held by the caller already; it is in until it lets go.
            look: what it comes for; it stays as it is while somebody is inside.

        Returns:
            What was found; None if nothing was, and then the caller is not in.
        """
        with self._changed.lock:
            while self._is_closed:
                self._changed.wait()
            found = look()
            if found is not None:
                self._inside = [v for v in self._inside if v.locked()]
                self._inside.append(visit)
            return found

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Wait until nobody else changes anything; others may be inside. Not to be nested."""
        with self._changing:
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until all are out and let nobody in; within ``changing``, and not to be nested."""
        try:
            with self._changed.lock:
                self._is_closed = True
                inside = tuple(self._inside)
            for visit in inside:
                with suppress(RuntimeError), visit:  # who is out may leave again, and take it away
                    pass
            yield
        finally:
            try:
                self._open()
            finally:
                self._open()  # again: Ctrl-C may have come before

    def _open(self) -> None:
        with self._changed.lock:
            self._is_closed = False
            self._changed.tell()
