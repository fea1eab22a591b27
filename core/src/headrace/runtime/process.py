"""How often this process was forked from another one, without asking the system.

``os.getpid`` is a system call, and of the call of a small model it is a twentieth.
"""

from __future__ import annotations

import os

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


def _count() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)
