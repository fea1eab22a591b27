"""Outputs of one name: a model, a branch or the body of a loop may give one tensor twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from headrace.onnx import backend, load

X = np.array([1, -2, 3], np.float32)


def value(name: str, kind: int = TensorProto.FLOAT, shape: Any = None) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes: list[Any], gives: list[Any], *more: Any) -> ModelProto:
    graph = helper.make_graph(nodes, "g", [value("x", shape=["n"]), *more], gives)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_a_model_that_lists_an_output_twice_gives_it_once_by_name(device: str) -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])]
    source = model(nodes, [value("y"), value("z"), value("y"), value("x")])
    with load(source, device) as loaded:
        assert [output.name for output in loaded.outputs] == ["y", "z", "y", "x"]
        made = loaded.run({"x": X})
        assert list(made) == ["y", "z", "x"]
        for name, want in (("y", -X), ("z", abs(X)), ("x", X)):
            np.testing.assert_array_equal(made[name], want)
        by_place = backend.HeadraceRep(loaded).run([X])
    np.testing.assert_array_equal(by_place, [-X, abs(X), -X, X])


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_gives_one_tensor_twice(device: str, taken: bool) -> None:
    def branch(op: str, name: str) -> Any:
        node = helper.make_node(op, ["x"], [name])
        return helper.make_graph([node], "b", [], [value(name), value(name)])

    chosen = helper.make_node(
        "If", ["c"], ["a", "b"], then_branch=branch("Neg", "q"), else_branch=branch("Abs", "r")
    )
    source = model([chosen], [value("a"), value("b")], value("c", TensorProto.BOOL, []))
    with load(source, device) as loaded:
        made = loaded.run({"x": X, "c": np.array(taken)})
    np.testing.assert_array_equal([made["a"], made["b"]], [-X if taken else abs(X)] * 2)


def test_a_loop_gives_its_state_as_a_slice_too(device: str) -> None:
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["s", "x"], ["t"])],
        "body",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("s")],
        [value("on", TensorProto.BOOL, []), value("t"), value("t")],
    )
    loop = helper.make_node("Loop", ["n", "", "x"], ["a", "b"], body=body)
    source = model([loop], [value("a"), value("b")], value("n", TensorProto.INT64, []))
    with load(source, device) as loaded:
        made = loaded.run({"x": X, "n": np.array(3)})
    np.testing.assert_array_equal(made["a"], 4 * X)
    np.testing.assert_array_equal(made["b"], [2 * X, 3 * X, 4 * X])


def test_a_scan_gives_its_state_as_a_slice_too(device: str) -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["t"])],
        "body",
        [value("s", shape=[]), value("e", shape=[])],
        [value("t", shape=[])] * 2,
    )
    scan = helper.make_node("Scan", ["z", "x"], ["a", "b"], body=body, num_scan_inputs=1)
    source = model([scan], [value("a"), value("b")], value("z", shape=[]))
    with load(source, device) as loaded:
        made = loaded.run({"x": X, "z": np.array(10, np.float32)})
    assert made["a"] == 12
    np.testing.assert_array_equal(made["b"], [11, 9, 12])
