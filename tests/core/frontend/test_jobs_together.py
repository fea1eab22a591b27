"""Jobs of a session in one plan: isolation, agreement, later jobs, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_jobs import Three, X, counter, on, with_hook
from toy_backends import far, near

import headrace as flow
import headrace.typing as tp
from headrace.errors import (
    JobError,
    UnsupportedError,
    VariableError,
)
from headrace.frontend.gate import Gate
from headrace.numpy_ops import NumpyKernel
from headrace.plan import JobKind, dump
from headrace.registry import BackendRegistry


@pytest.fixture(params=["near", "far"])
def job(session: flow.Session, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """The decorator on each of the toy devices."""
    return on(session, request.param)


def test_the_first_call_compiles_all_jobs(job: Callable[..., Any], session: flow.Session) -> None:
    """One plan has the jobs, a push job for each input, a pull job for each output, and three jobs
    for the variable."""
    add, _ = counter(job)
    assert session.status is flow.SessionStatus.OPEN
    add(X)
    assert session.status is flow.SessionStatus.RUNNING
    jobs = [(made.kind, made.name) for made in session.plan().jobs]
    assert jobs == [
        (JobKind.USER, "add"),
        (JobKind.PUSH, "System-Push-add/x"),
        (JobKind.PULL, "System-Pull-add/result"),
        (JobKind.USER, "read"),
        (JobKind.PULL, "System-Pull-read/result"),
        (JobKind.INIT, "System-ModelInit-total"),
        (JobKind.LOAD, "System-ModelLoad-total"),
        (JobKind.PUSH, "System-Push-System-ModelLoad-total/total"),
        (JobKind.SAVE, "System-ModelSave-total"),
        (JobKind.PULL, "System-Pull-System-ModelSave-total/total"),
    ]


def test_the_plan_shows_variables_and_critical_sections(session: flow.Session) -> None:
    """In its text: who writes and reads what, and who shares an arena."""
    add, _ = counter(on(session, "near"))
    add(X)
    lines = dump(session.plan()).splitlines()
    assert (
        "variable 0 'total': float32[3] on near 0:0 as B, begins as constant(value=0) with seed "
        "3257917790" in lines
    )
    assert "critical section of job 0: arena 0, writes 'total'" in lines
    assert "critical section of job 3: arena 0, reads 'total'" in lines


def test_a_job_that_cannot_be_compiled_stops_no_other(
    job: Callable[..., Any], session: flow.Session
) -> None:
    """Its own error comes when it is called, each time; also one of its function."""

    @job
    def broken(x: Three) -> tp.Numpy:
        raise ZeroDivisionError("on purpose")

    @job
    def unsupported(x: Three) -> tp.Numpy:
        return flow.tanh(x)

    add, read = counter(job)
    add(X)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            broken(X)
        with pytest.raises(UnsupportedError, match="tanh"):
            unsupported(X)
    assert read().tolist() == X.tolist()
    assert [desc.variable.name for desc in session.plan().variables] == ["total"]


def test_jobs_that_disagree_are_named_with_both_sides(job: Callable[..., Any]) -> None:
    """The first to say it is right; the other one cannot be called."""
    add, _ = counter(job)

    @job
    def other() -> tp.Numpy:
        return flow.get_variable("total", (3,), trainable=False) + 0

    with pytest.raises(
        VariableError,
        match="'total': job 'add' has it with trainable True, and job 'other' with trainable False",
    ):
        other()
    assert add(X).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("shape", lambda: flow.get_variable("v", (2,))),
        ("dtype", lambda: flow.get_variable("v", (3,), "int32")),
        ("initializer", lambda: flow.get_variable("v", (3,), initializer=flow.ones_initializer())),
        ("random_seed", lambda: flow.get_variable("v", (3,), random_seed=1)),
    ],
)
def test_every_side_of_a_variable_is_compared(
    session: flow.Session, what: str, other: Callable[[], flow.Symbol]
) -> None:
    """Placement is in the next test."""

    @on(session, "near")
    def one() -> None:
        flow.get_variable("v", (3,))

    @on(session, "near")
    def two() -> None:
        other()

    with pytest.raises(VariableError, match=f"variable 'v': job 'one' has it with {what}"):
        two()


def test_two_placements_of_one_variable_are_refused(session: flow.Session) -> None:
    """A variable lies somewhere; a job elsewhere may read it if it says where that is."""

    @on(session, "near")
    def one() -> None:
        flow.get_variable("v", (3,))

    @on(session, "far")
    def two() -> None:
        flow.get_variable("v", (3,))

    with pytest.raises(VariableError, match=r"with placement near 0:0, and job 'two' with .* far"):
        two()


def test_a_later_job_finds_what_variables_hold(
    job: Callable[..., Any], session: flow.Session
) -> None:
    """All jobs are compiled again, and no value is lost."""
    add, read = counter(job)
    add(X)
    before = session.plan()

    @job
    def twice() -> tp.Numpy:
        new = flow.get_variable("new", (3,), initializer=flow.ones_initializer())
        return flow.get_variable("total", (3,)) + new

    assert twice().tolist() == (X + 1).tolist()
    assert session.plan() != before
    add(X)
    assert twice().tolist() == (2 * X + 1).tolist()
    assert read().tolist() == (2 * X).tolist()


def test_calls_under_way_are_finished_before_the_plan_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call that is at work on one thread still writes what the new plan then finds."""
    working, waiting, go = threading.Event(), threading.Event(), threading.Event()

    class Slow(NumpyKernel):
        def enqueue(self, context: Any, work: Callable[[], None]) -> Callable[[], None]:
            def launch() -> None:
                working.set()
                assert go.wait(20)
                work()

            return launch

    wait = Gate.wait_until_out

    def watched(gate: Gate) -> None:
        waiting.set()
        wait(gate)

    fast: Any = near(ops=("add", "identity"))
    slow_ones: Any = near(ops=("relu",), kernel=Slow)
    kernels = [*fast.headrace_kernels(), *slow_ones.headrace_kernels()]
    module = with_hook(fast, "headrace_kernels", kernels)
    registry = BackendRegistry.from_modules({"near": module})
    with flow.Session(registry) as session:
        job = on(session, "near")

        @job
        def slow(x: Three) -> None:
            flow.assign(flow.get_variable("v", (3,)), flow.relu(x))

        with ThreadPoolExecutor(2) as pool:
            calling = pool.submit(slow, X)
            assert working.wait(20)

            @job
            def read() -> tp.Numpy:
                return flow.get_variable("v", (3,)) + 0

            monkeypatch.setattr(Gate, "wait_until_out", watched)
            reading = pool.submit(read)
            assert waiting.wait(20)
            assert not reading.done()
            go.set()
            calling.result(20)
            assert reading.result(20).tolist() == X.tolist()


def test_a_session_without_a_job_has_no_plan(session: flow.Session) -> None:
    """It says so, and why jobs failed if there are some."""
    with pytest.raises(JobError, match="no job that can be compiled"):
        session.plan()

    @on(session, "near")
    def broken() -> None:
        raise ValueError("on purpose")

    with pytest.raises(JobError, match="no job that can be compiled; job 'broken': on purpose"):
        session.get_all_variables()


def test_readers_never_see_half_a_write(session: flow.Session) -> None:
    """Threads write vectors of equal elements and read them: what is read is one of them."""
    job = on(session, "far")

    @job
    def write(x: Three) -> None:
        v = flow.get_variable("v", (3,))
        with flow.scope.placement("near"):
            x = flow.relu(x)  # the new value comes from elsewhere, chain by chain
        flow.assign(v, x)

    @job
    def read() -> tp.Tuple[tp.Numpy, tp.Numpy]:
        v = flow.get_variable("v", (3,))
        with flow.scope.placement("near"):
            return v + 0, flow.relu(v)

    def work(number: int) -> None:
        for step in range(8):
            if number % 2:
                write(np.full(3, 10 * number + step, np.float32))
            else:
                one, two = read()
                assert len({*one.tolist(), *two.tolist()}) == 1

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, number) for number in range(4)]:
            done.result(60)


def test_no_update_is_lost_between_threads(job: Callable[..., Any]) -> None:
    """Calls of one job follow each other, however many threads make them."""
    add, read = counter(job)

    def work() -> list[float]:
        return [float(add(np.ones(3, np.float32))[0]) for _ in range(10)]

    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(work) for _ in range(4)]
        seen = [value for call in calls for value in call.result(60)]
    assert sorted(seen) == list(range(40))
    assert read().tolist() == [40, 40, 40]


def _rotate(job: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Jobs over three variables; each is a plain function of what they hold."""

    def variables() -> list[flow.Symbol]:
        return [flow.get_variable(name, ()) for name in "abc"]

    @job
    def feed(x: tp.Numpy.Placeholder(())) -> tp.Numpy:
        a, _, _ = variables()
        flow.assign(a, a + x)
        return a

    @job
    def rotate() -> None:
        a, b, c = variables()
        for to, value in ((a, b), (b, c), (c, a)):
            flow.assign(to, value)

    @job
    def mix() -> tp.Numpy:
        a, b, c = variables()
        flow.assign(b, a + c)
        return a + b

    return {"feed": feed, "rotate": rotate, "mix": mix}


def _model(calls: list[str]) -> list[float]:
    """What the jobs of ``_rotate`` leave, in plain Python."""
    a = b = c = 0.0
    for number, name in enumerate(calls):
        if name == "feed":
            a += number
        elif name == "rotate":
            a, b, c = b, c, a
        else:
            b = a + c
    return [a, b, c]


@given(
    calls=st.lists(st.sampled_from(["feed", "rotate", "mix"]), max_size=8),
    tag=st.sampled_from(["near", "far"]),
    later=st.integers(0, 8),
)
@settings(max_examples=30)
def test_any_calls_leave_what_plain_python_leaves(calls: list[str], tag: str, later: int) -> None:
    """Three jobs that write each other's variables, in any order, with one more added between."""
    registry = BackendRegistry.from_modules({"near": near(), "far": far()})
    with flow.Session(registry) as session:
        jobs = _rotate(on(session, tag))
        for number, name in enumerate(calls):
            if number == later:

                @on(session, tag)
                def extra() -> tp.Numpy:
                    return flow.get_variable("a", ()) + flow.get_variable("d", ())

                extra()
            jobs[name](*[np.float32(number)] * (name == "feed"))
        held = session.get_all_variables()
    assert [float(held[name]) for name in "abc"] == _model(calls)
