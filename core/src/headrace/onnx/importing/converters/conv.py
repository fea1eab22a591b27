"""ONNX nodes for: convolutions."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.importing.converters.window import (
    auto_pad,
    kernel_shape,
    numbers,
    sliding_window,
    spatial_shape,
    split_padding,
)
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _conv(node: Node) -> Tensor:
    window = sliding_window(node, _weight_kernel(node))
    return node.one(
        "conv",
        [node.input(0), node.input(1), node.optional(2)],
        strides=window.strides,
        dilations=window.dilations,
        pads=window.pads,
        groups=node.attr("group", 1),
    )


def _conv_transpose(node: Node) -> Tensor:
    spatial, rule = spatial_shape(node), auto_pad(node)
    rank = len(spatial)
    kernel = kernel_shape(node, rank, _weight_kernel(node))
    strides = numbers(node, "strides", rank, 1, 1)
    dilations = numbers(node, "dilations", rank, 1, 1)
    extra = list(numbers(node, "output_padding", rank, 0, 0))
    pads = numbers(node, "pads", 2 * rank, 0, 0) if rule == "NOTSET" else (0,) * (2 * rank)
    wanted = _output_shape(node, spatial, strides, rule)
    if wanted is not None:
        # Without any padding; what is more than wanted is cropped, what is missing is added.
        whole = [
            (size - 1) * stride + (k - 1) * dilation + 1 + more
            for size, stride, k, dilation, more in zip(
                spatial, strides, kernel, dilations, extra, strict=True
            )
        ]
        surplus = [w - size for w, size in zip(whole, wanted, strict=True)]
        pads = split_padding([max(0, s) for s in surplus], more_at_begin=rule != "SAME_UPPER")
        extra = [more + max(0, -s) for more, s in zip(extra, surplus, strict=True)]
    return node.one(
        "conv_transpose",
        [node.input(0), node.input(1), node.optional(2)],
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=extra,
        groups=node.attr("group", 1),
    )


def _output_shape(
    node: Node, spatial: tuple[int, ...], strides: tuple[int, ...], rule: str
) -> tuple[int, ...] | None:
    """The spatial output shape where the node fixes it, which then decides the padding."""
    if node.has_attr("output_shape"):
        return numbers(node, "output_shape", len(spatial), 0, 1)
    if rule.startswith("SAME"):
        return tuple(size * stride for size, stride in zip(spatial, strides, strict=True))
    return None


def _weight_kernel(node: Node) -> tuple[int, ...]:
    weight, x = node.input(1).spec, node.input(0).spec
    if weight.rank != x.rank:
        node.invalid(f"the weight {weight} must have the rank of input 0, {x}")
    return weight.shape[2:]


CONVERTERS: Mapping[str, Converter] = {"Conv": _conv, "ConvTranspose": _conv_transpose}
