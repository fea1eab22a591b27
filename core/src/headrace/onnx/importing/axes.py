"""Axes that a node names, checked and counted from the front."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.onnx.importing.node import Node


def normal_axis(node: Node, axis: int, rank: int) -> int:
    """Turn an axis in ``-rank..rank-1`` into ``0..rank-1``.

    Raises:
        InvalidModelError: it is outside.
    """
    if not -rank <= axis < rank:
        node.invalid(f"axis {axis} is outside a tensor of rank {rank}")
    return axis % rank


def normal_axes(node: Node, axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """``normal_axis`` for each, in the given order.

    Raises:
        InvalidModelError: one is outside, or two are the same axis.
    """
    given = tuple(axes)
    result = tuple(normal_axis(node, axis, rank) for axis in given)
    if len(set(result)) != len(result):
        node.invalid(f"axes {given} name an axis of a tensor of rank {rank} twice")
    return result
