"""Tells a user's Ctrl-C from a plugin that raises KeyboardInterrupt itself."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Interrupts:
    """Whether the user pressed Ctrl-C inside the block of ``watched_interrupts``."""

    pressed = False


@contextlib.contextmanager
def watched_interrupts() -> Iterator[Interrupts]:
    """Notice Ctrl-C inside the block, and let it do what it did before.

    Only the main thread hears of it; elsewhere nothing is noticed, and a KeyboardInterrupt there
    was raised by somebody's code.
    """
    seen = Interrupts()
    before: Any = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        seen.pressed = True
        if callable(before):
            before(number, frame)

    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread
        yield seen
        return
    try:
        yield seen
    finally:
        if signal.getsignal(signal.SIGINT) is note:  # else the block put its own there
            signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
