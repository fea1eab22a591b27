"""Launches of several threads keep off each other's processor; threads stay as they were."""

import os
import threading

import numpy as np
import pytest

import headrace_cpu
from headrace_cpu import _native

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system does not say where a thread may run"
)


def doubling():
    """A sequence that doubles 50 times what lies in 64 KiB, and where that is."""
    x = np.empty(1 << 13)
    return _native.Sequence([_native.binary("add", x, x, x)] * 50), x


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_thread_may_run_where_it_might_before(threads):
    """Whether it had all processors or one, which it shares with the others, and however many."""
    headrace_cpu.set_threads(1)
    allowed = os.sched_getaffinity(0)
    begin, end = (threading.Barrier(threads, timeout=30) for _ in range(2))
    seen, stayed = [], []

    def launch(processors):
        os.sched_setaffinity(0, processors)
        run, x = doubling()
        begin.wait()
        for _ in range(20):
            x[:] = 1
            run()
            seen.append((x.min(), x.max()))
        end.wait()
        stayed.append(os.sched_getaffinity(0) == processors)

    for processors in (allowed, {min(allowed)}):
        workers = [threading.Thread(target=launch, args=(processors,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(timeout=60)
    assert seen == [(2.0**50, 2.0**50)] * 40 * threads
    assert stayed == [True] * 2 * threads
    assert os.sched_getaffinity(0) == allowed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_launches_though_a_thread_was_launching_when_it_was_forked():
    """The child has no thread that would end what was begun in the parent."""
    headrace_cpu.set_threads(1)
    allowed = os.sched_getaffinity(0)
    begun, over = threading.Event(), threading.Event()

    def launch():
        run, x = doubling()
        x[:] = 0
        while not over.is_set():
            run()
            begun.set()

    worker = threading.Thread(target=launch)
    worker.start()
    try:
        assert begun.wait(timeout=30)
        child = os.fork()
        if not child:
            status = 1
            try:
                run, x = doubling()
                x[:] = 1
                run()
                is_right = (x == 2.0**50).all() and os.sched_getaffinity(0) == allowed
                status = 0 if is_right else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        over.set()
        worker.join(timeout=60)
