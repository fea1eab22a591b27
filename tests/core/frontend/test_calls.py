"""Calls of jobs: futures, callbacks, several under way, several threads, room for so many."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gated_kernels import Gate
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_backends import FarAllocator, far, near

import headrace as flow
import headrace.typing as tp
from headrace.errors import InputError, JobError, RunError, SessionError
from headrace.plan import dump
from headrace.registry import BackendRegistry

X = np.array([1, -2, 3], np.float32)
Three = tp.Numpy.Placeholder((3,))


def on(session: flow.Session, tag: str, width: int = 1) -> Callable[..., Any]:
    """``global_function`` in a session, on a device, for so many calls at once."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(tag, "0:0"))
    return flow.global_function(function_config=config, session=session)


def clamping(job: Callable[..., Any]) -> Any:
    """A job ``relu(x)``; its op ``last`` can be gated."""

    @job
    def clamp(x: Three) -> tp.Numpy:
        return flow.relu(x, name="last")

    return clamp


def telling(job: Callable[..., Any]) -> Any:
    """The same job, whose result goes to a callback."""

    @job
    def tell(x: Three) -> tp.Callback[tp.Numpy]:
        return flow.relu(x, name="last")

    return tell


@pytest.fixture
def gate() -> Gate:
    """Holds what is computed on ``far``."""
    return Gate()


@pytest.fixture
def gated(gate: Gate) -> Iterator[flow.Session]:
    """A session on ``far`` whose kernels wait for the gate."""
    registry = BackendRegistry.from_modules({"far": far(kernel=gate.kernel), "near": near()})
    with flow.Session(registry) as made:
        yield made
        gate.open.set()


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
    """Whoever comes when all room is taken waits; everybody gets the results of his own calls."""
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


def test_callbacks_get_results_in_order(session: flow.Session) -> None:
    """One after another, on a thread of the job's own; sync waits for them."""
    tell, got = telling(on(session, "far", 3)), []
    for n in range(20):
        tell(X + n)(lambda y: got.append((y[0], threading.current_thread().name)))
    session.sync()
    assert got == [(n + 1, "headrace callbacks of tell") for n in range(20)]


def test_a_job_with_callbacks_can_be_submitted(session: flow.Session) -> None:
    """Then its result comes by the future."""
    assert telling(on(session, "near")).submit(X).result().tolist() == [1, 0, 3]


@pytest.mark.parametrize("tag", ["near", "far"])
def test_a_callback_may_call_its_own_job(session: flow.Session, tag: str) -> None:
    """Also when its job has room for one call only, and register further callbacks."""
    tell, got = telling(on(session, tag, 1)), []

    def again(y: Any) -> None:
        got.append(y.tolist())
        if len(got) < 10:
            for _ in range(2):
                tell(y)(again)
            tell.submit(y).result()

    tell(X)(again)
    session.sync()
    assert len(got) >= 10
    assert got == [[1, 0, 3]] * len(got)


def test_a_callback_that_raises_is_heard_and_stops_no_other(
    session: flow.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it raises goes where errors of threads go."""
    tell, got, heard = telling(on(session, "far", 2)), [], []
    monkeypatch.setattr(threading, "excepthook", lambda args: heard.append(args.exc_value))

    def broken(y: Any) -> None:
        raise ZeroDivisionError("mine")

    tell(X)(broken)
    tell(X)(got.append)
    session.sync()
    assert [str(error) for error in heard] == ["mine"]
    assert len(got) == 1


def test_a_hook_for_errors_that_raises_stops_no_callback_either(
    session: flow.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the interpreter's own hook is told, and the next callback is called; sync comes back."""
    tell, got, heard = telling(on(session, "far", 2)), [], []

    def broken_hook(arguments: object) -> None:
        raise SystemExit("the hook")

    monkeypatch.setattr(threading, "excepthook", broken_hook)
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, _: heard.append(error))

    def broken(y: Any) -> None:
        raise KeyboardInterrupt

    for _ in range(3):
        tell(X)(broken)
    tell(X)(got.append)
    session.sync()
    assert [str(error) for error in heard] == ["the hook"] * 3
    assert len(got) == 1


@pytest.mark.parametrize("tag", ["near", "far"])
def test_callbacks_of_two_jobs_may_register_with_each_other(
    session: flow.Session, tag: str
) -> None:
    """Each as often as it likes: neither waits for room that only the other could make; and sync
    waits for what they begin."""
    jobs = []
    for name in ("one", "other"):

        def job(x: Three) -> tp.Callback[tp.Numpy]:
            return flow.relu(x)

        job.__name__ = name
        jobs.append(on(session, tag, 1)(job))
    got: list[str] = []

    def heard(mine: int, depth: int, y: Any) -> None:
        got.append("one" if mine == 0 else "other")
        for _ in range(2 if depth else 0):
            jobs[1 - mine](y)(partial(heard, 1 - mine, depth - 1))

    for mine in (0, 1):
        jobs[mine](X)(partial(heard, mine, 5))
    session.sync()
    assert got.count("one") == got.count("other") == 2**6 - 1


def test_sync_waits_for_calls_that_callbacks_begin(gate: Gate, gated: flow.Session) -> None:
    """Also where nobody waits for these, and of a job that was waited for already."""
    clamp, tell, futures = clamping(on(gated, "far", 2)), telling(on(gated, "far", 2)), []
    gate.open.set()
    tell(X)(lambda y: futures.append(clamp.submit(y)))
    gated.sync()
    assert [future.done() for future in futures] == [True]


def test_the_error_of_a_run_goes_to_its_callback(
    gate: Gate, gated: flow.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the function that was given for it, or where errors of threads go."""
    gate.broken = True
    gate.open.set()
    tell, failed, heard, got = telling(on(gated, "far")), [], [], []
    monkeypatch.setattr(threading, "excepthook", lambda args: heard.append(args.exc_value))
    tell(X)(got.append, failed.append)
    tell(X)(got.append)
    gated.sync()
    for errors in (failed, heard):
        (error,) = errors
        assert isinstance(error, RunError)
        assert "on fire" in str(error)
    assert not got


def test_close_delivers_what_was_registered(gate: Gate, gated: flow.Session) -> None:
    """No result is lost that somebody waits for; a callback that comes later is refused."""
    tell, got = telling(on(gated, "far", 3)), []
    late = tell(X)
    for _ in range(2):
        tell(X)(got.append)
    gate.open.set()
    gated.close()
    assert [y.tolist() for y in got] == [[1, 0, 3]] * 2
    with pytest.raises(SessionError, match="closed before this callback was registered"):
        late(got.append)


@pytest.mark.parametrize("what", ["sync", "close"])
def test_a_callback_cannot_wait_for_itself(session: flow.Session, what: str) -> None:
    """It is told so, in place of waiting for ever."""
    tell, errors = telling(on(session, "far", 2)), []

    def waiting(y: Any) -> None:
        try:
            getattr(session, what)()
        except SessionError as error:
            errors.append(str(error))

    tell(X)(waiting)
    session.sync()
    assert errors == [
        f"a callback of job 'tell' called {what}, which waits until callbacks have returned; call "
        "it on another thread"
    ]


@given(st.integers(1, 3), st.integers(1, 12))
@settings(max_examples=20)
def test_a_slow_callback_holds_up_who_registers_more(width: int, count: int) -> None:
    """Results that wait for their callback are as many as there is room for, beside the one that
    is with its callback; and all are delivered, in order."""
    registry = BackendRegistry.from_modules({"far": far()})
    with flow.Session(registry) as session:
        tell, got = telling(on(session, "far", width)), []
        begun = [threading.Event() for _ in range(count)]

        def callback(y: Any) -> None:
            assert begun[min(int(y[0]) + width + 1, count - 1)].wait(20)
            got.append(y[0])

        for n in range(count):
            deliver = tell(np.full(3, n, np.float32))
            begun[n].set()
            deliver(callback)
            assert n + 1 - len(got) <= width + 1
        session.sync()
        assert got == [*range(count)]


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
