"""ONNX nodes for: convolutions that read an image at computed places."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headrace.onnx.importing.converters.window import numbers
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _deform_conv(node: Node) -> Tensor:
    """Each element of the kernel reads, for each output, at a place that is moved by an offset."""
    x, weight, offset = node.input(0), node.input(1), node.input(2)
    rank = x.spec.rank - 2
    if rank < 1 or weight.spec.rank != rank + 2 or offset.spec.rank != rank + 2:
        node.invalid(f"x is {x.spec}, the weight {weight.spec} and the offset {offset.spec}")
    batch, channels, *_ = x.spec.shape
    kernel, out = weight.spec.shape[2:], offset.spec.shape[2:]
    taps, groups, parts = math.prod(kernel), node.attr("group", 1), node.attr("offset_group", 1)
    if parts < 1 or channels % parts or offset.spec.shape[:2] != (batch, parts * taps * rank):
        node.invalid(f"the offset is {offset.spec}, which does not fit {x.spec} of {parts} groups")
    image = node.one("reshape", [x], shape=(batch * parts, channels // parts, *x.spec.shape[2:]))
    offset = node.one("reshape", [offset], shape=(batch * parts, taps, rank, *out))
    places = [_place(node, offset, axis, kernel, out) for axis in reversed(range(rank))]
    grid = places[0] if rank == 1 else node.one("concat", places, axis=rank + 1)
    read = node.one("grid_sample", [image, grid], normalized=False)
    shape = (batch * parts, channels // parts, taps, *out)
    read = node.one("reshape", [read], shape=shape)
    if node.optional(4) is not None:
        mask = node.one("reshape", [node.input(4)], shape=(batch * parts, 1, taps, *out))
        read = node.one("multiply", [read, mask])
    return _product(node, read, batch, groups)


def _place(
    node: Node, offset: Tensor, axis: int, kernel: tuple[int, ...], out: tuple[int, ...]
) -> Tensor:
    """Where each element of the kernel reads along an axis, ``[images, taps * first, *rest, 1]``.

    ``first`` and ``rest`` are the axes of the output.
    """
    rank = len(kernel)
    strides, dilations = (numbers(node, name, rank, 1, 1) for name in ("strides", "dilations"))
    begin = numbers(node, "pads", 2 * rank, 0, 0)[axis]
    steps = np.arange(out[axis]) * strides[axis] - begin
    inside = np.arange(kernel[axis]) * dilations[axis]
    inside = inside.reshape([-1 if i == axis else 1 for i in range(rank)])
    inside = np.broadcast_to(inside, kernel).reshape(-1, *[1] * rank)
    steps = steps.reshape([-1 if i == axis else 1 for i in range(rank)])
    still = (inside + steps).astype(offset.spec.dtype.numpy)
    images, taps = offset.spec.shape[:2]
    moved = node.one("slice", [offset], starts=(axis,), ends=(axis + 1,), axes=(2,))
    moved = node.one("reshape", [moved], shape=(images, taps, *out))
    place = node.one("add", [moved, node.constant(still)])
    return node.one("reshape", [place], shape=(images, taps * out[0], *out[1:], 1))


def _product(node: Node, read: Tensor, batch: int, groups: int) -> Tensor:
    """What was read, ``[images, channels, taps, *out]``, times the weights, group by group."""
    weight = node.input(1)
    made, each, *kernel = weight.spec.shape
    _, _, taps, *out = read.spec.shape
    whole = batch * groups * each * taps * math.prod(out)
    if groups < 1 or made % groups or read.spec.elements != whole:
        node.invalid(f"the weight is {weight.spec}, of {groups} groups; it does not fit the input")
    rows = node.one("reshape", [read], shape=(batch, groups, each * taps, math.prod(out)))
    shape = (1, groups, made // groups, each * math.prod(kernel))
    y = node.one("matmul", [node.one("reshape", [weight], shape=shape), rows])
    y = node.one("reshape", [y], shape=(batch, made, *out))
    if node.optional(3) is None:
        return y
    bias = node.one("reshape", [node.input(3)], shape=(made, *[1] * len(out)))
    return node.one("add", [y, bias])


CONVERTERS: Mapping[str, Converter] = {"DeformConv": _deform_conv}
