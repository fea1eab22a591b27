"""ONNX nodes for: distributions along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.formula import as_matrix, cast
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _along(say: Callable[[Node, Tensor, int], Tensor]) -> Converter:
    """The node whose lines ``say`` maps: along ``axis``, or before opset 13 all axes from it on."""

    def convert(node: Node) -> Tensor:
        x = node.input(0)
        shape = x.spec.shape
        if node.opset >= 13:
            return say(node, x, normal_axis(node, node.attr("axis", -1), len(shape)))
        axis = normal_axis(node, node.attr("axis", 1), len(shape))
        if math.prod(shape[axis + 1 :]) == 1:
            return say(node, x, axis)
        return node.one("reshape", [say(node, as_matrix(node, x, axis), 1)], shape=shape)

    return convert


def _softmax(node: Node, x: Tensor, axis: int) -> Tensor:
    return node.one("softmax", [x], axis=axis)


def _log_softmax(node: Node, x: Tensor, axis: int) -> Tensor:
    return node.one("log_softmax", [x], axis=axis)


def _hardmax(node: Node, x: Tensor, axis: int) -> Tensor:
    """1 where the greatest of the line first stands, 0 elsewhere."""
    if x.spec.elements == 0:  # an empty line has no greatest
        return x
    places = np.arange(x.spec.shape[axis]).reshape(-1, *(1,) * (x.spec.rank - 1 - axis))
    greatest = node.one("argmax", [x], axis=axis, keep_dims=True)
    return cast(node, node.one("equal", [greatest, node.constant(places)]), x.spec.dtype)


CONVERTERS: Mapping[str, Converter] = {
    "Softmax": _along(_softmax),
    "LogSoftmax": _along(_log_softmax),
    "Hardmax": _along(_hardmax),
}
