"""Loops that write at a place that a counter says: what onnxruntime computes, headrace computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from headrace.onnx import load

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

INT64, FLOAT, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL


def node(op: str, inputs: str, output: str, **attrs: Any) -> Any:
    return helper.make_node(op, inputs.replace("-", "").split(" "), output.split(), **attrs)


def info(name: str, dtype: int, shape: Any) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def decoder() -> ModelProto:
    """Each turn halves ``x`` and writes its sum at the place of the turn, until it is below 1.

    The places are a Range from the counter to one more, or to the end of what is written.
    """
    nodes = [
        node("Mul", "s half", "s_out"),
        node("ReduceSum", "s_out", "sum", keepdims=0),
        node("Add", "at one", "next"),
        node("Min", "length next", "end"),
        node("Slice", "out at end zero", "part"),
        node("Shape", "part", "shape"),
        node("Expand", "sum shape", "update"),
        node("Squeeze", "at", "first"),
        node("Squeeze", "end", "last"),
        node("Range", "first last step", "places"),
        node("ScatterElements", "out places update", "out_next"),
        node("Greater", "sum least", "go_out"),
    ]
    inputs = [info("i", INT64, []), info("go", BOOL, []), info("s", FLOAT, [3])]
    inputs += [info("out", FLOAT, [8]), info("at", INT64, [1])]
    outputs = [info("go_out", BOOL, []), info("s_out", FLOAT, [3])]
    outputs += [info("out_next", FLOAT, [8]), info("next", INT64, [1])]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    outer = [
        node("Mul", "x one_float", "begin"),
        node("Loop", "- - begin blank zero", "s_end y at_end", body=body),
    ]
    weights = {
        "half": np.float32(0.5), "one_float": np.float32(1), "least": np.float32(1),
        "zero": np.array([0]), "one": np.array([1]), "step": np.array(1),
        "length": np.array([8]), "blank": np.zeros(8, np.float32),
    }  # fmt: skip
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    gives = [info("y", FLOAT, None), info("at_end", INT64, None)]
    graph = helper.make_graph(outer, "g", [info("x", FLOAT, [3])], gives, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("most", [1, 50, 5000])
def test_results_are_written_one_after_another(device: str, most: float) -> None:
    """Also by turns for which there is no place any more: these write nothing."""
    feeds = {"x": np.array([most, 1, 0], np.float32)}
    source = decoder()
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        for got, want in zip(loaded.run(feeds).values(), session.run(None, feeds), strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-6)
