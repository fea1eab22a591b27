"""``Gate``: calls go through it side by side; who changes what they use does so alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
        self._lock = threading.Lock()
        self._opened = threading.Condition(self._lock)
        self._is_closed = False
        self._inside: list[Visit] = []  # and some that have left

    def enter(self, visit: Visit) -> None:
        """Go in, once nobody is or wants to be alone; ``visit`` is held already."""
        with self._lock:
            while self._is_closed:
                self._opened.wait()
            self._inside = [v for v in self._inside if v.locked()]
            self._inside.append(visit)

    def turn_back(self, visit: Visit) -> None:
        """Go out again, and keep ``visit``."""
        with self._lock:
            self._inside.remove(visit)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Wait until nobody else changes anything; others may be inside. Not to be nested."""
        with self._changing:
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until all are out and let nobody in; within ``changing``, and not to be nested."""
        try:
            with self._lock:
                self._is_closed = True
                inside = tuple(self._inside)
            for visit in inside:
                with suppress(RuntimeError), visit:  # who is out may leave again, and take it away
                    pass
            yield
        finally:
            with self._lock:
                self._is_closed = False
                self._opened.notify_all()
