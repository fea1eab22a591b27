"""ONNX nodes for: regions of images, each brought to one size."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from headrace.onnx.importing.formula import scalar, with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array

_FAR = 1 << 24
"""No image is so large: where a region ends beyond, or at a NaN, does not matter."""


class _Taps(NamedTuple):
    """Along one axis, for each sample [regions, samples]: two elements, and what they weigh."""

    low: tuple[Tensor, Tensor]
    high: tuple[Tensor, Tensor]


class _Sampling(NamedTuple):
    """Along one axis, of all regions or of each: where samples are, 0 to 1, and their weights."""

    places: Tensor
    weights: Tensor


def _roi_align(node: Node) -> Tensor:
    x, regions, batches = node.input(0), node.input(1), node.input(2)
    count = batches.spec.elements
    if x.spec.rank != 4 or regions.spec.shape != (count, 4):
        node.invalid(
            f"reads [n, c, h, w] at regions [count, 4]; they are {x.spec} and {regions.spec}, with "
            f"{count} batch indices"
        )
    out = (node.attr("output_height", 1), node.attr("output_width", 1))
    ratio, mode = node.attr("sampling_ratio", 0), node.attr("mode", "avg")
    if ratio < 0 or min(out) < 1:
        node.invalid(f"sampling_ratio is {ratio} and the output {out[0]} x {out[1]}")
    if mode not in ("avg", "max"):
        node.invalid(f"mode {mode!r} is neither avg nor max")
    regions, samplings = _samplings(node, regions, out, ratio)
    rows_of, columns_of = (_places(node, regions, axis, s) for axis, s in enumerate(samplings))
    if mode == "avg" and x.spec.shape[0] == 1 and count:
        return _pooled(node, rows_of, columns_of, out)
    rows, columns = (_taps(node, at, axis) for axis, at in enumerate((rows_of, columns_of)))
    last = node.one("transpose", [x], perm=(0, 2, 3, 1))
    samples = (samplings[0].places.spec.shape[1], samplings[1].places.spec.shape[1])
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
    return _folded(node, value, "reduce_sum" if mode == "avg" else "reduce_max", out)


def _max_roi_pool(node: Node) -> Tensor:
    """The largest element of each part of a region; parts may share elements, or have none."""
    x, regions = node.input(0), node.input(1)
    out = tuple(node.attr("pooled_shape"))
    if x.spec.rank != 4 or regions.spec.rank != 2 or regions.spec.shape[1] != 5:
        node.invalid(f"reads [n, c, h, w] at regions [count, 5]: {x.spec} and {regions.spec}")
    if len(out) != 2 or min(out) < 1:
        node.invalid(f"pooled_shape {out} must be two numbers, none below 1")
    scale = node.attr("spatial_scale", 1.0)

    def look(regions: Array) -> list[Array]:
        rows, no_row = _elements(regions[:, 2::2], scale, out[0], x.spec.shape[2])
        columns, no_column = _elements(regions[:, 1::2], scale, out[1], x.spec.shape[3])
        none = no_row[:, :, None] | no_column[:, None, :]
        return [regions[:, 0].astype(np.int64), rows, columns, none[..., None]]

    batches, rows, columns, none = node.measured([1], look, outputs=4)
    samples = (rows.spec.shape[1], columns.spec.shape[1])
    high, wide = (batches.spec.elements, -1, 1, 1), (batches.spec.elements, 1, -1, 1)
    at = [
        _spread(node, batches, (batches.spec.elements, 1, 1, 1), samples),
        _spread(node, rows, high, samples),
        _spread(node, columns, wide, samples),
    ]
    last = node.one("transpose", [x], perm=(0, 2, 3, 1))
    value = node.one("gather_nd", [last, node.one("concat", at, axis=3)])
    value = _folded(node, value, "reduce_max", (out[0], out[1]))
    none = node.one("transpose", [none], perm=(0, 3, 1, 2))
    return node.one("where", [none, scalar(node, 0, x), value])


def _elements(ends: Array, scale: float, bins: int, size: int) -> tuple[Array, Array]:
    """Along one axis, the elements of each region's parts, ``[regions, bins * most]``.

    Parts with fewer than the most say their last one again. The second array says which parts,
    ``[regions, bins]``, have none.

    Args:
        ends: first and last element of each region, before they are scaled.
        scale: of ``ends``.
        bins: how many parts a region has.
        size: of the image.
    """
    ends = ends.astype(np.promote_types(ends.dtype, np.float32))
    dtype = ends.dtype.type
    ends = ends * dtype(scale)
    ends[~np.isfinite(ends).all(1)] = -_FAR  # what has no end is nowhere
    ends = np.clip(ends, -_FAR, _FAR)
    whole = np.trunc(ends)
    ends = whole + np.sign(ends) * (np.abs(ends - whole) >= 0.5)  # halves away from zero
    part = np.maximum(ends[:, 1:] - ends[:, :1] + 1, 1) / dtype(bins)
    number = np.arange(bins, dtype=dtype)
    begin = np.clip(np.floor(number * part) + ends[:, :1], 0, size).astype(np.int64)
    end = np.clip(np.ceil((number + 1) * part) + ends[:, :1], 0, size).astype(np.int64)
    most = max((end - begin).max(initial=1), 1)
    at = np.minimum(begin[..., None] + np.arange(most), end[..., None] - 1)
    return np.clip(at, 0, size - 1).reshape(len(ends), bins * most), end <= begin


def _folded(node: Node, value: Tensor, fold: str, out: tuple[int, int]) -> Tensor:
    """Samples of regions, ``[regions, rows, columns, channels]``, folded to ``out`` and turned."""
    count, rows, columns, channels = value.spec.shape
    shape = (count, out[0], rows // out[0], out[1], columns // out[1], channels)
    value = node.one("reshape", [value], shape=shape)
    value = node.one(fold, [value], axes=(2, 4), keep_dims=False)
    return node.one("transpose", [value], perm=(0, 3, 1, 2))


def _pooled(node: Node, rows: _Sampling, columns: _Sampling, out: tuple[int, int]) -> Tensor:
    """The mean where there is one image: it is sampled at all places at once, and pooled.

    Regions lie beside each other, so that what is pooled has long rows.
    """
    x, batches = node.input(0), node.input(2)
    count, channels = batches.spec.elements, x.spec.shape[1]
    samples = (rows.places.spec.shape[1], columns.places.spec.shape[1])
    parts = (samples[0] // out[0], samples[1] // out[1])
    high, wide = (count, -1, 1, 1), (count, 1, -1, 1)
    at = [  # the last axis first
        _spread(node, columns.places, wide, samples),
        _spread(node, rows.places, high, samples),
    ]
    grid = _side_by_side(node, node.one("concat", at, axis=3))
    # Another image than the first is an error, which looking it up says.
    taps = node.constant(np.full(1, parts[0] * parts[1], x.spec.dtype.numpy))
    taps = node.one("gather", [taps, batches], axis=0)
    weight = node.one(
        "multiply", [_axes(node, taps, (count, 1, 1, 1)), _axes(node, rows.weights, high)]
    )
    weight = node.one("multiply", [weight, _axes(node, columns.weights, wide)])
    weight = _side_by_side(node, weight)
    value = node.one("grid_sample", [x, grid], padding_mode="border", normalized=False)
    weight = node.one("reshape", [weight], shape=weight.spec.shape[:3])
    value = node.one("multiply", [value, weight])
    value = node.one("avg_pool", [value], kernel=parts, strides=parts)
    value = node.one("reshape", [value], shape=(channels, out[0], count, out[1]))
    return node.one("transpose", [value], perm=(2, 0, 1, 3))


def _side_by_side(node: Node, x: Tensor) -> Tensor:
    """``[regions, height, width, n]`` as one image, ``[1, height, regions * width, n]``."""
    regions, height, width, last = x.spec.shape
    turned = node.one("transpose", [x], perm=(1, 0, 2, 3))
    return node.one("reshape", [turned], shape=(1, height, regions * width, last))


def _samplings(
    node: Node, regions: Tensor, out: tuple[int, int], ratio: int
) -> tuple[Tensor, list[_Sampling]]:
    """How height and width are sampled; and the regions, where the host has looked at them.

    A ratio of 0 means about one sample for each element of the image, so their number is that of
    the region: all have as many as the largest needs, of which some count nothing.
    """
    dtype, is_mean = regions.spec.dtype.numpy, node.attr("mode", "avg") == "avg"
    if ratio:
        made = []
        for bins in out:
            places = ((np.arange(bins * ratio) + 0.5) / ratio / bins).astype(dtype)
            weight = node.constant(np.full(1, 1 / ratio if is_mean else 1, dtype)[None])
            made.append(_Sampling(node.constant(places[None]), weight))
        return regions, made
    scale, is_centred = node.attr("spatial_scale", 1.0), _is_centred(node)

    def sample(corners: Array) -> list[Array]:
        arrays: list[Array] = []
        for axis, bins in enumerate(out):
            length = (corners[:, 3 - axis] - corners[:, 1 - axis]) * dtype.type(scale)
            length = length if is_centred else np.maximum(length, 1)
            needed = np.ceil(length / bins).astype(np.float64)[:, None]
            needed = np.where(needed < _FAR, np.maximum(needed, 0), 0).astype(np.int64)
            number = np.arange(max(needed.max(initial=1), 1))
            counts = number < needed
            # What does not count is where the last that counts is: the largest stays the same.
            number = np.minimum(number, np.maximum(needed - 1, 0))
            within = (number + 0.5) / np.maximum(needed, 1)
            places = (np.arange(bins)[:, None] + within[:, None, :]) / bins
            weights = counts / np.maximum(needed, 1) if is_mean else (needed > 0) + 0 * number
            arrays.append(places.reshape(len(corners), bins * number.shape[1]).astype(dtype))
            arrays.append(np.tile(weights, (1, bins)).astype(dtype))
        return arrays

    (regions,), made_ = node.measured_of([regions], sample, outputs=4)
    return regions, [_Sampling(*made_[:2]), _Sampling(*made_[2:])]


def _is_centred(node: Node) -> bool:
    usual = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    return bool(node.attr("coordinate_transformation_mode", usual) == "half_pixel")


def _places(node: Node, regions: Tensor, axis: int, sampling: _Sampling) -> _Sampling:
    """Where in the image a region's samples lie along height (0) or width (1)."""
    size = node.input(0).spec.shape[2 + axis]
    scale, is_centred = node.attr("spatial_scale", 1.0), _is_centred(node)
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
    place = node.one("add", [first, node.one("multiply", [length, sampling.places])])
    # What is more than one element outside counts nothing; what is less, as the edge.
    far = node.one(
        "logical_or",
        [with_number(node, "less", place, -1), with_number(node, "greater", place, size)],
    )
    counts = node.one("where", [far, scalar(node, 0, place), sampling.weights])
    place = with_number(node, "minimum", with_number(node, "maximum", place, 0), size - 1)
    return _Sampling(place, counts)


def _taps(node: Node, sampling: _Sampling, axis: int) -> _Taps:
    """Between which elements samples lie."""
    place, counts = sampling
    size = node.input(0).spec.shape[2 + axis]
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


CONVERTERS: Mapping[str, Converter] = {"RoiAlign": _roi_align, "MaxRoiPool": _max_roi_pool}
