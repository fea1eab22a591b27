"""``Gate``: calls go through it side by side; who changes what they use does so alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Many inside, or one alone.

    A change is prepared while others go on, and takes place when they are out: ``changing`` is for
    one thread at a time, and within it ``alone`` keeps everybody else out.
    """

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._state = threading.Condition(threading.Lock())
        self._inside = 0
        self._closed = False

    def enter(self) -> None:
        """Go in, once nobody is or wants to be alone; ``leave`` must follow."""
        with self._state:
            while self._closed:
                self._state.wait()
            self._inside += 1

    def leave(self) -> None:
        """Go out."""
        with self._state:
            self._inside -= 1
            if not self._inside:
                self._state.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Wait until nobody else changes anything; others may be inside. Not to be nested."""
        with self._changing:
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until all are out and let nobody in; within ``changing``, and not to be nested."""
        try:
            with self._state:
                self._closed = True
                while self._inside:
                    self._state.wait()
            yield
        finally:
            with self._state:
                self._closed = False
                self._state.notify_all()
