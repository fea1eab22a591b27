"""ONNX nodes for: images read at computed places, such places, and columns put together."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headrace.dtypes import DType, float32, float64, int64
from headrace.errors import ResourceLimitError
from headrace.onnx.file import limits
from headrace.onnx.importing.converters.window import numbers
from headrace.onnx.importing.formula import cast
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor
from headrace.tensor_spec import Array

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of the first version of GridSample, which had images of two axes only."""


def _grid_sample(node: Node) -> Tensor:
    x, grid = node.input(0), node.input(1)
    rank = x.spec.rank - 2
    if rank < 1 or grid.spec.rank != rank + 2 or grid.spec.shape[-1] != rank:
        node.invalid(f"the grid is [n, *out, {rank}] for {x.spec}; it is {grid.spec}")
    mode = node.attr("mode", "linear")
    dtype = _computed_in(x.spec.dtype, grid.spec.dtype)
    sampled = node.one(
        "grid_sample",
        [cast(node, x, dtype), cast(node, grid, dtype)],
        mode=_MODES.get(mode, mode),
        padding_mode=node.attr("padding_mode", "zeros"),
        align_corners=bool(node.attr("align_corners", 0)),
    )
    return cast(node, sampled, x.spec.dtype)


def _computed_in(x: DType, places: DType | None = None) -> DType:
    """The float dtype in which images of ``x`` are computed, at places of another dtype."""
    if x.is_float and places in (None, x):
        return x
    is_wide = places == float64 or (x.itemsize > 2 and x != float32)
    return float64 if is_wide else float32


def _col2im(node: Node) -> Tensor:
    """Columns added up where they came from."""
    x, image, kernel = node.input(0), node.ints(1) or (), node.ints(2) or ()
    rank = len(kernel)
    added = node.one(
        "col2im",
        [cast(node, x, _computed_in(x.spec.dtype))],
        kernel=kernel,
        image=image,
        strides=numbers(node, "strides", rank, 1, 1),
        dilations=numbers(node, "dilations", rank, 1, 1),
        pads=numbers(node, "pads", 2 * rank, 0, 0),
    )
    if x.spec.dtype.is_int:  # what is too much for a narrow one wraps, as sums of it do
        added = cast(node, added, int64)
    return cast(node, added, x.spec.dtype)


def _affine_grid(node: Node) -> Tensor:
    """The places of all elements of an image, from -1 to 1, moved by a matrix for each image."""
    theta, size = node.input(0), node.ints(1) or ()
    rank = len(size) - 2
    if rank not in (2, 3) or min(size) < 0 or theta.spec.shape != (size[0], rank, rank + 1):
        node.invalid(f"a size {size} of images does not fit the matrices {theta.spec}")
    if math.prod(size[2:]) * (rank + 1) * 8 > limits.TENSOR_BYTES:
        raise ResourceLimitError(
            f"{node}: the places of {size} take more than {limits.TENSOR_BYTES} bytes"
        )
    is_aligned = node.attr("align_corners", 0)
    axes = [_places(length, is_aligned) for length in size[2:]]
    grid = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(size[2:])], axis=-1)
    places = node.constant(grid.reshape(-1, rank + 1).astype(theta.spec.dtype.numpy))
    turned = node.one("transpose", [theta], perm=(0, 2, 1))
    moved = node.one("matmul", [places, turned])
    return node.one("reshape", [moved], shape=(size[0], *size[2:], rank))


def _places(length: int, is_aligned: bool) -> Array:
    """Of the elements of one axis: their centres, or from end to end."""
    if is_aligned:
        return np.linspace(-1, 1, length) if length > 1 else np.zeros(length)
    return (2 * np.arange(length) + 1) / max(length, 1) - 1


CONVERTERS: Mapping[str, Converter] = {
    "GridSample": _grid_sample,
    "Col2Im": _col2im,
    "AffineGrid": _affine_grid,
}
