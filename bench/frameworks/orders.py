"""A call for each line of stdin, and its seconds on stdout."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def obey(call: Callable[[], object], version: str) -> None:
    """Make the first call, say that it is done, and go on until stdin ends.

    ``call``: takes nothing, and returns when its outputs are there.
    """
    call()
    print("ready", version, flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        call()
        print(time.perf_counter() - begin, flush=True)
