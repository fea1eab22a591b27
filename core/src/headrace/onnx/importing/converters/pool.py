"""ONNX nodes for: windows that slide over space."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headrace.onnx.importing.converters.window import (
    WindowAttrs,
    kernel_shape,
    numbers,
    sliding_window,
    spatial_shape,
)
from headrace.onnx.importing.formula import scalar
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _max_pool(node: Node) -> tuple[Tensor, ...]:
    order = node.attr("storage_order", 0)
    if order not in (0, 1):
        node.invalid(f"storage_order is {order}; it may be 0 or 1")
    return node.op(
        "max_pool",
        [node.input(0)],
        outputs=node.output_count,
        storage_order="column" if order else "row",
        **pool_attrs(node, sliding_window(node)),
    )


def _average_pool(node: Node) -> Tensor:
    return node.one(
        "avg_pool",
        [node.input(0)],
        count_include_pad=bool(node.attr("count_include_pad", 0)),
        **pool_attrs(node, sliding_window(node)),
    )


def pool_attrs(node: Node, window: WindowAttrs) -> dict[str, object]:
    """The attributes that all pools of headrace have."""
    return {
        "kernel": window.kernel,
        "strides": window.strides,
        "dilations": window.dilations,
        "pads": window.pads,
        # Where auto_pad is VALID the text of ONNX lets ceil_mode change nothing; its shape
        # inference and every runtime round up all the same.
        "ceil_mode": bool(node.attr("ceil_mode", 0)),
    }


def _global_average_pool(node: Node) -> Tensor:
    return node.one("reduce_mean", [node.input(0)], axes=_spatial_axes(node), keep_dims=True)


def _global_max_pool(node: Node) -> Tensor:
    return node.one("reduce_max", [node.input(0)], axes=_spatial_axes(node), keep_dims=True)


def _spatial_axes(node: Node) -> tuple[int, ...]:
    rank = node.input(0).spec.rank
    if rank < 3:
        node.invalid(f"input 0 is {node.input(0).spec}; it must have a batch, channels and space")
    return tuple(range(2, rank))


def _lp_pool(node: Node) -> Tensor:
    """Sums of powers over windows: each channel convolved with ones."""
    x, window, p = node.input(0), sliding_window(node), _power(node)
    channels, spatial = x.spec.shape[1], spatial_shape(node)
    ones = node.constant(np.ones((channels, 1, *window.kernel), x.spec.dtype.numpy))
    sums = node.one(
        "conv",
        [_magnitude_power(node, x, p), ones],
        strides=window.strides,
        dilations=window.dilations,
        pads=_overhanging(window, spatial) if node.attr("ceil_mode", 0) else window.pads,
        groups=channels,
    )
    return _root(node, sums, p)


def _overhanging(window: WindowAttrs, spatial: tuple[int, ...]) -> tuple[int, ...]:
    """The pads with enough at each end for the last window that ceil_mode adds, if it may."""
    rank = len(spatial)
    ends = []
    for axis, size in enumerate(spatial):
        begin, end, stride = window.pads[axis], window.pads[axis + rank], window.strides[axis]
        extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1
        steps = -(-(size + begin + end - extent) // stride)
        if steps * stride >= size + begin:
            steps -= 1
        ends.append(max(end, steps * stride + extent - size - begin))
    return (*window.pads[:rank], *ends)


def _global_lp_pool(node: Node) -> Tensor:
    x, p = node.input(0), _power(node)
    powers = _magnitude_power(node, x, p)
    return _root(
        node, node.one("reduce_sum", [powers], axes=_spatial_axes(node), keep_dims=True), p
    )


def _power(node: Node) -> float:
    p: float = node.attr("p", 2 if node.opset >= 2 else 2.0)
    if p < 1:
        node.invalid(f"p is {p}; it must be at least 1")
    return p


def _magnitude_power(node: Node, x: Tensor, p: float) -> Tensor:
    """``abs(x) ** p``."""
    if p == 2:
        return node.one("multiply", [x, x])
    magnitude = node.one("abs", [x])
    return magnitude if p == 1 else node.one("power", [magnitude, scalar(node, p, x)])


def _root(node: Node, sums: Tensor, p: float) -> Tensor:
    """``sums ** (1 / p)``."""
    if p == 2:
        return node.one("sqrt", [sums])
    return sums if p == 1 else node.one("power", [sums, scalar(node, 1 / p, sums)])


def _max_unpool(node: Node) -> Tensor:
    """Zeros, with each element where its index says."""
    x, indices, space = node.input(0), node.input(1), spatial_shape(node)
    rank = len(space)
    kernel = kernel_shape(node, rank)
    strides, pads = numbers(node, "strides", rank, 1, 1), numbers(node, "pads", 2 * rank, 0, 0)
    # Indices count through the shape that the window implies, also when another one is wanted.
    spatial = tuple(
        (size - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank]
        for i, size in enumerate(space)
    )
    if any(size < 1 for size in spatial):
        node.invalid(f"pads {pads} leave nothing of the result: {spatial}")
    shape = (*x.spec.shape[:2], *spatial)
    zero = node.constant(np.zeros((), x.spec.dtype.numpy))
    zeros = node.one("expand", [zero], shape=(math.prod(shape),))
    places = node.one("reshape", [indices], shape=(-1, 1))
    y = node.one("scatter_nd", [zeros, places, node.one("reshape", [x], shape=(-1,))])
    y = node.one("reshape", [y], shape=shape)
    wanted = node.ints(2)
    if wanted is None or wanted == shape:
        return y
    if len(wanted) != len(shape) or any(size < 1 for size in wanted):
        node.invalid(f"output_shape {wanted} must be {len(shape)} numbers, none below 1")
    ends = (want - size for want, size in zip(wanted, shape, strict=True))
    return node.one("pad", [y, None], pads=(*(0,) * len(shape), *ends))


CONVERTERS: Mapping[str, Converter] = {
    "MaxPool": _max_pool,
    "MaxUnpool": _max_unpool,
    "AveragePool": _average_pool,
    "LpPool": _lp_pool,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "GlobalLpPool": _global_lp_pool,
}
