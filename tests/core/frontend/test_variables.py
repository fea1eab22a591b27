"""Variables in job functions and from outside; on the toy backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_backends import far, host, near

import headrace as flow
import headrace.typing as tp
from headrace.errors import (
    CheckpointError,
    DTypeError,
    JobError,
    SessionError,
    ShapeError,
    VariableError,
)
from headrace.initializer import initial_value
from headrace.registry import BackendRegistry
from headrace.tensor_spec import TensorSpec

X = np.array([1, 2, 3], np.float32)
Three = tp.Numpy.Placeholder((3,))


@pytest.fixture
def session() -> Iterator[flow.Session]:
    """A session on the toy backends and a host device with all ops."""
    registry = BackendRegistry.from_modules({"near": near(), "far": far(), "cpu": host()})
    with flow.Session(registry) as made:
        yield made


@pytest.fixture(params=["near", "far"])
def job(session: flow.Session, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``global_function`` in that session: in host memory, and on a device that runs behind."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement(request.param, "0:0"))
    return flow.global_function(function_config=config, session=session)


def weight() -> flow.Symbol:
    """The variable of these tests."""
    return flow.get_variable("w", (3,), initializer=flow.range_initializer(10, 10))


def test_a_variable_begins_as_its_initializer_says(job: Callable[..., Any]) -> None:
    """And is the same in every call."""

    @job
    def f(x: Three) -> tp.Numpy:
        return x + weight()

    assert [f(X).tolist() for _ in range(2)] == [[11, 22, 33]] * 2


def test_random_variables_begin_with_what_their_seed_gives(
    job: Callable[..., Any], session: flow.Session
) -> None:
    """The given seed, or one made from the name, which differs from name to name."""
    rule = flow.random_normal_initializer()

    @job
    def f() -> tp.Tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
        return (
            flow.get_variable("given", (2, 2), initializer=rule, random_seed=5),
            flow.get_variable("a", (2, 2), initializer=rule),
            flow.get_variable("b", (2, 2), initializer=rule),
        )

    given, a, b = f()
    spec = TensorSpec((2, 2), "float32")
    np.testing.assert_array_equal(given, initial_value(rule, spec, 5))
    assert not np.array_equal(a, b)
    with flow.Session(session._registry) as other:
        other.add_job(f.__wrapped__)
        with flow.scope.placement("near"):
            np.testing.assert_array_equal(other.run("f")[1], a)


def test_an_update_is_seen_by_the_next_call(job: Callable[..., Any]) -> None:
    """Each call returns what the one before left, also where it reads after assigning."""

    @job
    def count(x: Three) -> tp.Tuple[tp.Numpy, tp.Numpy]:
        total = flow.get_variable("total", (3,))
        flow.assign(total, total + x)
        return total, total + 1

    for calls in range(4):
        before, after = count(X)
        np.testing.assert_array_equal(before, calls * X)
        np.testing.assert_array_equal(after, calls * X + 1)


def test_jobs_share_variables(job: Callable[..., Any]) -> None:
    """One job writes, the other reads; a third keeps a moving average of what is fed."""

    @job
    def write(x: Three) -> None:
        flow.assign(flow.get_variable("v", (3,)), x)

    @job
    def read() -> tp.Numpy:
        return flow.get_variable("v", (3,)) + 0

    @job
    def average(x: Three) -> tp.Numpy:
        mean = flow.get_variable("mean", (3,))
        new = mean + x + flow.get_variable("v", (3,))
        flow.assign(mean, new)
        return new

    assert read().tolist() == [0, 0, 0]
    assert write(X) is None
    assert read().tolist() == X.tolist()
    assert average(X).tolist() == (2 * X).tolist()
    write(X + 1)
    assert average(X).tolist() == (2 * X + X + X + 1).tolist()


def test_variables_change_places(job: Callable[..., Any]) -> None:
    """All are read as they were when the call began, whatever is assigned to whom."""

    @job
    def turn() -> tp.Tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
        a, b, c = (
            flow.get_variable(n, (), initializer=flow.constant_initializer(i))
            for i, n in enumerate("abc")
        )
        flow.assign(a, b)
        flow.assign(b, c)
        flow.assign(c, a)
        return a, b, c

    values = [tuple(float(v) for v in turn()) for _ in range(4)]
    assert values == [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 1, 2)]


def test_what_is_assigned_may_be_anything(job: Callable[..., Any], session: flow.Session) -> None:
    """A number, an array, an input, itself, and what another device computed."""

    @job
    def f(x: Three) -> None:
        for name, value in (("number", 7), ("array", X), ("input", x)):
            flow.assign(flow.get_variable(name, (3,)), value)
        same = flow.get_variable("same", (3,), initializer=flow.ones_initializer())
        flow.assign(same, same)
        for tag in ("near", "far"):
            with flow.scope.placement(tag, "0:1"):
                made = flow.relu(x)
            flow.assign(flow.get_variable(tag, (3,)), made)

    f(2 * X)
    held = {name: value.tolist() for name, value in session.get_all_variables().items()}
    assert held == {
        "number": [7, 7, 7], "array": [1, 2, 3], "input": [2, 4, 6], "same": [1, 1, 1],
        "near": [2, 4, 6], "far": [2, 4, 6],
    }  # fmt: skip


def test_a_variable_is_read_on_other_devices_too(job: Callable[..., Any]) -> None:
    """It lies on its own device, is copied in each call, and the update waits for the copies."""

    @job
    def f(x: Three) -> tp.Numpy:
        w = weight()
        with flow.scope.placement("far", "0:1"):
            y = w + x
        with flow.scope.placement("near", "0:1"):
            z = w + y
        flow.assign(w, w + 1)
        return z

    w = np.array([10, 20, 30])
    for call in range(3):
        assert f(X).tolist() == (2 * (w + call) + X).tolist()


def test_a_variable_may_be_called_like_an_input(job: Callable[..., Any]) -> None:
    """They are two things."""

    @job
    def f(w: Three) -> tp.Numpy:
        return w + weight()

    assert f(X).tolist() == [11, 22, 33]


def test_values_are_loaded_and_read(job: Callable[..., Any], session: flow.Session) -> None:
    """Also before the first call; what is read is the caller's own."""

    @job
    def f() -> tp.Numpy:
        return weight() + 0

    session.load_variables({"w": np.array([1.5, 2.5, 3.5], np.float32)})
    assert f().tolist() == [1.5, 2.5, 3.5]
    held = session.get_all_variables()
    held["w"][:] = 0
    assert f().tolist() == [1.5, 2.5, 3.5]


def test_a_checkpoint_moves_to_another_device(tmp_path: Path) -> None:
    """Saved where jobs run behind, loaded in host memory: the values are the same."""
    for tag in ("far", "near"):
        registry = BackendRegistry.from_modules({"near": near(), "far": far()})
        with flow.Session(registry) as session, flow.scope.placement(tag):

            @flow.global_function(session=session)
            def f(x: Three) -> tp.Numpy:
                w = weight()
                flow.assign(w, w + x)
                return w

            if tag == "far":
                f(X)
                flow.checkpoint.save(tmp_path / "saved", session)
                with pytest.raises(CheckpointError, match="is there already"):
                    flow.checkpoint.save(tmp_path / "saved", session)
            else:
                flow.load_variables(flow.checkpoint.get(tmp_path / "saved"), session=session)
            assert f(X).tolist() == [11, 22, 33]


def test_the_default_session_has_functions(registry: BackendRegistry) -> None:
    """Without a session they mean the default one."""

    @flow.global_function()
    def f() -> tp.Numpy:
        return weight() + 0

    flow.default_session()._registry = registry
    try:
        with flow.scope.placement("near"):
            flow.load_variables({"w": X})
            assert flow.get_all_variables()["w"].tolist() == X.tolist()
    finally:
        flow.clear_default_session()


LOADED: dict[str, tuple[dict[str, Any], str]] = {
    "shape": ({"w": np.zeros(4, np.float32)}, r"variable 'w' must be float32\[3\] and its shape"),
    "dtype": ({"w": np.zeros(3)}, r"variable 'w' must be float32\[3\] and its dtype is float64"),
    "text": ({"w": "abc"}, r"variable 'w' must be an array float32\[3\]"),
    "unknown": ({"w": X, "v": X}, "no variable is called 'v'; there is 'w'"),
    "missing": ({}, "no value for variable 'w'; .*ignore_mismatch=True"),
}


@pytest.mark.parametrize("what", LOADED)
def test_values_that_do_not_fit_load_nothing(
    job: Callable[..., Any], session: flow.Session, what: str
) -> None:
    """The error names the variable and both sides."""

    @job
    def f() -> tp.Numpy:
        return weight() + 0

    values, message = LOADED[what]
    with pytest.raises(CheckpointError, match=message):
        session.load_variables(values)
    assert f().tolist() == [10, 20, 30]


def test_names_on_one_side_may_be_ignored(job: Callable[..., Any], session: flow.Session) -> None:
    """If that is said; a wrong shape is an error all the same."""

    @job
    def f() -> tp.Tuple[tp.Numpy, tp.Numpy]:
        return weight() + 0, flow.get_variable("v", (3,)) + 0

    session.load_variables({"w": X, "gone": X}, ignore_mismatch=True)
    assert [value.tolist() for value in f()] == [[1, 2, 3], [0, 0, 0]]
    with pytest.raises(CheckpointError, match="its shape is"):
        session.load_variables({"w": X[:2]}, ignore_mismatch=True)


def test_a_closed_session_has_no_variables(session: flow.Session) -> None:
    """Loading, reading and saving say so."""
    session.close()
    with pytest.raises(SessionError, match="closed"):
        session.load_variables({})
    with pytest.raises(SessionError, match="closed"):
        session.get_all_variables()
    with pytest.raises(SessionError, match="closed"):
        session.save_variables("nowhere")


def test_variables_are_made_in_jobs_alone() -> None:
    """Outside there is no graph to put them in."""
    with pytest.raises(JobError, match="get_variable was called outside a job"):
        weight()
    with pytest.raises(JobError, match="assign was called outside a job"):
        flow.assign(None, 1)


def _two_placements() -> flow.Symbol:
    weight()
    with flow.scope.placement("near", "0:1"):
        return weight()


REFUSED: dict[str, tuple[Callable[[flow.Symbol], object], type[Exception], str]] = {
    "another shape": (
        lambda x: (weight(), flow.get_variable("w", (4,))), VariableError,
        r"variable 'w' was created with shape \[3\] and is now asked for with \[4\]",
    ),
    "another initializer": (
        lambda x: (weight(), flow.get_variable("w", (3,))), VariableError,
        r"with initializer range\(.*\) and is now asked for with constant\(value=0\)",
    ),
    "two placements": (
        lambda x: _two_placements(), VariableError, "with placement .* asked for with near 0:1",
    ),
    "no initializer": (
        lambda x: flow.get_variable("w", (3,), initializer=0), VariableError,
        "'w': 0 is no initializer",
    ),
    "one that does not fit": (
        lambda x: flow.get_variable("w", (3,), initializer=flow.glorot_uniform_initializer()),
        VariableError, "variable 'w': .*rank 1 does not have",
    ),
    "a seed too large": (
        lambda x: flow.get_variable("w", (3,), random_seed=2**32), VariableError, "random_seed",
    ),
    "no shape": (lambda x: flow.get_variable("w", (-1,)), ShapeError, "negative"),
    "no dtype": (lambda x: flow.get_variable("w", (3,), "complex64"), DTypeError, "complex64"),
    "a path": (lambda x: flow.get_variable("../w", (3,)), VariableError, r"no name of a variable"),
    "a file": (lambda x: flow.get_variable("a/out", (3,)), VariableError, "no name of a variable"),
    "no name": (lambda x: flow.get_variable("", (3,)), VariableError, "no name of a variable"),
    "assigning to an input": (
        lambda x: flow.assign(x, 1), VariableError, "'x' is no variable, .* get_variable",
    ),
    "assigning to a number": (lambda x: flow.assign(3, 1), VariableError, "3 is no variable"),
    "assigning twice": (
        lambda x: [flow.assign(weight(), i) for i in range(2)], VariableError, "assigned twice",
    ),
    "assigning another shape": (
        lambda x: flow.assign(weight(), np.zeros((3, 1), np.float32)), VariableError,
        r"'w' is float32\[3\] and is assigned float32\[3, 1\]",
    ),
    "splitting one device": (
        lambda x: flow.get_variable("w", (3,), distribute="S(0),B"), VariableError,
        "'w' is distributed as S\\(0\\),B over the 1 axes",
    ),
    "parts of a sum": (
        lambda x: flow.get_variable("w", (3,), distribute="P"), VariableError,
        "cannot be distributed as P",
    ),
    "no such axis": (
        lambda x: flow.get_variable("w", (3,), distribute="S(1)"), VariableError,
        "cannot be split along axis 1",
    ),
    "no layout": (
        lambda x: flow.get_variable("w", (3,), distribute=3), VariableError,
        "3 is no distribution",
    ),
    "loading": (
        lambda x: flow.load_variables({}), JobError, "variables were loaded while job 'f' is",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused(session: flow.Session, what: str) -> None:
    """With the variable, both sides, and what to do; the session goes on."""
    wrong, error, message = REFUSED[what]

    def f(x: Three) -> None:
        with flow.scope.placement("near", "0:0"):
            wrong(x)

    session.add_job(f)
    with pytest.raises(error, match=message):
        session.run("f", [X])

    @flow.global_function(session=session)
    def fine() -> tp.Numpy:
        with flow.scope.placement("near", "0:0"):
            return weight() + 0

    assert fine().tolist() == [10, 20, 30]
