"""ONNX nodes for: recurrent layers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.ops.recurrent import ACTIVATIONS

# By names as ONNX writes them, less their case: models write both `Sigmoid` and `sigmoid`.
_NAMES = {name.replace("_", ""): name for name in ACTIVATIONS}
_WITH_ALPHA = {
    "affine", "elu", "hard_sigmoid", "leaky_relu", "scaled_tanh", "thresholded_relu",
}  # fmt: skip
_WITH_BETA = {"affine", "hard_sigmoid", "scaled_tanh"}
_NO_USUAL = {"scaled_tanh"}
"""ONNX gives no usual parameters for these."""


def _recurrent(node: Node, op: str, flag: str = "") -> tuple[Tensor, ...]:
    batch_first = node.attr("layout", 0) == 1
    inputs = [node.optional(index) for index in range(len(node.inputs))]
    if batch_first:
        for index in {0, 5, 6} & set(range(len(inputs))):
            inputs[index] = _swap(node, inputs[index], (1, 0, 2))
    _check_sizes(node)
    attrs = _activations(node)
    if flag:
        attrs[flag] = node.attr(flag, 0) != 0
    if node.has_attr("clip"):
        attrs["clip"] = node.attr("clip")
    made = node.op(
        op,
        inputs,
        outputs=node.output_count,
        direction=node.attr("direction", "forward").lower(),
        **attrs,
    )
    if not batch_first:
        return made
    orders = ((2, 0, 1, 3), (1, 0, 2), (1, 0, 2))
    return tuple(
        node.one("transpose", [tensor], perm=perm)
        for tensor, perm in zip(made, orders, strict=False)
    )


def _swap(node: Node, tensor: Tensor | None, perm: tuple[int, ...]) -> Tensor | None:
    return None if tensor is None else node.one("transpose", [tensor], perm=perm)


def _check_sizes(node: Node) -> None:
    """``hidden_size`` says again what the weights say; and lengths that are known must be right."""
    x, r = node.input(0).spec, node.input(2).spec
    if x.rank != 3 or r.rank != 3:
        node.invalid(f"X and R must have rank 3; they are {x} and {r}")
    if node.has_attr("hidden_size") and node.attr("hidden_size") != r.shape[2]:
        node.invalid(f"hidden_size is {node.attr('hidden_size')} and R is {r}")


def _activations(node: Node) -> dict[str, object]:
    """Names, and the parameters, which ONNX lists for those functions only that take one."""
    if not node.has_attr("activations"):
        if node.attr("activation_alpha", []) or node.attr("activation_beta", []):
            node.invalid("activation_alpha and activation_beta need activations that take them")
        return {}
    given = node.attr("activations")
    names = [_NAMES.get(re.sub("[^a-z]", "", name.lower())) for name in given]
    if None in names:
        node.refuse(f"activations are {given}; headrace runs {', '.join(ACTIVATIONS)}")
    alphas = _spread(node, names, "activation_alpha", _WITH_ALPHA, 0)
    betas = _spread(node, names, "activation_beta", _WITH_BETA, 1)
    return {"activations": names, "alphas": alphas, "betas": betas}


def _spread(
    node: Node, names: list[str | None], attribute: str, takers: set[str], which: int
) -> list[float]:
    values = list(node.attr(attribute, []))
    spread = []
    for name in names:
        assert name is not None
        if name in takers and values:
            spread.append(values.pop(0))
        elif name in takers and name in _NO_USUAL:
            node.invalid(f"{attribute} has no value left for {name}, which has no usual one")
        else:
            spread.append(ACTIVATIONS[name][which])
    if values and any(values):
        node.invalid(f"{attribute} has {len(values)} values more than activations that take one")
    return spread


CONVERTERS: Mapping[str, Converter] = {
    "RNN": partial(_recurrent, op="rnn"),
    "GRU": partial(_recurrent, op="gru", flag="linear_before_reset"),
    "LSTM": partial(_recurrent, op="lstm", flag="input_forget"),
}
