"""Jobs of a session are recorded within a block, and before and behind it nothing is."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import BROWSER, opened
from gated_kernels import Gate
from session_jobs import Three, X, counter, on
from toy_backends import OPS, FarContext, far, near

import headrace as flow
import headrace.typing as tp
from headrace.device import DeviceContextEntry
from headrace.errors import JobError, RunError, SessionError
from headrace.hookspecs import hookimpl
from headrace.page import render_page
from headrace.plan import TaskKind
from headrace.registry import BackendRegistry
from headrace.timeline import call_spans

Job = Callable[..., Any]


def clamping(job: Job) -> Job:
    """A job of one op, ``last``, which can be gated."""

    @job
    def clamp(x: Three) -> tp.Numpy:
        return flow.relu(x, name="last")

    return clamp


def wide(session: flow.Session, tag: str, width: int) -> Job:
    """``on`` for so many calls at once."""
    config = flow.FunctionConfig()
    config.concurrency_width = width
    config.default_placement_scope(flow.scope.placement(tag, "0:0"))
    return flow.global_function(function_config=config, session=session)


def launched(trace: Any) -> int:
    """Tasks of a call of the first job that something is launched for."""
    return sum(
        task.kind is not TaskKind.VIEW and trace.plan.jobs[task.job].serves == 0
        for task in trace.plan.tasks
    )


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("tag", ["near", "far"])
def test_every_task_of_every_call_is_there(session: flow.Session, tag: str, width: int) -> None:
    """Of those within the block, also of calls that were under way at its end; once each."""
    clamp = clamping(wide(session, tag, width))
    clamp(X)
    with session.trace() as trace:
        futures = [clamp.submit(X + n) for n in range(5)]
        assert clamp(X).tolist() == X.tolist()
        assert len(trace.spans) > 0
    assert [future.result().tolist() for future in futures] == [(X + n).tolist() for n in range(5)]
    clamp(X)
    assert len(trace.spans) == 6 * launched(trace)
    assert len({(span.task, span.number) for span in trace.spans}) == len(trace.spans)
    assert len(call_spans(trace.plan, trace.spans)) == 6
    assert trace.seconds > 0


def test_jobs_of_a_session_are_told_apart(session: flow.Session, tmp_path: Path) -> None:
    """In the file and on the page calls have the name of their job, and each is one."""
    clamp, (add, read) = clamping(on(session, "far")), counter(on(session, "near"))
    with session.trace() as trace:
        for n in range(3):
            clamp(X)
            add(X + n)
        assert read().tolist() == (3 * X + 3).tolist()
    calls = [call.name for call in call_spans(trace.plan, trace.spans)]
    assert calls == ["clamp 0", "add 0", "clamp 1", "add 1", "clamp 2", "add 2", "read 0"]
    trace.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "b"] == calls
    assert [e["id"] for e in events if e["ph"] == "e"] == calls
    assert {e["args"]["call"] for e in events if e.get("cat") == "compute"} == set(calls)
    assert {time.what for time in trace.times()} >= {"relu", "add", "copy_h2d", "copy_d2d"}
    assert trace.page() == render_page(trace.plan, trace.notes, (), trace.spans)
    names = {task.name for task in trace.plan.tasks}
    assert "clamp/last" in trace.notes.keys() <= names


@pytest.mark.skipif(BROWSER is None, reason="no chromium here to look at the page with")
def test_the_page_of_several_jobs_names_their_calls(session: flow.Session, tmp_path: Path) -> None:
    """Where a call is chosen, and in what is said of a task that was picked."""
    clamp, (add, _) = clamping(on(session, "far")), counter(on(session, "near"))
    with session.trace() as trace:
        clamp(X)
        add(X)
    trace.save_page(tmp_path / "trace.html")
    document, _ = opened(tmp_path / "trace.html", "#timeline=clamp/last", tmp_path / "profile")
    for name in ("clamp 0", "add 0"):
        assert f">{name} · " in document
    assert ">clamp 0<" in document


@pytest.mark.parametrize("tag", ["near", "far"])
def test_variables_go_on(session: flow.Session, tag: str) -> None:
    """What they hold when the block begins and when it ends is what they held."""
    add, read = counter(on(session, tag))
    add(X)
    with session.trace():
        assert read().tolist() == X.tolist()
        add(X)
        assert list(session.get_all_variables()) == ["total"]
    assert read().tolist() == (2 * X).tolist()


def test_chains_are_captured_outside_the_block_alone() -> None:
    """Within it each task is launched by itself; before and behind it they are one launch."""
    asked: list[int] = []

    class Captures(FarContext):
        def capture(self, launches: Any) -> Any:
            asked.append(len(launches))
            return super().capture(launches)

    module: Any = far(OPS)
    module.headrace_device_contexts = hookimpl(lambda: [DeviceContextEntry("far", Captures)])
    registry = BackendRegistry.from_modules({"near": near(), "far": module})
    with flow.Session(registry) as session:

        @on(session, "far")
        def job(x: Three) -> tp.Numpy:
            return flow.relu(x + x) + x

        job(X)
        before = sorted(asked)
        assert max(before) == 3
        with session.trace() as trace:
            job(X)
            assert sorted(asked) == before
        assert sorted(asked) == sorted([*before, *before])
        count = len(trace.spans)
        assert job(X).tolist() == (3 * X).tolist()
        assert len(trace.spans) == count


def test_a_call_that_failed_has_no_namesake(gate: Gate) -> None:
    """Calls are counted on where the engine was made anew, and results are right."""
    gate.open.set()
    registry = BackendRegistry.from_modules({"far": far(kernel=gate.kernel), "near": near()})
    with flow.Session(registry) as session:
        clamp = clamping(wide(session, "far", 2))
        with session.trace() as trace:
            for broken in (False, True, False):
                gate.broken = broken
                if broken:
                    with pytest.raises(RunError, match="on fire"):
                        clamp(X)
                else:
                    assert clamp(X).tolist() == X.tolist()
    spans = trace.spans
    assert len({(span.task, span.number) for span in spans}) == len(spans)
    assert len(call_spans(trace.plan, spans)) == 3


@pytest.fixture
def gate() -> Gate:
    """Holds what is computed on ``far``."""
    return Gate()


def test_only_what_is_compiled_can_be_called_in_the_block(session: flow.Session) -> None:
    """A job that was added there is told apart, and can be called behind it."""
    clamp = clamping(on(session, "near"))
    with session.trace() as trace:

        @on(session, "near")
        def later(x: Three) -> tp.Numpy:
            return x + x

        with pytest.raises(SessionError, match="job 'later' is not in the plan that is being trac"):
            later(X)
        clamp(X)
        assert session.plan() is trace.plan
    assert later(X).tolist() == (2 * X).tolist()
    assert clamp(X).tolist() == X.tolist()


def test_a_session_is_traced_once_at_a_time(session: flow.Session) -> None:
    """The second block is refused and changes nothing; later there may be another."""
    clamp = clamping(on(session, "near"))
    with session.trace() as trace:
        with pytest.raises(SessionError, match="traced already"), session.trace():
            pass
        clamp(X)
    assert trace.spans
    with session.trace() as other:
        pass
    assert not other.spans
    assert other.seconds == 0


def test_a_block_that_is_left_by_an_error_is_over(session: flow.Session) -> None:
    """The error comes out as it is, and nothing is recorded any more."""
    clamp = clamping(on(session, "far"))
    with suppress(ZeroDivisionError), session.trace() as trace:
        clamp(X)
        raise ZeroDivisionError
    count = len(trace.spans)
    clamp(X)
    assert len(trace.spans) == count > 0


def test_a_session_may_be_closed_in_the_block(session: flow.Session) -> None:
    """What was recorded so far is there."""
    clamp = clamping(on(session, "far"))
    with session.trace() as trace:
        clamp(X)
        session.close()
    assert len(trace.spans) == launched(trace)
    with pytest.raises(SessionError, match="closed"), session.trace():
        pass


def test_without_a_job_there_is_nothing_to_trace(session: flow.Session) -> None:
    """As when the plan is asked for."""
    with pytest.raises(JobError, match="no job that can be compiled"), session.trace():
        pass


def test_threads_may_call_while_a_block_begins_and_ends(session: flow.Session) -> None:
    """They wait for a moment; no call is lost, and none is wrong."""
    clamp = clamping(wide(session, "far", 2))

    def work(caller: int) -> None:
        for n in range(30):
            np.testing.assert_array_equal(clamp(X + caller + n), X + caller + n)

    with ThreadPoolExecutor(4) as callers:
        done = [callers.submit(work, caller) for caller in range(4)]
        for _ in range(5):
            with session.trace() as trace:
                clamp(X)
            assert len(trace.spans) % launched(trace) == 0
        for one in done:
            one.result()
