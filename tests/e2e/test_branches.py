"""``If`` whose condition is computed: what onnxruntime computes, headrace computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

from headrace.errors import UnsupportedModelError
from headrace.onnx import load
from headrace.tensor_spec import TensorSpec

ort = pytest.importorskip("onnxruntime")
ort.set_default_logger_severity(4)

FEEDS = [
    {"x": np.array([[sign * 3, 1], [2, -1]], np.float32), "i": np.array(index)}
    for sign in (1, -1)
    for index in (0, 1)
]


def node(op: str, inputs: str, output: str, **attrs: Any) -> Any:
    return helper.make_node(op, inputs.split(), output.split(), **attrs)


def branch(*nodes: Any, outputs: str = "o") -> GraphProto:
    gives = [helper.make_empty_tensor_value_info(name) for name in outputs.split()]
    return helper.make_graph(list(nodes), "branch", [], gives)


def model(then: GraphProto, otherwise: GraphProto, outputs: str = "y") -> ModelProto:
    """A model that takes ``then`` where the sum of ``x`` is above 0."""
    nodes = [
        node("ReduceSum", "x", "sum", keepdims=0),
        node("Greater", "sum zero", "c"),
        node("If", "c", outputs, then_branch=then, else_branch=otherwise),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2]),
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs.split()],
        [numpy_helper.from_array(np.float32(0), "zero")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def agree(device: str, source: ModelProto, atol: float = 0) -> None:
    """The device gives what onnxruntime does, whichever branch is taken."""
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        for feeds in FEEDS:
            wanted = session.run(None, feeds)
            for got, want in zip(loaded.run(feeds).values(), wanted, strict=True):
                assert (got.dtype, got.shape) == (want.dtype, want.shape)
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=atol)


def specs() -> dict[str, TensorSpec]:
    return {name: TensorSpec.of(np.asarray(x)) for name, x in FEEDS[0].items()}


def test_small_branches_are_both_computed(device: str) -> None:
    """Nothing stops to look: the model is one job, also where numbers of one branch are NaN."""
    other = branch(node("Neg", "x", "o"), node("Identity", "zero", "p"), outputs="o p")
    then = branch(node("Log", "x", "o"), node("Exp", "zero", "p"), outputs="o p")
    source = model(then, other, "y z")
    agree(device, source)
    with load(source, device) as loaded:
        assert loaded.plan_for(specs())


def products(width: int) -> ModelProto:
    """A model, one branch of which multiplies by two matrices, ``width`` numbers between them."""
    rng = np.random.default_rng(0)
    layers = branch(
        node("Gemm", "x w", "h", transB=1),
        node("ReduceMean", "h", "mean", axes=[1]),
        node("Sub", "h mean", "d"),
        node("Pow", "d two", "s"),
        node("ReduceMean", "s", "variance", axes=[1]),
        node("Sqrt", "variance", "deviation"),
        node("Div", "d deviation", "n"),
        node("MatMul", "n v", "o"),
    )
    source = model(layers, branch(node("Identity", "x", "o")))
    for name, shape in (("w", (width, 2)), ("v", (width, 2))):
        weights = rng.standard_normal(shape, np.float32)
        source.graph.initializer.append(numpy_helper.from_array(weights, name))
    source.graph.initializer.append(numpy_helper.from_array(np.float32(2), "two"))
    return source


def test_branches_with_small_products_are_both_computed(device: str) -> None:
    """Layers of a few thousand multiplications cost less than to stop and look."""
    source = products(64)
    agree(device, source)
    with load(source, device) as loaded:
        assert loaded.plan_for(specs())


def test_of_branches_with_large_products_one_is_computed(device: str) -> None:
    """Half a million multiplications in vain cost more than to stop and look."""
    source = products(1 << 16)
    agree(device, source, atol=1e-3)  # sums of as many numbers, hundreds large
    with load(source, device) as loaded:
        loaded.run(FEEDS[0])
        with pytest.raises(UnsupportedModelError, match="depends on the values of inputs"):
            loaded.plan_for(specs())


@pytest.mark.parametrize(
    ("then", "otherwise"),
    [
        (branch(node("Unsqueeze", "x i1", "o")), branch(node("Neg", "x", "o"))),
        (branch(node("Gather", "x i", "o", axis=0)), branch(node("Gather", "x i", "o", axis=1))),
        (branch(node("Cast", "x", "o", to=TensorProto.FLOAT)),
         branch(node("StringNormalizer", "x", "o"))),
    ],
    ids=["of two shapes", "that could fail", "that cannot be run"],
)  # fmt: skip
def test_of_other_branches_one_is_computed(
    device: str, then: GraphProto, otherwise: GraphProto
) -> None:
    """Which one must be known before the rest is built."""
    source = model(then, otherwise)
    source.graph.initializer.append(numpy_helper.from_array(np.array([0]), "i1"))
    runs = [node.op_type != "StringNormalizer" for node in otherwise.node]
    if all(runs):
        agree(device, source)
    with load(source, device) as loaded:
        loaded.run(FEEDS[0])
        with pytest.raises(UnsupportedModelError, match="depends on the values of inputs"):
            loaded.plan_for(specs())
