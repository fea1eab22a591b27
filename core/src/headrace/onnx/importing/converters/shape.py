"""ONNX nodes for: the same elements in another shape or order."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.onnx.importing.axes import normal_axes
from headrace.onnx.importing.formula import as_matrix
from headrace.onnx.importing.node import Converter, Node
from headrace.onnx.importing.values import Value
from headrace.ops import Tensor


def _identity(node: Node) -> Value:
    return node.given(0)


def _reshape(node: Node) -> Tensor:
    x = node.input(0)
    wanted = node.ints(1) if node.opset >= 5 else tuple(node.attr("shape"))
    if wanted is None:
        node.invalid("input 1, the shape, is required and is absent")
    if 0 in wanted and not node.attr("allowzero", 0):
        # A 0 copies the dimension at the same place; headrace takes it for an empty dimension.
        if 0 in wanted[x.spec.rank :]:
            node.invalid(f"shape {wanted} has a 0 that stands for no dimension of {x.spec}")
        copied = (*x.spec.shape, *wanted[x.spec.rank :])
        wanted = tuple(dim or copy for dim, copy in zip(wanted, copied, strict=False))
    return node.one("reshape", [x], shape=wanted)


def _flatten(node: Node) -> Tensor:
    x, axis = node.input(0), node.attr("axis", 1)
    rank = x.spec.rank
    if not -rank <= axis <= rank:
        node.invalid(f"axis {axis} is outside -{rank}..{rank} for {x.spec}")
    return as_matrix(node, x, axis + rank if axis < 0 else axis)


def _axes(node: Node) -> tuple[int, ...] | None:
    """Axes, which became an input with opset 13."""
    if node.opset >= 13:
        return node.ints(1)
    return tuple(node.attr("axes")) if node.has_attr("axes") else None


def _squeeze(node: Node) -> Tensor:
    x, axes = node.input(0), _axes(node)
    shape = x.spec.shape
    if not axes:  # absent; what an empty list means is not specified: as onnxruntime, the same
        gone = {axis for axis, dim in enumerate(shape) if dim == 1}
    else:
        gone = set(normal_axes(node, axes, x.spec.rank))
    for axis in sorted(gone):
        if shape[axis] != 1:
            node.invalid(f"axis {axis} of {x.spec} is not 1 and cannot be squeezed")
    kept = tuple(dim for axis, dim in enumerate(shape) if axis not in gone)
    return node.one("reshape", [x], shape=kept)


def _unsqueeze(node: Node) -> Tensor:
    x, axes = node.input(0), _axes(node)
    if axes is None:
        node.invalid("axes are required and are absent")
    shape = list(x.spec.shape)
    for axis in sorted(normal_axes(node, axes, len(shape) + len(axes))):  # of the result
        shape.insert(axis, 1)
    return node.one("reshape", [x], shape=shape)


def _transpose(node: Node) -> Tensor:
    return node.one("transpose", [node.input(0)], perm=node.attr("perm", []))


def _expand(node: Node) -> Tensor:
    x, shape = node.input(0), node.ints(1)
    if shape is None:
        node.invalid("input 1, the shape, is required and is absent")
    # Both sides broadcast: a 1 in `shape` keeps what x has. The op checks the rest.
    rank = max(x.spec.rank, len(shape))
    have = (1,) * (rank - x.spec.rank) + x.spec.shape
    want = (1,) * (rank - len(shape)) + shape
    target = tuple(a if b == 1 else b for a, b in zip(have, want, strict=True))
    return node.one("expand", [x], shape=target)


def _shape(node: Node) -> Tensor:
    start, end = node.attr("start", 0), node.attr("end", None)
    return node.sizes(node.input(0).spec.shape[start:end])


def _size(node: Node) -> Tensor:
    return node.sizes([node.input(0).spec.elements], shape=())


def _blocks(node: Node) -> tuple[Tensor, int, bool]:
    """The image of a DepthToSpace or SpaceToDepth, its block size, and if depth comes first."""
    x, block, mode = node.input(0), node.attr("blocksize"), node.attr("mode", "DCR")
    if x.spec.rank != 4:
        node.invalid(f"takes a tensor [n, c, h, w]; it is {x.spec}")
    if block < 1:
        node.invalid(f"blocksize {block} is not positive")
    if mode not in ("DCR", "CRD"):
        node.invalid(f"mode {mode!r} is neither 'DCR' nor 'CRD'")
    return x, block, mode == "DCR"


def _depth_to_space(node: Node) -> Tensor:
    x, block, blocks_first = _blocks(node)
    n, c, h, w = x.spec.shape
    if c % block**2:
        node.invalid(f"{c} channels of {x.spec} do not divide by the square of blocksize {block}")
    depth = c // block**2
    if blocks_first:
        split, perm = (n, block, block, depth, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, perm = (n, depth, block, block, h, w), (0, 1, 4, 2, 5, 3)
    parts = node.one("transpose", [node.one("reshape", [x], shape=split)], perm=perm)
    return node.one("reshape", [parts], shape=(n, depth, h * block, w * block))


def _space_to_depth(node: Node) -> Tensor:
    x, block, blocks_first = _blocks(node)
    n, c, h, w = x.spec.shape
    if h % block or w % block:
        node.invalid(f"height and width of {x.spec} do not divide by blocksize {block}")
    split = (n, c, h // block, block, w // block, block)
    perm = (0, 3, 5, 1, 2, 4) if blocks_first else (0, 1, 3, 5, 2, 4)
    parts = node.one("transpose", [node.one("reshape", [x], shape=split)], perm=perm)
    return node.one("reshape", [parts], shape=(n, c * block**2, h // block, w // block))


CONVERTERS: Mapping[str, Converter] = {
    "Identity": _identity,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Expand": _expand,
    "Shape": _shape,
    "Size": _size,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
}
