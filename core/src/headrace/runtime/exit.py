"""The end of the interpreter: what is still open is closed before Python waits for its threads.

A backend may serve its streams with ordinary threads, which end when their contexts are closed.
Python joins ordinary threads first and calls ``atexit`` functions afterwards: a job that nobody
closed would keep it waiting for ever. But ordinary threads of the program, and those that run the
tasks of its pools, may still call jobs then, and Python waits for them: so do we, on a thread of
our own. Threads that began while a job was opened count as the backend's.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet

from headrace.runtime.shelter import Shelter, finish_what_was_left


class Closable(Protocol):
    """What can be closed, also more than once."""

    def close(self) -> None:
        """Give everything back."""


_first: WeakSet[Closable] = WeakSet()
_open: WeakSet[Closable] = WeakSet()
_of_backends: WeakSet[threading.Thread] = WeakSet()


def close_at_exit(thing: Closable, *, first: bool = False) -> None:
    """Close ``thing`` when the interpreter ends, if it is still there; it is not kept alive.

    Args:
        thing: what holds threads or devices.
        first: before what is not; for what others that are closed at exit belong to.
    """
    (_first if first else _open).add(thing)


@contextmanager
def threads_are_of_backends() -> Iterator[None]:
    """At the end of the interpreter nobody waits for threads that begin in the block."""
    before = set(threading.enumerate())
    try:
        yield
    finally:
        _of_backends.update(t for t in threading.enumerate() if t not in before and not t.daemon)


def _still_open(things: WeakSet[Closable]) -> list[Closable]:
    while True:
        try:
            return list(things)
        except RuntimeError:  # another thread opened one meanwhile
            continue


def _close_all() -> None:
    finish_what_was_left()
    _close(_first)
    if _open:
        Shelter().run(lambda: _close(_open))


def _close(things: WeakSet[Closable]) -> None:
    for thing in _still_open(things):
        try:
            thing.close()
        except Exception as error:  # noqa: BLE001 - the others are to be closed all the same
            warnings.warn(f"{thing!r} failed to close: {error!r}", ResourceWarning, stacklevel=1)
        things.discard(thing)


def _program_threads() -> list[threading.Thread]:
    """Those that may still call jobs, and that Python waits for."""
    mine = (threading.main_thread(), threading.current_thread())
    return [t for t in threading.enumerate() if not (t.daemon or t in mine or t in _of_backends)]


def _close_behind_threads() -> None:
    """Close all when the threads of the program have ended; at once where there are none."""
    if not _program_threads():
        _close_all()
        return

    def wait_and_close() -> None:
        while threads := _program_threads():
            for thread in threads:
                thread.join()
        _close_all()

    try:
        # Python would wait for one of `threading`, also where it is told not to wait any more.
        start_new_thread(wait_and_close, ())
    except RuntimeError:  # there are too many
        _close_all()


# The place that the standard library's own executors use; where it is gone, late is better than
# never.
_register: Callable[[Callable[[], None]], object] = getattr(
    threading, "_register_atexit", atexit.register
)
_register(_close_behind_threads)
atexit.register(_close_all)  # what was opened since; and where Ctrl-C ended Python's wait
