"""``Gate``: calls go through it side by side; who changes what they use does so alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

Lock = threading.Lock

Visit = threading.Lock
"""What a visitor holds while it is inside."""


class Gate:
    """Many inside, or one alone (elsewhere: a readers-writer lock).

    A change is prepared while others go on, and takes place when they are out: who holds
    ``changing`` may take ``alone`` within it, which nobody gets past, and ``wait_until_out``.

    Who goes in holds a lock of its own, a ``Visit``, and is out when that is released. Nothing else
    is to be done on the way out, so that Ctrl-C has no moment to leave a visitor inside for ever:
    it comes between two steps of Python, and the ``with`` statement of a lock has none. A context
    manager that is written in Python has; so there is none here.

    Attributes:
        changing: held by who changes anything, or is about to; others may be inside.
        alone: held by who lets nobody in.
    """

    def __init__(self) -> None:
        self.changing = threading.Lock()
        self.alone = threading.Lock()
        self._inside: list[Visit] = []  # and some that have left

    def enter(self, visit: Visit, look: Callable[[], T | None]) -> T | None:
        """Go in for what ``look`` finds there, once nobody is or wants to be alone.

        Args:
            visit: held by the caller already; it is in until it lets go.
            look: what it comes for; it stays as it is while somebody is inside.

        Returns:
            What was found; None if nothing was, and then the caller is not in.
        """
        with self.alone:
            found = look()
            if found is not None:
                self._inside = [v for v in self._inside if v.locked()]
                self._inside.append(visit)
            return found

    def wait_until_out(self) -> None:
        """Wait until nobody is inside; for who holds ``alone``."""
        for visit in tuple(self._inside):
            with suppress(RuntimeError), visit:  # who is out may leave again, and take it away
                pass
