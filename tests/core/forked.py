"""What becomes of something in a forked process."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable


def in_child(work: Callable[[], object]) -> str:
    """What ``work`` raises, or "nothing", in a forked process; it has ten seconds."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(10)
            try:
                work()
                text = "nothing"
            except Exception as error:  # noqa: BLE001 - told to the parent
                text = f"{type(error).__name__}: {error}"
            os.write(writing, text.encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()
