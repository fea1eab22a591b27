"""Where jobs run that name no device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from toy_backends import near

import headrace as flow
import headrace.typing as tp
from headrace.errors import DeviceError, PlacementError
from headrace.registry import BackendRegistry


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither the variable nor an earlier test decides."""
    monkeypatch.delenv("HEADRACE_DEVICE", raising=False)
    flow.set_default_device(None)
    yield
    flow.set_default_device(None)


def run(config: flow.FunctionConfig | None = None) -> list[float]:
    """The result of a job of one op, where ``near`` is all there is."""
    with flow.Session(BackendRegistry.from_modules({"near": near()})) as session:

        @flow.global_function(function_config=config, session=session)
        def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
            return flow.relu(x)

        return job(np.array([-1, 2], np.float32)).tolist()


def test_a_job_that_names_no_device_runs_on_the_default() -> None:
    """Nowhere else: without the default there is only the host, which is not there."""
    with pytest.raises(DeviceError, match="no backend 'cpu'"):
        run()
    flow.set_default_device("near:1")
    assert run() == [0, 2]


def test_a_config_goes_before_the_default() -> None:
    """What the user said of one job holds for it."""
    config = flow.FunctionConfig()
    config.default_placement_scope(flow.scope.placement("near", "0:0"))
    flow.set_default_device("far")
    assert run(config) == [0, 2]


def test_the_api_goes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the variable before the host."""
    assert str(flow.default_device()) == "cpu 0:0"
    monkeypatch.setenv("HEADRACE_DEVICE", "near:1")
    assert str(flow.default_device()) == "near 0:1"
    flow.set_default_device("far")
    assert str(flow.default_device()) == "far 0:0"
    flow.set_default_device(None)
    assert str(flow.default_device()) == "near 0:1"


def test_what_is_no_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the name of the variable where that said it."""
    with pytest.raises(PlacementError, match="near:x"):
        flow.set_default_device("near:x")
    monkeypatch.setenv("HEADRACE_DEVICE", "0:0")
    with pytest.raises(PlacementError, match="HEADRACE_DEVICE"):
        flow.default_device()
