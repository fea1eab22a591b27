"""Fixtures of the end-to-end tests. The device comes from ``--device``; no test names a plugin.

pytest -p headrace.testing.pytest_plugin tests/e2e --device TAG
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import headrace as flow
from headrace.errors import DeviceUnavailableError
from headrace.frontend.scope import PlacementScope
from headrace.registry import default_registry


@pytest.fixture
def place(device: str) -> Callable[[], PlacementScope]:
    """Makes the scope that places ops on the device under test."""
    tag, _, index = device.partition(":")
    return lambda: flow.scope.placement(tag, f"0:{index}")


@pytest.fixture
def config(place: Callable[[], PlacementScope]) -> flow.FunctionConfig:
    """Jobs with this run on the device under test."""
    config = flow.FunctionConfig()
    config.default_placement_scope(place())
    return config


@pytest.fixture
def session(device: str) -> Iterator[flow.Session]:
    """An open session, closed after the test."""
    with flow.Session() as session:
        yield session


@pytest.fixture
def elsewhere(device: str) -> Callable[[], PlacementScope]:
    """Makes the scope that places ops on another backend; skips where there is one only."""
    tag = device.partition(":")[0]
    found = [record.tag for record in default_registry().records() if record.tag != tag]
    usable = [other for other in found if _can_be_used(other)]
    if not usable:
        pytest.skip(f"needs a second backend that can be used beside {tag!r}, and {found} cannot")
    return lambda: flow.scope.placement(usable[0], "0:0")


def _can_be_used(tag: str) -> bool:
    try:
        default_registry().backend(tag)
    except DeviceUnavailableError:  # such as one without its hardware, and without a stand-in
        return False
    return True


@pytest.fixture(scope="session")
def resnet50(request: pytest.FixtureRequest) -> onnx.ModelProto:
    """The one of ``bench/resnet50.py``, for one image."""
    spec = spec_from_file_location("resnet50", request.config.rootpath / "bench/resnet50.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    model: onnx.ModelProto = module.resnet50(1)
    return model


@pytest.fixture(autouse=True)
def _no_default_session_left() -> Iterator[None]:
    """Each test has its own default session."""
    yield
    flow.clear_default_session()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A convolution, its result and a copy of the weight as outputs; batch size open."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((4, 3, 1, 1)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("Relu", ["c"], ["y"]),
            helper.make_node("Identity", ["w"], ["z"]),
        ],
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 2, 2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yz"],
        [numpy_helper.from_array(weight, "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"
