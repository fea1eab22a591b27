"""Nodes of a plugin's domain become that plugin's ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import FunctionProto, ModelProto, TensorProto, helper
from onnx_models import info, model, node
from plugin_ops import AddRelu, add_relu, hello
from toy_backends import near

from headrace.errors import (
    DeviceUnavailableError,
    InvalidModelError,
    UnsupportedModelError,
)
from headrace.graph import OpEntry
from headrace.onnx import load
from headrace.op_call import OpCall
from headrace.ops import Attr
from headrace.registry import BackendRegistry

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def registry_of(*ops: OpEntry) -> BackendRegistry:
    entries = (OpEntry("hello", AddRelu, add_relu), *ops)
    devices = {"hello": hello(ops=entries), "near": near(("add", "relu", "multiply"))}
    return BackendRegistry.from_modules(devices)


def fused(inputs: str = "x x", outputs: str = "y", **attrs: Any) -> ModelProto:
    return model([node("add_relu", inputs, outputs, domain="hello", **attrs)], hello=1)


@pytest.mark.parametrize("device", ["hello", "near"])
def test_a_node_becomes_the_op_of_its_domain(device: str) -> None:
    """With its attribute, on the plugin's device and, in simpler ops, on another."""
    with load(fused(gain=2.0), device, registry=registry_of()) as loaded:
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], [[4, 0, 12], [0, 20, 0]])
        (made,) = loaded.explain({"x": X}).nodes
        assert made.ops[0].op == "hello.add_relu(float32[2, 3], float32[2, 3])"


def test_a_node_in_a_function_becomes_the_op() -> None:
    """A function of the model may use a plugin's domain."""
    function: FunctionProto = helper.make_function(
        "f",
        "Twice",
        ["a"],
        ["b"],
        [node("add_relu", "a a", "b", domain="hello")],
        [helper.make_opsetid("hello", 1)],
    )
    source = model([node("Twice", "x", "y", domain="f")], functions=[function], f=1)
    with load(source, "hello", registry=registry_of()) as loaded:
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], [[2, 0, 6], [0, 10, 0]])


def test_a_node_of_constants_is_folded() -> None:
    """An op that can be computed on the host leaves a constant."""
    source = model(
        [node("add_relu", "w w", "y", domain="hello")], inputs=[], weights={"w": X}, hello=1
    )
    with load(source, "hello", registry=registry_of()) as loaded:
        np.testing.assert_array_equal(loaded.run({})["y"], [[2, 0, 6], [0, 10, 0]])
        assert loaded.explain({}).job.ops == ()


def test_every_type_of_attribute_reaches_the_op() -> None:
    """Each comes as the type of the op's schema; one that is left out has its default."""
    seen: list[dict[str, object]] = []

    class Typed(AddRelu):
        name = "hello.typed"
        attrs = (
            Attr("gain", "float", 1.0),
            Attr("flag", "bool"),
            Attr("count", "int"),
            Attr("word", "str"),
            Attr("to", "dtype"),
            Attr("sizes", "ints"),
            Attr("scales", "floats"),
            Attr("words", "strs"),
        )

        @classmethod
        def infer(cls, call: OpCall) -> Any:
            seen.append(dict(call.attrs))
            return super().infer(call)

    given = {
        "flag": 1, "count": -3, "word": "é", "to": TensorProto.FLOAT16, "sizes": [1, 2],
        "scales": [0.5], "words": ["a", "b"],
    }  # fmt: skip
    source = model([node("typed", "x x", "y", domain="hello", **given)], hello=1)
    with load(source, "near", registry=registry_of(OpEntry("hello", Typed))) as loaded:
        loaded.plan_for({"x": X})
    wanted = {
        "gain": 1.0, "flag": True, "count": -3, "word": "é", "sizes": (1, 2), "scales": (0.5,),
        "words": ("a", "b"),
    }  # fmt: skip
    assert str(seen[0].pop("to")) == "float16"
    assert seen[0] == wanted


Fault = tuple[Callable[[], ModelProto], type[Exception], str]
FAULTS: dict[str, Fault] = {
    "unknown-attribute": (
        lambda: fused(gian=2.0),
        InvalidModelError,
        r"node making 'y': hello\.add_relu has no attribute 'gian'; it has gain",
    ),
    "wrong-type": (
        lambda: fused(gain=2),
        InvalidModelError,
        r"node making 'y': attribute 'gain' of hello\.add_relu is float, .*FLOAT; .*INT",
    ),
    "graph": (
        lambda: fused(gain=helper.make_graph([], "g", [], [])),
        InvalidModelError,
        r"attribute 'gain' .* the node has attribute type GRAPH",
    ),
    "too-few-inputs": (
        lambda: fused("x"),
        InvalidModelError,
        r"node making 'y': .*input 'b' is required",
    ),
    "too-many-outputs": (
        lambda: fused(outputs="y z"),
        InvalidModelError,
        r"hello\.add_relu has 1 outputs; the node has 2",
    ),
    "misspelt": (
        lambda: model([node("add_rleu", "x x", "y", domain="hello")], hello=1),
        UnsupportedModelError,
        r"node making 'y': device 'hello' brings no op called .*did you mean hello\.add_relu",
    ),
    "dotted": (
        lambda: model([node("a.b", "x x", "y", domain="hello")], hello=1),
        UnsupportedModelError,
        r"domain 'hello' cannot have an op 'a\.b'",
    ),
    "not-imported": (
        lambda: model([node("add_relu", "x x", "y", domain="hello")]),
        InvalidModelError,
        "'add_relu' is of domain 'hello', whose operator set is not imported",
    ),
    "not-installed": (
        lambda: model([node("glue", "x", "y", domain="absent")], absent=1),
        UnsupportedModelError,
        r"'absent': 'glue'\. If a plugin brings them: pip install headrace-absent$",
    ),
    "no-tag": (
        lambda: model([node("glue", "x", "y", domain="no.tag")], **{"no.tag": 1}),
        UnsupportedModelError,
        r"'no\.tag': 'glue'$",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_node_that_is_no_op_of_its_domain_is_refused(what: str) -> None:
    """The error names the node, and what there is instead."""
    source, error, message = FAULTS[what]
    with (
        pytest.raises(error, match=message),
        load(source(), "near", registry=registry_of()) as loaded,
    ):
        loaded.plan_for({"x": X})


def test_a_plugin_that_does_not_load_is_told_as_everywhere() -> None:
    """The op's plugin is installed and broken: the error is that of a device."""
    registry = registry_of(OpEntry("hello", AddRelu))
    with pytest.raises(DeviceUnavailableError, match="twice"):
        load(fused(), "near", registry=registry)


def test_a_function_of_the_model_comes_first() -> None:
    """A model that brings a function of a plugin's name and domain means its own."""
    function = helper.make_function(
        "hello", "add_relu", ["a"], ["b"], [node("Neg", "a", "b")], [helper.make_opsetid("", 17)]
    )
    source = model(
        [node("add_relu", "x", "y", domain="hello")],
        outputs=[info("y", None)],
        functions=[function],
        hello=1,
    )
    registry = BackendRegistry.from_modules({"hello": hello(), "near": near(("negative",))})
    with load(source, "near", registry=registry) as loaded:
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], -X)
