"""Ctrl-C at every step of work, of opening and of closing, in core and in this plugin."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from watched import nothing_left

import headrace as flow
import headrace.typing as tp
from headrace.frontend.ready_job import ReadyJob
from headrace.registry import default_registry
from headrace.testing.interrupts import interrupted

X = np.array([1, -2, 3], np.float32)

EVERYWHERE = ("headrace", "headrace_fakedevice")


def test_work_can_be_interrupted_at_any_step() -> None:
    """No memory is taken for used by work that nobody will do, and the next call is right."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("fakedevice", "0:0"))
    with nothing_left(), flow.Session() as session:

        @flow.global_function(function_config=config, session=session)
        def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
            return flow.relu(x) + x

        job(X)
        for step in count():
            with interrupted(step, ("headrace_fakedevice",)) as interrupt:
                job(X)
            if not interrupt.came:
                break
            assert job(X).tolist() == [2, -2, 6], interrupt.where
        assert step > 100


def made(session: flow.Session, width: int) -> Callable[..., Any]:
    """A job ``relu(x) + x`` for so many calls at once."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement("fakedevice", "0:0"))

    @flow.global_function(function_config=config, session=session)
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return flow.relu(x) + x

    return job


@pytest.mark.parametrize("width", [1, 2])
def test_a_close_can_be_interrupted_at_any_step(width: int) -> None:
    """Of the last user of a device: who closes again finds all given back, and it opens again."""
    threads = threading.enumerate()
    for step in count():
        with nothing_left():
            session = flow.Session()
            assert made(session, width)(X).tolist() == [2, -2, 6]
            with interrupted(step, EVERYWHERE) as interrupt:
                session.close()
            session.close()
        assert threading.enumerate() == threads, interrupt.where
        if not interrupt.came:
            break
    assert step > 40


@pytest.mark.parametrize("width", [1, 2])
def test_the_end_of_a_with_block_can_be_interrupted_at_any_step(width: int) -> None:
    """Nobody closes again: from its first step on it comes to its end all the same."""
    threads = threading.enumerate()
    for step in count(1):
        with nothing_left():
            session = flow.Session().__enter__()
            made(session, width)(X)
            with interrupted(step, EVERYWHERE) as interrupt:
                session.__exit__(None, None, None)
        assert threading.enumerate() == threads, interrupt.where
        if not interrupt.came:
            break
    assert step > 40


@pytest.mark.parametrize("width", [1, 2])
def test_an_opening_can_be_interrupted_at_any_step(width: int) -> None:
    """Whatever was opened or allocated by then is given back when the interrupt is there."""
    with flow.Session() as session:
        made(session, width)
        plan = session.plan()
    threads = threading.enumerate()
    for step in count():
        with nothing_left():
            with interrupted(step, EVERYWHERE) as interrupt:
                ReadyJob(plan, default_registry(), {})
            flow.release_cached_memory()  # of the one that was dropped as soon as it was open
        assert threading.enumerate() == threads, interrupt.where
        if not interrupt.came:
            break
    assert step > 40
