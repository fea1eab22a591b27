"""Job functions: tracing, signatures, arguments, sessions; on the toy backends."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.errors import (
    DeviceUnavailableError,
    InputError,
    JobError,
    OpError,
    OutOfMemoryError,
    SessionError,
    ShapeError,
)
from headrace.registry.registry import BackendRegistry

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 3
Spec = tp.Numpy.Placeholder((2, 3))


@pytest.fixture
def job(session: flow.Session) -> Callable[..., Any]:
    """``global_function`` in that session, on ``near`` unless a scope says otherwise."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("near", "0:0"))
    return flow.global_function(function_config=config, session=session)


def test_a_job_computes_what_its_function_says(job: Callable[..., Any]) -> None:
    """Operators, numbers and arrays inside a job mean what they mean in numpy."""

    @job
    def f(x: Spec) -> tp.Numpy:
        return flow.relu(1 + x + np.array([10, 0, -10], np.float32))

    np.testing.assert_array_equal(f(X), np.maximum(1 + X + np.array([10, 0, -10]), 0))
    np.testing.assert_array_equal(f(x=X * 2), np.maximum(1 + 2 * X + np.array([10, 0, -10]), 0))


def test_a_job_written_for_oneflow_runs(session: flow.Session) -> None:
    """A job that was written for OneFlow runs as it is, placed by its scope."""

    @flow.global_function(session=session)
    def pad_job(x: tp.Numpy.Placeholder((2, 1, 3, 3))) -> tp.Numpy:
        with flow.scope.placement("far", "0:0"):
            return flow.reflection_pad2d(x, padding=1)

    x = np.arange(18).reshape((2, 1, 3, 3)).astype(np.float32)
    y = pad_job(x)
    assert y.shape == (2, 1, 5, 5)
    assert y[0, 0].tolist() == [
        [4, 3, 4, 5, 4],
        [1, 0, 1, 2, 1],
        [4, 3, 4, 5, 4],
        [7, 6, 7, 8, 7],
        [4, 3, 4, 5, 4],
    ]


def test_results_keep_the_shape_that_the_function_gave_them(job: Callable[..., Any]) -> None:
    """Tuples, lists, dicts and nested parameters come back as they were built."""

    @job
    def f(pair: tp.Tuple[Spec, Spec]) -> tp.Bundle[tp.Numpy]:
        a, b = pair
        return {"sum": a + b, "both": [a, (flow.relu(b), None)]}

    result = f((X, X + 1))
    np.testing.assert_array_equal(result["sum"], 2 * X + 1)
    np.testing.assert_array_equal(result["both"][0], X)
    np.testing.assert_array_equal(result["both"][1][0], np.maximum(X + 1, 0))
    assert result["both"][1][1] is None


@pytest.mark.parametrize(
    "array",
    [
        X.astype(">f4"),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1][::-1],
    ],
    ids=["big-endian", "fortran", "strided", "reversed"],
)
def test_any_layout_of_the_right_values_will_do(job: Callable[..., Any], array: Any) -> None:
    """Byte order and memory layout do not change the answer."""

    @job
    def f(x: Spec) -> tp.Numpy:
        return x + x

    np.testing.assert_array_equal(f(array), X + X)


def test_a_read_only_array_will_do(job: Callable[..., Any]) -> None:
    """Inputs are not written to."""

    @job
    def f(x: Spec) -> tp.Numpy:
        return flow.relu(x)

    frozen = X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(f(frozen), np.maximum(X, 0))


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((X.astype(np.float64),), {}, "dtype is float64; convert it with .astype"),
        ((X.astype(np.int64),), {}, "dtype is int64"),
        ((X[0],), {}, "rank 2, and its shape is \\(3,\\)"),
        ((X[:, :2],), {}, "its shape is \\(2, 2\\)"),
        (("text",), {}, "must be an array"),
        (([[1.0], [1.0, 2.0]],), {}, "must be an array"),
        ((X, X), {}, "takes x; 2 arguments were given"),
        ((), {}, "\\['x'\\] are missing"),
        ((X,), {"x": X}, "given twice"),
        ((), {"y": X}, "no parameter 'y'"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_lost(
    job: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    """Dtype, rank, shape, number and names are checked; the job still runs afterwards."""

    @job
    def f(x: Spec) -> tp.Numpy:
        return flow.relu(x)

    with pytest.raises(InputError, match=message):
        f(*args, **kwargs)
    np.testing.assert_array_equal(f(X), np.maximum(X, 0))


def test_an_op_error_says_where_the_op_was_written(job: Callable[..., Any]) -> None:
    """A shape error while tracing names this file and the tensors; the session stays usable."""

    @job
    def bad(x: Spec) -> tp.Numpy:
        return x + np.zeros(5, np.float32)

    @job
    def good(x: Spec) -> tp.Numpy:
        return x + x

    said = (
        r"add 'add_0' \(test_jobs.py:\d+\): shapes \(2, 3\) and \(5,\) do not broadcast; "
        r"it reads 'x' float32\[2, 3\], 'constant_0' float32\[5\]$"
    )
    with pytest.raises(OpError, match=said):
        bad(X)
    np.testing.assert_array_equal(good(X), X + X)


def test_a_device_that_is_not_there_is_named(job: Callable[..., Any]) -> None:
    """An unknown tag is an error that lists what is there; the next job runs."""

    @job
    def f(x: Spec) -> tp.Numpy:
        with flow.scope.placement("nowhere", "0:0"):
            return flow.relu(x)

    with pytest.raises(DeviceUnavailableError, match=r"nowhere.*far, near"):
        f(X)


def no_annotation(x):  # type: ignore[no-untyped-def]
    return x


def no_result(x: Spec):  # type: ignore[no-untyped-def]
    return x


def many(*xs: Spec) -> tp.Numpy:
    return xs[0]


def plain(x: int) -> tp.Numpy:
    return x  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_annotation, "annotate parameter 'x'"),
        (no_result, "annotate what it returns"),
        (many, "must be a plain parameter"),
        (plain, "annotate parameter 'x' with tp.Numpy.Placeholder"),
    ],
)
def test_a_function_without_the_annotations_of_a_job_is_refused(
    job: Callable[..., Any], function: Any, message: str
) -> None:
    """Missing and unknown annotations are reported when the function is decorated."""
    with pytest.raises(JobError, match=message):
        job(function)


def test_results_that_do_not_fit_their_annotation_are_refused(job: Callable[..., Any]) -> None:
    """Returning a tuple where an array is annotated, or no tensor at all, is an error."""

    @job
    def two(x: Spec) -> tp.Numpy:
        return x, x

    @job
    def number(x: Spec) -> tp.Numpy:
        return 3

    @job
    def branches(x: Spec) -> tp.Numpy:
        return x or -x

    with pytest.raises(JobError, match=r"annotated as tp\.Numpy"):
        two(X)
    with pytest.raises(JobError, match="is no tensor"):
        number(X)
    with pytest.raises(JobError, match="cannot branch"):
        branches(X)


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (lambda x: x > 0, r"write headrace\.apply_op\('less', \[a, b\]\); others are .*greater"),
        (lambda x: x >= 0, r"cannot be compared with <, <=, > or >= while the job is traced"),
        (lambda x: x == 0, r"write headrace\.apply_op\('equal', \[a, b\]\)"),
        (np.asarray, "so numpy cannot take it; apply headrace's ops, or return it"),
        (list, "cannot be iterated"),
        (float, "is no number for Python; apply headrace's ops, or return it"),
        (range, "is no number for Python"),
        (len, r"its sizes are in \.shape"),
        (lambda x: x[0], r"write headrace\.apply_op\('slice', \[x\], starts=\(0,\), ends=\(1,\)"),
    ],
    ids=["greater", "less", "equal", "numpy", "list", "float", "range", "len", "item"],
)
def test_what_needs_a_value_says_what_to_write(
    job: Callable[..., Any], does: Callable[[Any], object], says: str
) -> None:
    """A symbol is no number; Python and numpy would go wrong later, and less clearly."""

    @job
    def asks(x: Spec) -> tp.Numpy:
        does(x)
        return x

    with pytest.raises(JobError, match=says):
        asks(X)


@pytest.mark.parametrize(
    ("shape", "error", "says"),
    [
        ((-1,), ShapeError, "negative dimension"),
        ((1.5,), ShapeError, "not a sequence of integers"),
        (3, ShapeError, "not a sequence of integers"),
        ((2**20, 2**20, 2**3), OutOfMemoryError, r"float32\[1048576, 1048576, 8\] takes 35,184,3"),
        ((2**40, 2**40), OutOfMemoryError, "a smaller constant broadcasts"),
    ],
)
def test_a_constant_that_cannot_be_says_why(
    job: Callable[..., Any], shape: Any, error: type[Exception], says: str
) -> None:
    """Its shape is none, or nobody has that much memory."""

    @job
    def asks(x: Spec) -> tp.Numpy:
        return flow.constant(1.0, shape)

    with pytest.raises(error, match=says):
        asks(X)


def test_two_functions_of_one_name_are_an_error(job: Callable[..., Any]) -> None:
    """A second job does not silently replace the first."""

    @job
    def f(x: Spec) -> tp.Numpy:
        return x

    def again(x: Spec) -> tp.Numpy:
        return x + x

    again.__name__ = "f"
    with pytest.raises(JobError, match="already has a job 'f'"):
        job(again)


def test_ops_outside_a_job_and_jobs_inside_jobs_are_errors(job: Callable[..., Any]) -> None:
    """Both are reported for what they are."""
    with pytest.raises(JobError, match="outside a job"):
        flow.relu(X)

    @job
    def inner(x: Spec) -> tp.Numpy:
        return x

    @job
    def outer(x: Spec) -> tp.Numpy:
        return inner(x)

    with pytest.raises(JobError, match="job 'inner' was called while job 'outer' is traced"):
        outer(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda kept, x: x + kept,
        lambda kept, x: kept,
        lambda kept, x: flow.assign(flow.get_variable("v", (2, 3)), kept) or x,
        lambda kept, x: kept.with_distribute("B"),
    ],
    ids=["read", "returned", "assigned", "distributed"],
)
def test_a_symbol_of_another_job_is_refused(
    job: Callable[..., Any], use: Callable[[Any, Any], Any]
) -> None:
    """Though the job has a tensor of that name and shape, which would give another result."""
    kept: list[flow.Symbol] = []

    @job
    def first(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        kept.append(flow.relu(x))
        return kept[-1]

    @job
    def second(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return use(kept[0], flow.relu(x - 5.0))

    x = np.ones((2, 3), np.float32)
    first(x)
    with pytest.raises(JobError, match=r"<Symbol relu_0/y: .*> is a tensor of job 'first', .*'sec"):
        second(x)
    assert first(x).tolist() == x.tolist()


def test_a_closed_session_says_so(registry: BackendRegistry) -> None:
    """Closing is idempotent; running afterwards is a SessionError."""
    session = flow.Session(registry)
    assert session.status is flow.SessionStatus.OPEN

    @flow.global_function(session=session)
    def f(x: Spec) -> tp.Numpy:
        with flow.scope.placement("near", "0:0"):
            return flow.relu(x)

    f(X)
    assert session.status is flow.SessionStatus.RUNNING
    session.close()
    session.close()
    with pytest.raises(SessionError, match="closed"):
        f(X)


def test_function_config_has_no_silent_fields() -> None:
    """Reading or setting what does not exist is an error that lists what does."""
    config = flow.FunctionConfig()
    with pytest.raises(AttributeError, match=r"no 'enable_all'; .* default_placement_scope"):
        config.enable_all  # noqa: B018
    with pytest.raises(AttributeError, match=r"no field 'width'; its fields .* concurrency_width"):
        config.width = 3  # type: ignore[attr-defined]
    assert config.concurrency_width == 1


def test_train_jobs_are_refused_by_name() -> None:
    """A job type that this version does not run is refused when it is asked for."""
    with pytest.raises(JobError, match="'train' is not known"):
        flow.global_function(type="train")


def test_several_threads_may_call_one_job(job: Callable[..., Any]) -> None:
    """The first calls of a job from six threads compile it once and all get their own answer."""

    @job
    def f(x: Spec) -> tp.Numpy:
        with flow.scope.placement("far", "0:0"):
            return x + x

    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(lambda shift: f(X + shift), range(30)))
    for shift, result in enumerate(results):
        np.testing.assert_array_equal(result, 2 * (X + shift))
