"""Models that hold tensors in sequences: what onnxruntime computes, headrace computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx import load
from headrace.tensor_spec import Array

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

X = np.arange(24, dtype=np.float32).reshape(6, 4)


def node(op: str, inputs: str, output: str, **attrs: Any) -> NodeProto:
    return helper.make_node(op, inputs.replace("-", "").split(" "), output.split(), **attrs)


def info(name: str, shape: Any = None, dtype: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def sequence(name: str) -> Any:
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)


def model(nodes: list[NodeProto], outputs: list[Any], **weights: Any) -> ModelProto:
    """A model of ``x``, of any number of rows."""
    tensors = [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()]
    inputs = [info("x", ["n", 4]), info("turns", [], TensorProto.INT64)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def agree(device: str, source: ModelProto, turns: int = 3) -> None:
    """The device gives what onnxruntime does, for two numbers of rows."""
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        for rows in (6, 4):
            feeds = {"x": X[:rows], "turns": np.array(turns)}
            for got, want in zip(loaded.run(feeds).values(), session.run(None, feeds), strict=True):
                assert (got.dtype, got.shape) == (want.dtype, want.shape)
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("split", "attrs"),
    [
        (np.array(2), {"axis": 0}),
        (np.array(3), {"axis": 1}),
        (np.array([1, 0, 3]), {"axis": -1}),
        (None, {"axis": 1}),
        (None, {"axis": 1, "keepdims": 0}),
    ],
)
def test_a_tensor_is_split_into_a_sequence(
    device: str, split: Array | None, attrs: dict[str, Any]
) -> None:
    """By a size, by sizes, or one by one; what is joined again may lie otherwise."""
    nodes = [
        node("SplitToSequence", "x" if split is None else "x split", "s", **attrs),
        node("SequenceLength", "s", "length"),
        node("SequenceAt", "s last", "picked"),
        node("ConcatFromSequence", "s", "joined", axis=0 if split is None else attrs["axis"]),
    ]
    outputs = [info("length", None, TensorProto.INT64), info("picked"), info("joined")]
    weights = {} if split is None else {"split": split}
    agree(device, model(nodes, outputs, last=np.array(-1), **weights))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sequences_are_put_together(device: str, axis: int) -> None:
    """Tensors are inserted anywhere and taken out again; then they are stacked."""
    nodes = [
        node("Neg", "x", "y"),
        node("Abs", "x", "z"),
        node("SequenceConstruct", "x y", "s0"),
        node("SequenceInsert", "s0 z", "s1"),
        node("SequenceInsert", "s1 y one", "s2"),
        node("SequenceInsert", "s2 z least", "s3"),
        node("SequenceErase", "s3", "s4"),
        node("SequenceErase", "s4 one", "s5"),
        node("Identity", "s5", "s6"),
        node("ConcatFromSequence", "s6", "stacked", axis=axis, new_axis=1),
    ]
    agree(device, model(nodes, [info("stacked")], one=np.array(1), least=np.array(-4)))


def collecting() -> GraphProto:
    """Each turn puts ``x`` plus its number at the end."""
    nodes = [
        node("Cast", "i", "number", to=TensorProto.FLOAT),
        node("Add", "x number", "y"),
        node("SequenceInsert", "s y", "s_out"),
        node("Identity", "go", "go_out"),
    ]
    inputs = [info("i", [], TensorProto.INT64), info("go", [], TensorProto.BOOL), sequence("s")]
    return helper.make_graph(
        nodes, "body", inputs, [info("go_out", [], TensorProto.BOOL), sequence("s_out")]
    )


@pytest.mark.parametrize("count", ["three", "turns"])
def test_a_loop_fills_a_sequence(device: str, count: str) -> None:
    """As often as the model says, or as it is told."""
    nodes = [
        node("SequenceEmpty", "", "empty"),
        node("Loop", f"{count} - empty", "filled", body=collecting()),
        node("ConcatFromSequence", "filled", "y", axis=0),
    ]
    del nodes[0].input[:]
    agree(device, model(nodes, [info("y")], three=np.array(3)), turns=2)


def test_a_loop_that_is_computed_fills_a_sequence(device: str) -> None:
    """How often it runs is found when what is before it has run."""
    nodes = [
        node("ReduceMax", "x", "greatest", keepdims=0),
        node("Cast", "greatest", "count", to=TensorProto.INT64),
        node("SequenceEmpty", "", "empty"),
        node("Loop", "count - empty", "filled", body=collecting()),
        node("ConcatFromSequence", "filled", "y", axis=0),
    ]
    del nodes[2].input[:]
    agree(device, model(nodes, [info("y")]))


def test_optional_values(device: str) -> None:
    """Whether there is one is known while a model is imported."""
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    nodes = [
        node("Optional", "x", "some"),
        node("Optional", "", "none", type=kind),
        node("OptionalHasElement", "some", "is_some"),
        node("OptionalHasElement", "none", "is_none"),
        node("OptionalGetElement", "some", "y"),
    ]
    del nodes[1].input[:]
    outputs = [info(name, None, TensorProto.BOOL) for name in ("is_some", "is_none")]
    agree(device, model(nodes, [*outputs, info("y")]))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Relu", "s", "y")], "is a sequence of 1 tensors; it takes a tensor"),
        ([node("SequenceAt", "x one", "y")], "cannot be float32"),
        ([node("SequenceAt", "s one", "y")], "place 1 is not in a sequence of 1 tensors"),
        ([node("SequenceErase", "s", "t"), node("ConcatFromSequence", "t", "y", axis=0)],
         "joins a sequence that has no tensors"),
        ([node("SequenceInsert", "s one", "t"), node("SequenceAt", "t one", "y")],
         "inserts int64"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(device: str, nodes: list[NodeProto], message: str) -> None:
    """With the node."""
    source = model([node("SequenceConstruct", "x", "s"), *nodes], [info("y")], one=np.array(1))
    with (
        load(source, device) as loaded,
        pytest.raises(InvalidModelError, match=f"node making .*{message}"),
    ):
        loaded.run({"x": X, "turns": np.array(1)})


def test_a_sequence_that_is_not_declared_is_no_output(device: str) -> None:
    """It is found when the model is run."""
    nodes = [node("SequenceConstruct", "x", "y")]
    bare = model(nodes, [info("y")])
    bare.graph.output[0].ClearField("type")
    with (
        load(bare, device) as loaded,
        pytest.raises(UnsupportedModelError, match="output 'y': is a sequence of 1 tensors"),
    ):
        loaded.run({"x": X, "turns": np.array(1)})
