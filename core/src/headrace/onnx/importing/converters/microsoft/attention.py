"""Attention of several heads, and what belongs to it."""

from __future__ import annotations

from headrace.onnx.importing.contrib import declare
from headrace.onnx.importing.converters.microsoft.heads import after, attend, parts, split_heads
from headrace.onnx.importing.converters.microsoft.integers import Quantized, product
from headrace.onnx.importing.formula import cast
from headrace.onnx.importing.node import Node
from headrace.ops import Tensor

_FLOATS = "float float16 bfloat16"


def _attention(node: Node) -> tuple[Tensor, ...]:
    """The three projections are one product."""
    joined = node.one("matmul", [_sequence(node, 0), node.input(1)])
    return _of_projections(node, joined, bias=2, mask=3, past=4, added=5)


def _qattention(node: Node) -> tuple[Tensor, ...]:
    """The same, of small integers: the product is one of integers, the rest of floats."""
    x = Quantized(_sequence(node, 0), node.input(3), node.optional(6))
    weight = Quantized(node.input(1), node.input(4), node.optional(7))
    joined = cast(node, product(node, x, weight), node.input(2).spec.dtype)
    return _of_projections(node, joined, bias=2, mask=5, past=8, added=None)


def _of_projections(
    node: Node, joined: Tensor, *, bias: int, mask: int, past: int, added: int | None
) -> tuple[Tensor, ...]:
    """Attention of ``[batch, steps, q + k + v]``; what else is given, by the numbers of inputs.

    What was seen in calls before is one tensor, ``[2, batch, heads, steps, size]``.
    """
    _refuse_buffers(node)
    if node.optional(bias) is not None:
        joined = node.one("add", [joined, node.input(bias)])
    hidden, heads = joined.spec.shape[2], node.attr("num_heads")
    sizes = node.attr("qkv_hidden_sizes", [hidden // 3] * 3)
    if len(sizes) != 3 or sum(sizes) != hidden:
        node.invalid(f"q, k and v have the sizes {sizes}, and are {hidden} together")
    q, k, v = (split_heads(node, part, heads) for part in parts(node, joined, sizes))
    before = node.optional(past)
    if before is not None:
        if before.spec.rank != 5 or before.spec.shape[0] != 2:
            node.invalid(f"past is {before.spec}; it must be [2, batch, heads, steps, size]")
        k, v = (after(node, _element(node, before, index, 0), x) for index, x in enumerate((k, v)))
    further = None if added is None else node.optional(added)
    y = attend(node, q, k, v, node.optional(mask), further)
    if node.output_count == 1:
        return (y,)
    if k.spec.shape != v.spec.shape:
        node.refuse(f"keys are {k.spec} and values {v.spec}; of one size, they can be one output")
    kept = [node.one("reshape", [x], shape=(1, *x.spec.shape)) for x in (k, v)]
    return y, node.one("concat", kept, axis=0)


def _multi_head_attention(node: Node) -> tuple[Tensor, ...]:
    """Of projections that are computed before; keys and values may be split into heads already."""
    _refuse_buffers(node)
    if node.optional(8) is not None or node.optional(9) is not None:
        node.refuse("keeps keys in a buffer (past_sequence_length, cache_indirection)")
    if node.output_count > 3:
        node.refuse("gives its scores (qk); attention without runs")
    heads, bias = node.attr("num_heads"), node.optional(3)
    given = _unpacked(node, heads)
    if bias is not None:
        if any(x.spec.rank != 3 for x in given):
            node.refuse(
                "has a bias and keys that are split into heads; with a bias those that are not run"
            )
        biases = parts(node, bias, [x.spec.shape[2] for x in given])
        given = [node.one("add", pair) for pair in zip(given, biases, strict=True)]
    q, k, v = (x if x.spec.rank == 4 else split_heads(node, x, heads) for x in given)
    if node.optional(6) is not None:
        k, v = after(node, node.input(6), k), after(node, node.input(7), v)
    y = attend(node, q, k, v, node.optional(4), node.optional(5))
    return (y, k, v)[: node.output_count]


def _unpacked(node: Node, heads: int) -> list[Tensor]:
    """Query, key and value as three tensors; they may be one, or key and value may be."""
    query, key, value = node.input(0), node.optional(1), node.optional(2)
    if key is None and query.spec.rank == 5:  # [batch, steps, heads, 3, size]
        return [_side_by_side(node, _element(node, query, index, 3)) for index in range(3)]
    if key is not None and key.spec.rank == 5:  # [batch, steps, heads, 2, size]
        pair = [_side_by_side(node, _element(node, key, index, 3)) for index in range(2)]
        return [_sequence(node, 0), *pair]
    if key is None or value is None:
        node.invalid(f"query is {query.spec}, and key or value are absent")
    return [_sequence(node, 0), key, value]


def _side_by_side(node: Node, x: Tensor) -> Tensor:
    """``[batch, steps, heads, size]`` with the heads side by side."""
    batch, steps, heads, size = x.spec.shape
    return node.one("reshape", [x], shape=(batch, steps, heads * size))


def _element(node: Node, x: Tensor, index: int, axis: int) -> Tensor:
    one = node.one("slice", [x], starts=(index,), ends=(index + 1,), axes=(axis,))
    return node.one("reshape", [one], shape=x.spec.shape[:axis] + x.spec.shape[axis + 1 :])


def _refuse_buffers(node: Node) -> None:
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.attr(name, 0):
            node.refuse(f"{name} is {node.attr(name)}; 0 runs")


def _sequence(node: Node, index: int) -> Tensor:
    x = node.input(index)
    if x.spec.rank != 3:
        node.refuse(f"input {index} is {x.spec}; [batch, steps, hidden] runs")
    return x


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
)
