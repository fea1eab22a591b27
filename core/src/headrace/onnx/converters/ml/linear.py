"""Linear models, and sums over support vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headrace.dtypes import float32
from headrace.onnx.converters.ml.scores import both, chosen, greatest, labels_of, transformed
from headrace.onnx.formula import cast, scalar, with_number
from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor


def _rows(node: Node) -> Tensor:
    """The input as float32, ``[batch, features]``."""
    x = node.input(0)
    if x.spec.rank == 1:
        x = node.one("reshape", [x], shape=(1, -1))
    if x.spec.rank != 2:
        node.invalid(f"input 0 is {x.spec}; it must be [batch, features]")
    return cast(node, x, float32)


def _linear(node: Node, targets: int) -> Tensor:
    """``x @ coefficients.T + intercepts``, ``[batch, targets]``."""
    x = _rows(node)
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


def _support_vectors(node: Node) -> Tensor:
    """``sum(coefficients * kernel(x, support vectors)) + rho``."""
    x, count = _rows(node), node.attr("n_supports", 0)
    weights = node.constant(np.array(node.attr("coefficients"), np.float32)[:, None])
    if count:
        vectors = np.array(node.attr("support_vectors"), np.float32).reshape(count, -1)
        if vectors.shape[1] != x.spec.shape[1]:
            node.invalid(f"support vectors are {list(vectors.shape)}, and input 0 is {x.spec}")
        x = _kernel(node, x, vectors)
    y = node.one("matmul", [x, weights])
    y = with_number(node, "add", y, node.attr("rho", [0.0])[0])
    if node.attr("one_class", 0):
        met = with_number(node, "greater", y, 0)
        return node.one("where", [met, scalar(node, 1, y), scalar(node, -1, y)])
    return transformed(node, y, node.attr("post_transform", "NONE"))


def _kernel(node: Node, x: Tensor, vectors: np.ndarray) -> Tensor:
    """``[batch, support vectors]``."""
    kind, params = node.attr("kernel_type", "LINEAR"), node.attr("kernel_params", [])
    gamma, coef0, degree = [*params, 0.0, 0.0, 0.0][:3]
    products = node.one("matmul", [x, node.constant(vectors)], transpose_b=True)
    if kind == "LINEAR":
        return products
    if kind == "RBF":
        mine = node.one("multiply", [x, x])
        mine = node.one("reduce_sum", [mine], axes=(1,), keep_dims=True)
        theirs = node.constant((vectors**2).sum(1))
        distance = node.one("add", [mine, theirs])
        distance = node.one("subtract", [distance, with_number(node, "multiply", products, 2)])
        distance = with_number(node, "maximum", distance, 0)
        return node.one("exp", [with_number(node, "multiply", distance, -gamma)])
    y = with_number(node, "add", with_number(node, "multiply", products, gamma), coef0)
    if kind == "POLY":
        return with_number(node, "power", y, degree)
    if kind != "SIGMOID":
        node.invalid(f"kernel_type is {kind!r}")
    return node.one("tanh", [y])


CONVERTERS: Mapping[str, Converter] = {
    "LinearRegressor": _regressor,
    "LinearClassifier": _classifier,
    "SVMRegressor": _support_vectors,
}
