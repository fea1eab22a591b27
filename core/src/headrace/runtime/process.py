"""What this process may still use and give back: nothing that its parent has, nothing at its end.

How often it was forked from another one is known without asking the system: ``os.getpid`` is a
system call, and of the call of a small model it is a twentieth.
"""

from __future__ import annotations

import os
import sys

from headrace.errors import SessionError

forks = 0
"""Forks since the module was imported; what was made at another count stayed with a parent."""


def forked_error(what: str) -> SessionError:
    """What the caller of ``what`` is told in a process that was forked since it was compiled.

    To be raised before a lock is asked for: one that a thread of the parent held stays held.
    """
    return SessionError(
        f"{what} was compiled before this process was forked, and its threads and devices stayed "
        "with the parent; compile it in this process, or start it with multiprocessing's 'spawn' "
        "method"
    )


def gives_back(made_at: int) -> bool:
    """Whether what was made at a count of ``forks`` is to be given back.

    A child gives nothing back that is its parent's. At the end of Python, when finalizers run and
    nobody else, nobody does: any lock may be held, and any work be awaited, by a thread that is
    never let run again. The system takes it all.
    """
    return made_at == forks and not sys.is_finalizing()


def check_not_ending(what: str) -> None:
    """Refuse to make or use ``what`` at the end of Python, where that may wait for ever.

    Raises:
        SessionError: no other thread is let run any more.
    """
    if sys.is_finalizing():
        raise SessionError(
            f"{what}: Python is at its end, and threads that this may have to wait for run no "
            "more; use it before, at the latest in a function that atexit calls"
        )


def _count() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)
