"""Waiting for a device on the thread that Ctrl-C is meant for.

Signals are handled by the main thread, between two steps of Python: while it waits inside a driver,
nobody hears Ctrl-C until the device comes back, which one that hangs never does. So the main thread
asks an event that can be asked, in ever longer intervals, and comes to wait when there is nothing
to wait for. Other threads wait at once.
"""

from __future__ import annotations

import time

from headrace.device import Event
from headrace.runtime.bus import on_main_thread

_PART = 1 / 32
"""How much longer than the device a wait may take."""

_SHORTEST_SECONDS = 50e-6
"""Less than that a thread does not sleep; it lets others have Python and asks again."""

_LONGEST_SECONDS = 0.02


def wait_for(event: Event) -> None:
    """``event.synchronize()``, so that it can be interrupted.

    Raises:
        Exception: what the work before the event raised.
    """
    if on_main_thread() and is_reached(event) is False:
        begin = time.perf_counter()
        while is_reached(event) is False:
            pause = min((time.perf_counter() - begin) * _PART, _LONGEST_SECONDS)
            time.sleep(pause if pause > _SHORTEST_SECONDS else 0)  # noqa: TID251 - or we would wait
    event.synchronize()


def is_reached(event: Event) -> bool | None:
    """What an event says; None where it cannot be asked."""
    ask = getattr(event, "is_reached", None)  # that of a plugin need not derive from ours
    return None if ask is None else ask()
