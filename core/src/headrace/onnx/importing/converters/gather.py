"""ONNX nodes for: elements chosen by index tensors, or by their order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array


def _gather(node: Node) -> Tensor:
    x, indices, axis = node.input(0), node.input(1), node.attr("axis", 0)
    part = _part(node, x.spec.shape[axis]) if _is_axis(axis, x) else None
    if part is None:
        return node.one("gather", [x, indices], axis=axis)
    # What is always in one place is a part of x, which is often no work at all.
    bounds = {"starts": part[:1], "ends": part[1:2], "steps": part[2:]}
    sliced = node.one("slice", [x], axes=(axis,), **bounds)
    if indices.spec.rank == 1:
        return sliced
    shape = list(x.spec.shape)
    del shape[axis]
    return node.one("reshape", [sliced], shape=tuple(shape))


def _is_axis(axis: object, x: Tensor) -> bool:
    return isinstance(axis, int) and -x.spec.rank <= axis < x.spec.rank


def _part(node: Node, length: int) -> tuple[int, int, int] | None:
    progression = node.progression(1)
    if progression is None:
        return _range(node.integers(1), length)
    first, step, count = progression
    last = first + (count - 1) * step
    return (first, last + 1, step) if first >= 0 and step > 0 and last < length else None


def _range(indices: Array | None, length: int) -> tuple[int, int, int] | None:
    """Where known indices, one or a vector, that go up evenly begin and end, and the step.

    None for others.
    """
    if indices is None or indices.ndim > 1 or indices.size == 0:
        return None
    given = indices.reshape(-1)
    count = given.size
    ends = given[[0, min(1, count - 1), -1]].tolist()
    if min(ends) < -length or max(ends) >= length:
        return None  # the op says what is wrong
    first, second, last = [place + length if place < 0 else place for place in ends]
    step = second - first if count > 1 else 1
    if step < 1 or first + (count - 1) * step != last:
        return None
    if count > 3:  # else these are all of them
        places = given if given.dtype == object else given.astype(np.int64)  # of symbolic sizes
        places = np.where(places < 0, places + length, places)
        if (np.diff(places) != step).any():
            return None
    return first, last + 1, step


def _gather_elements(node: Node) -> Tensor:
    return node.one("gather_elements", [node.input(0), node.input(1)], axis=node.attr("axis", 0))


def _gather_nd(node: Node) -> Tensor:
    batch_dims = node.attr("batch_dims", 0)
    return node.one("gather_nd", [node.input(0), node.input(1)], batch_dims=batch_dims)


def _reverse_sequence(node: Node) -> Tensor:
    x, lengths = node.input(0), node.ints(1) or ()
    time, batch = node.attr("time_axis", 0), node.attr("batch_axis", 1)
    if {time, batch} != {0, 1} or x.spec.rank < 2:
        node.invalid(
            f"time_axis {time} and batch_axis {batch} must be the axes 0 and 1 of {x.spec}"
        )
    steps, sequences = x.spec.shape[time], x.spec.shape[batch]
    if len(lengths) != sequences or any(not 0 <= length <= steps for length in lengths):
        node.invalid(f"sequence_lens {lengths} must be {sequences} lengths of at most {steps}")
    swap = (1, 0, *range(2, x.spec.rank))
    by_sequence = x if batch == 0 else node.one("transpose", [x], perm=swap)
    at = np.arange(steps)
    ends = np.array(lengths, np.int64).reshape(-1, 1)
    order = np.where(at < ends, ends - 1 - at, at)[..., np.newaxis]
    y = node.one("gather_nd", [by_sequence, node.constant(order)], batch_dims=1)
    return y if batch == 0 else node.one("transpose", [y], perm=swap)


def _compress(node: Node) -> Tensor:
    x = node.input(0)
    (chosen,) = node.measured((1,), lambda is_kept: (np.flatnonzero(is_kept),))
    if node.has_attr("axis"):
        axis = normal_axis(node, node.attr("axis"), x.spec.rank)
    else:
        x, axis = node.one("reshape", [x], shape=(-1,) if x.spec.elements else (0,)), 0
    return node.one("gather", [x, chosen], axis=axis)


def _top_k(node: Node) -> tuple[Tensor, ...]:
    wanted = (node.attr("k"),) if node.opset < 10 else node.ints(1)
    if wanted is None or len(wanted) != 1:
        node.invalid(f"K must be one number; it is {wanted}")
    axis, largest = node.attr("axis", -1), node.attr("largest", 1)
    # Without `sorted` any order is right, so this one.
    made = node.op("top_k", [node.input(0)], outputs=2, k=wanted[0], axis=axis, largest=largest)
    return made[: node.output_count]


def _nonzero(node: Node) -> Tensor:
    return node.measured((0,), lambda value: (np.argwhere(value).T.astype(np.int64),))[0]


def _unique(node: Node) -> tuple[Tensor, ...]:
    rank = node.input(0).spec.rank
    axis = normal_axis(node, node.attr("axis"), rank) if node.has_attr("axis") else None
    find = partial(_uniques, axis=axis, is_sorted=bool(node.attr("sorted", 1)))
    return node.measured((0,), find, outputs=4)[: node.output_count]


def _uniques(value: Array, axis: int | None, is_sorted: bool) -> tuple[Array, ...]:
    """The different elements, where each is first, which each element is, and how many are."""
    unique, first, inverse, counts = np.unique(
        value, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    if not is_sorted:
        order = np.argsort(first, kind="stable")
        rank = np.argsort(order, kind="stable")
        unique = np.take(unique, order, axis=axis or 0)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    indices = (part.reshape(-1).astype(np.int64) for part in (first, inverse, counts))
    return unique, *indices


CONVERTERS: Mapping[str, Converter] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ReverseSequence": _reverse_sequence,
    "Compress": _compress,
    "TopK": _top_k,
    "NonZero": _nonzero,
    "Unique": _unique,
}
