"""Callbacks of jobs: one after another, on a thread of their own; none waits for itself."""

from __future__ import annotations

import sys
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
from gated_kernels import Gate
from hypothesis import given, settings
from hypothesis import strategies as st
from session_jobs import Three, clamping, on, telling
from toy_backends import far

import headrace as flow
import headrace.typing as tp
from headrace.errors import RunError, SessionError
from headrace.registry import BackendRegistry

X = np.array([1, -2, 3], np.float32)


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
