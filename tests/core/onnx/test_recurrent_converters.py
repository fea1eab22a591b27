"""Recurrent nodes: how ONNX writes layouts, activations and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx_models import info, model, node

from headrace.errors import InvalidModelError, UnsupportedModelError
from headrace.onnx.file.read import read_model
from headrace.onnx.importing.importer import Importer
from headrace.placement import Placement
from headrace.tensor_spec import Array
from headrace.testing.reference import REFERENCE

_RANDOM = np.random.default_rng(11)


def made(*shape: int) -> Array:
    return _RANDOM.uniform(-1, 1, shape).astype(np.float32)


def weights(gates: int, directions: int = 1) -> dict[str, Array]:
    """x of 3 steps and 2 sequences; a hidden size of 2."""
    return {
        "x": made(3, 2, 4),
        "w": made(directions, gates * 2, 4),
        "r": made(directions, gates * 2, 2),
    }


def folded(
    op: str, arrays: Mapping[str, Array], inputs: str, outputs: str, opset: int = 14, **attrs: Any
) -> dict[str, Array]:
    """The outputs of a model of one node whose inputs are all weights."""
    infos = [info(name, None) for name in outputs.split() if name != "-"]
    used = {name: arrays[name] for name in inputs.split() if name != "-"}
    proto = model([node(op, inputs, outputs, **attrs)], [], infos, used, opset)
    for output in proto.graph.output:
        output.ClearField("type")
    graph = Importer(read_model(proto.SerializeToString()), Placement.of_device("near")).run({}, {})
    return {name: graph.constants[tensor.name] for name, tensor in graph.outputs}


def oracle(op: str, arrays: Mapping[str, Array], **attrs: Any) -> tuple[Array, ...]:
    """The layer of x, w and r, every other input left out."""
    count = {"rnn": 6, "gru": 6, "lstm": 8}[op]
    given = [arrays["x"], arrays["w"], arrays["r"], *[None] * (count - 3)]
    flags = {"gru": {"linear_before_reset": False}, "lstm": {"input_forget": False}}.get(op, {})
    usual = {"direction": "forward", "activations": (), "alphas": (), "betas": (), "clip": np.inf}
    made: tuple[Array, ...] = REFERENCE[op](*given, **{**usual, **flags, **attrs})
    return made


def same(got: Array, want: Array) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_batch_first_is_the_same_layer(op: str, gates: int) -> None:
    """With layout 1 the batch leads in every sequence and state, both taken and given."""
    arrays = weights(gates, directions=2)
    first = {**arrays, "x": arrays["x"].swapaxes(0, 1).copy()}
    got = folded(op, first, "x w r", "y h", layout=1, direction="bidirectional")
    y, h = oracle(op.lower(), arrays, direction="bidirectional")[:2]
    same(got["y"], y.transpose(2, 0, 1, 3))
    same(got["h"], h.transpose(1, 0, 2))


def test_outputs_before_the_last_that_is_read_may_have_no_name() -> None:
    """Models often read only the state at the end."""
    arrays = weights(4)
    got = folded("LSTM", arrays, "x w r", "- - c")
    same(got["c"], oracle("lstm", arrays)[2])


def test_inputs_between_may_be_left_out() -> None:
    """An empty name is an input that is not given."""
    arrays = {**weights(1), "h0": made(1, 2, 2)}
    got = folded("RNN", arrays, "x w r - - h0", "y")
    want = REFERENCE["rnn"](
        arrays["x"], arrays["w"], arrays["r"], None, None, arrays["h0"], direction="forward",
        activations=(), alphas=(), betas=(), clip=np.inf,
    )  # fmt: skip
    same(got["y"], want[0])


def test_parameters_go_to_the_activations_that_take_them() -> None:
    """Lists of alphas and betas skip functions without them, and the usual ones fill the end."""
    arrays = weights(4)
    got = folded(
        "LSTM", arrays, "x w r", "y",
        activations=["HardSigmoid", "tanh", "LeakyRelu"], activation_alpha=[0.75],
        activation_beta=[0.25],
    )  # fmt: skip
    names = ("hard_sigmoid", "tanh", "leaky_relu")
    want = oracle(
        "lstm", arrays, activations=names, alphas=(0.75, 0.0, 0.01), betas=(0.25, 0.0, 0.0)
    )
    same(got["y"], want[0])


def test_clip_of_the_model_is_that_of_the_op() -> None:
    """The bound of what activations see is taken over."""
    arrays = weights(3)
    got = folded("GRU", arrays, "x w r", "y", clip=0.125)
    same(got["y"], oracle("gru", arrays, clip=0.125)[0])


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"hidden_size": 3}, "hidden_size is 3"),
        ({"activations": ["Tanh", "Tanh"]}, "must be 1 values"),
        ({"activations": ["ScaledTanh"]}, "no usual one"),
        ({"activations": ["Tanh"], "activation_alpha": [0.5]}, "1 values more"),
        ({"activation_alpha": [0.5]}, "need activations"),
        ({"direction": "sideways"}, "direction"),
        ({"clip": -1.0}, "clip"),
        ({"direction": "bidirectional"}, "2 directions"),
    ],
)
def test_what_contradicts_itself_is_refused(attrs: dict[str, Any], message: str) -> None:
    """The error says which attribute does not fit, and to what."""
    with pytest.raises(InvalidModelError, match=message):
        folded("RNN", weights(1), "x w r", "y", **attrs)


def test_an_unknown_activation_is_refused_by_name() -> None:
    """And the error lists those that run."""
    with pytest.raises(UnsupportedModelError, match=r"Gelu.*hard_sigmoid"):
        folded("RNN", weights(1), "x w r", "y", activations=["Gelu"])
