"""ONNX nodes for: elements put into a copy of a tensor, where indices say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.sizes import Whole

Bounds = tuple[Whole, Whole]
"""Where the indices of an axis begin, and end."""

FEW = 32
"""To put one element at its place takes as long as to copy so many in order."""


def _scatter_elements(node: Node) -> Tensor:
    inputs = [node.input(0), node.input(1), node.input(2)]
    axis = node.attr("axis", 0)
    return node.one("scatter_elements", inputs, axis=axis, reduction=_reduction(node))


def _scatter_nd(node: Node) -> Tensor:
    x, indices, updates, reduction = node.input(0), node.input(1), node.input(2), _reduction(node)
    bounds = _region(node) if reduction == "none" else None
    if bounds is not None and not _is_few_rows(x, updates, bounds):
        return _put(node, bounds)
    return node.one("scatter_nd", [x, indices, updates], reduction=reduction)


def _region(node: Node) -> list[Bounds] | None:
    """Of each indexed axis, where the places are a region of ``x`` and ``updates`` what fits it."""
    x, updates, runs = node.input(0), node.input(2), node.region(1)
    if runs is None or len(runs) > x.spec.rank or x.spec.dtype != updates.spec.dtype:
        return None
    bounds: list[Bounds] = []
    for run, dim in zip(runs, x.spec.shape, strict=False):
        first = run.first + dim if run.first < 0 and run.first + run.count <= 0 else run.first
        if first < 0 or first + run.count > dim:
            return None  # the op says what is wrong
        bounds.append((first, first + run.count))
    counts = tuple([run.count for run in runs])
    return bounds if updates.spec.shape == (*counts, *x.spec.shape[len(runs) :]) else None


def _cut(x: Tensor, bounds: Sequence[Bounds]) -> list[int]:
    """The axes along which a region is not all of ``x``."""
    pairs = zip(bounds, x.spec.shape, strict=False)
    return [axis for axis, (own, dim) in enumerate(pairs) if own != (0, dim)]


def _is_few_rows(x: Tensor, updates: Tensor, bounds: Sequence[Bounds]) -> bool:
    """Whether a region is best written into what is there, which nobody else may read.

    It is cut along its last axis alone, so it is rows; or single elements, but not many of them.
    """
    if _cut(x, bounds) != [len(bounds) - 1]:
        return False
    return len(bounds) < x.spec.rank or updates.spec.elements * FEW < x.spec.elements


def _put(node: Node, bounds: Sequence[Bounds]) -> Tensor:
    """``x`` with ``updates`` in the place of a region: parts of ``x`` are laid around these."""
    x, y = node.input(0), node.input(2)
    cut = _cut(x, bounds)
    while cut:
        axis = cut.pop()
        parts = [
            node.one(
                "slice",
                [x],
                axes=(*cut, axis),
                starts=(*[bounds[other][0] for other in cut], first),
                ends=(*[bounds[other][1] for other in cut], end),
            )
            for first, end in ((0, bounds[axis][0]), (bounds[axis][1], x.spec.shape[axis]))
        ]
        parts.insert(1, y)
        y = node.one("concat", [part for part in parts if part.spec.shape[axis]], axis=axis)
    return y


def _reduction(node: Node) -> str:
    reduction: str = node.attr("reduction", "none")
    if reduction not in ("none", "add", "mul", "min", "max"):
        node.invalid(f"reduction {reduction!r} is none of none, add, mul, min, max")
    return reduction


CONVERTERS: Mapping[str, Converter] = {
    "Scatter": _scatter_elements,  # deprecated since opset 11
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
}
