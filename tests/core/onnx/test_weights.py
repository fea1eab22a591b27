"""Weights are cut out of a file before it is parsed, and are there once, aligned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_models import info, model, node

from headrace.aligned import is_aligned
from headrace.errors import InvalidModelError
from headrace.graph.constants import SMALL_BYTES, LazyConstant, MadeConstants
from headrace.onnx.file.content import HeldContent
from headrace.onnx.file.read import parse_model, read_model
from headrace.onnx.file.source import open_model
from headrace.onnx.file.split import LEAST_BYTES, split_model

LARGE = np.arange(LEAST_BYTES // 4 + 1, dtype=np.float32)
SMALL = np.arange(3, dtype=np.int64)


def constant(value: Any, name: str) -> Any:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value))


def with_weights() -> ModelProto:
    """An initializer and a constant of each size, and a large tensor in an attribute."""
    proto = model(
        [
            constant(LARGE + 1, "large constant"),
            constant(SMALL + 1, "small constant"),
            node("ConstantOfShape", "small", "z", value=numpy_helper.from_array(LARGE[:1])),
            node("Add", "x large", "y"),
        ],
        inputs=[info("x", [1])],
        outputs=[info("y", [LARGE.size])],
    )
    for name, value in (("small", SMALL), ("large", LARGE)):
        proto.graph.initializer.append(numpy_helper.from_array(value, name))
    return proto


EXPECTED: dict[str, Any] = {
    "small": SMALL,
    "large": LARGE,
    "large constant": LARGE + 1,
    "small constant": SMALL + 1,
}


def check(data: bytes) -> None:
    weights = read_model(data).weights
    assert weights.keys() == EXPECTED.keys()
    for name, value in EXPECTED.items():
        found = weights[name]
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, value)
        assert found.dtype == value.dtype
        assert is_aligned(found)


def test_initializers_and_constants_are_arrays() -> None:
    """Of any size, whether they were cut out of the file or not; nothing is left in the graph."""
    data = with_weights().SerializeToString()
    split = split_model(HeldContent(data))
    assert [*split.initializers, *split.nodes] == [1, 0]
    assert len(split.message) < len(data) - 2 * LARGE.nbytes + 100
    check(data)
    graph = read_model(data).graph
    assert not graph.initializer
    assert [len(n.attribute) for n in graph.node] == [0, 0, 1, 0]


def test_what_is_cut_out_is_all_that_changes() -> None:
    """The rest of the message is parsed as it was written, byte for byte."""
    proto = with_weights()
    left = ModelProto.FromString(split_model(HeldContent(proto.SerializeToString())).message)
    proto.graph.initializer[1].raw_data = b""
    proto.graph.node[0].attribute[0].t.raw_data = b""
    assert left == proto


def test_a_graph_may_be_written_in_parts() -> None:
    """A message that is written twice is merged; positions go on where the first part ended."""
    proto = with_weights()
    first, second = ModelProto(), ModelProto()
    first.CopyFrom(proto)
    del first.graph.node[1:], first.graph.initializer[1:], first.graph.input[:]
    del first.graph.output[:]
    second.graph.CopyFrom(proto.graph)
    del second.graph.node[:1], second.graph.initializer[:1]
    check(first.SerializeToString() + second.SerializeToString())


def test_the_last_of_several_fields_counts() -> None:
    """Elements that are written twice are those that were written last, as in any message."""
    proto = with_weights()
    old, new = LARGE.tobytes(), (LARGE * 2).tobytes()
    tensor = proto.graph.initializer[1]
    written = tensor.SerializeToString()
    field = written[written.index(old) - 3 : written.index(old)]  # its key and its length
    twice = written.replace(field + old, field + new + field + old)
    outer = ModelProto.FromString(proto.SerializeToString())
    del outer.graph.initializer[1]
    extra = b"\x2a" + length(len(twice)) + twice
    check(outer.SerializeToString() + b"\x3a" + length(len(extra)) + extra)


def length(value: int) -> bytes:
    """A number as the wire format has it."""
    return (b"" if value < 128 else bytes([value & 127 | 128])) + (
        bytes([value]) if value < 128 else length(value >> 7)
    )


def test_groups_are_left_to_protobuf() -> None:
    """A field of a kind that is not cut around leaves the file whole; it is read all the same."""
    data = with_weights().SerializeToString() + b"\xa3\x06\xa4\x06"  # an empty group, field 100
    assert split_model(HeldContent(data)).message == data
    check(data)


def test_a_model_may_say_itself_what_a_constant_is() -> None:
    """Where a function of the model is called so, its nodes keep what they hold."""
    proto = with_weights()
    function = helper.make_function(
        "local", "Constant", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    proto.functions.append(function)
    read = read_model(proto.SerializeToString())
    assert read.weights.keys() == {"small", "large"}
    assert read.graph.node[0] == proto.graph.node[0]


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
def test_weights_of_nodes_that_are_called_the_same_are_told_apart(raw: bool) -> None:
    """Names of nodes mean nothing: of a model given as bytes one weight stood for all of them."""
    values = np.arange(2 * SMALL_BYTES, dtype=np.float32).reshape(2, -1)
    nodes = [constant(value, f"c{i}") for i, value in enumerate(values)]
    for made_by in nodes:
        made_by.name = "Constant"
        if not raw:
            tensor = made_by.attribute[0].t
            tensor.float_data[:] = np.frombuffer(tensor.raw_data, np.float32).tolist()
            tensor.ClearField("raw_data")
    proto = model([*nodes, node("Add", "c0 c1", "y")], outputs=[info("y", [SMALL_BYTES])])
    read = parse_model(open_model(proto), made=MadeConstants(lambda array: array))
    for i, value in enumerate(values):
        weight = read.weights[f"c{i}"]
        assert isinstance(weight, LazyConstant)
        np.testing.assert_array_equal(weight.value(), value)


@pytest.mark.parametrize("where", ["initializer", "constant"])
def test_elements_that_do_not_fit_are_told_with_their_place(where: str) -> None:
    """Also when they never came by protobuf."""
    proto = with_weights()
    tensor = (
        proto.graph.initializer[1] if where == "initializer" else proto.graph.node[0].attribute[0].t
    )
    tensor.dims[0] += 1
    says = f"{where} 'large'" if where == "initializer" else "node making 'large constant'"
    nbytes = LARGE.nbytes + 4
    with pytest.raises(InvalidModelError, match=f"{says}.* takes {nbytes} bytes and raw_data"):
        read_model(proto.SerializeToString())


def test_constants_that_are_alike_are_one_array() -> None:
    """Whatever their tensors are called; those of another dtype or shape are others."""
    nodes = [constant(SMALL, "first"), constant(SMALL, "second"), constant(SMALL[:, None], "third")]
    nodes[1].attribute[0].t.name = "called otherwise"
    proto = model(
        [*nodes, node("Add", "first second", "y")], outputs=[info("y", [3], TensorProto.INT64)]
    )
    weights = read_model(proto.SerializeToString()).weights
    assert weights["first"] is weights["second"]
    assert weights["third"] is not weights["first"]
    np.testing.assert_array_equal(weights["third"], SMALL[:, None])


def test_nothing_that_was_taken_of_a_large_message_stays_in_it() -> None:
    """Elements in typed fields are never cut out; their memory is let go of all the same."""
    proto = with_weights()
    values = np.arange(1 << 18, dtype=np.float32)
    proto.graph.initializer.append(
        helper.make_tensor("typed", TensorProto.FLOAT, values.shape, values.tolist())
    )
    read = read_model(proto.SerializeToString())
    np.testing.assert_array_equal(read.weights["typed"], values)
    assert read.graph.ByteSize() < LEAST_BYTES
    assert read.held_bytes < values.nbytes + 4 * LARGE.nbytes
