"""Ops of onnxruntime's own domain: what is declared of them, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnx_models import info, model, node

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.file.keys import MICROSOFT
from headrace.onnx.importing.converters.microsoft import CONTRIB
from headrace.tensor_spec import Array


def made_of(op: str, inputs: dict[str, Any], outputs: str = "y", **attrs: Any) -> ModelProto:
    """A model of one node of the domain, whose inputs are weights; ``-`` is one left out."""
    names = " ".join("-" if x is None else name for name, x in inputs.items())
    weights = {name: x for name, x in inputs.items() if x is not None}
    results = [info(name, None) for name in outputs.split() if name != "-"]
    nodes = [node(op, names, outputs, domain=MICROSOFT, name="n", **attrs)]
    return model(nodes, [], results, weights, **{MICROSOFT: 1})


def f(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def i32(value: Any) -> Array:
    return np.array(value, np.int32)


@pytest.mark.parametrize("key", CONTRIB, ids=".".join)
def test_ops_are_declared_as_onnxruntime_declares_them(key: tuple[str, str]) -> None:
    """Inputs, outputs, attributes, and which of them must be there; older versions have fewer."""
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    (theirs,) = (
        schema
        for schema in state.get_all_operator_schema()
        if (schema.domain, schema.name) == key and schema.since_version == 1
    )
    ours = CONTRIB[key].schema

    def parameters(schema: Any, side: str) -> list[tuple[str, str]]:
        return [(p.name, p.option.name) for p in getattr(schema, side)]

    for side in ("inputs", "outputs"):
        known = parameters(theirs, side)
        assert parameters(ours, side)[: len(known)] == known
    assert (ours.min_input, ours.min_output) == (theirs.min_input, theirs.min_output)
    attributes = {name: (a.type.name, a.required) for name, a in ours.attributes.items()}
    for name, attribute in theirs.attributes.items():
        assert attributes[name] == (attribute.type.name, attribute.required)


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "attrs", "message"),
    [
        ("Attention", {"x": f(1, 2, 4), "w": f(4, 10)}, "y present",
         {"num_heads": 2, "qkv_hidden_sizes": [4, 4, 2]}, "of one size"),
        ("Attention", {"x": f(1, 2, 4), "w": f(4, 12)}, "y", {"num_heads": 2, "do_rotary": 1},
         "do_rotary is 1"),
        ("Attention", {"x": f(1, 2, 4), "w": f(4, 12), "b": None,
                       "m": np.ones((1, 1, 9, 9), np.int32)}, "y", {"num_heads": 2}, "mask is"),
        ("MultiHeadAttention", {"q": f(1, 2, 4), "k": f(1, 2, 4), "v": f(1, 2, 4)},
         "y k_out v_out qk", {"num_heads": 2}, "gives its scores"),
        ("GroupQueryAttention", {"q": f(1, 2, 4), "k": f(1, 2, 4), "v": f(1, 2, 4), "pk": None,
                                 "pv": None, "last": i32([1]), "total": i32(2)}, "y",
         {"num_heads": 2, "kv_num_heads": 2, "qk_output": 1}, "has qk_output"),
        ("MatMulNBits", {"a": f(1, 2), "b": f(1, 1, 1).astype(np.uint8), "s": f(1)}, "y",
         {"K": 2, "N": 1, "block_size": 16, "bits": 3}, "bits is 3"),
        ("SkipLayerNormalization", {"x": f(2, 4), "s": f(2, 4), "g": f(4)}, "y mean", {},
         "does not compute 'mean'"),
        ("FusedGemm", {"a": f(2, 2), "b": f(2, 2)}, "y", {"activation": "Selu"}, "'Selu'"),
        ("BiasSoftmax", {"x": f(2, 3, 4), "b": f(4)}, "y", {"axis": 2, "is_inner_broadcast": 1},
         "the bias is"),
    ],
)  # fmt: skip
def test_forms_that_are_not_run_are_refused(
    load_near: Any,
    op: str,
    inputs: dict[str, Any],
    outputs: str,
    attrs: dict[str, Any],
    message: str,
) -> None:
    """The error names the node and says what of it does not run."""
    with pytest.raises(UnsupportedModelError, match=f"node 'n'.*{message}"):
        load_near(made_of(op, inputs, outputs, **attrs)).run({})


def test_other_ops_of_the_domain_are_refused_together(load_near: Any) -> None:
    """When the model is loaded, each with its node."""
    nodes = [
        node("MoE", "x", "t", domain=MICROSOFT, name="first"),
        node("NhwcConv", "t", "y", domain=MICROSOFT, name="second", kernel_shape=[2]),
    ]
    with pytest.raises(UnsupportedModelError) as caught:
        load_near(model(nodes, **{MICROSOFT: 1}))
    for part in ("com.microsoft.MoE", "node 'first'", "com.microsoft.NhwcConv", "node 'second'"):
        assert part in str(caught.value)
    assert "ORT_ENABLE_EXTENDED" in str(caught.value)


@pytest.mark.parametrize("domain", ["com.microsoft.nchwc", "com.ms.internal.nhwc"])
def test_memory_layouts_of_one_runtime_are_refused(load_near: Any, domain: str) -> None:
    """With how to save the model without them."""
    nodes = [node("Conv", "x x", "y", domain=domain)]
    with pytest.raises(UnsupportedModelError, match=f"{domain}.*ORT_ENABLE_EXTENDED"):
        load_near(model(nodes, **{domain: 1}))


def test_nodes_are_checked_as_those_of_onnx(load_near: Any) -> None:
    """An attribute that the op does not have could mean anything."""
    with pytest.raises(InvalidModelError, match="no attribute 'beta'"):
        load_near(made_of("Gelu", {"x": f(2)}, beta=1.0)).run({})
    with pytest.raises(InvalidModelError, match="needs an attribute 'num_heads'"):
        load_near(made_of("Attention", {"x": f(1, 2, 4), "w": f(4, 12)})).run({})
    with pytest.raises(InvalidModelError, match="QLinearSigmoid has 4 to 5 inputs"):
        load_near(made_of("QLinearSigmoid", {"x": f(2)})).run({})
    with pytest.raises(InvalidModelError, match="cannot be int64"):
        load_near(made_of("Gelu", {"x": np.arange(2)})).run({})


@pytest.mark.parametrize(
    ("axes", "says"),
    [([0, 1], r"input 1 is \(0, 1\); it must be one axis"), (9, "axis 9 is outside .* rank 3")],
    ids=["two", "beyond"],
)
def test_an_axis_that_cannot_be_added_is_told(load_near: Any, axes: Any, says: str) -> None:
    """With what was given."""
    with pytest.raises(InvalidModelError, match=f"node 'n'.*{says}"):
        load_near(made_of("ExpandDims", {"x": f(3, 4), "axis": i32(axes)})).run({})


@pytest.mark.parametrize(
    ("wrong", "array"),
    [
        ("B", f(1, 30)),
        ("initial_h", f(2, 1, 4)),
        ("P", f(1, 8)),
        ("W_scale", f(5)),
        ("R_zero_point", f(1, 4).astype(np.int8)),
    ],
)
def test_each_input_of_a_quantized_lstm_has_its_shape(
    load_near: Any, wrong: str, array: Array
) -> None:
    """For each direction, or each column of it; what is beyond would be left unread."""
    names = "X W R B lengths initial_h initial_c P W_scale W_zero_point R_scale R_zero_point"
    inputs: dict[str, Any] = dict.fromkeys(names.split())
    inputs |= {"X": f(5, 1, 8), "W_scale": f(1), "R_scale": f(1)}
    inputs |= {"W": f(1, 8, 16).astype(np.int8), "R": f(1, 4, 16).astype(np.int8)}
    inputs |= {name: f(1).astype(np.int8) for name in ("W_zero_point", "R_zero_point")}
    assert load_near(made_of("DynamicQuantizeLSTM", inputs, hidden_size=4)).run({})
    with pytest.raises(InvalidModelError, match=f"{wrong} is .*; its shape must be"):
        load_near(made_of("DynamicQuantizeLSTM", inputs | {wrong: array}, hidden_size=4)).run({})


def test_lengths_of_a_quantized_lstm_are_within_its_steps(load_near: Any) -> None:
    """One for each sequence."""
    inputs: dict[str, Any] = {"X": f(5, 2, 8), "W": f(1, 8, 16).astype(np.int8)}
    inputs |= {"R": f(1, 4, 16).astype(np.int8), "B": None, "lengths": None}
    inputs |= dict.fromkeys(("h", "c", "P")) | {"W_scale": f(1), "W_zero_point": None}
    inputs |= {"R_scale": f(1), "R_zero_point": None}
    zeros = {name: np.zeros(1, np.int8) for name in ("W_zero_point", "R_zero_point")}
    for wrong in ([6, 1], [-1, 2], [3]):
        given = inputs | zeros | {"lengths": np.array(wrong, np.int32)}
        with pytest.raises(InvalidModelError, match="sequence_lens"):
            load_near(made_of("DynamicQuantizeLSTM", given, hidden_size=4)).run({})
    given = inputs | zeros | {"lengths": np.array([0, 2], np.int32)}
    y = load_near(made_of("DynamicQuantizeLSTM", given, hidden_size=4)).run({})["y"]
    assert not y[:, :, 0].any() and not y[2:].any() and y[:2, :, 1].any()


def test_softmax_with_a_bias(load_near: Any) -> None:
    """Over all axes from the one named on; onnxruntime has no kernel of it for the processor."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 10
    b = np.array([[[1, 0, 2, 0]]], np.float32)
    powers = np.exp(x + b)
    got = load_near(made_of("BiasSoftmax", {"x": x, "b": b}, axis=1, is_inner_broadcast=0)).run({})
    want = powers / powers.sum((1, 2), keepdims=True)
    np.testing.assert_allclose(got["y"], want, rtol=1e-5)


def test_layer_normalization_in_older_models(load_near: Any) -> None:
    """onnxruntime fuses it into models of operator sets that have no such op yet."""
    x = np.array([[1, 2, 6], [0, -3, 3]], np.float32)
    weights = {"scale": f(3) * 2, "bias": f(3)}
    source = model([node("LayerNormalization", "x scale bias", "y")], weights=weights, opset=14)
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * 2 + 1
    np.testing.assert_allclose(load_near(source).run({"x": x})["y"], want, rtol=1e-5)
