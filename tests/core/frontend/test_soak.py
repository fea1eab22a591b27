"""Calls leave nothing behind: the counts of a few hundred, as ``bench/soak.py`` makes a million."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from session_jobs import Three

import headrace as flow
import headrace.typing as tp

X = np.array([1, -2, 3], np.float32)
CALLS = 400


def held() -> tuple[int, int]:
    """Threads and open descriptors."""
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


def blocks_after(call: Callable[[], object], calls: int) -> int:
    """Blocks of memory that Python holds after so many calls."""
    for _ in range(calls):
        call()
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
@pytest.mark.parametrize("how", ["call", "submit", "callback"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("tag", ["near", "far"])
def test_calls_leave_nothing_behind(session: flow.Session, tag: str, width: int, how: str) -> None:
    """As many threads, descriptors and, but for a few, blocks of memory after 400 calls more."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(tag, "0:0"))
    job = flow.global_function(function_config=config, session=session)

    @job
    def work(x: Three) -> tp.Numpy:
        return flow.relu(x)

    @job
    def tell(x: Three) -> tp.Callback[tp.Numpy]:
        return flow.relu(x)

    def ignore(result: Any) -> None:
        pass

    calls = {
        "call": lambda: work(X),
        "submit": lambda: [future.result() for future in [work.submit(X) for _ in range(3)]],
        "callback": lambda: tell(X)(ignore),
    }
    blocks_after(calls[how], CALLS)
    session.sync()
    before = held()
    blocks = blocks_after(calls[how], 1)
    grown = blocks_after(calls[how], CALLS) - blocks
    session.sync()
    assert held() == before
    assert grown < CALLS // 2
