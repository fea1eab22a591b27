"""Whether this thread is in the middle of what it is about to wait for.

Handlers of signals run in the middle of whatever the main thread does, finalizers of whatever any
thread does, and kernels of a call. What one of them asks for may wait for the end of that: for
ever. Locks do not know who holds them, and calls of small models should not pay for telling them;
so whoever finds that it would wait, or may, looks at the frames of its own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from types import CodeType, FrameType
from typing import Any

from headrace.errors import SessionError

Codes = frozenset[CodeType]


def codes_of(*functions: Callable[..., Any]) -> Codes:
    """What frames of these functions run; of a generator that ``contextmanager`` wraps as well."""
    return frozenset(getattr(one, "__wrapped__", one).__code__ for one in functions)


def is_within(
    owners: tuple[object, ...] | None, codes: Set[CodeType], frame: FrameType | None
) -> bool:
    """Whether ``frame``, or one further out, is of a method in ``codes``: one of ``owners``.

    Args:
        owners: None means whosever it is.
        codes: see ``codes_of``.
        frame: where to begin.
    """
    while frame is not None:
        if frame.f_code in codes:
            of = None if owners is None else frame.f_locals.get("self")
            if owners is None or any(owner is of for owner in owners):
                return True
        frame = frame.f_back
    return False


def reentry_error(asked: str) -> SessionError:
    """What is raised instead of waiting for oneself."""
    return SessionError(
        f"{asked} in the middle of a call, or of a change, that this very thread has to bring to "
        "its end first, as by a handler of a signal; let the handler set a flag, or raise "
        "(SystemExit, say), and do it when the call has returned or raised"
    )
