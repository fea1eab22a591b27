"""Ops that their device cannot run: refused, or moved to the host, and never in silence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from toy_backends import far, host

import headrace as flow
import headrace.typing as tp
from headrace.errors import (
    DeviceUnavailableError,
    FallbackWarning,
    JobError,
    SettingError,
    UnsupportedError,
)
from headrace.plan import TaskKind
from headrace.registry import BackendRegistry

X = np.array([-1, 2, 3], np.float32)


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable does not decide."""
    monkeypatch.delenv("HEADRACE_FALLBACK", raising=False)


def session(*ops: str, policy: str | None = None, with_host: bool = True) -> flow.Session:
    """A session with a job ``relu(tanh(tanh(x + x)))`` on ``far``, which has ``ops``."""
    modules = {"far": far(ops)} | ({"cpu": host()} if with_host else {})
    made = flow.Session(BackendRegistry.from_modules(modules))
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("far", "0:0"))
    config.fallback = policy

    @flow.global_function(function_config=config, session=made)
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return flow.relu(flow.tanh(flow.tanh(x + x)))

    return made


def want() -> np.ndarray:
    return np.maximum(np.tanh(np.tanh(2 * X)), 0)


def test_without_a_policy_it_is_an_error() -> None:
    """The op, the device, what it has, and what to do; and the session stays usable."""
    with session("add", "relu") as made:
        for _ in range(2):
            with pytest.raises(UnsupportedError, match=r"tanh .*'far' cannot run tanh of float32"):
                made.run("job", [X])


@pytest.mark.parametrize("policy", ["allow", "warn"])
def test_allowed_it_runs_on_the_host(policy: str) -> None:
    """Right numbers; with ``warn`` one warning for each op that moved."""
    with (
        session("add", "relu", policy=policy) as made,
        warnings.catch_warnings(record=True) as seen,
    ):
        warnings.simplefilter("always")
        np.testing.assert_allclose(made.run("job", [X]), want(), rtol=1e-6)
    moved = [w for w in seen if w.category is FallbackWarning]
    assert len(moved) == (2 if policy == "warn" else 0)
    assert all("falls back to 'cpu'" in str(w.message) for w in moved)


def test_neighbours_that_fall_back_stay_on_the_host() -> None:
    """Two ops in a row cost one copy out and one back, with their bytes in the explanation."""
    with session("add", "relu", policy="allow") as made:
        explained = made.explain("job")
    add, first, second, relu = explained.ops
    assert [op.device for op in explained.ops] == ["far:0", "cpu:0", "cpu:0", "far:0"]
    assert [op.how for op in explained.ops] == ["kernel", "fallback", "fallback", "kernel"]
    assert (add.h2d_bytes, first.d2h_bytes, second.d2h_bytes, relu.h2d_bytes) == (12, 12, 0, 12)
    assert explained.result_bytes == 12
    assert explained.missing == (("tanh of float32", 2),)
    assert "it has no kernel for 'tanh' at all" in first.why


def test_the_explanation_is_the_plan() -> None:
    """Bytes of copies are those of the copy tasks that run."""
    with session("add", "relu", policy="allow") as made:
        explained = made.explain("job")
        made.run("job", [X])
        plan = made.plan()
    copies = [t for t in plan.tasks if t.kind in (TaskKind.COPY_D2H, TaskKind.COPY_H2D)]
    moved = sum(plan.registers[task.outputs[0]].spec.nbytes for task in copies)
    told = sum(op.h2d_bytes + op.d2h_bytes for op in explained.ops) + explained.result_bytes
    assert told == moved > 0


def test_a_decomposition_that_does_not_come_to_its_end_moves_as_a_whole() -> None:
    """softmax needs four ops, of which the device has one: none stays behind."""
    made = flow.Session(BackendRegistry.from_modules({"far": far(("subtract",)), "cpu": host()}))
    config = flow.FunctionConfig()
    config.fallback = "allow"

    @flow.global_function(function_config=config, session=made)
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        with flow.scope.placement("far", "0:0"):
            return flow.softmax(x)

    with made:
        grown = np.exp(X - X.max())
        np.testing.assert_allclose(job(X), grown / grown.sum(), rtol=1e-6)
        (op,) = made.explain("job").ops
    assert (op.how, op.device) == ("fallback", "cpu:0")


def test_what_the_host_cannot_run_either_is_an_error() -> None:
    """Without a backend for the host there is nothing to fall back to, and that is said."""
    made = session("add", "relu", policy="allow", with_host=False)
    with made, pytest.raises(DeviceUnavailableError, match="no backend 'cpu'"):
        made.run("job", [X])


def test_everything_that_is_missing_is_listed() -> None:
    """An explanation does not stop at the first op that cannot run."""
    with session("relu") as made:
        explained = made.explain("job")
    assert [op.how for op in explained.ops] == ["unsupported"] * 3 + ["kernel"]
    assert not explained.runs
    assert dict(explained.missing) == {"tanh of float32": 2, "add of float32": 1}


def test_the_api_goes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the variable before the default."""
    monkeypatch.setenv("HEADRACE_FALLBACK", "allow")
    with session("add", "relu") as made:
        np.testing.assert_allclose(made.run("job", [X]), want(), rtol=1e-6)
    with session("add", "relu", policy="error") as made, pytest.raises(UnsupportedError):
        made.run("job", [X])


def test_a_policy_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the policies that there are, and where it was said."""
    wrong = r"fallback is 'always'; it must be one of error, warn, allow"
    with session("add", policy="always") as made, pytest.raises(JobError, match=wrong):
        made.run("job", [X])
    monkeypatch.setenv("HEADRACE_FALLBACK", "maybe")
    with session("add") as made, pytest.raises(SettingError, match="HEADRACE_FALLBACK is 'maybe'"):
        made.run("job", [X])


def test_models_take_the_policy_too(install) -> None:
    """Through ``load`` and through ONNX's own backend interface."""
    from onnx_models import info, model, node

    from headrace.onnx import backend, load

    registry = BackendRegistry.from_modules({"far": far(("relu",)), "cpu": host()})
    tanh = model([node("Relu", "x", "y"), node("Tanh", "y", "z")], outputs=(info("z", None),))
    x = np.array([[-1, 2, 3], [0, 5, -6]], np.float32)
    wanted = np.tanh(np.maximum(x, 0))
    with load(tanh, "far", registry=registry, fallback="allow") as loaded:
        np.testing.assert_allclose(loaded.run({"x": x})["z"], wanted, rtol=1e-6)
    install(registry)
    rep = backend.prepare(tanh, "far", fallback="allow")
    with rep.model:
        np.testing.assert_allclose(rep.run([x])[0], wanted, rtol=1e-6)
    with pytest.raises(UnsupportedError):
        backend.run_model(tanh, [x], "far")
