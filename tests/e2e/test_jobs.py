"""Jobs written in Python, through the public API, on the device under test."""

# No `from __future__ import annotations`: the annotations of jobs below name local variables.

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.errors import (
    DeviceUnavailableError,
    HeadraceError,
    InputError,
    JobError,
    SessionError,
)
from headrace.frontend.scope import PlacementScope
from headrace.tensor_spec import Array

Place = Callable[[], PlacementScope]

X = np.arange(18).reshape((2, 1, 3, 3)).astype(np.float32)
PADDED = np.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")


def test_the_first_job_of_the_guide_runs_as_written(device: str) -> None:
    """Placed on "cpu" by its own text, and run by the default session."""
    if not device.startswith("cpu:"):
        pytest.skip("this job is placed on 'cpu'")

    @flow.global_function()
    def pad_Job(x: tp.Numpy.Placeholder((2, 1, 3, 3))) -> tp.Numpy:
        with flow.scope.placement("cpu", "0:0"):
            loss = flow.reflection_pad2d(x, padding=1)
            return loss  # noqa: RET504 - as its readers write it

    x = np.arange(18).reshape((2, 1, 3, 3)).astype(np.float32)
    y = pad_Job(x)
    assert y.dtype == np.float32
    assert np.array_equal(y, PADDED)


def test_the_first_job_of_the_guide_runs_on_this_device(place: Place) -> None:
    """The same with the device's own tag, without any setting beside the scope."""

    @flow.global_function()
    def pad_Job(x: tp.Numpy.Placeholder((2, 1, 3, 3))) -> tp.Numpy:
        with place():
            loss = flow.reflection_pad2d(x, padding=1)
            return loss  # noqa: RET504 - as its readers write it

    y = pad_Job(X)
    assert y.dtype == np.float32
    assert np.array_equal(y, PADDED)


def test_results_belong_to_the_caller(session: flow.Session, config: flow.FunctionConfig) -> None:
    """A later call does not write into an earlier result, nor does the caller reach the device."""

    @flow.global_function(function_config=config, session=session)
    def double(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return x + x

    first = double(np.array([1, 2, 3], np.float32))
    first_copy = first.copy()
    second = double(np.array([4, 5, 6], np.float32))
    assert np.array_equal(first, first_copy)
    first[:] = 0
    assert second.tolist() == [8, 10, 12]
    assert double(np.array([1, 2, 3], np.float32)).tolist() == [2, 4, 6]


def test_many_calls_give_many_answers(session: flow.Session, config: flow.FunctionConfig) -> None:
    """A hundred calls in a row, each with its own numbers."""

    @flow.global_function(function_config=config, session=session)
    def shifted(x: tp.Numpy.Placeholder((5,))) -> tp.Numpy:
        return flow.relu(x - 50.0)

    for number in range(100):
        x = np.full(5, number, np.float32)
        assert shifted(x).tolist() == [max(number - 50, 0)] * 5


def test_two_jobs_share_a_session(session: flow.Session, config: flow.FunctionConfig) -> None:
    """Called in turns; the first call of the second one does not disturb the first."""

    @flow.global_function(function_config=config, session=session)
    def up(x: tp.Numpy.Placeholder((2, 2))) -> tp.Numpy:
        return x + 1.0

    @flow.global_function(function_config=config, session=session)
    def down(x: tp.Numpy.Placeholder((4,))) -> tp.Tuple[tp.Numpy, tp.Numpy]:
        return x - 1.0, x * 2.0

    for number in range(3):
        square, line = np.full((2, 2), number, np.float32), np.full(4, number, np.float32)
        assert np.array_equal(up(square), square + 1)
        less, more = down(line)
        assert np.array_equal(less, line - 1)
        assert np.array_equal(more, line * 2)
    assert session.job_names() == ("up", "down")


def test_two_sessions_are_independent(config: flow.FunctionConfig) -> None:
    """Equal names in two sessions; closing one leaves the other running."""

    def scaled(session: flow.Session, factor: float) -> Callable[[Array], Array]:
        @flow.global_function(function_config=config, session=session)
        def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
            return x * factor

        return job

    x = np.array([1, 2], np.float32)
    with flow.Session() as outer:
        twice = scaled(outer, 2.0)
        assert twice(x).tolist() == [2, 4]
        with flow.Session() as inner:
            thrice = scaled(inner, 3.0)
            assert thrice(x).tolist() == [3, 6]
            assert twice(x).tolist() == [2, 4]
        assert twice(x).tolist() == [2, 4]


def test_sessions_of_several_threads_share_a_device(config: flow.FunctionConfig) -> None:
    """Each opens, runs and closes its own jobs while the others do; no answer is mixed up."""

    def work(number: int) -> list[float]:
        answers: list[float] = []
        for _ in range(5):
            with flow.Session() as session:

                @flow.global_function(function_config=config, session=session)
                def job(x: tp.Numpy.Placeholder((64,))) -> tp.Numpy:
                    return flow.relu(x) * 2.0 + x

                answers += (float(job(np.full(64, number + k, np.float32)).max()) for k in range(3))
        return answers

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(0, 400, 100)))
    assert results == [[3.0 * (number + k) for k in range(3)] * 5 for number in range(0, 400, 100)]


def test_one_job_on_two_backends(session: flow.Session, place: Place, elsewhere: Place) -> None:
    """There and back again: results of one device are inputs of the other, both ways."""

    @flow.global_function(session=session)
    def journey(x: tp.Numpy.Placeholder(X.shape)) -> tp.Tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
        with place():
            a = flow.reflection_pad2d(x, padding=1)
        with elsewhere():
            b = a * 2.0
        with place():
            c = b + a
        return a, b, c

    for factor in (1, -3):
        a, b, c = journey(X * factor)
        assert np.array_equal(a, PADDED * factor)
        assert np.array_equal(b, PADDED * factor * 2)
        assert np.array_equal(c, PADDED * factor * 3)


def test_a_layer_computes_what_numpy_does(
    session: flow.Session, config: flow.FunctionConfig
) -> None:
    """Weights as constants, a matrix product, a bias and a softmax."""
    random = np.random.default_rng(0)
    w = random.standard_normal((6, 4), np.float32)
    bias = random.standard_normal(4, np.float32)

    @flow.global_function(function_config=config, session=session)
    def layer(x: tp.Numpy.Placeholder((3, 6))) -> tp.Numpy:
        return flow.softmax(flow.bias_add(flow.matmul(x, w), bias))

    x = random.standard_normal((3, 6), np.float32)
    logits = x.astype(np.float64) @ w + bias
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(layer(x), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("result", ["input", "constant", "twice"])
def test_results_that_no_op_computes(
    session: flow.Session, config: flow.FunctionConfig, result: str
) -> None:
    """An input, a constant, and one tensor under two names are results like any other."""

    @flow.global_function(function_config=config, session=session)
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Tuple[tp.Numpy, tp.Numpy]:
        y = flow.relu(x)
        return {"input": (x, y), "constant": (flow.constant(7.0, (2,)), y), "twice": (y, y)}[result]

    x = np.array([1, -2], np.float32)
    first, second = job(x)
    wanted = {"input": [1, -2], "constant": [7, 7], "twice": [1, 0]}[result]
    assert (first.tolist(), second.tolist()) == (wanted, [1, 0])


@pytest.fixture
def total(session: flow.Session, config: flow.FunctionConfig) -> Callable[..., Array]:
    """A job of two inputs: ``a + b``, float32[2, 3]."""

    @flow.global_function(function_config=config, session=session)
    def total(a: tp.Numpy.Placeholder((2, 3)), b: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return a + b

    return total


A = np.arange(6, dtype=np.float32).reshape(2, 3)


def layouts() -> dict[str, Array]:
    """``A`` as numpy may hold it."""
    read_only = A.copy()
    read_only.flags.writeable = False
    wide = np.zeros((4, 6), np.float32)
    wide[::2, ::2] = A
    shifted = np.zeros(A.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(A.shape)
    shifted[...] = A
    return {
        "big-endian": A.astype(">f4"),
        "read-only": read_only,
        "fortran": np.asfortranarray(A),
        "strided": wide[::2, ::2],
        "reversed": A[::-1, ::-1].copy()[::-1, ::-1],
        "unaligned": shifted,
        "masked": np.ma.masked_array(A),
    }


@pytest.mark.parametrize("layout", layouts())
def test_any_layout_of_the_right_array_will_do(total: Callable[..., Array], layout: str) -> None:
    """Byte order, strides, alignment and flags do not change what an array holds."""
    array = layouts()[layout]
    before = array.copy()
    assert np.array_equal(total(array, A), A + A)
    assert np.array_equal(array, before)


BAD = {
    "shape": (lambda: total_args(A.reshape(3, 2)), r"'a'.*float32\[2, 3\].*\(3, 2\)"),
    "batch": (lambda: total_args(np.zeros((3, 3), np.float32)), r"'a'.*\(3, 3\)"),
    "rank": (lambda: total_args(A.ravel()), r"'a'.*rank 2.*\(6,\)"),
    "scalar": (lambda: total_args(np.float32(1)), r"'a'.*rank 2.*\(\)"),
    "float64": (lambda: total_args(A.astype(np.float64)), r"'a'.*float64.*astype\('float32'\)"),
    "int32": (lambda: total_args(A.astype(np.int32)), r"'a'.*int32"),
    "complex": (lambda: total_args(A.astype(np.complex64)), r"'a'.*complex64"),
    "object": (lambda: total_args(A.astype(object)), r"'a'.*dtype\('O'\)"),
    "text": (lambda: total_args("no array"), r"'a'.*float32\[2, 3\].*<U8"),
    "none": (lambda: total_args(None), r"'a'.*float32\[2, 3\].*dtype\('O'\)"),
    "ragged": (lambda: total_args([[1.0], [1.0, 2.0]]), r"'a'.*float32\[2, 3\].*inhomogeneous"),
    "too few": (lambda: ((A,), {}), r"\['b'\] are missing"),
    "too many": (lambda: ((A, A, A), {}), r"takes a, b; 3 arguments were given"),
    "unknown name": (lambda: ((A,), {"c": A}), r"no parameter 'c'"),
    "twice": (lambda: ((A, A), {"a": A}), r"'a' was given twice"),
}


def total_args(a: object) -> tuple[tuple[object, ...], dict[str, object]]:
    return (a, A), {}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_argument_is_named_and_does_no_harm(total: Callable[..., Array], kind: str) -> None:
    """The message says which input, what it should be and what it is; the next call is right."""
    make, message = BAD[kind]
    for _ in range(2):  # before and after the job was compiled
        args, kwargs = make()
        with pytest.raises(InputError) as caught:
            total(*args, **kwargs)
        assert re.search(message, str(caught.value)), str(caught.value)
        assert "total" in str(caught.value)
        assert np.array_equal(total(A, b=A), A + A)


def test_a_job_that_cannot_be_compiled_leaves_the_session(
    session: flow.Session, config: flow.FunctionConfig
) -> None:
    """The error names the place in the function; another job of the session runs."""

    @flow.global_function(function_config=config, session=session)
    def wrong(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return flow.matmul(x, x)

    @flow.global_function(function_config=config, session=session)
    def right(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        return flow.relu(x)

    for _ in range(2):
        with pytest.raises(HeadraceError, match=r"matmul.*test_jobs\.py:\d+.*float32\[2, 3\]"):
            wrong(A)
        assert np.array_equal(right(A), A)


def test_a_device_that_is_absent_is_never_replaced(session: flow.Session) -> None:
    """Asking for it is an error that says what is installed; nothing runs elsewhere."""

    @flow.global_function(session=session)
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        with flow.scope.placement("nosuch", "0:0"):
            return flow.relu(x)

    with pytest.raises(DeviceUnavailableError, match=r"'nosuch'.*installed"):
        job(np.zeros(2, np.float32))


def test_an_index_that_is_absent_is_an_error(session: flow.Session, device: str) -> None:
    """Far beyond any count."""
    tag = device.partition(":")[0]

    @flow.global_function(session=session)
    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        with flow.scope.placement(tag, "0:120"):
            return flow.relu(x)

    with pytest.raises(DeviceUnavailableError, match=f"{tag}:120"):
        job(np.zeros(2, np.float32))


def test_two_jobs_of_one_name_are_an_error(session: flow.Session) -> None:
    """Not an overwrite: the first one stays."""

    def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        return x

    flow.global_function(session=session)(job)
    with pytest.raises(JobError, match="'job'"):
        flow.global_function(session=session)(job)


def test_a_closed_session_says_so(
    session: flow.Session, config: flow.FunctionConfig, total: Callable[..., Array]
) -> None:
    """Closing twice is once; calls and new jobs are then errors."""
    total(A, A)
    session.close()
    session.close()
    assert session.status is flow.SessionStatus.CLOSED
    with pytest.raises(SessionError, match="closed"):
        total(A, A)
