"""Attention of several heads: what the ops that fuse it have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import ml_dtypes
import numpy as np

from headrace.dtypes import DType, int64
from headrace.onnx.importing.formula import cast, scalar, with_number
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor


def split_heads(node: Node, x: Tensor, heads: int) -> Tensor:
    """``[batch, steps, heads * size]`` as ``[batch, heads, steps, size]``."""
    batch, steps, hidden = x.spec.shape
    if heads < 1 or hidden % heads:
        node.invalid(f"num_heads is {heads}, which does not divide {x.spec}")
    apart = node.one("reshape", [x], shape=(batch, steps, heads, hidden // heads))
    return node.one("transpose", [apart], perm=(0, 2, 1, 3))


def parts(node: Node, x: Tensor, sizes: Sequence[int]) -> list[Tensor]:
    """``x`` cut along its last axis.

    Raises:
        InvalidModelError: the sizes are not all of it.
    """
    if sum(sizes) != x.spec.shape[-1]:
        node.invalid(f"{x.spec} is cut into parts of {list(sizes)}")
    ends = accumulate(sizes)
    return [part(node, x, end - size, end) for size, end in zip(sizes, ends, strict=True)]


def part(node: Node, x: Tensor, start: int, end: int) -> Tensor:
    """``x[..., start:end]``."""
    return node.one("slice", [x], starts=(start,), ends=(end,), axes=(x.spec.rank - 1,))


def after(node: Node, before: Tensor, x: Tensor) -> Tensor:
    """What was seen in calls before, and ``x`` after it: ``[batch, heads, steps, size]``."""
    (batch, heads, _, size), shape = x.spec.shape, before.spec.shape
    if len(shape) != 4 or shape != (batch, heads, shape[2], size):
        node.invalid(f"was given {before.spec} before and {x.spec} now; only steps may differ")
    return node.one("concat", [before, x], axis=2)


def attend(
    node: Node, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None
) -> Tensor:
    """``softmax(q @ k * scale + mask + bias) @ v``, the heads side by side again.

    Args:
        node: the node; its ``scale`` and ``unidirectional`` count.
        q: ``[batch, heads, steps, size]``.
        k: ``[batch, heads, seen, size]``.
        v: ``[batch, heads, seen, size of values]``.
        mask: as ``_mask_bias`` reads it.
        bias: broadcasts to the scores, ``[batch, heads, steps, seen]``.

    Returns:
        ``[batch, steps, heads * size of values]``.
    """
    size = q.spec.shape[-1]
    scale = node.attr("scale", 0.0) or 1 / math.sqrt(size)
    scores = node.one("matmul", [q, k], transpose_b=True)
    scores = with_number(node, "multiply", scores, scale)
    shape = scores.spec.shape
    terms = [_mask_bias(node, mask, shape, q.spec.dtype), bias, _only_before(node, shape, q)]
    for term in terms:
        if term is not None:
            scores = node.one("add", [scores, term])
    if scores.spec.shape != shape:
        node.invalid(f"the scores are {list(shape)}, to which the mask and bias do not broadcast")
    y = node.one("matmul", [node.one("softmax", [scores], axis=3), v])
    y = node.one("transpose", [y], perm=(0, 2, 1, 3))
    batch, steps, heads, width = y.spec.shape
    return node.one("reshape", [y], shape=(batch, steps, heads * width))


def _only_before(node: Node, shape: tuple[int, ...], like: Tensor) -> Tensor | None:
    """What keeps each step from those after it."""
    if not node.attr("unidirectional", 0):
        return None
    steps, seen = shape[-2:]
    later = np.triu(np.ones((steps, seen), bool), seen - steps + 1)
    return node.one("where", [node.constant(later), least(node, like), scalar(node, 0, like)])


def least(node: Node, like: Tensor) -> Tensor:
    """The least number of the dtype of ``like``: a score of which softmax makes 0."""
    return scalar(node, float(ml_dtypes.finfo(like.spec.dtype.numpy).min), like)


def _mask_bias(
    node: Node, mask: Tensor | None, shape: tuple[int, ...], dtype: DType
) -> Tensor | None:
    """What is added to the scores: ``mask_filter_value`` where they do not count.

    The mask says for each step whether it counts, ``[batch, seen]`` or ``[batch, steps, seen]``;
    or where the steps end that count, ``[batch]``; or where they end and begin, ``[2 * batch]``.
    """
    if mask is None:
        return None
    batch, _, steps, seen = shape
    given = mask.spec.shape
    if given in ((1, 1), (batch, 1)) and seen > 1:  # stands for no mask at all
        return None
    if given == (batch, seen):
        counts = node.one("reshape", [mask], shape=(batch, 1, 1, seen))
        counts = with_number(node, "greater", counts, 0)
    elif given == (batch, steps, seen):
        counts = node.one("reshape", [mask], shape=(batch, 1, steps, seen))
        counts = with_number(node, "greater", counts, 0)
    elif given in ((batch,), (2 * batch,)):
        counts = _between(node, mask, batch, seen)
    else:
        node.refuse(
            f"the mask is {mask.spec}; of {batch} sequences, {steps} steps and {seen} seen, it may "
            f"be {[batch, seen]}, {[batch, steps, seen]}, {[batch]} or {[2 * batch]}"
        )
    like = node.constant(np.zeros((), dtype.numpy))
    outside = scalar(node, node.attr("mask_filter_value", -10000.0), like)
    return node.one("where", [counts, like, outside])


def _between(node: Node, bounds: Tensor, batch: int, seen: int) -> Tensor:
    """Which steps are before the end and, where there are beginnings, not before these."""
    rows = node.one("reshape", [cast(node, bounds, int64)], shape=(-1, batch, 1, 1, 1))
    places = node.constant(np.arange(seen))
    ends = node.one("slice", [rows], starts=(0,), ends=(1,), axes=(0,))
    before = node.one("reshape", [node.one("less", [places, ends])], shape=(batch, 1, 1, seen))
    if rows.spec.shape[0] == 1:
        return before
    starts = node.one("slice", [rows], starts=(1,), ends=(2,), axes=(0,))
    early = node.one("reshape", [node.one("less", [places, starts])], shape=(batch, 1, 1, seen))
    return node.one("logical_and", [before, node.one("logical_not", [early])])
