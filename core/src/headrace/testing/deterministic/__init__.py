"""Threads of the runtime, one at a time, in an order that a seed says.

``deterministic(seed)`` is a block in which whatever core starts a thread for runs as it is written,
workers, queues and locks included, but only one of the threads at a time: at each operation on a
lock, a queue or a thread a seed says who goes on. One seed gives one run, switch for switch; other
seeds give other orders that real threads could have had, also those that happen once in a year. A
block that waits for itself does not hang: it ends with ``DeadlockError``, which says who waits for
what. A thread that outlives the block is an error.

Each thread has a clock of its own in virtual seconds, which messages and locks carry along. A
device that knows how long its work takes moves it (``Schedule.advance``); with ``in_time_order``
the thread whose clock is behind goes first, and the clocks say how long the whole would have taken.

What was turned down: a second engine, made for tests. It would be stepped in place of the one that
runs, and its bugs would be found.

``patch.py`` puts the ``primitives`` of this package in the place of Python's for the time of the
block; ``schedule.py`` decides who goes on.
"""

from headrace.testing.deterministic.patch import deterministic
from headrace.testing.deterministic.schedule import DeadlockError, LeftBehindError, Schedule

__all__ = ["DeadlockError", "LeftBehindError", "Schedule", "deterministic"]
