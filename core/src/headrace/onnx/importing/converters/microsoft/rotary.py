"""Places of a sequence as angles, by which pairs of numbers are turned."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import int64
from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.microsoft.heads import split_heads
from headrace.onnx.importing.formula import cast
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor


def turned(
    node: Node, x: Tensor, places: Tensor, caches: tuple[Tensor, Tensor], neighbours: bool
) -> Tensor:
    """``x`` with pairs of its numbers turned by an angle that grows with the place.

    Args:
        node: the node.
        x: ``[batch, heads, steps, size]``. What is beyond the pairs stays as it is.
        places: int64, ``[batch or 1, steps]``.
        caches: cosines and sines, ``[places, pairs]``.
        neighbours: pairs are neighbours, and do not lie half the size apart.
    """
    if any(cache.spec.rank != 2 for cache in caches):
        node.invalid(
            f"cos_cache and sin_cache are {caches[0].spec} and {caches[1].spec}, of rank 2"
        )
    pairs, size = caches[0].spec.shape[1], x.spec.shape[3]
    if 2 * pairs > size:
        node.invalid(f"cos_cache is {caches[0].spec}, for {2 * pairs} numbers of heads of {size}")
    cos, sin = (node.one("gather", [cache, places], axis=0) for cache in caches)
    return node.one("rotary_embedding", [x, cos, sin], interleaved=neighbours)


def _rotary_embedding(node: Node) -> Tensor:
    if node.attr("is_packed_batching", 0) or node.attr("scale", 1.0) != 1:
        node.refuse("is_packed_batching or scale are given; 0 and 1 run")
    x, caches = node.input(0), (node.input(2), node.input(3))
    if x.spec.rank not in (3, 4) or caches[0].spec.rank != 2:
        node.invalid(f"input is {x.spec} and cos_cache {caches[0].spec}; of rank 3 or 4, and of 2")
    neighbours = bool(node.attr("interleaved", 0))
    if x.spec.rank == 4:
        return turned(node, x, _places(node, x), caches, neighbours)
    partial = node.attr("rotary_embedding_dim", 0) > 0
    whole = 2 * caches[0].spec.shape[1]
    size = x.spec.shape[2] // node.attr("num_heads") if partial else whole
    heads = split_heads(node, x, x.spec.shape[2] // size)
    y = turned(node, heads, _places(node, heads), caches, neighbours)
    y = node.one("transpose", [y], perm=(0, 2, 1, 3))
    return node.one("reshape", [y], shape=x.spec.shape)


def _places(node: Node, x: Tensor) -> Tensor:
    """The places of ``x``, ``[batch, heads, steps, size]``; they are given, or where they begin."""
    (batch, _, steps, _), places = x.spec.shape, node.input(1)
    if places.spec.shape == (1,):
        places = node.one("add", [places, node.constant(np.arange(steps, dtype=np.int64))])
        return node.one("reshape", [places], shape=(1, steps))
    if places.spec.shape != (batch, steps):
        node.invalid(f"position_ids is {places.spec}; it must be [1] or {[batch, steps]}")
    return cast(node, places, int64)


OPS = (
    declare(
        "RotaryEmbedding",
        "input:T position_ids:M cos_cache:T sin_cache:T",
        "output:T",
        _rotary_embedding,
        "interleaved:int is_packed_batching:int num_heads:int rotary_embedding_dim:int scale:float",
        T="float float16 bfloat16",
        M="int64",
    ),
)
