"""Weights are in memory about once while a model is loaded, in whatever form they are run."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from headrace.onnx import load

LAYERS = 40
CHANNELS = 80  # 3x3 weights of 230 kB: large for Python, and small enough for who traces it


def chain(kind: str) -> onnx.ModelProto:
    """Layers with weights and a relu behind each, one after another."""
    random = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"
    for layer in range(LAYERS):
        shape = (CHANNELS, CHANNELS, 3, 3) if kind == "Conv" else (240, 240)
        weight = random.standard_normal(shape, np.float32) / 50
        weights.append(numpy_helper.from_array(weight, f"w{layer}"))
        attrs: dict[str, Any] = {"pads": [1, 1, 1, 1]} if kind == "Conv" else {}
        nodes.append(helper.make_node(kind, [x, f"w{layer}"], [f"p{layer}"], **attrs))
        nodes.append(helper.make_node("Relu", [f"p{layer}"], [f"y{layer}"]))
        x = f"y{layer}"
    taken = [1, CHANNELS, 8, 8] if kind == "Conv" else [16, 240]
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, taken)
    made = helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "chain", [value], [made], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("kind", ["Conv", "MatMul"])
def test_weights_are_packed_one_by_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The most that was allocated between the file and the first result is little more than
    they take, and not what they take plain and packed."""
    monkeypatch.setenv("HEADRACE_CPU_WINOGRAD", "0")  # whose weights are larger
    monkeypatch.delenv("HEADRACE_VERIFY", raising=False)  # which keeps graphs to compare them
    proto = chain(kind)
    file = tmp_path / "chain.onnx"
    onnx.save(proto, file)
    nbytes = sum(len(tensor.raw_data) for tensor in proto.graph.initializer)
    shape = [dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": np.ones(shape, np.float32)}
    del proto
    with load(file, device="cpu", plan_cache=False) as warm:  # what is imported stays
        warm.run(feeds)
    del warm
    gc.collect()
    tracemalloc.start()
    try:
        with load(file, device="cpu", plan_cache=False) as model:
            model.run(feeds)
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.35 * nbytes, f"{peak / nbytes:.2f} times the weights"
