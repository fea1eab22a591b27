"""``Delivery``: hands results to callbacks, one after another, on a thread of its own.

A callback may take as long as it likes and call jobs itself: it holds up no stream, and the calls
that it waits for need no callback to come to their end. Results that wait for a slow callback are
bounded: who registers one more callback waits, but for callbacks, which would wait for themselves
or, of two jobs, for each other.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from headrace.errors import SessionError
from headrace.frontend.future import Future
from headrace.runtime.bus import Changed
from headrace.runtime.reentry import codes_of, is_within, reentry_error
from headrace.runtime.shelter import Thread, new_thread, start

Deliver = Callable[[Any], object]
Failed = Callable[[BaseException], object] | None


class _Here(threading.local):
    """What this thread delivers."""

    delivery: Delivery | None = None


_here = _Here()


class Delivery:
    """The callbacks of one job, in the order in which they were registered.

    Its thread starts with the first of them and ends with ``close``.
    """

    def __init__(self, name: str, most: int) -> None:
        """No callback yet.

        Args:
            name: of the job, for messages and for the thread.
            most: how many callbacks may wait for their turn.
        """
        self._name = name
        self._most = most
        self._changed = Changed()
        self._waiting: deque[tuple[Future[Any], Deliver, Failed]] = deque()
        self._thread: Thread | None = None
        self._is_busy = False
        self._is_closed = False

    @property
    def is_here(self) -> bool:
        """True on the thread of a callback."""
        return _here.delivery is self

    @property
    def is_idle(self) -> bool:
        """True when every callback that was registered has returned."""
        with self._changed.lock:
            return not self._waiting and not self._is_busy

    def register(self, future: Future[Any], callback: Deliver, failed: Failed) -> None:
        """Have ``callback`` called with what ``future`` gives, or ``failed`` with its error.

        Blocks while as many callbacks wait as may.

        Raises:
            SessionError: the session was closed; or this thread is registering another one, and a
                handler of a signal came between.
        """
        if self._changed.lock.locked() and is_within((self,), REGISTERS, sys._getframe(1)):
            raise reentry_error(f"job {self._name!r}: a callback was given")
        with self._changed.lock:
            self._changed.tell()  # who came before may have been interrupted before that
            delivers = _here.delivery is not None
            while len(self._waiting) >= self._most and not self._is_closed and not delivers:
                self._changed.wait()
            if self._is_closed:
                raise SessionError(
                    f"job {self._name!r}: the session was closed before this callback was "
                    "registered; give the call its callback before close, or use submit"
                )
            if self._thread is None or self._thread.ident is None:  # Ctrl-C came before its start
                name = f"headrace callbacks of {self._name}"
                self._thread = new_thread(self._loop, name)
                start(self._thread)
            self._waiting.append((future, callback, failed))
            self._changed.tell()

    def wait(self) -> None:
        """Wait until every callback that was registered has returned. Not from a callback."""
        with self._changed.lock:
            self._changed.tell()  # as in register
            while self._waiting or self._is_busy:
                self._changed.wait()

    def close(self) -> None:
        """Let what was registered be delivered, and end the thread. Idempotent."""
        with self._changed.lock:
            self._is_closed = True
            self._changed.tell()
        if self._thread is not None and self._thread.ident is not None:
            self._thread.join()

    def _loop(self) -> None:
        _here.delivery = self
        while True:
            with self._changed.lock:
                self._is_busy = False
                self._changed.tell()
                while not self._waiting:
                    if self._is_closed:
                        return
                    self._changed.wait()
                future, callback, failed = self._waiting.popleft()
                self._is_busy = True
                self._changed.tell()
            try:
                _deliver(future, callback, failed)
            except BaseException:  # noqa: BLE001 - nobody is there to catch it; the next one goes on
                _tell()
            del future, callback, failed  # or they are kept until the next one


REGISTERS = codes_of(Delivery.register)


def _tell() -> None:
    """Tell whoever hears of errors of threads what was raised, as ``threading.Thread`` does."""
    arguments = (*sys.exc_info(), threading.current_thread())
    try:
        threading.excepthook(threading.ExceptHookArgs(arguments))
    except BaseException:  # noqa: BLE001 - of a hook of the user's
        with suppress(BaseException):
            sys.excepthook(*sys.exc_info())


def _deliver(future: Future[Any], callback: Deliver, failed: Failed) -> None:
    error = future.exception()
    if error is None:
        callback(future.result())
    elif failed is not None:
        failed(error)
    else:
        raise error
