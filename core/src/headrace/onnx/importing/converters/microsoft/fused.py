"""Products and convolutions with what onnxruntime fuses into them: factors, sums, activations."""

from __future__ import annotations

from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.conv import CONVERTERS as CONVOLUTIONS
from headrace.onnx.importing.converters.matmul import CONVERTERS as PRODUCTS
from headrace.onnx.importing.formula import scalar, with_number
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_PLAIN = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}
_FLOATS = "float16 float double bfloat16"


def _fused_conv(node: Node) -> Tensor:
    """A convolution, a sum with Z, and an activation of that."""
    y = CONVOLUTIONS["Conv"](node)
    assert isinstance(y, Tensor)
    if node.optional(3) is not None:
        y = node.one("add", [y, node.input(3)])
    return _activated(node, y, [float(value) for value in node.attr("activation_params", [])])


def _fused_gemm(node: Node) -> Tensor:
    y = PRODUCTS["Gemm"](node)
    assert isinstance(y, Tensor)
    names = ("activation_alpha", "activation_beta")
    return _activated(node, y, [node.attr(name, 0.0) for name in names if node.has_attr(name)])


def _activated(node: Node, y: Tensor, parameters: list[float]) -> Tensor:
    name = node.attr("activation", "")
    if not name:
        return y
    if name in _PLAIN:
        return node.one(_PLAIN[name], [y])
    if name == "LeakyRelu":
        return node.one("leaky_relu", [y], alpha=parameters[0] if parameters else 0.01)
    if name in ("Clip", "HardSigmoid") and len(parameters) == 2:
        first, second = parameters
        if name == "HardSigmoid":
            return node.one("hard_sigmoid", [y], alpha=first, beta=second)
        return node.one("clip", [y, scalar(node, first, y), scalar(node, second, y)])
    return node.refuse(
        f"activation is {name!r} with parameters {parameters}; Relu, Tanh and Sigmoid run, "
        "LeakyRelu with one parameter, Clip and HardSigmoid with two"
    )


def _fused_matmul(node: Node) -> Tensor:
    """``alpha * A @ B``; of each, the matrices or the axes before their last may be turned."""
    a, b = _turned(node, 0, "A"), _turned(node, 1, "B")
    y = node.one("matmul", [a, b])
    alpha = node.attr("alpha", 1.0)
    return y if alpha == 1 else with_number(node, "multiply", y, alpha)


def _turned(node: Node, index: int, name: str) -> Tensor:
    x = node.input(index)
    order = list(range(x.spec.rank))
    if x.spec.rank < 2:  # a vector has nothing to turn
        return x
    if node.attr(f"transBatch{name}", 0):  # the first axis goes to the last but one
        order = [*order[1:-1], order[0], order[-1]]
    if node.attr(f"trans{name}", 0):
        order = [*order[:-2], order[-1], order[-2]]
    return x if order == sorted(order) else node.one("transpose", [x], perm=order)


OPS = (
    declare(
        "FusedConv",
        "X:T W:T B:T? Z:T?",
        "Y:T",
        _fused_conv,
        "activation:string activation_params:floats auto_pad:string dilations:ints group:int "
        "kernel_shape:ints pads:ints strides:ints",
        T="float16 float double",
    ),
    declare(
        "FusedGemm",
        "A:T B:T C:T?",
        "Y:T",
        _fused_gemm,
        "activation:string activation_alpha:float activation_beta:float activation_gamma:float "
        "alpha:float beta:float transA:int transB:int",
        T="float16 float double uint32 uint64 int32 int64",
    ),
    declare(
        "FusedMatMul",
        "A:T B:T",
        "Y:T",
        _fused_matmul,
        "alpha:float transA:int transB:int transBatchA:int transBatchB:int",
        T=_FLOATS,
    ),
    declare(
        "TransposeMatMul",
        "A:T B:T",
        "Y:T",
        _fused_matmul,
        "alpha:float transA:int transB:int",
        T=_FLOATS,
    ),
)
