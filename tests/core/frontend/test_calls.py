"""Calls of jobs: futures, several under way, several threads, room for so many."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gated_kernels import Gate
from hypothesis import given, settings
from hypothesis import strategies as st
from session_jobs import Three, clamping, on
from toy_backends import FarAllocator, far

import headrace as flow
import headrace.typing as tp
from headrace.errors import InputError, JobError, SessionError
from headrace.plan import dump
from headrace.registry import BackendRegistry

X = np.array([1, -2, 3], np.float32)


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("tag", ["near", "far"])
def test_a_future_gives_what_a_call_returns(session: flow.Session, tag: str, width: int) -> None:
    """On any device, for any width, as often as it is asked; a call beside it is not disturbed."""
    clamp = clamping(on(session, tag, width))
    futures = [clamp.submit(X + n) for n in range(7)]
    assert clamp(X).tolist() == [1, 0, 3]
    for n, future in enumerate(futures):
        assert future.result().tolist() == np.maximum(X + n, 0).tolist()
        assert future.exception() is None
        assert future.done()
        assert repr(future) == "<Future: over>"


def test_arguments_may_be_changed_when_submit_returns(gate: Gate, gated: flow.Session) -> None:
    """A call that is still under way has its own copy."""
    clamp, x = clamping(on(gated, "far", 2)), X.copy()
    future = clamp.submit(x)
    x[:] = 99
    gate.open.set()
    assert future.result().tolist() == [1, 0, 3]


def test_a_future_can_be_asked_before_its_call_is_over(gate: Gate, gated: flow.Session) -> None:
    """It says so, and a wait that was too short can be repeated."""
    future = clamping(on(gated, "far", 2)).submit(X)
    assert not future.done()
    assert repr(future) == "<Future: under way>"
    for ask in (future.result, future.exception):
        with pytest.raises(TimeoutError, match=r"not over after 0\.0 seconds; it goes on"):
            ask(0)
    gate.open.set()
    assert future.result(20).tolist() == [1, 0, 3]


def test_bad_arguments_are_refused_before_a_call_begins(session: flow.Session) -> None:
    """By submit itself, as by a call; there is room as before."""
    clamp = clamping(on(session, "far", 1))
    for _ in range(3):
        with pytest.raises(InputError, match="dtype is float64"):
            clamp.submit(X.astype(np.float64))
    assert clamp.submit(X).result().tolist() == [1, 0, 3]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6))
@settings(max_examples=25)
def test_no_more_calls_are_under_way_than_there_is_room_for(
    width: int, callers: int, each: int
) -> None:
    """Whoever comes when all room is taken waits; each gets the results of its own calls."""
    registry = BackendRegistry.from_modules({"far": far()})
    with flow.Session(registry) as session, ThreadPoolExecutor(callers) as pool:
        clamp = clamping(on(session, "far", width))
        clamp(X)
        begun: list[flow.Future[Any]] = []

        def call(caller: int) -> list[float]:
            mine = []
            for n in range(each):
                mine.append(clamp.submit(np.full(3, caller * 100 + n, np.float32)))
                begun.append(mine[-1])
                assert sum(not future.done() for future in tuple(begun)) <= width
            return [future.result()[0] for future in mine]

        for caller, got in enumerate(pool.map(call, range(callers))):
            assert got == [caller * 100 + n for n in range(each)]


def test_calls_come_to_their_ends_in_order(session: flow.Session) -> None:
    """When a future is done, so are all of the job that were submitted before it."""
    clamp = clamping(on(session, "far", 4))
    futures = [clamp.submit(X) for _ in range(40)]
    for number, future in enumerate(futures):
        future.result()
        assert all(earlier.done() for earlier in futures[:number])


def test_a_full_job_lets_others_through(gate: Gate, gated: flow.Session) -> None:
    """Room is counted for each job: one that is full stands in nobody's way."""
    slow = clamping(on(gated, "far", 2))

    @on(gated, "near", 1)
    def quick(x: Three) -> tp.Numpy:
        return flow.relu(x)

    held = [slow.submit(X) for _ in range(2)]
    assert quick(X).tolist() == [1, 0, 3]
    assert not any(call.done() for call in held)


def test_sessions_are_independent() -> None:
    """Two sessions with calls under way on one device each get their own results."""
    registry = BackendRegistry.from_modules({"far": far()})
    with flow.Session(registry) as one, flow.Session(registry) as other:
        jobs = [clamping(on(session, "far", 3)) for session in (one, other)]
        futures = [(n, job.submit(X + n)) for n in range(6) for job in jobs]
        for n, future in futures:
            assert future.result().tolist() == np.maximum(X + n, 0).tolist()


@pytest.mark.parametrize("wrong", ["x", "1", True, float("nan"), [1]])
def test_a_time_to_wait_is_a_number_of_seconds(session: flow.Session, wrong: Any) -> None:
    """Anything else is refused with what it was; the call goes on."""
    future = clamping(on(session, "far", 3)).submit(X)
    for wait in (future.result, future.exception):
        with pytest.raises(InputError, match=r"timeout_seconds is .*; it must be a number of sec"):
            wait(wrong)
    assert future.result(float("inf")).tolist() == [1, 0, 3]
    assert future.exception(np.float32(1e30)) is None
    assert future.result(-1).tolist() == [1, 0, 3]


@pytest.mark.parametrize("width", [0, -1, True, 1.5, "2", None])
def test_a_width_is_a_number_of_calls(session: flow.Session, width: Any) -> None:
    """Anything else is refused when the job is made, with what it was."""
    with pytest.raises(JobError, match=r"concurrency_width is .*; it must be a number from 1 on"):
        clamping(on(session, "near", width))


def test_a_plan_file_knows_how_many_calls_it_was_compiled_for(
    registry: BackendRegistry, session: flow.Session, tmp_path: Path
) -> None:
    """Whoever loads it can have as many under way."""
    clamping(on(session, "far", 3))
    session.save_plan("clamp", tmp_path / "clamp.plan")
    assert "job 0 user 'clamp', 3 calls at once" in dump(session.plan())
    with flow.load_plan(tmp_path / "clamp.plan", registry=registry) as loaded:
        assert loaded.plan.jobs[0].width == 3
        futures = [loaded.submit({"x": X + n}) for n in range(9)]
        for n, future in enumerate(futures):
            assert future.result()["result"].tolist() == np.maximum(X + n, 0).tolist()


def test_close_waits_for_calls_that_have_begun(gate: Gate, gated: flow.Session) -> None:
    """Their results are there afterwards; new calls are refused."""
    clamp = clamping(on(gated, "far", 3))
    futures = [clamp.submit(X) for _ in range(3)]
    assert gate.reached.wait(20)
    closing = threading.Thread(target=gated.close)
    closing.start()
    gate.open.set()
    closing.join()
    assert [future.result().tolist() for future in futures] == [[1, 0, 3]] * 3
    with pytest.raises(SessionError, match="closed"):
        clamp.submit(X)


def test_close_can_cancel(gate: Gate, gated: flow.Session) -> None:
    """Calls end with an error that says so, or with their results; none is left waiting."""
    live = FarAllocator.live
    clamp = clamping(on(gated, "far", 3))
    futures = [clamp.submit(X) for _ in range(3)]
    assert gate.reached.wait(20)
    closing = threading.Thread(target=gated.close, args=[True])
    closing.start()
    gate.open.set()
    closing.join()
    for future in futures:
        error = future.exception(20)
        assert error is None or "closed while it ran" in str(error)
    assert FarAllocator.live == live


def test_an_error_in_a_with_block_does_not_wait(gate: Gate, gated: flow.Session) -> None:
    """Leaving by an exception cancels; the exception is what is raised."""
    clamp = clamping(on(gated, "far", 2))
    future = clamp.submit(X)
    assert gate.reached.wait(20)
    opening = threading.Thread(target=gate.open.set)

    def leave_by_an_error() -> None:
        with gated:
            opening.start()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leave_by_an_error()
    opening.join()
    assert future.done()


def test_a_forked_process_closes_nothing(gate: Gate, gated: flow.Session) -> None:
    """While calls of its parent are under way, a child neither waits for them nor ends them."""
    clamp = clamping(on(gated, "far", 2))
    future = clamp.submit(X)
    assert gate.reached.wait(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads
        child = os.fork()
    if child == 0:
        signal.alarm(10)
        gated.close()
        os._exit(int(gated.status is not flow.SessionStatus.CLOSED))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    gate.open.set()
    assert future.result().tolist() == [1, 0, 3]
