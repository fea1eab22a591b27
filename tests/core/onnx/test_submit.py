"""Runs of a model that are under way while their caller goes on."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from gated_kernels import Gate
from onnx_models import info, model, node
from toy_backends import far, near

from headrace.errors import InputError, JobError, SessionError
from headrace.numpy_ops import NumpyKernel
from headrace.onnx import load
from headrace.registry import BackendRegistry

DOUBLED = model([node("Add", "x x", "y")], [info("x", ["n"])])


def fed(n: int) -> dict[str, np.ndarray]:
    """An input of ``n`` numbers."""
    return {"x": np.arange(n, dtype=np.float32)}


def registry_of(gate: Gate | None = None) -> BackendRegistry:
    """``near`` and ``far``, whose kernels wait for a gate."""
    kernels = {} if gate is None else {"kernel": gate.kernel}
    return BackendRegistry.from_modules({"near": near(kernel=NumpyKernel), "far": far(**kernels)})


@pytest.mark.parametrize("tag", ["near", "far"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("jobs", [1, 2, 8])
def test_runs_of_any_shapes_come_to_their_ends(tag: str, width: int, jobs: int) -> None:
    """Also when their jobs are dropped for others, or the model is closed, meanwhile."""
    with load(DOUBLED, tag, registry=registry_of(), concurrency_width=width, jobs=jobs) as loaded:
        feeds = [fed(n % 3 + 1) for n in range(9)]
        futures = [loaded.submit(given) for given in feeds]
        for given in feeds:
            given["x"][:] = 99
    for n, future in enumerate(futures):
        assert future.result()["y"].tolist() == [2 * i for i in range(n % 3 + 1)]


def test_a_job_that_is_dropped_waits_for_what_is_under_way() -> None:
    """A run with other shapes takes its place when it is over."""
    gate = Gate("add_0")
    with load(DOUBLED, "far", registry=registry_of(gate), concurrency_width=2, jobs=1) as loaded:
        future = loaded.submit(fed(2))
        assert gate.reached.wait(20)
        opening = threading.Thread(target=gate.open.set)
        opening.start()
        assert loaded.run(fed(3))["y"].tolist() == [0, 2, 4]
        opening.join()
        assert future.result()["y"].tolist() == [0, 2]


def test_what_cannot_be_run_is_refused_by_submit() -> None:
    """Bad feeds, a closed model, a width that is none."""
    loaded = load(DOUBLED, "far", registry=registry_of(), concurrency_width=2)
    with pytest.raises(InputError, match="float64"):
        loaded.submit({"x": np.ones(3)})
    loaded.close()
    with pytest.raises(SessionError, match="closed"):
        loaded.submit(fed(2))
    with pytest.raises(JobError, match="compute_streams is 0"):
        load(DOUBLED, "far", registry=registry_of(), compute_streams=0)
