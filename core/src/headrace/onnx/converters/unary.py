"""ONNX nodes for: elementwise functions of one tensor."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor


def _same(op: str) -> Converter:
    """The node that is one headrace op, in every version."""

    def convert(node: Node) -> Tensor:
        return node.one(op, [node.input(0)])

    return convert


CONVERTERS: Mapping[str, Converter] = {
    "Relu": _same("relu"),
    "Neg": _same("negative"),
    "Abs": _same("abs"),
    "Sign": _same("sign"),
    "Floor": _same("floor"),
    "Ceil": _same("ceil"),
    "Round": _same("round"),
    "Sqrt": _same("sqrt"),
    "Reciprocal": _same("reciprocal"),
    "Exp": _same("exp"),
    "Log": _same("log"),
    "Erf": _same("erf"),
    "Sigmoid": _same("sigmoid"),
    "Sin": _same("sin"),
    "Cos": _same("cos"),
    "Tan": _same("tan"),
    "Asin": _same("asin"),
    "Acos": _same("acos"),
    "Atan": _same("atan"),
    "Sinh": _same("sinh"),
    "Cosh": _same("cosh"),
    "Tanh": _same("tanh"),
    "Asinh": _same("asinh"),
    "Acosh": _same("acosh"),
    "Atanh": _same("atanh"),
}
