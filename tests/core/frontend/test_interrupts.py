"""Ctrl-C at every step of a call: it reaches the caller, and nothing is held by nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_backends import FarAllocator, far, near

import headrace as flow
import headrace.typing as tp
from headrace.frontend.scope import current_placement
from headrace.frontend.signature import JobSignature
from headrace.frontend.trace_job import trace_job
from headrace.placement import Placement
from headrace.registry import BackendRegistry
from headrace.testing.interrupts import interrupted

X = np.array([1, -2, 3], np.float32)


def on(session: flow.Session, tag: str, width: int) -> Callable[..., Any]:
    """``global_function`` in a session, on a device, for so many calls at once."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(tag, "0:0"))
    return flow.global_function(function_config=config, session=session)


def made_in(session: flow.Session, tag: str, width: int) -> Any:
    """A job ``relu(x) + x``."""

    @on(session, tag, width)
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return flow.relu(x) + x

    return job


def by_call(job: Any) -> Any:
    return job(X)


def by_future(job: Any) -> Any:
    return job.submit(X).result()


@pytest.mark.parametrize("how", [by_call, by_future])
@pytest.mark.parametrize(("tag", "width"), [("near", 1), ("far", 1), ("near", 2), ("far", 2)])
def test_a_call_can_be_interrupted_at_any_step(
    how: Callable[[Any], Any], tag: str, width: int
) -> None:
    """The next call is right, whoever wants to be alone is, and close gives everything back."""
    live, threads = FarAllocator.live, threading.active_count()
    registry = BackendRegistry.from_modules({"far": far(), "near": near()})
    with flow.Session(registry) as session:
        job = made_in(session, tag, width)
        how(job)
        for step in count():
            with interrupted(step) as interrupt:
                how(job)
            if not interrupt.came:
                break
            session.sync()
            assert how(job).tolist() == [2, -2, 6], interrupt.where
    assert step > 100
    assert (FarAllocator.live, threading.active_count()) == (live, threads)


def test_tracing_can_be_interrupted_at_any_step() -> None:
    """The next time begins anew: nothing is being traced, and no scope is left entered."""
    registry, here = BackendRegistry.from_modules({"far": far()}), Placement.of_device("far")

    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        with flow.scope.placement("far", "0:1"):
            return flow.relu(x)

    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("far", "0:0"))
    trace = partial(trace_job, job, JobSignature.of(job), config, registry)
    for step in count():
        with interrupted(step) as interrupt:
            trace()
        assert current_placement(here) == here, interrupt.where
        graph, _ = trace()
        assert [op.call.op for op in graph.ops] == ["relu"], interrupt.where
        if not interrupt.came:
            break
    assert step > 50


@pytest.mark.parametrize("width", [1, 2])
def test_a_callback_can_be_interrupted_while_it_is_given(width: int) -> None:
    """Those that were given before and after are called, each once and in order."""
    registry = BackendRegistry.from_modules({"far": far(), "near": near()})
    heard: list[float] = []
    with flow.Session(registry) as session:

        @on(session, "far", width)
        def job(x: tp.Numpy.Placeholder((3,))) -> tp.Callback[tp.Numpy]:
            return flow.relu(x) + x

        def give(number: float) -> None:
            job(np.full(3, number, np.float32))(lambda made: heard.append(made[0].item() / 2))

        give(0)
        for step in count():
            give(step)
            with interrupted(step) as interrupt:
                give(step + 0.25)
            give(step + 0.5)
            session.sync()
            got, heard[:] = [n for n in heard if n % 1 != 0.25], []
            assert got[-2:] == [step, step + 0.5], interrupt.where
            if not interrupt.came:
                break


def test_a_close_can_be_interrupted_at_any_step() -> None:
    """Whoever wants it closed repeats it, and no thread is left, whatever becomes of a device."""
    threads = threading.active_count()
    for step in count():
        session = flow.Session(BackendRegistry.from_modules({"far": far()}))
        job = made_in(session, "far", 2)
        assert job(X).tolist() == [2, -2, 6]
        with interrupted(step) as interrupt:
            session.close()
        session.close()
        assert threading.active_count() == threads, interrupt.where
        if not interrupt.came:
            break


def test_calls_beside_one_that_is_interrupted_come_to_their_ends() -> None:
    """Whatever another thread has submitted is not touched by Ctrl-C, wherever it comes."""
    registry = BackendRegistry.from_modules({"far": far()})
    with flow.Session(registry) as session:
        job = made_in(session, "far", 3)
        job(X)
        for step in count():
            beside = job.submit(X)
            with interrupted(step) as interrupt:
                job(X)
            assert beside.result().tolist() == [2, -2, 6], interrupt.where
            if not interrupt.came:
                break


def test_a_traced_session_waits_for_a_call_that_goes_on_without_its_caller() -> None:
    """Its room is there for others when the recorder has come and gone."""
    registry = BackendRegistry.from_modules({"far": far()})
    with flow.Session(registry) as session:
        job = made_in(session, "far", 2)
        job(X)
        for step in count():
            with interrupted(step) as interrupt:
                job(X)
            if not interrupt.came:
                break
            if step % 10 == 0:
                with session.trace():
                    assert job(X).tolist() == [2, -2, 6], interrupt.where
        futures = [job.submit(X) for _ in range(6)]
        assert [future.result().tolist() for future in futures] == [[2, -2, 6]] * 6


def test_a_plan_can_be_interrupted_at_any_step_while_it_takes_the_place_of_another() -> None:
    """Then the session has the one or the other, both jobs are right, and close leaves nothing."""
    live, threads = FarAllocator.live, threading.active_count()
    registry = BackendRegistry.from_modules({"far": far()})
    for step in count():
        with flow.Session(registry) as session:
            jobs = [made_in(session, "far", 1)]
            assert jobs[0](X).tolist() == [2, -2, 6]

            @on(session, "far", 1)
            def another(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
                return flow.relu(x)

            with interrupted(step, ("headrace.frontend.job_set",)) as interrupt:
                another(X)
            assert jobs[0](X).tolist() == [2, -2, 6], interrupt.where
            assert another(X).tolist() == [1, 0, 3], interrupt.where
        flow.release_cached_memory(registry)  # of a plan that was dropped as soon as it was ready
        left = (FarAllocator.live, threading.active_count())
        assert left == (live, threads), interrupt.where
        if not interrupt.came:
            break
    assert step > 50


@pytest.mark.parametrize("width", [1, 2])
def test_making_a_plan_ready_can_be_interrupted_at_any_step(width: int, tmp_path: Path) -> None:
    """Of what a device had given by then nothing is left when the next plan is made ready."""
    live, threads = FarAllocator.live, threading.active_count()
    registry = BackendRegistry.from_modules({"far": far(), "near": near()})
    with flow.Session(registry) as session:
        made_in(session, "far", width)
        session.save_plan("job", tmp_path / "job.plan")
    for step in count(0, 17):
        with interrupted(step) as interrupt:
            flow.load_plan(tmp_path / "job.plan", registry=registry)
        with flow.load_plan(tmp_path / "job.plan", registry=registry) as plan:
            assert plan.run({"x": X}) is not None
        used = sum(one.in_use_bytes for one in flow.memory_statistics(registry))
        left = (FarAllocator.live, used, threading.active_count())
        assert left == (live, 0, threads), interrupt.where
        if not interrupt.came:
            break
    assert step > 500


def test_a_job_that_is_dropped_is_given_back_wherever_ctrl_c_comes(tmp_path: Path) -> None:
    """Python runs finalizers on the main thread as well, and tells nobody what stopped them."""
    live, registry = FarAllocator.live, BackendRegistry.from_modules({"far": far()})
    with flow.Session(registry) as session:
        made_in(session, "far", 1)
        session.save_plan("job", tmp_path / "job.plan")
    for step in count():
        plan = flow.load_plan(tmp_path / "job.plan", registry=registry)
        assert plan.run({"x": X}) is not None
        with interrupted(step, (__name__,)) as interrupt:
            del plan
        flow.release_cached_memory(registry)
        assert FarAllocator.live == live, interrupt.where
        if not interrupt.came:
            break
