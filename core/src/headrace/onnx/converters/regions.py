"""ONNX nodes for: regions of images, each brought to one size."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from headrace.onnx.formula import scalar, with_number
from headrace.onnx.node import Converter, Node
from headrace.ops import Tensor


class _Taps(NamedTuple):
    """Along one axis, for each sample [regions, samples]: two elements, and what they weigh."""

    low: tuple[Tensor, Tensor]
    high: tuple[Tensor, Tensor]


def _roi_align(node: Node) -> Tensor:
    x, regions, batches = node.input(0), node.input(1), node.input(2)
    count = batches.spec.elements
    if x.spec.rank != 4 or regions.spec.shape != (count, 4):
        node.invalid(
            f"reads [n, c, h, w] at regions [count, 4]; they are {x.spec} and {regions.spec}, with "
            f"{count} batch indices"
        )
    out = (node.attr("output_height", 1), node.attr("output_width", 1))
    each, mode = node.attr("sampling_ratio", 0), node.attr("mode", "avg")
    if each < 1:
        node.refuse(f"sampling_ratio {each} samples each region its own way; from 1 on it runs")
    if mode not in ("avg", "max"):
        node.invalid(f"mode {mode!r} is neither avg nor max")
    rows, columns = (_taps(node, axis, size * each, each) for axis, size in enumerate(out))
    last = node.one("transpose", [x], perm=(0, 2, 3, 1))
    samples = (out[0] * each, out[1] * each)
    batch = _spread(node, node.one("cast", [batches], dtype="int64"), (count, 1, 1, 1), samples)
    corners = []
    for (row, height), (column, width) in itertools.product(rows, columns):
        at = [
            batch,
            _spread(node, node.one("cast", [row], dtype="int64"), (count, -1, 1, 1), samples),
            _spread(node, node.one("cast", [column], dtype="int64"), (count, 1, -1, 1), samples),
        ]
        value = node.one("gather_nd", [last, node.one("concat", at, axis=3)])
        value = node.one("multiply", [value, _axes(node, height, (count, -1, 1, 1))])
        corners.append(node.one("multiply", [value, _axes(node, width, (count, 1, -1, 1))]))
    # Of the largest, ONNX takes that of the four weighed corners, not of their sum.
    value = node.one("add_n", corners) if mode == "avg" else _largest(node, corners)
    shape = (count, out[0], each, out[1], each, x.spec.shape[1])
    fold = "reduce_mean" if mode == "avg" else "reduce_max"
    value = node.one("reshape", [value], shape=shape)
    value = node.one(fold, [value], axes=(2, 4), keep_dims=False)
    return node.one("transpose", [value], perm=(0, 3, 1, 2))


def _taps(node: Node, axis: int, samples: int, each: int) -> _Taps:
    """Where a region's samples lie along height (0) or width (1), and between which elements."""
    regions, dtype = node.input(1), node.input(1).spec.dtype.numpy
    size = node.input(0).spec.shape[2 + axis]
    scale = node.attr("spatial_scale", 1.0)
    usual = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    is_centred = node.attr("coordinate_transformation_mode", usual) == "half_pixel"
    ends = [
        node.one("slice", [regions], starts=(at,), ends=(at + 1,), axes=(1,))
        for at in (1 - axis, 3 - axis)  # x before y
    ]
    first, end = (with_number(node, "multiply", edge, scale) for edge in ends)
    length = node.one("subtract", [end, first])
    if is_centred:
        first = with_number(node, "subtract", first, 0.5)
    else:
        length = with_number(node, "maximum", length, 1)
    bins = samples // each
    steps = node.constant(((np.arange(samples) + 0.5) / each / bins).astype(dtype))
    place = node.one("add", [first, node.one("multiply", [length, steps])])
    # What is more than one element outside counts nothing; what is less, as the edge.
    far = node.one(
        "logical_or",
        [with_number(node, "less", place, -1), with_number(node, "greater", place, size)],
    )
    counts = node.one("where", [far, scalar(node, 0, place), scalar(node, 1, place)])
    place = with_number(node, "minimum", with_number(node, "maximum", place, 0), size - 1)
    low = node.one("floor", [place])
    high = with_number(node, "minimum", with_number(node, "add", low, 1), size - 1)
    rest = node.one("subtract", [place, low])
    other = with_number(node, "add", node.one("negative", [rest]), 1)
    return _Taps(
        (low, node.one("multiply", [other, counts])),
        (high, node.one("multiply", [rest, counts])),
    )


def _spread(
    node: Node, x: Tensor, shape: tuple[int, int, int, int], samples: tuple[int, int]
) -> Tensor:
    whole = (shape[0], *samples, 1)
    return node.one("expand", [_axes(node, x, shape)], shape=whole)


def _axes(node: Node, x: Tensor, shape: tuple[int, int, int, int]) -> Tensor:
    return node.one("reshape", [x], shape=tuple(x.spec.shape[1] if n == -1 else n for n in shape))


def _largest(node: Node, tensors: list[Tensor]) -> Tensor:
    most, *others = tensors
    for other in others:
        most = node.one("maximum", [most, other])
    return most


CONVERTERS: Mapping[str, Converter] = {"RoiAlign": _roi_align}
