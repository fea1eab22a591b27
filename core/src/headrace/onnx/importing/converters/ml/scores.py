"""What becomes of the scores of classes and targets, and the class that they say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.dtypes import int64
from headrace.onnx.importing.formula import scalar, with_number
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""By the numbers that they have where they are no text."""

_ZERO = 1e-7
"""Scores that are nearer to 0 are as good as it."""


def transformed(node: Node, scores: Tensor, name: str) -> Tensor:
    """``scores``, ``[batch, targets]``, by the attribute ``post_transform``."""
    if name == "NONE":
        return scores
    if name == "SOFTMAX":
        return node.one("softmax", [scores], axis=1)
    if name == "LOGISTIC":
        return node.one("sigmoid", [scores])
    if name != "SOFTMAX_ZERO":
        node.refuse(f"post_transform is {name!r}; {', '.join(TRANSFORMS[:4])} run")
    return _softmax_of_some(node, scores)


def _softmax_of_some(node: Node, x: Tensor) -> Tensor:
    """Softmax of the scores that are not 0; the others stay it."""
    greatest = node.one("reduce_max", [x], axes=(1,), keep_dims=True)
    grown = node.one("exp", [node.one("subtract", [x, greatest])])
    some = with_number(node, "greater", node.one("abs", [x]), _ZERO)
    grown = node.one("where", [some, grown, scalar(node, 0, x)])
    total = node.one("reduce_sum", [grown], axes=(1,), keep_dims=True)
    return node.one("divide", [grown, total])


def labels_of(node: Node, ints: str) -> Sequence[int]:
    """The classes, which are numbers: the host gives them names where they have some.

    Raises:
        InvalidModelError: there are none.
    """
    labels: Sequence[int] = node.attr(ints, [])
    if not labels:
        node.invalid(f"attribute {ints!r} is required and is absent")
    return labels


def greatest(node: Node, scores: Tensor, labels: Sequence[int]) -> Tensor:
    """The class of the greatest score of each row."""
    place = node.one("argmax", [scores], axis=1, keep_dims=False)
    return node.one("gather", [node.constant(np.array(labels, np.int64)), place], axis=0)


def chosen(node: Node, second: Tensor, labels: Sequence[int]) -> Tensor:
    """The second class where ``second``, ``[batch, 1]``, else the first."""
    place = node.one("cast", [node.one("reshape", [second], shape=(-1,))], dtype=int64)
    return node.one("gather", [node.constant(np.array(labels, np.int64)), place], axis=0)


def both(node: Node, score: Tensor, transform: str, *, of_one: bool) -> Tensor:
    """The scores of two classes, by that of the second, ``[batch, 1]``.

    Args:
        node: the node.
        score: of the second class.
        transform: as for ``transformed``.
        of_one: it is a share of 1, and the first class has the rest.
    """
    if transform == "LOGISTIC":
        pair = [node.one("negative", [score]), score]
        return node.one("sigmoid", [node.one("concat", pair, axis=1)])
    if of_one:
        first = node.one("subtract", [scalar(node, 1, score), score])
    else:
        first = node.one("negative", [score])
    return node.one("concat", [first, score], axis=1)
