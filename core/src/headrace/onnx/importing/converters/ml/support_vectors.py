"""Sums over support vectors."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from headrace.dtypes import float32
from headrace.numpy_ops import evaluate
from headrace.onnx.importing.converters.ml.linear import rows
from headrace.onnx.importing.converters.ml.scores import greatest, labels_of, transformed
from headrace.onnx.importing.formula import scalar, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array

_LEAST = 1e-7
"""Probabilities of one of two classes are as far from 0 and 1 at least."""


def _regressor(node: Node) -> Tensor:
    """``sum(coefficients * kernel(x, support vectors)) + rho``."""
    x, count = rows(node), node.attr("n_supports", 0)
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


def _classifier(node: Node) -> tuple[Tensor, ...]:
    """Each pair of classes has a score, which is a vote for one of them."""
    labels = labels_of(node, "classlabels_ints")
    counts, transform = node.attr("vectors_per_class", []), node.attr("post_transform", "NONE")
    if len(labels) < 2 or len(counts) != len(labels):
        node.refuse(
            f"has {len(labels)} classes and the numbers of vectors of {len(counts)}; two classes "
            "or more, each with its vectors, run"
        )
    pairs = list(itertools.combinations(range(len(labels)), 2))
    rho = np.array(node.attr("rho"), np.float32)
    vectors = np.array(node.attr("support_vectors"), np.float32).reshape(sum(counts), -1)
    x = rows(node)
    if vectors.shape[1] != x.spec.shape[1] or len(rho) != len(pairs):
        node.invalid(
            f"support vectors are {list(vectors.shape)}, input 0 is {x.spec}, and {len(rho)} rho "
            f"are for {len(pairs)} pairs of classes"
        )
    weights = node.constant(_pair_weights(node, counts, pairs))
    scores = node.one("matmul", [_kernel(node, x, vectors), weights])
    scores = node.one("add", [scores, node.constant(rho)])
    votes = _votes(node, scores, pairs, len(labels))
    if len(labels) == 2 and not node.attr("prob_a", []):
        label = greatest(node, votes, labels)
        both = node.one("concat", [node.one("negative", [scores]), scores], axis=1)
        made = transformed(node, both, transform)
    elif node.attr("prob_a", []):
        label = greatest(node, votes, labels)
        made = _coupled(node, _shares(node, scores), len(labels))
        made = transformed(node, made, transform)
    else:
        label, made = greatest(node, votes, labels), transformed(node, scores, transform)
    return (label, made)[: node.output_count]


def _pair_weights(node: Node, counts: Sequence[int], pairs: list[tuple[int, int]]) -> Array:
    """What each support vector weighs in the score of each pair, ``[vectors, pairs]``."""
    total = sum(counts)
    given = np.array(node.attr("coefficients"), np.float32)
    if given.size != total * (len(counts) - 1):
        node.invalid(f"has {given.size} coefficients for {total} vectors of {len(counts)} classes")
    given = given.reshape(-1, total)
    ends = np.cumsum(counts)
    own = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    weights = np.zeros((total, len(pairs)), np.float32)
    for column, (first, second) in enumerate(pairs):
        # The row of a vector's coefficients counts the classes that are not its own.
        weights[own[first], column] = given[second - 1, own[first]]
        weights[own[second], column] = given[first, own[second]]
    return weights


def _votes(node: Node, scores: Tensor, pairs: list[tuple[int, int]], classes: int) -> Tensor:
    """How many pairs each class has won, ``[batch, classes]``."""
    table = np.zeros((2, len(pairs), classes), np.float32)
    for row, (first, second) in enumerate(pairs):
        table[0, row, first] = table[1, row, second] = 1
    won = node.one("cast", [with_number(node, "greater", scores, 0)], dtype=float32)
    # The rest is lost: what it gives to the second class is there, and taken away where won.
    difference = node.one("matmul", [won, node.constant(table[0] - table[1])])
    return node.one("add", [difference, node.constant(table[1].sum(0))])


def _shares(node: Node, scores: Tensor) -> Tensor:
    """How probable the first class of each pair is, were it one of the two."""
    slopes, offsets = (np.array(node.attr(name), np.float32) for name in ("prob_a", "prob_b"))
    if slopes.shape != offsets.shape or len(slopes) != scores.spec.shape[1]:
        node.invalid(f"{slopes.size} prob_a and {offsets.size} prob_b are for {scores.spec}")
    y = node.one("multiply", [scores, node.constant(slopes)])
    y = node.one("sigmoid", [node.one("negative", [node.one("add", [y, node.constant(offsets)])])])
    return with_number(node, "minimum", with_number(node, "maximum", y, _LEAST), 1 - _LEAST)


def _coupled(node: Node, shares: Tensor, classes: int) -> Tensor:
    """Probabilities of all classes: on the device, or else on the host, which ends the stage."""
    call = node.call("couple_pairs", [shares], classes=classes)
    if node.has_kernel(call):
        return node.one(call.op, [shares], classes=classes)
    return node.measured_of([shares], lambda array: evaluate(call, [array]))[1][0]


CONVERTERS: Mapping[str, Converter] = {
    "SVMRegressor": _regressor,
    "SVMClassifier": _classifier,
}
