"""Every op of the conformance suite, shared out over devices, gives what one device gives."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

import headrace as flow
import headrace.typing as tp
from headrace.errors import UnsupportedError
from headrace.frontend.compiled_job import CompiledJob
from headrace.graph import JobGraphBuilder
from headrace.placement import Placement
from headrace.tensor_spec import TensorSpec
from headrace.testing import Case, conformance
from headrace.testing.run import compare

PLACEMENTS = (("0:0-1", (2,)), ("0:0-2", (3,)), ("0:0-3", (2, 2)))


def families() -> Iterator[str]:
    for module in pkgutil.iter_modules(conformance.__path__):
        name = f"{conformance.__name__}.{module.name}"
        if module.name.startswith("test_") and hasattr(import_module(name), "CASES"):
            yield module.name


def run(case: Case, devices: str, hierarchy: tuple[int, ...]) -> None:
    builder = JobGraphBuilder(str(case), Placement.parse("fakedevice", devices, hierarchy))
    feeds = {f"x{i}": array for i, array in enumerate(case.inputs) if array is not None}
    inputs = [
        None if array is None else builder.input(f"x{i}", TensorSpec.of(array))
        for i, array in enumerate(case.inputs)
    ]
    made = builder.op(case.op, inputs, outputs=case.outputs, attrs=dict(case.attrs))
    for index, tensor in enumerate(made):
        builder.output(f"y{index}", tensor)
    with CompiledJob(builder.finish()) as job:
        results = job.run(feeds)
    got = tuple(results[f"y{index}"] for index in range(len(made)))
    compare(case, got, f"on fakedevice {devices}")


@pytest.mark.parametrize("family", list(families()))
def test_a_family_runs_on_several_devices(family: str) -> None:
    """Two, three (parts of uneven size), and two by two."""
    for case in import_module(f"{conformance.__name__}.{family}").CASES:
        for devices, hierarchy in PLACEMENTS:
            run(case, devices, hierarchy)


def mlp(tag: str, devices: str, hierarchy: tuple[int, ...] | None = None) -> np.ndarray:
    random = np.random.default_rng(3)
    x = random.standard_normal((7, 4)).astype(np.float32)
    w = random.standard_normal((4, 6)).astype(np.float32)
    with flow.Session() as session:

        @flow.global_function(session=session)
        def job(x: tp.Numpy.Placeholder((7, 4)), w: tp.Numpy.Placeholder((4, 6))) -> tp.Numpy:
            with flow.scope.placement(tag, devices, hierarchy):
                y = flow.relu(flow.matmul(x, w))
                return flow.matmul(flow.softmax(y), w, transpose_b=True)

        return job(x, w)


@pytest.mark.parametrize(
    ("devices", "hierarchy"), [("0:0-1", None), ("0:1-3", None), ("0:0-3", (2, 2))]
)
def test_a_job_on_several_devices_gives_what_one_gives(
    devices: str, hierarchy: tuple[int, ...] | None
) -> None:
    """Splits, broadcasts, and what must be put together in between."""
    np.testing.assert_allclose(
        mlp("fakedevice", devices, hierarchy), mlp("cpu", "0:0"), rtol=1e-5, atol=1e-6
    )


def test_another_machine_is_refused() -> None:
    """One process, one machine, for now."""
    with pytest.raises(UnsupportedError, match="has work on machine 1"):
        mlp("fakedevice", "1:0-1")


@pytest.mark.parametrize("fed", ["x", "a@1/y"])
def test_a_name_like_that_of_a_part_stays_free_for_users(fed: str) -> None:
    """An op or an input called as a part of another op would be keeps its name, and all runs."""
    builder = JobGraphBuilder("job", Placement.parse("fakedevice", "0:0-1"))
    x = builder.input(fed, TensorSpec((4,), "float32"))
    (y,) = builder.op("relu", [x], name="a")
    (z,) = builder.op("tanh", [y], name="a@0")
    builder.output("z", z)
    feed = np.array([-1, 2, 3, -4], np.float32)
    with CompiledJob(builder.finish()) as job:
        got = job.run({fed: feed})["z"]
    np.testing.assert_allclose(got, np.tanh(np.maximum(feed, 0)), rtol=1e-6)
