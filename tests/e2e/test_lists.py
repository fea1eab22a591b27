"""Sequences and optional values that a device takes and gives: as onnxruntime has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from headrace.errors import InputError
from headrace.onnx import load

ort = pytest.importorskip("onnxruntime")

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.random.default_rng(11).random((3, 4), dtype=np.float32)
TURNS = np.array(3)
WEIGHTS = {"one": np.array(1, np.float32), "first": np.array(0)}


def node(op: str, inputs: str, output: str, **attrs: Any) -> NodeProto:
    given = inputs.replace("-", "").split(" ") if inputs else []
    return helper.make_node(op, given, output.split(), **attrs)


def tensor(name: str, dtype: int = FLOAT, shape: Any = None) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def sequence(name: str) -> Any:
    return helper.make_tensor_sequence_value_info(name, FLOAT, None)


def optional(name: str) -> Any:
    kind = helper.make_tensor_type_proto(FLOAT, [3, 4])
    return helper.make_value_info(name, helper.make_optional_type_proto(kind))


def graph(nodes: Sequence[NodeProto], inputs: Sequence[Any], outputs: Sequence[Any]) -> GraphProto:
    return helper.make_graph(nodes, "inner", inputs, outputs)


def model(nodes: Sequence[NodeProto], inputs: Sequence[Any], outputs: Sequence[Any]) -> ModelProto:
    tensors = [numpy_helper.from_array(value, name) for name, value in WEIGHTS.items()]
    made = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def agree(device: str, source: ModelProto, *feeds: Mapping[str, Any]) -> None:
    """The device gives what onnxruntime does, also when the run is submitted."""
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    with load(source, device) as loaded:
        for fed in feeds:
            want = session.run(None, dict(fed))
            for got in (loaded.run(fed), loaded.submit(fed).result()):
                assert list(got) == [output.name for output in source.graph.output]
                same(list(got.values()), want)


def same(got: Any, want: Any) -> None:
    if want is None or got is None:
        assert got is want
    elif isinstance(want, list):
        assert isinstance(got, list)
        assert len(got) == len(want)
        for ours, theirs in zip(got, want, strict=True):
            same(ours, theirs)
    else:
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-6)


FILLING = graph(
    [
        node("Identity", "go", "go_out"),
        node("Add", "t one", "t_out"),
        node("SequenceInsert", "s t_out", "s_out"),
    ],
    [tensor("i", INT64, []), tensor("go", BOOL, []), sequence("s"), tensor("t")],
    [tensor("go_out", BOOL, []), sequence("s_out"), tensor("t_out")],
)


@pytest.mark.parametrize("is_computed", [False, True], ids=["fed", "computed"])
def test_a_loop_gives_a_sequence(device: str, is_computed: bool) -> None:
    """As long as there are turns, whoever says how many; none where there are none."""
    count = [node("ReduceMax", "x", "most", keepdims=0), node("Cast", "most", "turns", to=INT64)]
    source = model(
        [
            *(count if is_computed else []),
            node("SequenceEmpty", "", "none", dtype=FLOAT),
            node("Loop", "turns - none x", "s t", body=FILLING),
        ],
        [tensor("x", FLOAT, ["n", 4]), *([] if is_computed else [tensor("turns", INT64, [])])],
        [sequence("s"), tensor("t")],
    )
    for turns in (3, 1, 0, 3):
        fed = {"x": X + turns} if is_computed else {"x": X, "turns": np.array(turns)}
        agree(device, source, fed)


def test_a_loop_adds_to_a_sequence_that_is_fed(device: str) -> None:
    """Tensors of any shape, and none."""
    source = model(
        [node("Loop", "turns - s x", "y t", body=FILLING)],
        [tensor("x"), sequence("s"), tensor("turns", INT64, [])],
        [sequence("y"), tensor("t")],
    )
    fed = [[X, X[:1], X[0]], [X], [X, X[:2], X[0]]]
    agree(device, source, *({"x": X, "s": s, "turns": TURNS} for s in fed))
    with load(source, device) as loaded:
        assert len(loaded.run({"x": X, "s": [], "turns": TURNS})["y"]) == 3
        with pytest.raises(InputError, match=r"input 's\[1\]': is float64\[3, 4\]"):
            loaded.run({"x": X, "s": [X, X.astype(np.float64)], "turns": TURNS})
        assert len(loaded.run({"x": X, "s": (X,), "turns": TURNS})["y"]) == 4


def test_each_tensor_of_a_sequence_is_mapped(device: str) -> None:
    """By a body that reads what is around it; of one that is fed, and of one that is made."""
    body = graph([node("Mul", "e scale", "o")], [tensor("e")], [tensor("o")])
    source = model(
        [
            node("Add", "x one", "scale"),
            node("SequenceMap", "s", "y", body=body),
            node("SequenceConstruct", "x scale", "made"),
            node("SequenceMap", "made", "z", body=body),
        ],
        [tensor("x"), sequence("s")],
        [sequence("y"), sequence("z")],
    )
    agree(device, source, *({"x": X, "s": [X + n for n in range(count)]} for count in (2, 3)))


def test_a_branch_reads_an_optional_value(device: str) -> None:
    """Where it is one; the other branch does where it is none."""
    some = graph(
        [node("OptionalGetElement", "o", "e"), node("Add", "e x", "sum")], [], [tensor("sum")]
    )
    none = graph([node("Neg", "x", "minus")], [], [tensor("minus")])
    source = model(
        [
            node("OptionalHasElement", "o", "is_some"),
            node("If", "is_some", "y", then_branch=some, else_branch=none),
        ],
        [optional("o"), tensor("x")],
        [tensor("y")],
    )
    agree(device, source, *({"o": o, "x": X} for o in (X, None, X + 1)))
    with load(source, device) as loaded:
        with pytest.raises(InputError, match=r"input 'o': .* give an array, or None, not list"):
            loaded.run({"o": [X], "x": X})
        assert loaded.run({"o": None, "x": X})["y"].shape == X.shape


@pytest.mark.parametrize("is_fed", [True, False], ids=["fed", "computed"])
def test_a_branch_gives_a_sequence(device: str, is_fed: bool) -> None:
    """Of another length than the other branch."""
    one = graph([node("SequenceConstruct", "x", "s1")], [], [sequence("s1")])
    two = graph([node("SequenceConstruct", "x x", "s2")], [], [sequence("s2")])
    condition = [node("ReduceMax", "x", "m", keepdims=0), node("Greater", "m one", "c")]
    source = model(
        [*([] if is_fed else condition), node("If", "c", "s", then_branch=one, else_branch=two)],
        [tensor("x"), *([tensor("c", BOOL, [])] if is_fed else [])],
        [sequence("s")],
    )
    if is_fed:
        agree(device, source, *({"x": X, "c": np.array(c)} for c in (True, False)))
    else:
        agree(device, source, {"x": X}, {"x": X + 1})


def test_an_optional_value_that_is_none_is_given(device: str) -> None:
    """As None, beside what the device computes."""
    kind = helper.make_tensor_type_proto(FLOAT, [3, 4])
    source = model(
        [node("Optional", "", "o", type=kind), node("Neg", "x", "y")],
        [tensor("x")],
        [optional("o"), tensor("y")],
    )
    agree(device, source, {"x": X})


def test_a_tensor_of_a_sequence_that_is_given(device: str) -> None:
    """What the host gives as a whole, the device reads a tensor of."""
    source = model(
        [
            node("SequenceConstruct", "x x", "s"),
            node("SequenceAt", "s first", "t"),
            node("Neg", "t", "y"),
        ],
        [tensor("x")],
        [sequence("s"), tensor("y")],
    )
    agree(device, source, {"x": X})
