"""What a job function may do: nest scopes and jobs, use odd numbers, return odd results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest
from toy_backends import FarAllocator

import headrace as flow
import headrace.typing as tp
from headrace.errors import DTypeError, JobError
from headrace.frontend.ready_job import ReadyJob
from headrace.frontend.scope import current_placement
from headrace.placement import Placement
from headrace.registry.registry import BackendRegistry

DEFAULT = Placement.of_device("near")
X = np.array([1, 2, 3], np.int32)
Ints = tp.Numpy.Placeholder((3,), "int32")


@pytest.fixture
def session(registry: BackendRegistry) -> Iterator[flow.Session]:
    """A session on the toy backends."""
    with flow.Session(registry) as made:
        yield made


@pytest.fixture
def job(session: flow.Session) -> Callable[..., Any]:
    """``global_function`` in that session, on ``near``."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("near"))
    return flow.global_function(function_config=config, session=session)


def test_one_scope_serves_several_threads_at_once() -> None:
    """Threads that enter and leave one scope object in turn do not undo each other's placement."""
    scope = flow.scope.placement("far", "0:1")
    both_in = threading.Barrier(2, timeout=20)
    first_out = threading.Event()

    def enter(first: bool) -> tuple[Placement, Placement]:
        with scope:
            both_in.wait()
            if not first:
                assert first_out.wait(20)
            inside = current_placement(DEFAULT)
        if first:
            first_out.set()
        return inside, current_placement(DEFAULT)

    with ThreadPoolExecutor(2) as pool:
        seen = list(pool.map(enter, [True, False]))
    assert seen == [(scope.placement, DEFAULT)] * 2


def test_the_innermost_scope_counts_and_each_ends_where_it_began() -> None:
    """Scopes nest, also one in itself, and an exception leaves them too."""
    one, two = flow.scope.placement("near", "0:1"), flow.scope.placement("far")
    with one, two, one:
        assert current_placement(DEFAULT) == one.placement
    with pytest.raises(ZeroDivisionError), one:
        raise ZeroDivisionError
    assert current_placement(DEFAULT) == DEFAULT


def test_a_job_that_calls_a_job_is_told_so_and_does_not_hang(job: Callable[..., Any]) -> None:
    """The error comes whatever the inner job takes, and whether it was compiled before or not."""

    @job
    def inner() -> None:
        return None

    @job
    def outer() -> None:
        inner()

    with pytest.raises(JobError, match="job 'inner' was called while job 'outer' is traced"):
        outer()
    inner()
    with pytest.raises(JobError, match="job 'inner' was called while job 'outer' is traced"):
        outer()


@pytest.mark.parametrize(
    ("dtype", "number"), [("int32", 0.5), ("uint8", 300), ("uint8", -1), ("int32", float("nan"))]
)
def test_a_number_is_never_changed_to_fit_an_integer(
    job: Callable[..., Any], dtype: str, number: float
) -> None:
    """A fraction or an overflow beside an integer tensor is an error that names both."""

    def f(x: Any) -> tp.Numpy:
        return x + number

    f.__annotations__["x"] = tp.Numpy.Placeholder((3,), dtype)

    @job
    def g() -> tp.Numpy:
        return flow.constant(number, (2,), dtype)

    with pytest.raises(DTypeError, match=f"{number} is no value of {dtype}"):
        job(f)(np.zeros(3, dtype))
    with pytest.raises(DTypeError, match=f"{number} is no value of {dtype}"):
        g()


def test_a_constant_is_filled_with_a_number_and_nothing_else(job: Callable[..., Any]) -> None:
    """Numbers of numpy are some; an array is told where it goes instead."""

    @job
    def number() -> tp.Numpy:
        return flow.constant(np.float32(1.5), (2,))  # type: ignore[arg-type]

    @job
    def array() -> tp.Numpy:
        return flow.constant(np.ones(2, np.float32))  # type: ignore[arg-type]

    assert number().tolist() == [1.5, 1.5]
    with pytest.raises(JobError, match="given a ndarray; an array needs no op"):
        array()


def test_numbers_that_fit_are_taken(job: Callable[..., Any]) -> None:
    """Whole floats meet integers exactly, and floats round to the tensor's dtype."""

    @job
    def f(x: Ints) -> tp.Numpy:
        return 2.0 + x

    @job
    def g(x: tp.Numpy.Placeholder((1,), "float16")) -> tp.Numpy:
        return x + 0.1

    assert f(X).tolist() == [3, 4, 5]
    assert g(np.zeros(1, np.float16))[0] == np.float16(0.1)


class Pair(NamedTuple):
    """A named tuple of results."""

    first: Any
    second: Any


def test_a_named_tuple_of_results_stays_one(job: Callable[..., Any]) -> None:
    """The caller gets the type that the function returned."""

    @job
    def f(x: Ints) -> tp.Tuple[tp.Numpy, tp.Numpy]:
        return Pair(x + x, x)

    result = f(X)
    assert type(result) is Pair
    assert (result.first.tolist(), result.second.tolist()) == ([2, 4, 6], [1, 2, 3])


def test_a_session_closes_all_jobs_whatever_one_of_them_raises(
    registry: BackendRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a close is raised after all is given back; no memory stays."""
    live = FarAllocator.live
    session = flow.Session(registry)
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("far"))

    def one(x: Ints) -> tp.Numpy:
        return x + 1

    def two(x: Ints) -> tp.Numpy:
        return x + 2

    for function in (one, two):
        session.add_job(function, config)
        session.run(function.__name__, [X])
    closed = ReadyJob.close

    def close(ready: ReadyJob) -> None:
        closed(ready)
        raise OSError("on purpose")

    monkeypatch.setattr(ReadyJob, "close", close)
    with pytest.raises(OSError, match="on purpose"):
        session.close()
    assert FarAllocator.live == live


def test_a_default_session_that_fails_to_close_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After an error at close the next default session is a new one, and open."""
    old = flow.default_session()

    def close(session: flow.Session) -> None:
        raise OSError("on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(flow.Session, "close", close)
        with pytest.raises(OSError, match="on purpose"):
            flow.clear_default_session()
    assert flow.default_session() is not old
    flow.clear_default_session()


def test_an_annotation_out_of_reach_says_which_names_are_seen(job: Callable[..., Any]) -> None:
    """Text annotations that name a local are refused with the rule that they break."""
    local = Ints

    def f(x: local) -> tp.Numpy:  # type: ignore[valid-type]
        return x

    with pytest.raises(JobError, match=r"'local' is not defined; .* see names of the module only"):
        job(f)


def test_a_job_runs_while_another_is_compiled(job: Callable[..., Any]) -> None:
    """Compiling one job on one thread does not hold up the calls of others."""
    tracing, go = threading.Event(), threading.Event()

    @job
    def ready(x: Ints) -> tp.Numpy:
        return x + 1

    ready(X)

    @job
    def slow(x: Ints) -> tp.Numpy:
        tracing.set()
        assert go.wait(20)
        return x + 2

    with ThreadPoolExecutor(2) as pool:
        compiling = pool.submit(slow, X)
        try:
            assert tracing.wait(20)
            assert pool.submit(ready, X).result(timeout=20).tolist() == [2, 3, 4]
        finally:
            go.set()
        assert compiling.result(timeout=20).tolist() == [3, 4, 5]


def test_comparing_a_symbol_is_never_a_silent_no(job: Callable[..., Any]) -> None:
    """Equality would be a Python bool, which an op would take for a number; it is refused."""

    @job
    def f(x: Ints) -> tp.Numpy:
        return x + (x != 0)  # type: ignore[no-any-return]

    with pytest.raises(JobError, match=r"apply_op\('equal'"):
        f(X)
