"""``Shelter``: work that Ctrl-C does not stop halfway.

Python handles signals on its main thread alone, between two steps of whatever that does. What opens
devices and what gives them back has hundreds of such steps, in core and in plugins, and between any
two of them something would be nobody's. So the main thread has it done by another thread, which no
handler of a signal reaches, and waits for that.
"""

from __future__ import annotations

import _imp
import sys
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from types import CodeType, FrameType
from typing import Any, Generic, TypeVar

from headrace.runtime.bus import on_main_thread
from headrace.runtime.reentry import codes_of, is_within

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Thread = threading.Thread


class Shelter:
    """Does work for one owner, piece by piece, in the order in which it was asked for.

    A thread is started for each piece that the main thread asks for, and ends with it; others do
    theirs themselves, as does the main thread where no thread can be had, or none would run.

    To be given Python takes a thread as long as others that compute let it wait (``sys.
    getswitchinterval`` for each of them): here one waits for the piece, and one for its end. What
    opens or closes many things is best one piece.
    """

    def __init__(self) -> None:
        self._asked: deque[_Piece[Any]] = deque()
        self._turn = threading.RLock()  # a piece may ask for another one

    def run(self, work: Callable[[], T], stop: Callable[[], object] = lambda: None) -> T:
        """What ``work`` returns.

        What a handler of a signal raises, as that of Ctrl-C does, is raised when ``work`` has come
        to its end all the same; the next one, by who presses it twice, at once, and ``work`` goes
        on.

        Args:
            work: runs in a copy of the caller's context; once, also if this is interrupted before
                it could begin.
            stop: called in the first of these cases, to bring that end about; must not block.

        Raises:
            BaseException: what ``work`` raised, or what a handler did.
        """
        piece = _Piece(work)
        if not (on_main_thread() and _others_can_run()):
            self._asked.append(piece)
            self._work()
            return piece.outcome()
        try:
            self._have_done(piece)
        except BaseException as interrupt:
            stop()
            try:
                self._have_done(piece)  # nobody knows how far that came
            except BaseException:
                piece.is_left = True
                _LEFT.append(self)
                raise
            piece.note(interrupt)
            raise
        return piece.outcome()

    def finish(self) -> None:
        """Wait until all is done that was asked for."""
        self.run(lambda: None)

    def _have_done(self, piece: _Piece[T]) -> None:
        """Ask for a piece and wait for its end. May be repeated."""
        self._asked.append(piece)
        ended = threading.Lock()
        ended.acquire()

        def serve() -> None:
            try:
                self._work()
            finally:
                _forget_this_thread()
                ended.release()

        try:
            # Started in one step: ``Thread.start`` has many, and interrupted it leaves a thread
            # that never begins.
            start_new_thread(serve, ())
        except RuntimeError:  # there are too many
            self._work()
            return
        _wait_for(ended)

    def _work(self) -> None:
        with self._turn:
            while self._asked:
                self._asked.popleft().do()


_LEFT: deque[Shelter] = deque()
"""Those whose work nobody waited for to its end."""


def finish_what_was_left() -> None:
    """Wait for the work that goes on since somebody pressed Ctrl-C twice."""
    while _LEFT:
        _LEFT[0].finish()
        _LEFT.popleft()


def _wait_for(ended: threading.Lock) -> None:
    ended.acquire()


def _forget_this_thread() -> None:
    """What ``threading`` made up for a thread that it did not start it keeps, up to Python 3.12."""
    known: dict[int, Thread] = getattr(threading, "_active", {})
    thread = known.get(threading.get_ident())
    if type(thread).__name__ == "_DummyThread":
        known.pop(threading.get_ident(), None)


def _others_can_run() -> bool:
    """Whether the main thread may wait for another one, as far as Python is concerned.

    Finalizers come anywhere. At the end of the interpreter no other thread is let run any more. In
    Python's own code of imports the main thread may hold the lock of all imports, and what opens
    and closes imports. Ctrl-C there leaves the lock held for ever; then it is given back here. In a
    call a plugin may hold locks of its own, which it asks for as well where it opens and closes.
    """
    if sys.is_finalizing() or is_within(None, _CALLS, sys._getframe()):
        return False
    if not _imp.lock_held():
        return True
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    with suppress(RuntimeError):  # another thread holds it, and not for long
        while _imp.lock_held():
            _imp.release_lock()
    return True


_CALLS: set[CodeType] = set()


def in_place_within(function: F) -> F:
    """Mark what runs calls: handlers and finalizers that come there have pieces done in place."""
    _CALLS.update(codes_of(function))
    return function


def new_thread(work: Callable[[], None], name: str) -> Thread:
    """A daemon thread that will do ``work``; to be held before ``start``."""
    return Thread(target=work, name=name, daemon=True)


def start(thread: Thread) -> None:
    """Start a thread; an interrupt leaves none that has been announced and never begins."""
    Shelter().run(thread.start)


class Stopped(BaseException):
    """Raised by work that was told to stop; nobody is told of it."""


class _Piece(Generic[T]):
    """One piece of work.

    Attributes:
        is_left: nobody waits for it any more.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._context = copy_context()
        self._made: list[T] = []
        self._error: BaseException | None = None
        self.is_left = False

    def do(self) -> None:
        """Do it, if that was not done. By one thread at a time."""
        if self._work is None:
            return
        work, self._work = self._work, None
        try:
            self._made.append(self._context.run(work))
        except BaseException as error:  # noqa: BLE001 - for who waits
            self._error = error
            if self.is_left and not isinstance(error, Stopped):
                raised = type(error), error, error.__traceback__, threading.current_thread()
                threading.excepthook(threading.ExceptHookArgs(raised))

    def note(self, interrupt: BaseException) -> None:
        """Have an interrupt, which is raised in its place, say what this raised."""
        if self._error is not None and not isinstance(self._error, Stopped):
            interrupt.add_note(f"what was waited for meanwhile raised {self._error!r}")

    def outcome(self) -> T:
        """What came of it, when it is over."""
        error, self._error = self._error, None  # which holds this, by its traceback
        if error is not None:
            try:
                raise error
            finally:
                del error
        return self._made[0]
