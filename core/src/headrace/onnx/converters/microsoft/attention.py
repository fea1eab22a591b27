"""Attention of several heads, and what belongs to it."""

from __future__ import annotations

import numpy as np

from headrace.dtypes import int64
from headrace.onnx.contrib import declare
from headrace.onnx.converters.microsoft.heads import attend, split_heads
from headrace.onnx.converters.microsoft.integers import Quantized, product
from headrace.onnx.formula import cast
from headrace.onnx.node import Node
from headrace.ops import Tensor

_FLOATS = "float float16 bfloat16"


def _attention(node: Node) -> Tensor:
    """The three projections are one product; what is kept from call to call is refused."""
    _refuse_state(node, past=(4, 6))
    joined = node.one("matmul", [_sequence(node, 0), node.input(1)])
    return _of_projections(node, joined, 2, 3, 5)


def _qattention(node: Node) -> Tensor:
    """The same, of small integers: the product is one of integers, the rest of floats."""
    _refuse_state(node, past=(8,))
    x = Quantized(_sequence(node, 0), node.input(3), node.optional(6))
    weight = Quantized(node.input(1), node.input(4), node.optional(7))
    joined = product(node, x, weight)
    return _of_projections(node, cast(node, joined, node.input(2).spec.dtype), 2, 5, None)


def _of_projections(node: Node, joined: Tensor, bias: int, mask: int, added: int | None) -> Tensor:
    """Attention of ``[batch, steps, q + k + v]``; bias, mask and what is added by their inputs."""
    if node.optional(bias) is not None:
        joined = node.one("add", [joined, node.input(bias)])
    hidden, heads = joined.spec.shape[2], node.attr("num_heads")
    sizes = node.attr("qkv_hidden_sizes", [hidden // 3] * 3)
    if len(sizes) != 3 or sum(sizes) != hidden:
        node.invalid(f"q, k and v have the sizes {sizes}, and are {hidden} together")
    q, k, v = (split_heads(node, part, heads) for part in _parts(node, joined, sizes))
    further = None if added is None else node.optional(added)
    return attend(node, q, k, v, node.optional(mask), further)


def _multi_head_attention(node: Node) -> Tensor:
    """Of projections that are computed before; keys and values may be split into heads already."""
    _refuse_state(node, past=(6, 7, 8, 9))
    heads, bias = node.attr("num_heads"), node.optional(3)
    if node.optional(1) is None or node.optional(2) is None:
        node.refuse("query, key and value are packed into one input; those of three inputs run")
    given = [_sequence(node, 0), node.input(1), node.input(2)]
    if given[1].spec.rank == 5:
        node.refuse(f"key and value are packed: {given[1].spec}; those of two inputs run")
    if bias is not None:
        if any(x.spec.rank != 3 for x in given):
            node.refuse(
                "has a bias and keys that are split into heads; with a bias those that are not run"
            )
        parts = _parts(node, bias, [x.spec.shape[2] for x in given])
        given = [node.one("add", pair) for pair in zip(given, parts, strict=True)]
    q, k, v = (x if x.spec.rank == 4 else split_heads(node, x, heads) for x in given)
    return attend(node, q, k, v, node.optional(4), node.optional(5))


def _refuse_state(node: Node, past: tuple[int, ...]) -> None:
    if node.output_count > 1 or any(node.optional(index) is not None for index in past):
        node.refuse("has keys and values of calls before (past, present); attention without runs")
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.attr(name, 0):
            node.refuse(f"{name} is {node.attr(name)}; 0 runs")


def _sequence(node: Node, index: int) -> Tensor:
    x = node.input(index)
    if x.spec.rank != 3:
        node.refuse(f"input {index} is {x.spec}; [batch, steps, hidden] runs")
    return x


def _parts(node: Node, x: Tensor, sizes: list[int]) -> list[Tensor]:
    """``x`` cut along its last axis."""
    if sum(sizes) != x.spec.shape[-1]:
        node.invalid(f"{x.spec} is cut into parts of {sizes}")
    ends = np.cumsum(sizes).tolist()
    return [_part(node, x, end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _part(node: Node, x: Tensor, start: int, end: int) -> Tensor:
    return node.one("slice", [x], starts=(start,), ends=(end,), axes=(x.spec.rank - 1,))


def _rotary_embedding(node: Node) -> Tensor:
    """Pairs of numbers turned by an angle that grows with the step."""
    if node.attr("is_packed_batching", 0) or node.attr("scale", 1.0) != 1:
        node.refuse("is_packed_batching or scale are given; 0 and 1 run")
    x, cos = node.input(0), node.input(2)
    if x.spec.rank not in (3, 4) or cos.spec.rank != 2:
        node.invalid(f"input is {x.spec} and cos_cache {cos.spec}; of rank 3 or 4, and of 2")
    turned = 2 * cos.spec.shape[1]
    flat = x.spec.rank == 3
    if flat:
        partial = node.attr("rotary_embedding_dim", 0) > 0
        size = x.spec.shape[2] // node.attr("num_heads") if partial else turned
        x = split_heads(node, x, x.spec.shape[2] // size)
    batch, heads, steps, size = x.spec.shape
    angles = [_angles(node, node.input(index), batch, steps) for index in (2, 3)]
    y = _rotated(node, _part(node, x, 0, turned), *angles)
    if size > turned:
        y = node.one("concat", [y, _part(node, x, turned, size)], axis=3)
    if not flat:
        return y
    y = node.one("transpose", [y], perm=(0, 2, 1, 3))
    return node.one("reshape", [y], shape=(batch, steps, heads * size))


def _angles(node: Node, cache: Tensor, batch: int, steps: int) -> Tensor:
    """Their cosines or sines, ``[batch or 1, 1, steps, pairs]``; the places are given, or begin."""
    places = node.input(1)
    if places.spec.shape == (1,):
        places = node.one("add", [places, node.constant(np.arange(steps, dtype=np.int64))])
    elif places.spec.shape != (batch, steps):
        node.invalid(f"position_ids is {places.spec}; it must be [1] or {[batch, steps]}")
    found = node.one("gather", [cache, cast(node, places, int64)], axis=0)
    return node.one("reshape", [found], shape=(-1, 1, steps, cache.spec.shape[1]))


def _rotated(node: Node, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    *outer, size = x.spec.shape
    paired = bool(node.attr("interleaved", 0))
    # Pairs are neighbours, or lie half the size apart.
    shape, axis = ((*outer, size // 2, 2), 4) if paired else ((*outer, 2, size // 2), 3)
    pairs = node.one("reshape", [x], shape=shape)
    first, second = (
        node.one(
            "reshape",
            [node.one("slice", [pairs], starts=(i,), ends=(i + 1,), axes=(axis,))],
            shape=(*outer, size // 2),
        )
        for i in (0, 1)
    )
    product = {
        (name, by): node.one("multiply", [part, angle])
        for name, part in (("first", first), ("second", second))
        for by, angle in (("cos", cos), ("sin", sin))
    }
    turned = [
        node.one("subtract", [product["first", "cos"], product["second", "sin"]]),
        node.one("add", [product["first", "sin"], product["second", "cos"]]),
    ]
    whole = (*outer, size // 2, 1) if paired else (*outer, 1, size // 2)
    turned = [node.one("reshape", [part], shape=whole) for part in turned]
    return node.one("reshape", [node.one("concat", turned, axis=axis)], shape=x.spec.shape)


OPS = (
    declare(
        "Attention",
        "input:T weights:T bias:T? mask_index:M? past:T? attention_bias:T? past_sequence_length:M?",
        "output:T present:T?",
        _attention,
        "do_rotary:int mask_filter_value:float num_heads:int! past_present_share_buffer:int "
        "qkv_hidden_sizes:ints rotary_embedding_dim:int scale:float unidirectional:int",
        T=_FLOATS,
        M="int32",
    ),
    declare(
        "QAttention",
        "input:T1 weight:T2 bias:T3 input_scale:T3 weight_scale:T3 mask_index:T4? "
        "input_zero_point:T1? weight_zero_point:T2? past:T3?",
        "output:T3 present:T3?",
        _qattention,
        "do_rotary:int mask_filter_value:float num_heads:int! past_present_share_buffer:int "
        "scale:float unidirectional:int",
        T1="int8 uint8",
        T2="int8 uint8",
        T3="float float16",
        T4="int32",
    ),
    declare(
        "MultiHeadAttention",
        "query:T key:T? value:T? bias:T? key_padding_mask:M? attention_bias:T? past_key:T? "
        "past_value:T? past_sequence_length:M? cache_indirection:M?",
        "output:T present_key:T? present_value:T? qk:QK?",
        _multi_head_attention,
        "mask_filter_value:float num_heads:int! scale:float unidirectional:int",
        T=_FLOATS,
        M="int32",
        QK=_FLOATS,
    ),
    declare(
        "RotaryEmbedding",
        "input:T position_ids:M cos_cache:T sin_cache:T",
        "output:T",
        _rotary_embedding,
        "interleaved:int is_packed_batching:int num_heads:int rotary_embedding_dim:int scale:float",
        T=_FLOATS,
        M="int64",
    ),
)
