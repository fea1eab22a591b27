"""How ONNX nodes say the geometry of a sliding window, with padding resolved to numbers."""

from __future__ import annotations

from headrace.light_tuple import NamedTuple
from headrace.onnx.importing.node import Node


class WindowAttrs(NamedTuple):
    """kernel_shape, strides, dilations, pads (beginnings, then ends): complete."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]


def spatial_shape(node: Node) -> tuple[int, ...]:
    """The spatial part of input 0.

    Raises:
        InvalidModelError: it has none.
        UnsupportedModelError: it has more than three axes of it.
    """
    spec = node.input(0).spec
    if spec.rank < 3:
        node.invalid(f"input 0 is {spec}; it must have a batch, channels and space")
    if spec.rank > 5:
        node.refuse(f"input 0 is {spec}; up to three spatial axes are supported")
    return spec.shape[2:]


def numbers(node: Node, name: str, count: int, default: int, lowest: int) -> tuple[int, ...]:
    """The attribute ``name`` with ``count`` numbers of at least ``lowest``.

    Raises:
        InvalidModelError: it has another length, or a number below.
    """
    values = tuple(node.attr(name, [default] * count))
    if len(values) != count or min(values, default=lowest) < lowest:
        node.invalid(f"{name} {values} must be {count} numbers, none below {lowest}")
    return values


def kernel_shape(
    node: Node, rank: int, weight_kernel: tuple[int, ...] | None = None
) -> tuple[int, ...]:
    """The taps on each of ``rank`` axes: given, or those of the weight.

    Raises:
        InvalidModelError: it is absent, has a number below 1, or contradicts the weight.
    """
    if not node.has_attr("kernel_shape") and weight_kernel is not None:
        return weight_kernel
    kernel = tuple(node.attr("kernel_shape"))
    if len(kernel) != rank or min(kernel) < 1:
        node.invalid(f"kernel_shape {kernel} must be {rank} numbers, none below 1")
    if weight_kernel is not None and kernel != weight_kernel:
        node.invalid(f"kernel_shape {kernel} contradicts the weight {node.input(1).spec}")
    return kernel


def auto_pad(node: Node) -> str:
    """The rule that pads: NOTSET, VALID, SAME_UPPER or SAME_LOWER.

    Raises:
        InvalidModelError: it is none of these.
    """
    rule: str = node.attr("auto_pad", "NOTSET")
    if rule not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        node.invalid(f"auto_pad {rule!r} is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    return rule


def sliding_window(node: Node, weight_kernel: tuple[int, ...] | None = None) -> WindowAttrs:
    """The window of a node that reads one: Conv and the pools.

    Raises:
        InvalidModelError: an attribute is malformed.
    """
    spatial = spatial_shape(node)
    rank = len(spatial)
    kernel = kernel_shape(node, rank, weight_kernel)
    strides = numbers(node, "strides", rank, 1, 1)
    dilations = numbers(node, "dilations", rank, 1, 1)
    rule = auto_pad(node)
    if rule == "NOTSET":
        pads = numbers(node, "pads", 2 * rank, 0, 0)
    elif rule == "VALID":
        pads = (0,) * (2 * rank)
    else:
        # As many windows as strides fit into the input, begun or whole. Where the stride is larger
        # than the window that takes less than no padding: then none.
        totals = [
            max(0, (-(-size // stride) - 1) * stride + (k - 1) * dilation + 1 - size)
            for size, stride, k, dilation in zip(spatial, strides, kernel, dilations, strict=True)
        ]
        pads = split_padding(totals, more_at_begin=rule == "SAME_LOWER")
    return WindowAttrs(kernel, strides, dilations, pads)


def split_padding(totals: list[int], *, more_at_begin: bool) -> tuple[int, ...]:
    """Halve the padding of each axis; of an odd amount the larger part as said."""
    begins = tuple(-(-total // 2) if more_at_begin else total // 2 for total in totals)
    return begins + tuple(total - begin for total, begin in zip(totals, begins, strict=True))
