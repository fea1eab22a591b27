"""How often this process was forked from another one, without asking the system.

``os.getpid`` is a system call, and of the call of a small model it is a twentieth.
"""

from __future__ import annotations

import os

forks = 0
"""Forks since the module was imported; what was made at another count stayed with a parent."""


def _count() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)
