"""ONNX nodes for: caches of what was seen before, and places as angles."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from headrace.onnx.importing.axes import normal_axis
from headrace.onnx.importing.formula import with_number
from headrace.onnx.importing.node import Converter, Node
from headrace.ops import Tensor


def _tensor_scatter(node: Node) -> Tensor:
    """A cache with an update written into it, at a place of each batch element's own."""
    cache, update, places = node.input(0), node.input(1), node.optional(2)
    rank = cache.spec.rank
    axis = normal_axis(node, node.attr("axis", -2), rank)
    mode = node.attr("mode", "linear")
    if axis == 0 or update.spec.rank != rank or mode not in ("linear", "circular"):
        node.invalid(f"axis is {axis}, the update {update.spec} and mode {mode!r}")
    begin = node.constant(np.zeros(cache.spec.shape[0], np.int64)) if places is None else places
    write = _written if mode == "linear" else _written_around
    return write(node, cache, update, begin, axis)


def _written(node: Node, cache: Tensor, update: Tensor, begin: Tensor, axis: int) -> Tensor:
    """All steps come one after another in the cache."""
    length = cache.spec.shape[axis]
    past, x = (
        node.one(
            "reshape",
            [each],
            shape=(
                each.spec.shape[0],
                math.prod(each.spec.shape[1:axis]),
                each.spec.shape[axis],
                math.prod(each.spec.shape[axis + 1 :]),
            ),
        )
        for each in (cache, update)
    )
    y = node.one("cache_write", [x, past, begin], length=length)
    return node.one("reshape", [y], shape=cache.spec.shape)


def _written_around(node: Node, cache: Tensor, update: Tensor, begin: Tensor, axis: int) -> Tensor:
    """Those beyond the end of the cache begin at its start again."""
    rank, batch = cache.spec.rank, cache.spec.shape[0]
    steps, length = update.spec.shape[axis], cache.spec.shape[axis]
    begin = node.one("reshape", [begin], shape=(batch, 1))
    place = node.one("add", [begin, node.constant(np.arange(steps))])
    place = with_number(node, "mod", place, length)
    place = node.one("reshape", [place], shape=(batch, steps, 1))
    rows = np.broadcast_to(np.arange(batch)[:, None, None], (batch, steps, 1))
    where = node.one("concat", [node.constant(np.ascontiguousarray(rows)), place], axis=2)
    order = (0, axis, *(i for i in range(1, rank) if i != axis))
    first, written = (node.one("transpose", [x], perm=order) for x in (cache, update))
    y = node.one("scatter_nd", [first, where, written])
    return node.one("transpose", [y], perm=tuple(np.argsort(order).tolist()))


def _rotary_embedding(node: Node) -> Tensor:
    """Angles are of each place, or of each step where no places are given."""
    x, places = node.input(0), node.optional(3)
    caches = [node.input(1), node.input(2)]
    heads, shape = node.attr("num_heads", 0), x.spec.shape
    if x.spec.rank == 3 and heads > 0 and shape[2] % heads == 0:
        x = node.one("reshape", [x], shape=(*shape[:2], heads, shape[2] // heads))
        x = node.one("transpose", [x], perm=(0, 2, 1, 3))
    if x.spec.rank != 4:
        node.invalid(f"X is {x.spec} and num_heads {heads}; it needs four axes, or three of heads")
    if places is not None:
        if places.spec.rank != 2 or any(cache.spec.rank != 2 for cache in caches):
            node.invalid(
                f"position_ids is {places.spec}, of caches {caches[0].spec}; each of rank 2"
            )
        caches = [node.one("gather", [cache, places], axis=0) for cache in caches]
    pairs = (node.attr("rotary_embedding_dim", 0) or x.spec.shape[3]) // 2
    if any(cache.spec.shape[-1:] != (pairs,) for cache in caches):
        node.invalid(f"the caches are {caches[0].spec} and {caches[1].spec}, for {pairs} pairs")
    interleaved = bool(node.attr("interleaved", 0))
    y = node.one("rotary_embedding", [x, *caches], interleaved=interleaved)
    if len(shape) == 4:
        return y
    return node.one("reshape", [node.one("transpose", [y], perm=(0, 2, 1, 3))], shape=shape)


CONVERTERS: Mapping[str, Converter] = {
    "TensorScatter": _tensor_scatter,
    "RotaryEmbedding": _rotary_embedding,
}
