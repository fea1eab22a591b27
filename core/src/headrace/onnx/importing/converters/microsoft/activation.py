"""Activations that onnxruntime fuses, with the bias before them."""

from __future__ import annotations

from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.formula import as_matrix
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_FLOATS = "float16 float double bfloat16"


def _gelu(node: Node) -> Tensor:
    return node.one("gelu", [_biased(node)], approximate="none")


def _fast_gelu(node: Node) -> Tensor:
    return node.one("gelu", [_biased(node)], approximate="tanh")


def _quick_gelu(node: Node) -> Tensor:
    return node.one("swish", [node.input(0)], alpha=node.attr("alpha", 1.702))


def _biased(node: Node) -> Tensor:
    x, bias = node.input(0), node.optional(1)
    return x if bias is None else node.one("add", [x, bias])


def _bias_softmax(node: Node) -> Tensor:
    """Softmax over all axes from ``axis`` on, of data and a bias."""
    data, bias = node.input(0), node.input(1)
    if bias.spec.rank != data.spec.rank:
        node.refuse(f"the bias is {bias.spec}; one of the rank of the data, {data.spec}, runs")
    total = node.one("add", [data, bias])
    if total.spec.shape != data.spec.shape:
        node.invalid(f"the bias {bias.spec} does not broadcast to the data, {data.spec}")
    return softmax_from(node, total, node.attr("axis", 1))


def softmax_from(node: Node, x: Tensor, axis: int) -> Tensor:
    """Softmax over all axes from ``axis`` on, as one line."""
    lines = as_matrix(node, x, normal_axis(node, axis, x.spec.rank))
    return node.one("reshape", [node.one("softmax", [lines], axis=1)], shape=x.spec.shape)


OPS = (
    declare("Gelu", "X:T", "Y:T", _gelu, T=_FLOATS),
    declare("BiasGelu", "A:T B:T", "C:T", _gelu, T=_FLOATS),
    declare("FastGelu", "X:T bias:T?", "Y:T", _fast_gelu, T=_FLOATS),
    declare("QuickGelu", "X:T", "Y:T", _quick_gelu, "alpha:float", T=_FLOATS),
    declare(
        "BiasSoftmax",
        "data:T bias:T",
        "output:T",
        _bias_softmax,
        "axis:int is_inner_broadcast:int!",
        T="float16 float double",
    ),
)
