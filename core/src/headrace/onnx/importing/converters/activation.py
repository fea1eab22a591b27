"""ONNX nodes for: activations and limits."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np

from headrace.dtypes import float64
from headrace.onnx.importing.formula import at_least_float32, cast, same_op, scalar
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _clip(node: Node) -> Tensor:
    return node.one("clip", [node.input(0), _limit(node, 1, "min"), _limit(node, 2, "max")])


def _limit(node: Node, index: int, name: str) -> Tensor | None:
    """A limit, an attribute before opset 11; ONNX limits an absent one to the finite values."""
    given = node.optional(index) if node.opset >= 11 else None
    if given is not None:
        return given
    x = node.input(0)
    if node.opset < 11 and node.has_attr(name):
        return scalar(node, node.attr(name, 0.0), x)
    if not x.spec.dtype.is_float or node.opset < 6:
        return None
    info = ml_dtypes.finfo(x.spec.dtype.numpy)
    return node.constant(np.array(info.min if name == "min" else info.max, x.spec.dtype.numpy))


def _gelu(node: Node) -> Tensor:
    approximate = node.attr("approximate", "none")
    if approximate not in ("none", "tanh"):
        node.invalid(f"approximate is none or tanh, not {approximate!r}")
    return node.one("gelu", [node.input(0)], approximate=approximate)


def _prelu(node: Node) -> Tensor:
    x, slope = node.input(0), node.input(1)
    # Before opset 7 the slopes were those of the channels.
    if node.opset < 7 and x.spec.rank > 2 and slope.spec.rank == 1 and slope.spec.elements > 1:
        slope = node.one("reshape", [slope], shape=(-1, *(1,) * (x.spec.rank - 2)))
    return node.one("prelu", [x, slope])


def _selu(node: Node) -> Tensor:
    # Written with four digits at first.
    first = node.opset < 6
    alpha = node.attr("alpha", 1.6732 if first else 1.67326319217681884765625)
    gamma = node.attr("gamma", 1.0507 if first else 1.05070102214813232421875)
    return node.one("selu", [node.input(0)], alpha=alpha, gamma=gamma)


def _shrink(node: Node) -> Tensor:
    """``x`` moved by ``bias`` towards 0 outside ``-lambd..lambd``, and 0 inside."""
    dtype = node.input(0).spec.dtype
    x = cast(node, node.input(0), float64 if dtype.is_int else at_least_float32(dtype))
    bias, lambd = (node.attr(name, value) for name, value in (("bias", 0.0), ("lambd", 0.5)))
    below = node.one("less", [x, scalar(node, -lambd, x)])
    above = node.one("greater", [x, scalar(node, lambd, x)])
    lowered = node.one("subtract", [x, scalar(node, bias, x)])
    raised = node.one("add", [x, scalar(node, bias, x)])
    inner = node.one("where", [above, lowered, scalar(node, 0, x)])
    return cast(node, node.one("where", [below, raised, inner]), dtype)


CONVERTERS: Mapping[str, Converter] = {
    "Clip": _clip,
    "HardSigmoid": same_op("hard_sigmoid", alpha=0.2, beta=0.5),
    "HardSwish": same_op("hard_swish"),
    "Swish": same_op("swish", alpha=1.0),
    "LeakyRelu": same_op("leaky_relu", alpha=0.01),
    "ThresholdedRelu": same_op("thresholded_relu", alpha=1.0),
    "Elu": same_op("elu", alpha=1.0),
    "Celu": same_op("celu", alpha=1.0),
    "Selu": _selu,
    "Softplus": same_op("softplus"),
    "Softsign": same_op("softsign"),
    "Mish": same_op("mish"),
    "Gelu": _gelu,
    "PRelu": _prelu,
    "Shrink": _shrink,
}
