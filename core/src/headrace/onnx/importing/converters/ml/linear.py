"""Linear models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.dtypes import float32
from headrace.onnx.importing.converters.ml.scores import (
    both,
    chosen,
    greatest,
    labels_of,
    transformed,
)
from headrace.onnx.importing.formula import cast, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def rows(node: Node) -> Tensor:
    """The input as float32, ``[batch, features]``."""
    x = node.input(0)
    if x.spec.rank == 1:
        x = node.one("reshape", [x], shape=(1, -1))
    if x.spec.rank != 2:
        node.invalid(f"input 0 is {x.spec}; it must be [batch, features]")
    return cast(node, x, float32)


def _linear(node: Node, targets: int) -> Tensor:
    """``x @ coefficients.T + intercepts``, ``[batch, targets]``."""
    x = rows(node)
    weights, intercepts = node.attr("coefficients"), node.attr("intercepts", [])
    if len(weights) != targets * x.spec.shape[1] or len(intercepts) not in (0, targets):
        node.invalid(
            f"has {len(weights)} coefficients and {len(intercepts)} intercepts, for {targets} "
            f"targets and input {x.spec}"
        )
    table = node.constant(np.array(weights, np.float32).reshape(targets, -1))
    y = node.one("matmul", [x, table], transpose_b=True)
    return (
        node.one("add", [y, node.constant(np.array(intercepts, np.float32))]) if intercepts else y
    )


def _regressor(node: Node) -> Tensor:
    y = _linear(node, node.attr("targets", 1))
    return transformed(node, y, node.attr("post_transform", "NONE"))


def _classifier(node: Node) -> tuple[Tensor, ...]:
    labels = labels_of(node, "classlabels_ints")
    transform = node.attr("post_transform", "NONE")
    width = node.input(0).spec.shape[-1]
    targets = len(node.attr("coefficients")) // max(width, 1)
    scores = _linear(node, targets)
    if targets == 1 and len(labels) == 2:
        met = with_number(node, "greater", scores, 0)
        made = both(node, scores, transform, of_one=True)
        return (chosen(node, met, labels), made)[: node.output_count]
    if targets != len(labels):
        node.invalid(f"has coefficients of {targets} classes, and {len(labels)} labels")
    made = transformed(node, scores, transform)
    return (greatest(node, scores, labels), made)[: node.output_count]


CONVERTERS: Mapping[str, Converter] = {
    "LinearRegressor": _regressor,
    "LinearClassifier": _classifier,
}
